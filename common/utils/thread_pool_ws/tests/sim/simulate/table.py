# SPDX-License-Identifier: BSD-3-Clause
"""Tables for a terminal: numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence


def print_line(cells: Sequence[str], widths: Sequence[int], left: int) -> None:
    texts = [
        cell.ljust(width) if i < left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths))
    ]
    print("  ".join(texts).rstrip(), flush=True)
