# SPDX-License-Identifier: BSD-3-Clause
"""The commands in the documents that lead to builds of OAI: their options and targets exist."""

from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))

import doccommands  # noqa: E402
from preflight.folder import NAME, PATCHES, VARIABLE  # noqa: E402
from preflight.tree import TO_BUILD  # noqa: E402

DOCUMENTS = (
    "README.md",
    "docs/integration.md",
    "docs/benchmarking.md",
    "docs/tracing.md",
    "openair1_patches/README.md",
)
# Options of build_oai that v2.0.0, v2.1.0, v2.2.0, v2.3.0 and 2025.w37 have, and how many words follow each.
BUILD_OAI = {
    "-I": 0,
    "-d": 1,
    "-c": 0,
    "-P": 0,
    "-w": 1,
    "--gNB": 0,
    "--nrUE": 0,
    "--ninja": 0,
    "--cmake-opt": 1,
}


def commands(document: str) -> Iterator[list[str]]:
    return (one.words for one in doccommands.commands((ROOT / document).read_text(encoding="utf-8")))


def all_commands() -> Iterator[tuple[str, list[str]]]:
    for document in DOCUMENTS:
        yield from ((document, words) for words in commands(document))


class DocumentedCommands(unittest.TestCase):
    def test_options_of_build_oai(self) -> None:
        seen = 0
        for document, words in all_commands():
            if not words[0].endswith("build_oai") or words[-1] == "…":
                continue
            seen += 1
            with self.subTest(document=document, command=" ".join(words)):
                options = iter(words[1:])
                given = {}
                for option in options:
                    self.assertIn(option, BUILD_OAI)
                    given[option] = next(options) if BUILD_OAI[option] else ""
                if "-I" not in given:
                    self.assertIn("-d", given)  # else old and new are in one folder
                hooked = any(VARIABLE in word for word in words)
                patched = any(f"{PATCHES}=" in word for word in words)
                if given.get("-d") in (NAME, "old"):
                    self.assertEqual(hooked, given["-d"] == NAME)
                    self.assertFalse(patched, "reconfigures a build that others compare")
        self.assertGreaterEqual(seen, 5)

    def test_options_of_cmake(self) -> None:
        hook = (ROOT / "cmake_targets" / "thread_pool_ws.cmake").read_text(encoding="utf-8")
        for document, words in all_commands():
            for name in re.findall(r"-[DU]'?(\w+)", " ".join(words)):
                with self.subTest(document=document, option=name):
                    known = name.startswith("THREAD_POOL_WS_") and (name == "THREAD_POOL_WS_" or name in hook)
                    self.assertTrue(known or name == VARIABLE)

    def test_targets_are_those_of_preflight(self) -> None:
        told = [words[words.index("--target") + 1 :] for _, words in all_commands() if "--target" in words]
        self.assertEqual(told, [list(TO_BUILD)] * 2)

    def test_old_and_new_are_where_they_were_built(self) -> None:
        """The folders of a sweep are those that the build commands of the same document make."""
        for document in ("README.md", "docs/integration.md"):
            made, measured = set(), {}
            for words in commands(document):
                if words[0].endswith("build_oai") and "-d" in words:
                    made.add(f"/oai/cmake_targets/{words[words.index('-d') + 1]}/build")
                if "sweep" in words and "--old" in words:
                    measured = {name: words[words.index(name) + 1] for name in ("--old", "--new")}
            with self.subTest(document=document):
                self.assertEqual(set(measured.values()), made)
                self.assertEqual(measured["--new"], f"/oai/cmake_targets/{NAME}/build")
