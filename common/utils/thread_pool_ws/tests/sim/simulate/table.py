# SPDX-License-Identifier: BSD-3-Clause
"""Tables for a terminal: a title, columns named with their unit, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence


def print_line(cells: Sequence[str], widths: Sequence[int], left: int) -> None:
    texts = [
        cell.ljust(width) if i < left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths))
    ]
    print("  ".join(texts).rstrip(), flush=True)


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """The first `left` columns stand to the left."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    print(title)
    for row in [heads, *rows]:
        print_line(row, widths, left)
