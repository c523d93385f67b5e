# SPDX-License-Identifier: BSD-3-Clause
"""Which runs a session takes, and in which order: rounds of all cells, shuffled, so that what changes on the
machine hits all of them alike."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Iterator, NamedTuple, Sequence

from nrbench.radio.capacity import Limits, next_timescale
from nrbench.radio.record import Cell, RadioRun
from nrbench.session import in_rounds

START_S = 15.0  # of a run beside its steady stretch: both programs start and attach


class Step(NamedTuple):
    round: int
    cell: Cell
    timescale: float
    seconds: float = 0.0  # about

    @property
    def text(self) -> str:
        return f"{self.cell.pools}, {self.cell.prb} PRB, timescale {self.timescale:g}"


@dataclass(frozen=True)
class Plan:
    """Each round has each cell at each timescale; or, where limits are given, each cell once, at a timescale
    that its runs so far decide."""

    cells: Sequence[Cell]
    rounds: int
    seed: int
    seconds: float  # the steady stretch of a run
    timescales: Sequence[float] = ()
    limits: Limits | None = None

    def steps(self, runs: Sequence[RadioRun]) -> Iterator[Step]:
        """Those that are left. A longer session continues a shorter one.

        @param runs  those that are there; it grows while steps are taken"""
        places = list(product(self.cells, self.timescales or (None,)))
        there = {(run.round, run.cell, run.timescale if self.timescales else None) for run in runs}
        for number, (cell, timescale) in in_rounds(places, self.rounds, self.seed):
            if (number, cell, timescale) in there:
                continue
            if self.limits:
                timescale = next_timescale([run for run in runs if run.cell == cell], self.limits)
            assert timescale is not None
            yield Step(number, cell, timescale, START_S + self.seconds)
