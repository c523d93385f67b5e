# SPDX-License-Identifier: BSD-3-Clause
"""Which runs a session takes, and in which order: rounds of all cells, shuffled, so that what changes on the
machine hits all of them alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, NamedTuple, Sequence

from nrbench.radio.capacity import Limits, Trial, next_timescale
from nrbench.radio.record import Pool, RadioRun
from nrbench.session import in_rounds

NO_SPIN = "none"  # no new pool takes part
START_S = 20.0  # of a run beside its steady stretch: both programs start, attach and end


class Cell(NamedTuple):
    """What is compared: all that the runs of one row of a table share but the timescale. A field has the name
    that it has in a run."""

    version: str | None
    prb: int
    placement: str
    noise: str
    gnb: Pool
    ue: Pool
    spin: str

    @property
    def pools(self) -> str:
        return f"gNB {self.gnb}, UE {self.ue}" + ("" if self.spin == NO_SPIN else f", {self.spin}")

    @property
    def setting(self) -> tuple[object, ...]:
        """All but the pools."""
        return self[:4]

    @property
    def is_old(self) -> bool:
        """What the others are compared with."""
        return self.gnb == self.ue == "old"

    def __str__(self) -> str:
        return f"{self.pools}, {self.prb} PRB, {self.placement}"


def cell_of(run: RadioRun) -> Cell:
    return Cell(*(getattr(run, name) for name in Cell._fields))


def trials(runs: Sequence[RadioRun]) -> list[Trial]:
    return [Trial(run.timescale, run.lives) for run in counted(runs)]


def counted(runs: Sequence[RadioRun]) -> list[RadioRun]:
    """Without those that the user interrupted."""
    return [run for run in runs if run.outcome != "interrupted"]


class Step(NamedTuple):
    round: int
    cell: Cell
    timescale: float
    seconds: float = 0.0  # about

    @property
    def text(self) -> str:
        return f"{self.cell}, timescale {self.timescale:g}"


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

    def _places(self) -> list[tuple[Cell, float | None]]:
        return [(cell, timescale) for cell in self.cells for timescale in self.timescales or (None,)]

    def missing(self, runs: Sequence[RadioRun]) -> list[tuple[int, Cell, float | None]]:
        """In order. The order does not depend on the number of rounds: a longer session continues a shorter
        one."""
        there = {
            (run.round, cell_of(run), run.timescale if self.timescales else None) for run in counted(runs)
        }
        every = ((number, *place) for number, place in in_rounds(self._places(), self.rounds, self.seed))
        return [one for one in every if one not in there]

    def steps(self, runs: Sequence[RadioRun]) -> Iterator[Step]:
        """@param runs  those that are there; it grows while steps are taken"""
        for number, cell, timescale in self.missing(runs):
            if self.limits:
                timescale = next_timescale(trials([run for run in runs if cell_of(run) == cell]), self.limits)
            assert timescale is not None
            yield Step(number, cell, timescale, self.run_s)

    @property
    def run_s(self) -> float:
        """About."""
        return START_S + self.seconds
