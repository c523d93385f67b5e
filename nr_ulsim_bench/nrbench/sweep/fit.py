# SPDX-License-Identifier: BSD-3-Clause
"""Tables for narrow terminals: words are wrapped, numbers never, and columns that do not fit come below."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from nrbench.sweep.table import GAP, Table

WORDS = {"variant", "verdict", "cause", "host", "case", "figure"}  # columns of words; others are of numbers
LEADING = {"threads", "variant", "host", "case", "figure"}  # what a row is of; repeated in each part
WORD_MAX = 24  # a longer word is broken


class Fitted(NamedTuple):
    table: Table
    widths: list[int]


def _headings(table: Table) -> list[list[str]]:
    """Words above each column; a group's heading stands above its first one."""
    seen = ""
    found = []
    for column in table.columns:
        found.append(column.group.split() if column.group != seen else [])
        seen = column.group
    return found


def _longest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def _natural(table: Table) -> list[int]:
    return [
        _longest([column.name, *heading, *(row[index] for row in table.rows)])
        for index, (column, heading) in enumerate(zip(table.columns, _headings(table)))
    ]


def _least(table: Table) -> list[int]:
    found = []
    for index, (column, heading) in enumerate(zip(table.columns, _headings(table))):
        cells = [row[index] for row in table.rows]
        if column.name in WORDS:
            cells = [word[:WORD_MAX] for cell in cells for word in cell.split()]
        found.append(_longest([*column.name.split(), *heading, *cells]))
    return found


def _parts(least: Sequence[int], leading: int, width: int) -> Iterator[list[int]]:
    """Columns of each part, the leading ones in all of them."""
    first = list(range(leading))
    room = width - sum(least[index] + GAP for index in first)
    part: list[int] = []
    used = 0
    for index in range(leading, len(least)):
        needed = least[index] + GAP
        if part and used + needed > room:
            yield first + part
            part, used = [], 0
        part.append(index)
        used += needed
    yield first + part


def _widths(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """The column that can give most gives first."""
    found = list(natural)
    for _ in range(sum(natural) + GAP * len(natural) - width):
        most = max(range(len(found)), key=lambda index: found[index] - least[index])
        found[most] = max(least[most], found[most] - 1)
    return found


def fitted(table: Table, width: int) -> Iterator[Fitted]:
    """The table, or its parts one below the other; notes stand below the last."""
    least = _least(table)
    names = [column.name not in LEADING for column in table.columns]
    leading = names.index(True) if True in names else len(names)
    parts = list(_parts(least, leading, width))
    for number, columns in enumerate(parts, start=1):
        part = Table(
            table.title if number == 1 else f"{table.title} (continued)",
            [table.columns[index] for index in columns],
            [[row[index] for index in columns] for row in table.rows],
            table.notes if number == len(parts) else [],
        )
        yield Fitted(part, _widths(_natural(part), _least(part), width))
