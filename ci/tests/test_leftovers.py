# SPDX-License-Identifier: BSD-3-Clause
"""ci/leftovers.sh sees what a step leaves behind, and nothing else."""

import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "leftovers.sh"


def after(step: str, looks: int = 2) -> tuple[int, list[str]]:
    """What is said after a step that is this shell text, run as ci/test runs one."""
    program = f"""set -uo pipefail
    . '{SCRIPT}'
    leftovers_looks={looks}
    leftovers_begin || exit 99
    trap leftovers_end EXIT
    bash -c "$1" >/dev/null 2>&1 </dev/null
    leftovers_of_step"""
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": folder, "HOME": folder}
        command = ["bash", "-c", program, "bash", step]
        done = subprocess.run(command, env=env, timeout=100, capture_output=True, text=True, check=False)
        assert done.stderr == "", done.stderr
        assert list(Path(folder).iterdir()) == []  # TMPDIR of the steps is gone
    return done.returncode, done.stdout.splitlines()


def is_alive(number: str) -> bool:
    try:
        return Path("/proc", number, "stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def ends(number: str) -> bool:
    """Whether the process, which has been killed, ends: the kernel may take a while to give it a CPU."""
    until = time.monotonic() + 60
    while is_alive(number):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Leftovers(unittest.TestCase):
    def test_a_step_that_leaves_nothing(self):
        self.assertEqual(after('file=$(mktemp) && echo x >"$file" && rm "$file"'), (0, []))

    def test_a_daemon_is_named_and_ended(self):
        sleeps = 'until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done'
        status, said = after(f"for i in 1 2; do setsid sleep 1003 & {sleeps}; done; exit 0")
        self.assertEqual((status, len(said)), (1, 2))
        for line in said:
            number = line.split()[3].rstrip(",")
            self.assertRegex(line, r"left behind: process \d+, sleep 1003")
            self.assertTrue(ends(number))

    def test_one_that_ends_soon_is_none(self):
        self.assertEqual(after("setsid sleep 0.3 & exit 0", looks=300), (0, []))

    def test_a_process_of_another_run_is_none(self):
        with subprocess.Popen(["sleep", "1003"], env={"WS_TEST_RUN": "1-1"}) as other:
            try:
                self.assertEqual(after("true"), (0, []))
                self.assertIsNone(other.poll())
            finally:
                other.kill()

    def test_files_and_folders_are_named(self):
        status, said = after('cd "$TMPDIR" && touch "a file" && mkdir b .c pytest-of-root')
        names = sorted(line.rpartition("/")[2] for line in said)
        self.assertEqual((status, names), (0, [".c", "a file", "b"]))
