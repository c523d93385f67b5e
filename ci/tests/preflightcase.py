# SPDX-License-Identifier: BSD-3-Clause
"""Small trees, and a host whose every program is made up, for tests of ci/oai-preflight."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from oai_model.model import assemble

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


class PreflightCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.bin = self.top / "bin"
        for name in ("lib", "include"):
            (self.bin / name).mkdir(parents=True)
        for name, script in PROGRAMS.items():
            self.program(name, script)
        self.modules = {"hwloc"}

    def program(self, name: str, script: str) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def oai(self, lists: str = "", files: tuple[str, ...] = ()) -> Path:
        """A tree of shape A whose top CMakeLists.txt ends with some lines more."""
        tree = assemble("A", self.top / "oai")
        (tree / "CMakeLists.txt").write_text(TOP + lists, encoding="utf-8")
        for name in files:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).touch()
        return tree

    def preflight(self, *args: str | Path, **environment: str) -> tuple[int, str]:
        """Exit status and what it says, with each run of blanks as one."""
        host = {"PATH": str(self.bin), "MODULES": " ".join(self.modules), "HOME": str(self.top)}
        done = subprocess.run(
            [sys.executable, str(PREFLIGHT), *map(str, args)],
            env=host | environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def assert_missing(self, tree: Path, *texts: str, **environment: str) -> None:
        status, said = self.preflight(tree, **environment)
        self.assertEqual(status, 1, said)
        self.assertTrue(said.endswith(" missing"), said)
        for text in texts:
            self.assertIn(text, said)
