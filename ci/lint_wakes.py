#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call that wakes a thread of a pool stands in the table of sleep/PARK.md, and each caller there calls.
A row is a function. Its last cell has the files, each with its functions that call it, and notes in brackets.
Rule: wakes."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lintkit import MODULE, Finding, line_of, main, read, split_c, tree_files

PAGE = f"{MODULE}/sleep/PARK.md"
FILES = re.compile(rf"{MODULE}/((?:core|tasks|pool|prewake|sleep|setup|cancel|wide)/\w+\.[ch])")
WAKES = re.compile(
    r"(?<!\w)(ws_(?:post|post_kind|fill_slot|search_found|wake(?:_\w+)?|token|need_guard|note_idle"
    r"|hot_begin|os_futex_wake))\("
)
FUNCTION = re.compile(r"^[A-Za-z_][^;{}]*?(?<!\w)(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| (ws_\w+) \|[^|]*\|([^|]*)\|$", re.MULTILINE)
CALLERS = re.compile(r"`([\w/.]+)` ([\w, ]+)")


def calls(root: Path) -> Iterator[tuple[tuple[str, str, str], str, int]]:
    """Each call, and where it is."""
    for name in tree_files(root):
        if (path := FILES.fullmatch(name)) is None:
            continue
        code = split_c(read(root / name)).code
        for body in FUNCTION.finditer(code):
            for call in WAKES.finditer(body[2]):
                yield (path[1], body[1], call[1]), name, line_of(code, body.start(2) + call.start())


def check(root: Path) -> list[Finding]:
    page = read(root / PAGE)
    rows = {(path, name, row[1]): line_of(page, row.start()) for row in ROW.finditer(page)
            for path, names in CALLERS.findall(re.sub(r" \([^)]*\)", "", row[2]))
            for name in re.findall(r"\w+", names)}  # fmt: skip
    found = {call: (name, line) for call, name, line in calls(root)}
    return [
        Finding(*found[c], "wakes", f"{c[1]} calls {c[2]}: no row in PARK.md") for c in found.keys() - rows
    ] + [Finding(PAGE, rows[c], "wakes", f"{c[0]}: {c[1]} does not call {c[2]}") for c in rows.keys() - found]


if __name__ == "__main__":
    sys.exit(main(check))
