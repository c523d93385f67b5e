# SPDX-License-Identifier: BSD-3-Clause
"""The commands in the documents that lead to builds of OAI: their options, files and targets exist."""

from __future__ import annotations

import re
import shlex
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))

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
GIVEN = {"OAI": "/oai", "WS": str(ROOT)}
PLACEHOLDERS = {"<OAI>": "/oai", "<OAI directory>": "/oai", "<here>": str(ROOT)}
OAI_TARGETS = Path(GIVEN["OAI"], "cmake_targets")


def blocks(text: str) -> Iterator[str]:
    yield from re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(document: str) -> Iterator[list[str]]:
    """The commands of a document's code blocks, with the variables that its blocks set."""
    variables: dict[str, str] = {}
    for block in blocks((ROOT / document).read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            for placeholder, path in PLACEHOLDERS.items():
                line = line.replace(placeholder, path)
            for text in re.sub(r"(^|\s)#.*", "", line).split("&&"):
                try:
                    words = shlex.split(re.sub(r"\$(\w+)", lambda v: variables.get(v[1], v[0]), text))
                except ValueError:
                    continue  # no shell: a program's output, C
                assignment = re.fullmatch(r"([A-Z]+)=(.*)", words[0]) if len(words) == 1 else None
                if assignment:
                    variables[assignment[1]] = GIVEN.get(assignment[1], assignment[2])
                elif words:
                    yield words


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

    def test_the_hook_is_where_the_commands_say(self) -> None:
        for document, words in all_commands():
            for path in re.findall(rf"{VARIABLE}=(\S+)", " ".join(words)):
                with self.subTest(document=document):
                    self.assertEqual(Path(path), ROOT / "cmake_targets" / "thread_pool_ws.cmake")

    def test_programs_of_this_project(self) -> None:
        programs = {words[0] for _, words in all_commands()}
        ours = {program for program in programs if program.startswith((str(ROOT), "ci/", "nr_ulsim_bench/"))}
        self.assertGreaterEqual(len(ours), 2)
        for program in ours:
            with self.subTest(program=program):
                self.assertTrue((ROOT / program).is_file())

    def test_targets_are_those_of_preflight(self) -> None:
        told = [words[words.index("--target") + 1 :] for _, words in all_commands() if "--target" in words]
        self.assertEqual(told, [list(TO_BUILD)] * 2)

    def test_folders_that_are_entered(self) -> None:
        """Commands enter OAI's cmake_targets, a build folder that was made there before, or a folder here."""
        entered = 0
        for document in DOCUMENTS:
            here, made = Path("/nowhere"), {OAI_TARGETS}
            for words in commands(document):
                if words[0] == "./build_oai" and "-d" in words:
                    self.assertEqual(here, OAI_TARGETS, document)
                    made.add(here / words[words.index("-d") + 1] / "build")
                if words[0] != "cd":
                    continue
                here = here / words[1]
                entered += 1
                with self.subTest(document=document, folder=str(here)):
                    ours = here.is_relative_to(ROOT) and here.is_dir()
                    self.assertTrue(ours or here in made, "no command before makes this folder")
        self.assertGreaterEqual(entered, 6)

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
