#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the prose names is there, and nothing in the tree speaks of one machine.

Rules: link, anchor (Markdown links inside the tree), path (file names in backticks), command (files and
folders that commands in shell blocks name), reminder (reminder words carry an issue number), spdx (every
source file), machine (no absolute path of a home or work folder).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import doccommands
from lintkit import MODULE, ROOMS, Finding, is_python, is_shell, line_of, main, read, tree_files

SOURCE_SUFFIXES = {
    ".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".cocci", ".pml", ".tla", ".litmus", ".toml",
    ".yml", ".yaml", ".service",
}  # fmt: skip
SOURCE_NAMES = {"CMakeLists.txt", "Dockerfile", "Containerfile"}
SPDX_LINES = 5
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
REMINDER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
ISSUE = re.compile(r"#\d+")
MACHINE = re.compile(r"(?<![\w.$})~-])/(?:ro" r"ot|wo" r"rk|ho" r"me/\w[\w.-]*)/")

# Folders of this tree in which a name in backticks is taken for a file of it. OAI has folders of the same
# names; what lies in these is OAI's.
FOLDERS = (f"{MODULE}/", "openair1_patches/", "nr_ulsim_bench/", "cmake_targets/", "ci/", ".ci/", "docs/")
OAI_FOLDERS = tuple(f"cmake_targets/{name}" for name in ("build_oai", "ran_build", "tools", "phy_simulators"))
# Written by a run, so not in the tree.
MADE = re.compile(r"^(build|out/|\.venv|\.\.)")
MODULE_FILE = re.compile(rf"(?:(?:{'|'.join(ROOMS)})/)?ws_\w+\.[ch]")

FENCE = re.compile(r"^[ ]{0,3}(```|~~~).*?^[ ]{0,3}\1[^\n]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(
    r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s)>]+)>?[^)\n]*\)"  # [text](target "title")
    r"|^\[[^\]]+\]:\s+(\S+)",  # [name]: target
    re.MULTILINE,
)
TICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
HEADING = re.compile(r"^#{1,6}[ ]+(.+?)[ ]*#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def anchors(markdown: str) -> set[str]:
    """The anchors of a page, made of its headings as the forges make them."""
    found = set(ANCHOR.findall(markdown))
    for heading in HEADING.findall(FENCE.sub(blank, markdown)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = 0
        while (candidate := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(candidate)
    return found


def inside(root: Path, page: str, target: str) -> Path:
    return root / target.lstrip("/") if target.startswith("/") else (root / page).parent / target


def check_links(root: Path, page: str, text: str) -> Iterator[Finding]:
    prose = TICKED.sub(blank, FENCE.sub(blank, text))
    for link in LINK.finditer(prose):
        target = link[1] or link[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        line = line_of(prose, link.start())
        name, _, anchor = unquote(target).partition("#")
        path = inside(root, page, name) if name else root / page
        if not path.exists():
            yield Finding(page, line, "link", f"{target}: there is no such file")
        elif anchor and path.suffix == ".md" and anchor not in anchors(read(path)):
            yield Finding(page, line, "anchor", f"{target}: the page has no such heading")


def path_in(words: str) -> str | None:
    """The path of this tree that a text in backticks names; of a command, its first word."""
    word = re.sub(r":\d+$", "", words.split()[0].rstrip(":,;"))
    if re.search(r"[<>{}$…=()]|\.\.\.", word) or MADE.match(word) or word.startswith(OAI_FOLDERS):
        return None
    return word if word.startswith(FOLDERS) or MODULE_FILE.fullmatch(word) else None


def named(files: set[str], folders: set[str], path: str) -> bool:
    plain = path.rstrip("/")
    if MODULE_FILE.fullmatch(plain):
        return any(f"/{file}".endswith(f"/{plain}") for file in files)
    if any(char in plain for char in "*?["):
        return any(fnmatchcase(file, plain) for file in files | folders)
    return plain in files or plain in folders


def check_paths(page: str, text: str, files: set[str], folders: set[str]) -> Iterator[Finding]:
    prose = FENCE.sub(blank, text)
    for ticked in TICKED.finditer(prose):
        path = path_in(ticked[1]) if ticked[1].strip() else None
        if path is not None and not named(files, folders, path):
            yield Finding(page, line_of(prose, ticked.start()), "path", f"{path}: the tree has no such file")


def check_commands(page: str, text: str, names: set[str]) -> Iterator[Finding]:
    reader = doccommands.Reader(names, doccommands.below(doccommands.HERE, page).parent)
    for command in doccommands.commands(text):
        for error in reader.errors(command):
            yield Finding(page, command.line, "command", error)


def is_source(root: Path, name: str) -> bool:
    path = PurePosixPath(name)
    if path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES:
        return True
    return is_python(root, name) or is_shell(root, name)


def check_text(name: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        word = REMINDER.search(line)
        if word and not ISSUE.search(line):
            yield Finding(name, number, "reminder", f"{word[0]} without an issue number")
        place = MACHINE.search(line)
        if place:
            yield Finding(name, number, "machine", f"{place[0]} is a path of one machine")


def is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(4096)


def check(root: Path) -> Iterator[Finding]:
    names = tree_files(root)
    files = set(names)
    folders = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    for name in names:
        if not is_text(root / name):
            continue
        text = read(root / name)
        yield from check_text(name, text)
        if is_source(root, name) and SPDX not in "\n".join(text.split("\n")[:SPDX_LINES]):
            yield Finding(name, 1, "spdx", f"the first {SPDX_LINES} lines lack {SPDX}")
        if name.endswith(".md"):
            yield from check_links(root, name, text)
            yield from check_paths(name, text, files, folders)
            yield from check_commands(name, text, files | folders)


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
