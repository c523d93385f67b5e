#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each ratio, time and share of the pages below has a source.

`nrbench results` makes it of a raw run, between its marks. Or it is of a command, in backticks or a block. Or
a line of figures.txt allows it: page | words of the page around it | the file that has it | reason. Rules:
figure (it has no source), list (page or file have it no more, or the list is too long)."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lint_docs import FENCE, TICKED, without
from lintkit import Finding, line_of, main, read

PAGES = ("README.md", *(f"docs/{name}.md" for name in ("results", "prewake", "benchmarking", "scaling")))
LIST = "ci/figures.txt"
LISTED_MAX = 20
MADE = re.compile(r"<!-- results:.*?<!-- end -->|(?<=\]\()[^)]*", re.DOTALL)  # or the target of a link
# With a decimal point, or before a unit, maybe in a list; or "5 of 6". No version, date, case or commit.
NUMBER = r"(?<![\w.,/:-])\d[\d,]*(?:\.\d+)?(?!\w|[.,-]\d)"
UNIT = rf"(?:(?: to|,| and| or|–) ?{NUMBER})* ?(?:[×%]|(?:x|times|[nmuµ]?s|min)\b)"
FIGURE = re.compile(rf"{NUMBER}(?={UNIT}| of \d)|(?<![\w.])\d+\.\d+(?!\w|\.\d)")


def digits(figure: str) -> str:
    """Whatever the unit: 95 % is 0.95, and 1.5 ms are 1500 µs."""
    return re.sub(r"\D", "", figure).strip("0")


def allow(root: Path, texts: dict[str, str]) -> Iterator[Finding]:
    """Takes the words of the list out of the pages' texts."""
    lines = read(root / LIST).splitlines() if (root / LIST).exists() else []
    if len(lines) > LISTED_MAX:
        yield Finding(LIST, len(lines), "list", f"{len(lines)} lines; {LISTED_MAX} are allowed")
    for at, line in enumerate(lines, 1):
        page, words, source, _ = line.split(" | ")
        before, there = texts[page], set(map(digits, re.findall(r"\d[\d.,]*", read(root / source))))
        texts[page] = without(re.compile(r"\s+".join(map(re.escape, words.split()))), before)
        if texts[page] == before or not there.issuperset(map(digits, FIGURE.findall(words))):
            yield Finding(LIST, at, "list", f"{page} has not these words, or {source} not their figures")


def check(root: Path) -> Iterator[Finding]:
    texts = {page: read(root / page) for page in PAGES if (root / page).exists()}
    for pattern in (MADE, FENCE, TICKED):
        texts = {page: without(pattern, text) for page, text in texts.items()}
    yield from allow(root, texts)
    for page, text in texts.items():
        for at in FIGURE.finditer(text):
            yield Finding(page, line_of(text, at.start()), "figure", f"{at[0]}: no raw run or line of {LIST}")


if __name__ == "__main__":
    sys.exit(main(check))
