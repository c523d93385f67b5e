# SPDX-License-Identifier: BSD-3-Clause
"""All that is shown of a case, in order: the same on the terminal, in the text file and on the page."""

from __future__ import annotations

from typing import Iterator

from nrbench.sweep.cells import CaseResult
from nrbench.sweep.spins import spin_tables
from nrbench.sweep.table import WIDTH, Table, cost_tables, median_tables, ratio_tables


def case_tables(result: CaseResult, width: int = WIDTH) -> Iterator[Table]:
    yield from median_tables(result, width)
    yield from ratio_tables(result)
    yield from spin_tables(result)
    yield from cost_tables(result, width)
