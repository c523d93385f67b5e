# SPDX-License-Identifier: BSD-3-Clause
"""What the lints share: the list of files, C text without its comments, and the way a finding is reported."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MODULE = "common/utils/thread_pool_ws"
# The rooms of the pool from bottom to top: a file uses its own room and those below (lint_rooms.py).
ROOMS = ("base", "os", "tasks", "pool", "classes", "trace", "record", "prewake", "sleep", "page", "observe",
         "core", "wide", "cancel", "setup", "parallel", "fiber", "sync")  # fmt: skip
# Libraries of their own beside the rooms. A wing uses the public headers and base/, and no room uses a wing.
WINGS = ("api",)
PRODUCT = tuple(f"{MODULE}/{folder}/" for folder in (*ROOMS, *WINGS))
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".hpp")
C_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<include>^[ \t]*\#[ \t]*include[^\n]*)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


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


def is_product(name: str) -> bool:
    """Whether the file lies in a room or a wing of the module, and is no test or example of a wing."""
    return name.startswith(PRODUCT) and not re.search("/(tests|examples)/", name)


def tree_files(root: Path) -> list[str]:
    """Files below root: what git tracks or would track; where git does not answer, all but build trees."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    git = subprocess.run(command, capture_output=True, check=False)
    names: Iterator[str] | list[str] = git.stdout.decode().split("\0")
    if git.returncode != 0:
        names = (path.relative_to(root).as_posix() for path in root.rglob("*"))
        names = (name for name in names if not re.search(r"(^|/)(build|\.git/|\.venv|__pycache__)", name))
    return sorted({name for name in names if name and (root / name).is_file()})


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def split_c(text: str) -> CText:
    """Strings lose their contents in both parts, except in an include line."""
    comments, at = "", 0
    for token in C_TOKEN.finditer(text):
        if token["comment"]:
            comments += blank(text[at : token.start()]) + token[0]
            at = token.end()

    def code(token: re.Match[str]) -> str:
        inner = blank(token[0][1:-1])
        return token["include"] or (
            f"{token[0][0]}{inner}{token[0][-1]}" if token["string"] else blank(token[0])
        )

    return CText(C_TOKEN.sub(code, text), comments + blank(text[at:]))


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def main(check: Callable[[Path], Iterable[Finding]]) -> int:
    """A lint's command line, which names the tree to check. Default: this one."""
    findings = sorted(set(check(Path(sys.argv[1]) if len(sys.argv) > 1 else repo_root())))
    print(*findings, f"{Path(sys.argv[0]).name}: {len(findings)} findings", sep="\n")
    return 1 if findings else 0


def repo_root() -> Path:
    return Path(__file__).resolve().parent.parent
