# SPDX-License-Identifier: BSD-3-Clause
"""The commands in the documents that lead to builds of OAI: their options and targets exist."""

import re
import shlex
import unittest
from pathlib import Path

from preflight.folder import NAME, PATCHES, VARIABLE
from preflight.tree import ALL_PACKAGES, TO_BUILD

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/integration.md", "docs/benchmarking.md", "docs/tracing.md",
             "openair1_patches/README.md")  # fmt: skip
# Options of build_oai that v2.0.0, v2.1.0, v2.2.0, v2.3.0 and 2025.w37 have; those that a word follows.
BUILD_OAI = {"-I", "-d", "-c", "-P", "-w", "--gNB", "--nrUE", "--ninja", "--cmake-opt"}
WITH_A_WORD = {"-d", "-w", "--cmake-opt"}


def commands(document: str) -> list[list[str]]:
    """The commands of a document's shell blocks, as words, with the values of variables that they set."""
    variables: dict[str, str] = {}
    found = []
    text = (ROOT / document).read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in re.split(r"&&|\|\||[|;\n]", re.sub(r"\\\n|(?:^|\s)#.*", "", block)):
            try:
                words = shlex.split(re.sub(r"\$(\w+)", lambda v: variables.get(v[1], v[0]), line))
            except ValueError:
                continue  # a program's output
            if len(words) == 1 and (assignment := re.fullmatch(r"([A-Z]+)=(.*)", words[0])):
                variables[assignment[1]] = assignment[2]
            elif words:
                found.append(words)
    return found


ALL = [(document, words) for document in DOCUMENTS for words in commands(document)]


class DocumentedCommands(unittest.TestCase):
    def test_options_of_build_oai(self) -> None:
        builds = [words for _, words in ALL if words[0].endswith("build_oai") and words[-1] != "…"]
        self.assertGreaterEqual(len(builds), 5)
        for words in builds:
            command = " ".join(words)
            with self.subTest(command=command):
                options, given = iter(words[1:]), {}
                for option in options:
                    self.assertIn(option, BUILD_OAI)
                    given[option] = next(options) if option in WITH_A_WORD else ""
                self.assertTrue("-I" in given or "-d" in given)  # else old and new are in one folder
                if given.get("-d") in (NAME, "old"):
                    self.assertEqual(any(VARIABLE in word for word in words), given["-d"] == NAME)
                    self.assertNotIn(f"{PATCHES}=", command, "reconfigures a build that others compare")

    def test_options_of_cmake(self) -> None:
        hook = (ROOT / "cmake_targets" / "thread_pool_ws.cmake").read_text(encoding="utf-8")
        for document, words in ALL:
            for name in re.findall(r"-[DU]'?(\w+)", " ".join(words)):
                with self.subTest(document=document, option=name):
                    self.assertTrue(name == VARIABLE or (name.startswith("THREAD_POOL_WS_") and name in hook))

    def test_targets_and_packages_are_those_of_preflight(self) -> None:
        told = [words[words.index("--target") + 1 :] for _, words in ALL if "--target" in words]
        self.assertEqual(told, [[*TO_BUILD], [*TO_BUILD]])
        told = [words[2:] for _, words in ALL if words[:2] == ["apt", "install"]]
        self.assertEqual(told, [list(ALL_PACKAGES)])

    def test_old_and_new_are_where_they_were_built(self) -> None:
        """The folders of a sweep are those that the build commands of the README make."""
        made, measured = set(), {}
        for words in commands("README.md"):
            if words[0].endswith("build_oai") and "-d" in words:
                made.add(f"{words[words.index('-d') + 1]}/build")
            if "sweep" in words and "--old" in words:
                measured = {name: words[words.index(name) + 1] for name in ("--old", "--new")}
        self.assertEqual({path.partition("/cmake_targets/")[2] for path in measured.values()}, made)
        self.assertTrue(measured["--new"].endswith(f"/{NAME}/build"))
