#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prose avoids the words of the table "Words to avoid" in docs/glossary.md.

Rules: word (whole words, in any case), verb (words whose row ends with "(public headers)": in those headers
only), table (the glossary has no such table). Prose is: Markdown without code; comments and strings of C and
Python; all of shell, CMake, Coccinelle, YAML, settings and models.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lintkit import (
    C_SUFFIXES,
    C_TOKEN,
    MODULE,
    Finding,
    blank,
    is_python,
    is_shell,
    line_of,
    main,
    read,
    tree_files,
)

GLOSSARY = "docs/glossary.md"
HEADERS = f"{MODULE}/include/"
# Output of programs, and this lint's own test, which quotes the words.
QUOTES = ("docs/results/", "ci/tests/test_lint_words.py")

# Files that are read whole: their words are prose, or commands that the list does not have.
WHOLE = (".cmake", "CMakeLists.txt", ".cocci", ".conf", ".env", ".yaml", ".yml", ".pml", ".tla")

SECTION = re.compile(r"^## Words to avoid$.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\|(?![-\s|]*\|$)([^|]+)\|([^|]+)\|$", re.MULTILINE)
IN_HEADERS = re.compile(r"\(public headers\)")
FENCE = re.compile(r"^[ ]*(```|~~~).*?^[ ]*\1[^\n]*$", re.DOTALL | re.MULTILINE)
TICKED = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
# Characters that may separate two words of a phrase: a line's end, the begin of a comment or of a string.
BETWEEN = r"[\s/*#\"'\\]+"


@dataclass(frozen=True)
class Avoided:
    """One row of the table."""

    words: re.Pattern[str]
    longest: list[str]  # the longest word of each phrase, in lower case
    instead: str
    headers_only: bool

    def concerns(self, name: str, text: str, lower: str) -> bool:
        """Whether the file has the words at all, in prose or in code. Quick, for most files do not."""
        if self.headers_only and not name.startswith(HEADERS):
            return False
        return any(word in lower for word in self.longest) and self.words.search(text) is not None


def avoided(glossary: str) -> list[Avoided]:
    section = SECTION.search(glossary)
    rows = ROW.findall(section[0])[1:] if section else []  # the first row is the heading
    return [avoided_row(words, instead) for words, instead in rows]


def avoided_row(words: str, instead: str) -> Avoided:
    phrases = [phrase.strip() for phrase in IN_HEADERS.sub("", words).replace("`", "").split(",")]
    texts = [BETWEEN.join(map(re.escape, phrase.split())) for phrase in phrases if phrase]
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(texts)})(?![\w-])", re.IGNORECASE)
    longest = [max(phrase.lower().split(), key=len) for phrase in phrases if phrase]
    return Avoided(pattern, longest, instead.strip().replace("*", ""), IN_HEADERS.search(words) is not None)


def without(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: blank(match[0]), text)


def prose_of_c(text: str) -> str:
    """Comments and strings, each where it stands; all else is blank."""
    prose: list[str] = []
    at = 0
    for token in C_TOKEN.finditer(text):
        prose.append(blank(text[at : token.start()]))
        prose.append(blank(token[0]) if token["include"] else token[0])
        at = token.end()
    return "".join(prose) + blank(text[at:])


def prose_of_python(text: str) -> str:
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    prose = list(blank(text))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            begin = starts[token.start[0] - 1] + token.start[1]
            end = starts[token.end[0] - 1] + token.end[1]
            prose[begin:end] = text[begin:end]
    return "".join(prose)


def prose(root: Path, name: str, text: str) -> str:
    """The part of a file that people read, at the same lines; empty for files that are not checked."""
    if name.endswith(".md"):
        if name == GLOSSARY:
            text = without(SECTION, text)
        return without(TICKED, without(FENCE, text))
    if name.endswith(C_SUFFIXES):
        return prose_of_c(text)
    if is_python(root, name):
        return prose_of_python(text)
    return text if name.endswith(WHOLE) or is_shell(root, name) else ""


def is_quoted(text: str, match: re.Match[str]) -> bool:
    """The word alone between quotes is a name: the user "nobody" of the system."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return before == after and before in ("'", '"')


def check_prose(name: str, text: str, rows: list[Avoided]) -> Iterator[Finding]:
    for row in rows:
        rule = "verb" if row.headers_only else "word"
        for match in row.words.finditer(text):
            if is_quoted(text, match):
                continue
            word = " ".join(re.split(BETWEEN, match[0]))
            yield Finding(name, line_of(text, match.start()), rule, f'"{word}": write {row.instead}')


def check(root: Path) -> Iterator[Finding]:
    glossary = root / GLOSSARY
    rows = avoided(read(glossary)) if glossary.is_file() else []
    if not rows:
        yield Finding(GLOSSARY, 1, "table", 'the section "Words to avoid" with its table is missing')
    for name in tree_files(root):
        if name.startswith(QUOTES):
            continue
        text = read(root / name)
        lower = text.lower()
        if found := [row for row in rows if row.concerns(name, text, lower)]:
            yield from check_prose(name, prose(root, name, text), found)


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
