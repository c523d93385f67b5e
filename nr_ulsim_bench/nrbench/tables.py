# SPDX-License-Identifier: BSD-3-Clause
"""Tables of text: rows of cells, for the terminal, text files and pages."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

WORDS = {"variant", "verdict", "cause", "host", "case", "figure", "options", "runs of", "line", "environment",
         "class", "CPU", "level", "check", "finding", "kernel", "governor", "quiet"}  # fmt: skip
GOOD, BAD = ("faster", "less"), ("slower", "more", "no result")


class Column(NamedTuple):
    """Columns with the same group stand below one heading."""

    group: str
    name: str

    @property
    def has_words(self) -> bool:
        return self.name in WORDS


class Table(NamedTuple):
    title: str
    columns: list[Column]
    rows: list[list[str]]
    notes: list[str]

    @property
    def all_rows(self) -> list[list[str]]:
        """The head first."""
        return [[column.name for column in self.columns], *self.rows]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings above those of the columns, each with its number of columns; empty if there are none."""
        runs = [(title, len(list(columns))) for title, columns in groupby(self.columns, lambda c: c.group)]
        return runs if any(title for title, _ in runs) else []


def plain_columns(*names: str) -> list[Column]:
    return [Column("", name) for name in names]


def is_good(word: str) -> bool | None:
    """Of a verdict; None: neither good nor bad, or no verdict."""
    return True if word in GOOD else False if word in BAD else None
