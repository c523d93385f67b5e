# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from freshroot import machine
from freshroot.root import Root, remove

CI = Path(__file__).resolve().parent.parent
SLEEPS = 'until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done'  # the last one in the background
TARGETS = """\
Debian|bookworm|http://mirror.example/debian/|bookworm|main
Debian|bookworm|http://mirror.example/debian/|bookworm|contrib
Debian|bookworm-security|http://mirror.example/security/|stable-security|main
Debian|bookworm|http://mirror.example/debian/|bookworm|main
Debian|sid|http://mirror.example/debian/|sid|main
PostgreSQL|bookworm-pgdg|http://other.example/apt/|bookworm-pgdg|main
"""


class MachineTest(unittest.TestCase):
    def sources(self, *args: str) -> list[str]:
        """Lines without the keyring, which not every machine has."""
        return [line.replace(f"[signed-by={machine.KEYRING}] ", "") for line in machine.sources(*args)]

    def test_sources_of_this_release_serve_another(self) -> None:
        expected = [
            "deb http://mirror.example/debian/ trixie main",
            "deb http://mirror.example/security/ trixie-security main",
        ]
        self.assertEqual(self.sources("trixie", TARGETS, "bookworm"), expected)
        same = [line.replace("trixie", "bookworm") for line in expected]
        self.assertEqual(self.sources("bookworm", TARGETS, "bookworm"), same)

    def test_no_debian_leaves_the_choice_to_mmdebstrap(self) -> None:
        ubuntu = TARGETS.replace("Debian|", "Ubuntu|")
        self.assertEqual(self.sources("trixie", ubuntu, "bookworm"), [])
        self.assertEqual(self.sources("trixie", "", ""), [])

    def test_a_mirror_that_was_named_wins(self) -> None:
        line = "deb http://named.example/ trixie main"
        self.assertEqual(self.sources("trixie", TARGETS, "bookworm", "http://named.example/"), [line])

    def test_options_that_decide_how_apt_reaches_a_server(self) -> None:
        dump = (
            'Acquire "";\nAcquire::Languages:: "none";\nAcquire::http "";\n'
            'Acquire::Check-Valid-Until "false";\nAcquire::http::Proxy "http://proxy.example:1";\n'
            'Acquire::http::Proxy-Auto-Detect "/usr/bin/a";\nAcquire::http::ProxyAutoDetect "/usr/bin/b";\n'
        )
        kept = ['Acquire::Check-Valid-Until "false";', 'Acquire::http::Proxy "http://proxy.example:1";']
        self.assertEqual(machine.apt_options(dump, {}), kept)
        self.assertEqual(
            machine.apt_options("", {"https_proxy": "http://p.example:2", "HOME": "/"}),
            ['Acquire::https::Proxy "http://p.example:2";'],
        )

    def test_variables_that_go_along(self) -> None:
        kept = {"https_proxy": "a", "NO_PROXY": "b", "PIP_INDEX_URL": "c", "SSL_CERT_FILE": "/d"}
        self.assertEqual(
            machine.passed_on({**kept, "HOME": "/root", "LD_PRELOAD": "x", "WS_BENCH": "y"}), kept
        )

    def test_files_that_variables_name_are_copied_and_none_is_overwritten(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            here, root = Path(folder, "here"), Path(folder, "root")
            (here / "wheels").mkdir(parents=True)
            (here / "wheels/a.whl").write_text("wheel")
            (here / "ca.pem").write_text("ours")
            theirs = root / str(here)[1:] / "ca.pem"
            theirs.parent.mkdir(parents=True)
            theirs.write_text("theirs")
            names = {
                "PIP_FIND_LINKS": str(here / "wheels"),
                "PIP_CERT": str(here / "ca.pem"),
                "PIP_A": "/absent",
            }
            machine.carry(root, names)
            self.assertEqual((root / str(here)[1:] / "wheels/a.whl").read_text(), "wheel")
            self.assertEqual(theirs.read_text(), "theirs")


FAKE_PROGRAM = """#!/bin/bash
for word; do case "$word" in */base) mkdir -p "$word/usr" ;; esac; done
# It ends with ci/fresh, as the real one does: a signal may come before ci/fresh knows its number.
PATH=/usr/bin:/bin exec setpriv --pdeathsig KILL bash -c 'echo $$ >"$FAKE/pid" && exec sleep 600'
"""
DRIVER = """
import importlib.machinery, importlib.util, pathlib, sys
loader = importlib.machinery.SourceFileLoader("fresh", sys.argv[1])
fresh = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
loader.exec_module(fresh)
fresh.obstacle = lambda: ""
fresh.CHECKOUT = pathlib.Path(sys.argv[2])
sys.exit(fresh.main(["bookworm"]))
"""


def ends(pid: int) -> bool:
    """Whether a process that is being killed is gone, or a zombie, within a minute."""
    stat = Path("/proc", str(pid), "stat")
    for _ in range(6000):
        try:
            if stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


class CleanupTest(unittest.TestCase):
    """With fake programs, so that neither root nor a network is needed."""

    def test_a_signal_ends_what_runs_and_removes_the_roots(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pid = Path(folder, "pid")
            Path(folder, "setpriv").write_text(FAKE_PROGRAM, encoding="utf-8")
            Path(folder, "setpriv").chmod(0o755)
            child = subprocess.Popen(
                [sys.executable, "-B", "-c", DRIVER, str(CI / "fresh"), folder],
                env={"PATH": f"{folder}:/usr/bin:/bin", "FAKE": folder},
                stdout=subprocess.DEVNULL,
            )
            while child.poll() is None and not (
                pid.exists() and pid.read_text(encoding="utf-8").endswith("\n")
            ):
                time.sleep(0.01)
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(timeout=60), 128 + signal.SIGTERM)
            self.assertTrue(ends(int(pid.read_text(encoding="utf-8"))))
            left = sorted(path.name for path in Path(folder, "build-ci/fresh/bookworm").iterdir())
            self.assertEqual(left, ["make.log"])


def can_unshare() -> bool:
    command = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "true"]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


@unittest.skipUnless(can_unshare(), "namespaces need root")
class RootTest(unittest.TestCase):
    """A root that shows this machine's programs by links: what runs in it, and what remains of it."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(remove, self.folder)
        self.root = Root(self.folder, "root", {"PIP_A": "b"})
        for name in ("proc", "sys", "dev", "run", "tmp", "usr", "var/cache/apt/archives"):
            (self.root.path / name).mkdir(parents=True)
        self.root.archives.mkdir()
        self.log = self.folder / "log"

    def run_script(self, script: str) -> tuple[int, str]:
        programs = ("bash", "sh", "env", "sed", "sleep", "cat", "setsid")
        for name in programs:
            self.bring(Path(str(shutil.which(name))), self.root.path / "bin" / name)
        (self.root.path / "usr/bin").exists() or (self.root.path / "usr/bin").symlink_to("/bin")
        with self.log.open("wb") as log:
            code = self.root.run(["/bin/bash", "-c", script], log)
        return code, self.log.read_text(encoding="utf-8")

    def bring(self, program: Path, target: Path) -> None:
        """Copies a program and the libraries that it loads."""
        target.parent.mkdir(exist_ok=True)
        shutil.copy(program, target)
        loaded = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        for word in loaded.split():
            if word.startswith("/"):
                library = self.root.path / word[1:]
                library.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, library)

    def test_a_command_sees_the_root_its_variables_and_its_own_mounts(self) -> None:
        script = 'echo "$PIP_A $HOME"; echo x >/dev/shm/x && echo y >/run/lock/y && cat /proc/1/comm; exit 7'
        self.assertEqual(self.run_script(script), (7, "b /root\nbash\n"))
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
        self.assertNotIn(str(self.folder), mounts)
        self.assertFalse(Path("/dev/shm/x").exists())

    def test_a_process_that_is_left_is_named_and_killed(self) -> None:
        self.root.looks = 1
        code, text = self.run_script(f"setsid sleep 654321 & {SLEEPS}; exit 0")
        self.assertEqual(code, 1)
        self.assertRegex(text, r"left processes running: sleep \(\d+\)")
        found = subprocess.run(["pgrep", "-f", "^sleep 654321"], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "")
