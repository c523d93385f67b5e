# SPDX-License-Identifier: BSD-3-Clause
"""ci/setup on a machine of fake programs in a folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

CI = Path(__file__).resolve().parent.parent
# After its answer apt-cache writes more than a pipe holds: a reader that left early kills it with SIGPIPE.
# apt and pip refuse a list as a whole for one name. No time passes until the limit for pip.
PROGRAMS = {
    "fake/bin/id": 'cat "$FAKE/id"',
    "fake/bin/sudo": """
[ ! -e "$FAKE/password" ] || exit 1
shift # -n
echo 0 >"$FAKE/id"; env -i PATH="$PATH" FAKE="$FAKE" "$@"; code=$?; echo 1000 >"$FAKE/id"; exit $code""",
    "fake/bin/dpkg-query": """
for name in "${@:4}"; do ! grep -qxF "$name" "$FAKE/installed" || printf '%s=installed ' "$name"; done""",
    "fake/bin/apt-cache": """
if grep -qxF "$2" "$FAKE/known"; then echo '  Candidate: 1.0'; else echo '  Candidate: (none)'; fi
head -c 300000 /dev/zero | tr '\\0' x || exit 141""",
    "fake/bin/apt-get": """
echo "apt-get $https_proxy" >>"$FAKE/calls"
[ "$(cat "$FAKE/id")" = 0 ] || exit 100
case "$*" in *update*) [ ! -e "$FAKE/offline" ]; exit ;; esac
names="$*" names="${names##*--no-install-recommends}"
for name in $names; do grep -qxF "$name" "$FAKE/known" || exit 100; done
for name in $names; do ! grep -qxF "$name" "$FAKE/refused" || exit 100; done
printf '%s\\n' $names >>"$FAKE/installed" """,
    "fake/bin/timeout": 'shift 3; [ "${*: -1}" != endless ] || exit 124; exec "$@"',
    ".venv/bin/pip": "",
    ".venv/bin/python": """
echo "pip $*" >>"$FAKE/calls"
into="" names=() dry=no
while [ $# -gt 0 ]; do
  case "$1" in
    --target) into="${2##*/}:" && shift ;;
    -r) mapfile -t names < <(sed 's/ *#.*//; /^$/d' "$2") && shift ;;
    --dry-run) dry=yes ;;
    --retries | --only-binary | -m) shift ;;
    -* | install) ;;
    *) names+=("$1") ;;
  esac
  shift
done
for name in "${names[@]}"; do
  ! grep -qxF -e "$name" "$FAKE/refused" || exit 1
done
[ "$dry" = yes ] || printf '%s\\n' "${names[@]/#/$into}" >>"$FAKE/installed" """,
}


class SetupTest(unittest.TestCase):
    def setUp(self) -> None:
        files = {f"fake/{name}": "" for name in ("known", "refused", "installed", "calls")}
        files |= {name: f"#!/bin/bash\n{text}\n" for name, text in PROGRAMS.items()}
        files[".venv/pyvenv.cfg"] = "include-system-site-packages = true\n"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in {**files, "fake/id": "0\n", "ci/README": ""}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        self.fake = self.root / "fake"
        shutil.copy(CI / "setup", self.root / "ci/setup")
        for name in PROGRAMS:
            (self.root / name).chmod(0o755)

    def have(self, name: str, *lines: str) -> None:
        """Writes a file of the fake machine, or a list of packages."""
        folder = self.root / "ci" if name.endswith(".txt") else self.fake
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        return (self.fake / name).read_text(encoding="utf-8").splitlines()

    def run_setup(self, code: int, *args: str, **env: str) -> list[str]:
        """The lines that ci/setup says itself."""
        path = {"PATH": f"{self.fake}/bin:/usr/bin:/bin", "FAKE": str(self.fake)}
        command = [str(self.root / "ci/setup"), *args]
        done = subprocess.run(
            command,
            env={**path, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return [line[7:] for line in done.stderr.splitlines() if line.startswith("setup: ")]


class PackagesTest(SetupTest):
    def test_of_alternatives_the_first_that_can_be_installed(self) -> None:
        self.have("packages-test.txt", "# a comment", "", "a | b", "v2 | v1", "c | d", "e | f  # a comment")
        self.have("known", "a", "b", "v1", "c", "d")
        self.have("refused", "c")
        self.have("installed", "f")
        self.run_setup(0)
        self.assertEqual(self.lines("installed"), ["f", "a", "v1", "d"])
        calls = self.lines("calls")
        self.assertEqual(self.run_setup(0), [])
        self.assertEqual(self.lines("calls"), calls)

    def test_an_entry_of_one_step_is_reported_and_any_other_is_needed(self) -> None:
        self.have("packages-test.txt", "gcc", "spin  # only spin", "gdb  # only gdb", "clang  # only clang")
        self.have("known", "gcc", "gdb")
        self.have("refused", "gdb")
        said = self.run_setup(0)
        self.assertIn("not installed: spin (spin goes without it); to get it: apt install spin", said)
        self.assertIn("not installed: gdb", said[-2])
        self.have("packages-bench.txt", "clang", "x | y")
        said = self.run_setup(1, "test", "bench")
        needed = "missing and needed by ci/setup test bench: clang, x | y; to get it: apt install clang x"
        self.assertEqual((said[-1], self.lines("installed")), (needed, ["gcc"]))

    def test_check_installs_nothing_and_counts_each_missing_entry(self) -> None:
        self.have("packages-test.txt", "gcc", "spin  # only spin")
        self.have("known", "gcc", "spin")
        self.have("installed", "gcc")
        self.assertIn("not installed: spin", self.run_setup(1, "--check")[-1])
        self.have("installed", "gcc", "spin")
        self.assertEqual(self.run_setup(0, "--check", "test"), [])
        self.have("requirements-test.txt", "rich  # only a part")
        self.assertIn("not installed: rich", self.run_setup(1, "--check")[-1])
        self.assertEqual(self.lines("calls"), [])

    def test_what_was_refused_is_asked_for_once_a_run(self) -> None:
        self.have("packages-test.txt", "gcc", "spin  # only spin")
        self.have("requirements-test.txt", "pytest>=7", "rich")
        self.have("known", "gcc")
        self.have("refused", "pytest>=7")
        asked = {"WS_SETUP_ASKED": str(self.fake / "asked")}
        self.run_setup(1, **asked)
        calls = self.lines("calls")
        said = self.run_setup(1, **asked)
        self.assertIn("not installed: spin", said[0])
        self.assertIn("needed by ci/setup test: pytest>=7;", said[1])
        self.assertEqual(self.lines("calls"), calls)
        self.run_setup(1)
        self.assertNotEqual(self.lines("calls"), calls)

    def test_sudo_gets_the_proxy_and_lists_may_be_old(self) -> None:
        self.have("packages-test.txt", "gcc")
        self.have("known", "gcc")
        self.have("id", "1000")
        self.have("password")
        said = self.run_setup(1)
        self.assertIn("sudo is missing or needs a password", said[0])
        self.assertIn("needed by ci/setup test: gcc;", said[1])
        (self.fake / "password").unlink()
        self.have("offline")
        self.assertIn("apt-get update failed", self.run_setup(0, https_proxy="http://proxy.example:1")[0])
        self.assertEqual(self.lines("calls"), 2 * ["apt-get http://proxy.example:1"])

    def test_an_unknown_argument_is_refused(self) -> None:
        self.run_setup(2, "tests")


class PythonTest(SetupTest):
    def test_a_list_is_installed_in_one_go_and_once(self) -> None:
        self.have("requirements-bench.txt", "# a comment", "pytest>=7", "rich  # only a part")
        self.have("packages-bench.txt", "gcc")
        self.run_setup(0, "python")
        self.run_setup(0, "python")
        self.assertEqual((len(self.lines("calls")), self.lines("installed")), (1, ["pytest>=7", "rich"]))

    def test_a_refused_requirement_takes_no_other_down(self) -> None:
        tbb = 'tbb; platform_machine == "x86_64"'
        self.have("requirements-test.txt", "pytest>=7", f"{tbb}  # only oneTBB", "endless", "rich")
        self.have("refused", tbb)
        said = self.run_setup(1)
        self.assertEqual(self.lines("installed"), ["pytest>=7", "rich"])
        self.assertIn("(oneTBB goes without it); to get it: .venv/bin/pip install tbb", said[-2])
        self.assertIn("needed by ci/setup test: endless;", said[-1])

    def test_into_a_folder(self) -> None:
        self.have("requirements-deploy.txt", "helm==1  # only the chart", "yamllint==2  # only the style")
        self.have("refused", "helm==1")
        self.assertIn("not installed: helm==1 (the chart goes", self.run_setup(0, "deploy")[-1])
        self.assertEqual(self.lines("installed"), ["deploy:yamllint==2"])


class ListsTest(unittest.TestCase):
    """The lists of this project."""

    def test_steps_that_a_comment_names_are_there(self) -> None:
        steps = {path.name[3:] for path in (CI / "steps").glob("[0-9]*")}
        uses = [
            use for path in CI.glob("*-*.txt") for use in re.findall(r"# only (.*)", path.read_text("utf-8"))
        ]
        named = {name for use in uses for name in re.findall(r"\bstep ([a-z-]+)", use)}
        self.assertLess(5, len(named))
        self.assertEqual(named - steps, set())
