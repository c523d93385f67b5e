# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a command gives with a file of golden/. WS_UPDATE_GOLDEN=1 writes the files anew.

White space, rules of tables, paths and a last digit behind a point make no difference; a word, a count and an
order do."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import os
import re
from pathlib import Path
from typing import Iterable

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).resolve().parents[2]
DIGITS = 5  # of a float in a CSV file
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
RULE = re.compile(r"[-─━=]{3,}")


def _words(text: str) -> list[str]:
    return [word for word in text.split() if not RULE.fullmatch(word)]


def _near(one: str, other: str) -> bool:
    """Integers are counts: equal. Others may differ by one in their last digit."""
    if "." not in other:
        return one == other
    step = 10.0 ** -len(other.partition(".")[2].partition("e")[0])
    if "e" in other:
        step *= 10.0 ** int(other.partition("e")[2])
    return abs(float(one) - float(other)) <= 1.01 * step


def _same(one: str, other: str) -> bool:
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other))
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(itertools.starmap(_near, numbers))


def plain(text: str, *folders: Path) -> str:
    """Without what differs between machines. @param folders  whose paths become <1>, <2> ..."""
    for number, folder in enumerate(folders, start=1):
        text = text.replace(str(folder), f"<{number}>")
    return text.replace(str(ROOT), "<root>")


def table(path: Path, leave_out: Iterable[str] = ()) -> str:
    """A CSV file with its floats rounded, without some columns."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in set(leave_out)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_rounded(row[name]) for name in names] for row in rows)
    return out.getvalue()


def _rounded(cell: str) -> str:
    return f"{float(cell):.{DIGITS}g}" if re.fullmatch(r"-?\d+\.\d+(e[-+]?\d+)?", cell) else cell


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("WS_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    wanted = path.read_text(encoding="utf-8")
    here, there = _words(text), _words(wanted)
    if len(here) == len(there) and all(map(_same, here, there)):
        return
    lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), str(path), "now", lineterm="", n=1)
    shown = "\n".join(itertools.islice(lines, 60))
    raise AssertionError(
        f"WS_UPDATE_GOLDEN=1 writes {path.name} anew, if this is what it should be:\n{shown}"
    )
