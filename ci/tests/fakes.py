# SPDX-License-Identifier: BSD-3-Clause
"""A machine of fake programs in a folder: apt, dpkg, sudo, id, and the pip of a fake .venv, for ci/setup."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parent.parent / "setup"

# After its answer apt-cache writes more than a pipe holds: a reader that left early kills it with SIGPIPE.
PROGRAMS = {
    "id": 'cat "$FAKE/id"',
    "sudo": """
echo "sudo" >>"$FAKE/calls"
[ ! -e "$FAKE/password" ] || exit 1
[ "$1" = -n ] && shift
echo 0 >"$FAKE/id"; env -i PATH="$PATH" FAKE="$FAKE" "$@"; code=$?; echo 1000 >"$FAKE/id"; exit $code""",
    "dpkg-query": """
for name; do :; done
grep -qxF "$name" "$FAKE/installed" && printf installed""",
    "apt-cache": """
printf '%s:\\n' "$2"
if grep -qxF "$2" "$FAKE/known"; then echo '  Candidate: 1.0'; else echo '  Candidate: (none)'; fi
head -c 300000 /dev/zero | tr '\\0' x || exit 141""",
    "apt-get": """
echo "apt-get $*" >>"$FAKE/calls"
[ -z "$https_proxy" ] || echo "by way of $https_proxy" >>"$FAKE/calls"
[ "$(cat "$FAKE/id")" = 0 ] || exit 100
case "$*" in *update*) [ ! -e "$FAKE/offline" ]; exit ;; esac
names="$*" names="${names##*--no-install-recommends}"
for name in $names; do
  if ! grep -qxF "$name" "$FAKE/known"; then echo "E: Unable to locate package $name" >&2; exit 100; fi
  if grep -qxF "$name" "$FAKE/broken"; then echo "E: Unmet dependencies: $name" >&2; exit 100; fi
done
for name in $names; do echo "$name" >>"$FAKE/installed"; done""",
}
# pip of .venv: a call fails as a whole when one requirement, given or in a list, is refused. It does not end
# when one is named endless, and leaves its temporary files.
PIP = """
echo "pip $*" >>"$FAKE/calls"
into="" names=()
while [ $# -gt 0 ]; do
  case "$1" in
    --target) into="$2"; shift ;;
    -r) while read -r line; do line="${line%%  #*}"; case "$line" in "" | \\#*) ;; *) names+=("$line") ;; esac
        done <"$2"; shift ;;
    --retries | --only-binary) shift ;;
    -m) shift ;;
    install | --quiet | --disable-pip-version-check) ;;
    *) names+=("$1") ;;
  esac
  shift
done
for name in "${names[@]}"; do
  grep -qxF -e "$name" "$FAKE/refused" && exit 1
  [ "$name" != endless ] || { mktemp -d "${TMPDIR:-/tmp}/pip-XXXXXX" >/dev/null; exec sleep 600; }
done
[ -z "$into" ] || mkdir -p "$into"
for name in "${names[@]}"; do echo "${into##*/}:$name" >>"$FAKE/wheels"; done"""


class FakeMachine(unittest.TestCase):
    """A checkout with ci/setup and lists of its own; nothing is installed and apt knows nothing."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.fake = self.root / "fake"
        (self.root / "ci").mkdir()
        shutil.copy(SETUP, self.root / "ci/setup")
        for name in ("known", "installed", "broken", "refused", "calls", "wheels"):
            self.write(f"fake/{name}", "")
        self.write("fake/id", "0\n")
        self.write(".venv/pyvenv.cfg", "include-system-site-packages = true\n")
        for name, body in PROGRAMS.items():
            self.program(f"fake/bin/{name}", body)
        for name in ("python", "pip"):
            self.program(f".venv/bin/{name}", PIP)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def program(self, name: str, body: str) -> None:
        self.write(name, f"#!/bin/bash\n{body}\n")
        (self.root / name).chmod(0o755)

    def lines(self, name: str) -> list[str]:
        return (self.fake / name).read_text(encoding="utf-8").split("\n")[:-1]

    def apt_has(self, *names: str, broken: tuple[str, ...] = ()) -> None:
        self.write("fake/known", "".join(f"{name}\n" for name in (*names, *broken)))
        self.write("fake/broken", "".join(f"{name}\n" for name in broken))

    def packages(self, *lines: str) -> None:
        self.write("ci/packages-test.txt", "".join(f"{line}\n" for line in lines))

    def requirements(self, what: str, *lines: str) -> None:
        self.write(f"ci/requirements-{what}.txt", "".join(f"{line}\n" for line in lines))

    def without_sudo(self) -> None:
        """A path that holds the programs of ci/setup, and no other."""
        (self.fake / "bin/sudo").unlink()
        for name in "bash dirname env grep cat tr head cmp cp rm cksum timeout".split():
            found = shutil.which(name)
            assert found is not None
            (self.fake / "bin" / name).symlink_to(found)

    def setup_run(self, *args: str, path: str = "/usr/bin:/bin", **env: str) -> tuple[int, list[str]]:
        """Exit status and the lines that ci/setup says itself."""
        path = f"{self.fake}/bin:{path}".rstrip(":")
        done = subprocess.run(
            [str(self.root / "ci/setup"), *args],
            env={"PATH": path, "FAKE": str(self.fake), "HOME": os.sep, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = [line[7:] for line in done.stderr.splitlines() if line.startswith("setup: ")]
        return done.returncode, said
