# SPDX-License-Identifier: BSD-3-Clause
"""What is shown of a case, in order."""

from __future__ import annotations

from typing import Iterator

from nrbench.sweep.cells import CaseResult
from nrbench.sweep.spins import spin_tables
from nrbench.sweep.table import WIDTH, Table, cost_tables, main_figure, median_tables, ratio_tables

MANY = 6  # variants, from which on a terminal gets the main figure only
REST = "Of so many variants the other figures, and what runs cost, are in report.txt and report.html only."


def case_tables(result: CaseResult, width: int = WIDTH) -> Iterator[Table]:
    """All: in the text file and on the page."""
    yield from median_tables(result, width)
    yield from ratio_tables(result)
    yield from spin_tables(result)
    yield from cost_tables(result, width)


def is_long(result: CaseResult) -> bool:
    return len(result.group.variants) > MANY


def short_tables(result: CaseResult, width: int = WIDTH) -> Iterator[Table]:
    """As many as somebody reads on a terminal."""
    main = main_figure(result)
    if not is_long(result) or main is None:
        yield from case_tables(result, width)
        return
    yield from median_tables(result, width)
    yield from ratio_tables(result, [main])
    yield from spin_tables(result)
