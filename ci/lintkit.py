# SPDX-License-Identifier: BSD-3-Clause
"""What the lints share: the list of files, C text without its comments, and the way a finding is reported."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MODULE = "common/utils/thread_pool_ws"
# The rooms of the pool from bottom to top: a file uses its own room and those below (lint_rooms.py).
ROOMS = ("base", "os", "tasks", "pool", "trace", "prewake", "sleep", "observe", "core", "setup", "parallel",
         "fiber", "sync")  # fmt: skip
# Libraries of their own beside the rooms. A wing uses the public headers and base/, and no room uses a wing.
WINGS = ("api",)
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".hpp")


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


@dataclass(frozen=True)
class CText:
    """A C file's text in two parts of the same shape: each character is blank in one of them."""

    code: str
    comments: str


PRODUCT = tuple(f"{MODULE}/{folder}/" for folder in (*ROOMS, *WINGS))


def is_product(name: str) -> bool:
    """Whether the file lies in a room or a wing of the module, and is no test or example of a wing."""
    return name.startswith(PRODUCT) and not re.search("/(tests|examples)/", name)


def tree_files(root: Path) -> list[str]:
    """Files below root: what git tracks or would track; without git, all but build trees."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    git = subprocess.run(command, capture_output=True, check=False) if shutil.which("git") else None
    if git is not None and git.returncode == 0:
        names: Iterable[str] = git.stdout.decode().split("\0")
    else:
        names = walk(root)
    return sorted({name for name in names if name and (root / name).is_file()})


def walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [
            f for f in folders if not f.startswith("build") and f not in (".git", ".venv", "__pycache__")
        ]
        for file in files:
            yield (Path(folder) / file).relative_to(root).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(200).decode("utf-8", errors="replace")


def is_shell(root: Path, name: str) -> bool:
    if name.endswith(".sh"):
        return True
    return "." not in Path(name).name and bool(re.match(r"#!.*\b(bash|sh)\b", first_line(root / name)))


def is_python(root: Path, name: str) -> bool:
    if name.endswith(".py"):
        return True
    return "." not in Path(name).name and bool(re.match(r"#!.*\bpython", first_line(root / name)))


C_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<include>^[ \t]*\#[ \t]*include[^\n]*)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def split_c(text: str) -> CText:
    """Strings lose their contents in both parts, except in an include line."""
    code: list[str] = []
    comments: list[str] = []
    at = 0
    for token in C_TOKEN.finditer(text):
        before = text[at : token.start()]
        word = token.group()
        code.append(before)
        comments.append(blank(before))
        if token["comment"]:
            code.append(blank(word))
            comments.append(word)
        else:
            code.append(word if token["include"] else word[0] + blank(word[1:-1]) + word[-1])
            comments.append(blank(word))
        at = token.end()
    code.append(text[at:])
    comments.append(blank(text[at:]))
    return CText("".join(code), "".join(comments))


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def report(name: str, findings: Iterable[Finding], notes: Iterable[str] = ()) -> int:
    ordered = sorted(set(findings))
    for finding in ordered:
        print(finding)
    for note in notes:
        print(f"note: {note}")
    print(f"{name}: {len(ordered)} finding{'' if len(ordered) == 1 else 's'}")
    return 1 if ordered else 0


def main(doc: str, check: Callable[[Path], Iterable[Finding]]) -> int:
    """The command line of a lint without options of its own."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--root", type=Path, default=repo_root(), help="tree to check (default: this one)")
    return report(Path(sys.argv[0]).name, check(parser.parse_args().root))


def repo_root() -> Path:
    return Path(__file__).resolve().parent.parent
