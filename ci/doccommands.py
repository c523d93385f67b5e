# SPDX-License-Identifier: BSD-3-Clause
"""Commands in the shell blocks of documents: their words, and the folder in which each of them runs.

A block may be entered in the root of this tree, in the page's folder, or where the block before ended. A
reader follows "cd", "build_oai -d NAME" and "cmake -B FOLDER". Placeholders and the variables OAI and WS
stand for a checkout of OAI and for this tree.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

HERE = PurePosixPath("/ws")
OAI = PurePosixPath("/oai")
OAI_TARGETS = OAI / "cmake_targets"
GIVEN = {"OAI": str(OAI), "WS": str(HERE)}
PLACEHOLDERS = {"<OAI>": OAI, "<OAI directory>": OAI, "<here>": HERE}
BLOCK = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Folders that a build or a run makes in this tree.
MADE = re.compile(r"build.*|out|\.venv")


@dataclass(frozen=True)
class Command:
    line: int
    block: int
    words: list[str]


def lines(text: str) -> Iterator[tuple[int, int, str]]:
    """As (line, block, text): the lines of the shell blocks, those that end with a backslash joined."""
    for number, block in enumerate(BLOCK.finditer(text)):
        first = text.count("\n", 0, block.start(1)) + 1
        joined = re.sub(r"(\\\n)+", lambda ends: " " * len(ends[0]), block[1])
        at = 0
        for line in joined.splitlines(keepends=True):
            yield first + block[1].count("\n", 0, at), number, line
            at += len(line)


def commands(text: str) -> Iterator[Command]:
    """The commands of a document's shell blocks, with the values of variables that its blocks set."""
    variables: dict[str, str] = {}
    for line, block, whole in lines(text):
        for placeholder, path in PLACEHOLDERS.items():
            whole = whole.replace(placeholder, str(path))
        for part in re.split(r"&&|\|\||[|;]", re.sub(r"(^|\s)#.*", "", whole)):
            try:
                words = shlex.split(re.sub(r"\$(\w+)", lambda v: variables.get(v[1], v[0]), part))
            except ValueError:
                continue  # no shell: a program's output
            assignment = re.fullmatch(r"([A-Z]+)=(.*)", words[0]) if len(words) == 1 else None
            if assignment:
                variables[assignment[1]] = GIVEN.get(assignment[1], assignment[2])
            elif words:
                yield Command(line, block, words)


def below(folder: PurePosixPath, path: str) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(folder / path))


def after(option: str, words: list[str]) -> str | None:
    at = words.index(option) + 1 if option in words else len(words)
    return words[at] if at < len(words) else None


@dataclass
class Reader:
    """A reader who types the commands of one page."""

    names: set[str]  # files and folders of this tree, relative to its root
    home: PurePosixPath  # the page's folder
    places: set[PurePosixPath] = field(default_factory=set)  # where the reader may be; empty = not known
    made: set[PurePosixPath] = field(default_factory=set)  # build folders in OAI
    block: int = -1

    def errors(self, command: Command) -> Iterator[str]:
        if command.block != self.block:
            self.block = command.block
            self.places |= {HERE, self.home}
        words = command.words
        if words[0].endswith("build_oai"):
            yield from self.build_oai(words)
        if words[0] == "cd" and len(words) == 2:
            yield from self.enter(words[1])
            return
        folder = after("-B", words) if words[0] == "cmake" else None
        self.made |= {below(place, folder) for place in self.places if folder}
        for word in words:
            path = word.rpartition("=")[2]
            if "/" in path and not re.search(r"[<>*?$…~:]|^-", path) and not self.is_there(path):
                yield f"{path}: no file of this tree, and no command before makes it"

    def build_oai(self, words: list[str]) -> Iterator[str]:
        if words[0] == "./build_oai" and self.places and OAI_TARGETS not in self.places:
            yield "./build_oai: no command before enters OAI's cmake_targets"
        self.made.add(OAI_TARGETS / (after("-d", words) or "ran_build") / "build")

    def enter(self, folder: str) -> Iterator[str]:
        if re.search(r"[<$~]", folder):
            self.places = set()
            return
        entered = {below(place, folder) for place in self.places}
        there = {place for place in entered if self.exists(place)}
        if entered and not there:
            yield f"cd {folder}: no such folder, and no command before makes it"
        self.places = there

    def exists(self, path: PurePosixPath) -> bool:
        """Whether a file or folder is there. OAI's are not known, but for the builds that commands made."""
        if path.is_relative_to(OAI):
            return "build" not in path.parts or not self.made.isdisjoint((path, *path.parents))
        if not path.is_relative_to(HERE):
            return False
        name = path.relative_to(HERE)
        return str(name) in self.names | {"."} or any(MADE.fullmatch(part) for part in name.parts)

    def is_there(self, path: str) -> bool:
        """Whether the path is there, or is of neither this tree nor OAI."""
        places = {HERE} if path.startswith("/") else self.places
        found = {below(place, path) for place in places}
        if not found or any(map(self.exists, found)):
            return True
        if path.startswith("/"):
            return not any(one.is_relative_to(root) for one in found for root in (HERE, OAI))
        return not any(
            self.exists(below(place, PurePosixPath(path).parts[0])) for place in self.places | {HERE}
        )
