# SPDX-License-Identifier: BSD-3-Clause
"""Small trees, and a host whose every program is made up, for tests of ci/oai-preflight."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from oai_model.model import assemble

from tests.fixture import FolderTest

PREFLIGHT = Path(__file__).resolve().parents[1] / "oai-preflight"
PROGRAMS = {
    "cmake": "echo cmake version 3.25.1",
    "ninja": "exit 0",
    "git": "exit 0",
    "xxd": "exit 0",
    "c++": "exit 0",
    # Knows the headers and libraries that lie beside it.
    "cc": 'here="${0%/*}"; case "$1" in'
    " -print-file-name=*) name=${1#*=}"
    '; if [ -e "$here/lib/$name" ]; then echo "$here/lib/$name"; else echo "$name"; fi;;'
    ' *) printf "#include <...> search starts here:\\n %s\\nEnd of search list\\n" "$here/include";; esac',
    "pkg-config": 'for last in "$@"; do :; done; last="${last%% *}"'
    '; for name in $MODULES; do [ "$name" = "$last" ] && exit 0; done; exit 1',
    # OAI takes exit status 1 for: knows the option.
    "asn1c": 'case "$1" in -old) exit 64;; esac; exit 1',
}
TOP = """cmake_minimum_required(VERSION 3.12) # first
project(OpenAirInterface LANGUAGES C CXX)
set(OPENAIR_DIR ${CMAKE_SOURCE_DIR})
#[[ pkg_check_modules(never REQUIRED never) ]]
project(OpenAirInterface)
function(unused)
  pkg_check_modules(unused REQUIRED unused)
endfunction()
add_library(UTIL ${OPENAIR_DIR}/common/utils/system.c
  ${OPENAIR_DIR}/common/utils/threadPool/thread-pool.c)
"""


Files = Mapping[str, str | None]


class PreflightCase(FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.top, self.bin = self.root, self.root / "bin"
        self.modules: set[str] = set()
        self.lay({f"bin/{name}": script for name, script in PROGRAMS.items()})
        for name in ("lib", "include"):
            (self.bin / name).mkdir()

    def lay(self, files: Files) -> None:
        """Files by path: programs are those right in bin/. None takes a file away; "+name" and "-name" are
        modules of pkg-config."""
        for name, text in files.items():
            path = self.top / name
            if name[0] in "+-":
                self.modules ^= {name[1:]}
            elif text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#!/bin/sh\n{text}\n" if path.parent == self.bin else text, encoding="utf-8")
                path.chmod(0o755)

    def oai(self, lists: str = "") -> Path:
        """A tree of shape A whose top CMakeLists.txt ends with some lines more."""
        tree = assemble("A", self.top / "oai")
        (tree / "CMakeLists.txt").write_text(TOP + lists, encoding="utf-8")
        return tree

    def preflight(self, *args: str | Path, **environment: str) -> tuple[int, str]:
        """Exit status and what it says, with each run of blanks as one."""
        host = {"PATH": str(self.bin), "MODULES": " ".join(self.modules), "HOME": str(self.top)}
        host["NRBENCH_SYSTEM_ROOT"] = str(self.top)
        done = subprocess.run(
            [sys.executable, str(PREFLIGHT), *map(str, args)],
            env=host | environment, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def expect(self, tree: Path, *texts: str, build: str = "", **environment: str) -> None:
        """What is printed, and is not ("!text"); TOP stands for the folder of all. A tree is ready unless a
        text begins with "missing"."""
        options = ("--build-dir", self.top / build) if build else ()
        status, said = self.preflight(tree, *options, **environment)
        lacks = any(text.startswith("missing") for text in texts)
        self.assertEqual((status, said.split()[-1]), (1, "missing") if lacks else (0, "ready"), said)
        for text in texts:
            check = self.assertNotIn if text[0] == "!" else self.assertIn
            check(text.lstrip("!").replace("TOP", str(self.top)), said)
