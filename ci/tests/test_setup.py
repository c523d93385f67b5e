# SPDX-License-Identifier: BSD-3-Clause
"""ci/setup on a machine of fake programs in a folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pip

from tests.fixture import FolderTest

CI = Path(__file__).resolve().parent.parent
# After its answer apt-cache writes more than a pipe holds: a reader that left early kills it with SIGPIPE.
# apt and pip refuse a list as a whole for one name. pip's time is up at once with "endless". It has no
# answer for "silent".
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
for name in $names; do grep -qxF $name "$FAKE/known" && ! grep -qxF $name "$FAKE/refused" || exit 100; done
printf '%s\\n' $names >>"$FAKE/installed" """,
    "fake/bin/timeout": 'shift 4; [ "${*: -1}" != endless ] || exit 124; exec "$@"',
    ".venv/bin/pip": 'exec .venv/bin/python -m pip "$@"',
    ".venv/bin/python": """
[ "$1" = -m ] || PYTHONPATH="$FAKE/site" exec "$PYTHON" -S "$@"
echo "pip $*" >>"$FAKE/calls"
into="" names=()
for arg; do
  case "$arg" in
    .venv/*) into="$arg/" ;;
    -* | pip | install | off | 2 | :all:) ;;
    *) names+=("$arg") ;;
  esac
done
for name in "${names[@]}"; do
  ! grep -qxF -e "$name" "$FAKE/refused" || exit 1
  [ "$name" != silent ] || { printf 'WARNING: Retry(total=%s broken by cause\\n' 2, 1, 0, ERROR: ; exit 1; }
  echo "Collecting $name"
done
[[ $* != *--dry-run* ]] || exit 0
for name in "${names[@]}"; do
  echo "$into$name" >>"$FAKE/installed" && info="${into:-$FAKE/site/}${name%%[^a-z-]*}-1.dist-info"
  [[ $name =~ =([0-9.]+) ]]
  mkdir -p "$info" && printf 'Name: x\\nVersion: %s\\n' "${BASH_REMATCH[1]:-1}" >"$info/METADATA"
done""",
}


class SetupTest(FolderTest):
    def setUp(self) -> None:
        files = {f"fake/{name}": "" for name in ("known", "refused", "installed", "calls")}
        files |= {name: f"#!/bin/bash\n{text}\n" for name, text in PROGRAMS.items()}
        files[".venv/pyvenv.cfg"] = "include-system-site-packages = true\n"
        super().setUp()
        for name, text in {**files, "fake/id": "0\n", "ci/README": ""}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
            (self.root / name).chmod(0o755)
        self.fake = self.root / "fake"
        (self.fake / "site").mkdir()
        (self.fake / "site/pip").symlink_to(Path(pip.__file__).parent)
        shutil.copy(CI / "missing_requirements.py", self.root / "ci")
        shutil.copy(CI / "setup", self.root / "ci/setup")

    def have(self, name: str, *lines: str) -> None:
        """Writes a file of the fake machine, or a list of packages."""
        folder = self.root / "ci" if name.endswith(".txt") else self.fake
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        return (self.fake / name).read_text(encoding="utf-8").splitlines()

    def run_setup(self, code: int, *args: str, **env: str) -> list[str]:
        """The lines that ci/setup says itself."""
        got = self.shell('ci/setup "$@" </dev/null 2>"$FAKE/said"', *args, **env)
        self.assertEqual(got, code, self.lines("said"))
        return [line[7:] for line in self.lines("said") if line.startswith("setup: ")]

    def shell(self, command: str, *args: str, **env: str) -> int:
        """A command line in the folder of ci; its exit status."""
        path = {"PATH": f"{self.fake}/bin:/usr/bin:/bin", "FAKE": str(self.fake), "PYTHON": sys.executable}
        shell = ["bash", "-c", command, "-", *args]
        return subprocess.run(shell, cwd=self.root, env=path | env, check=False).returncode


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
    def test_what_is_installed_decides_and_not_by_which_list(self) -> None:
        self.have("requirements-bench.txt", "# a comment", "pytest>=7", "rich  # only a part", "typer>=2")
        self.have("requirements-test.txt", "pytest<9", "tomli; python_version < '3'")
        self.run_setup(0, "python")
        calls = self.lines("calls")
        for check in ([], ["--check"]):
            self.assertEqual(self.run_setup(0, "python", "test", *check), [])
        self.assertEqual(self.lines("calls"), calls)
        self.assertEqual(self.lines("installed"), ["pytest>=7", "rich", "typer>=2"])
        shutil.rmtree(self.fake / "site/typer-1.dist-info")
        self.have("requirements-test.txt", "pytest>=8")
        self.assertRegex("".join(self.run_setup(1, "--check", "python", "test")), ": typer>=2;.*: pytest>=8;")
        shutil.rmtree(self.root / ".venv")
        self.assertIn(": pytest>=8; to get it: ci/setup test", self.run_setup(1, "--check")[0])

    def test_a_refused_requirement_takes_no_other_down_and_its_remedy_can_be_pasted(self) -> None:
        tbb, tomli = 'tbb; python_version > "3"', "tomli; python_version > '3'"
        self.have("requirements-test.txt", "pytest>=7", f"{tbb}  # only oneTBB", tomli, "rich", "typer>=2,<3")
        self.have("refused", tbb, tomli, "typer>=2,<3")
        said = self.run_setup(1)
        self.assertEqual(self.lines("installed"), ["pytest>=7", "rich"])
        self.assertIn("(oneTBB goes without it); to get it: .venv/bin/pip install 'tbb;", said[-2])
        self.assertIn(f"needed by ci/setup test: {tomli}, typer>=2,<3; to get", said[-1])
        self.have("refused")
        for line in said[-2:]:
            self.assertEqual(self.shell(line.partition("to get it: ")[2]), 0)
        self.assertEqual(self.lines("installed")[2:], [tbb, tomli, "typer>=2,<3"])

    def test_the_limit_ends_the_run_of_pip(self) -> None:
        self.have("requirements-test.txt", "pytest>=7", "bad  # only a", "endless  # only b", "rich")
        self.have("requirements-lint.txt", "ruff")
        self.have("refused", "bad")
        said = self.run_setup(1, "test", "lint", WS_SETUP_PIP_SECONDS="900")
        reached = "pip reached its limit, WS_SETUP_PIP_SECONDS=900"
        self.assertEqual((said.count(reached), self.lines("installed")), (1, ["pytest>=7"]))
        self.assertIn(f"needed by ci/setup test lint: rich ({reached}); to get", said[-2])
        self.assertIn(f"needed by ci/setup test lint: ruff ({reached}); to get", said[-1])
        self.have("requirements-test.txt", "pytest>=7", "endless  # only a part")
        self.assertEqual(self.run_setup(0)[1], "pip reached its limit, WS_SETUP_PIP_SECONDS=600")

    def test_a_package_index_that_does_not_answer_is_asked_once(self) -> None:
        self.have("requirements-test.txt", "silent", "rich")
        said = self.run_setup(1)
        self.assertEqual((said[1], len(said)), ("the package index does not answer", 3))
        self.assertIn("silent, rich (the package index does not answer); to get", said[2])

    def test_into_a_folder(self) -> None:
        self.have("requirements-deploy.txt", "helm==1  # only the chart", "yamllint==2  # only the style")
        self.have("refused", "helm==1")
        self.assertIn("not installed: helm==1 (the chart goes", self.run_setup(0, "deploy")[-1])
        self.assertEqual(self.lines("installed"), [".venv/deploy/yamllint==2"])
        self.assertIn("; to get it: ci/setup deploy", self.run_setup(1, "--check", "deploy")[0])
