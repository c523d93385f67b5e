# SPDX-License-Identifier: BSD-3-Clause
"""The runs of `nrbench radio`: which are planned, how one is taken, and the way to the report."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.radio import pair
from nrbench.radio.capacity import Limits, next_timescale
from nrbench.radio.record import RUNS, Cell, RadioRun, read_runs
from nrbench.radio.report import report
from nrbench.radio.softmodem import Pair, Programs
from nrbench.record import ResultsError
from nrbench.session import OK, WAY_OUT, Session, here, in_rounds, results_of

START_S = 15.0  # of a run beside its steady stretch: both programs start and attach


class Step(NamedTuple):
    round: int
    cell: Cell
    timescale: float
    seconds: float = 0.0  # about

    @property
    def text(self) -> str:
        return f"{self.cell.pools}, {self.cell.prb} PRB, timescale {self.timescale:g}"


class Plan(NamedTuple):
    """Each round has each cell at each timescale. In a search it has each cell once, at a timescale between
    two limits that the cell's runs so far decide."""

    cells: Sequence[Cell]
    rounds: int
    seed: int
    seconds: float  # the steady stretch of a run
    timescales: Sequence[float]
    search: bool = False

    def steps(self, runs: Sequence[RadioRun]) -> Iterator[Step]:
        """Those that are left. A longer session continues a shorter one.

        @param runs  those that are there; it grows while steps are taken"""
        places = list(product(self.cells, (None,) if self.search else self.timescales))
        there = {(run.round, run.cell, None if self.search else run.timescale) for run in runs}
        for number, (cell, timescale) in in_rounds(places, self.rounds, self.seed):
            if (number, cell, timescale) in there:
                continue
            if timescale is None:
                own = [run for run in runs if run.cell == cell]
                timescale = next_timescale(own, Limits(*self.timescales))
            yield Step(number, cell, timescale, START_S + self.seconds)


@dataclass(frozen=True)
class Take:
    """Takes runs of these programs."""

    programs: Programs
    shared: Mapping[str, Any]  # fields of all runs: sweep, host, commit, seconds

    def __call__(self, step: Step) -> RadioRun:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        asked = Pair(self.programs, step.cell, step.timescale, self.shared["seconds"])
        about = {"round": step.round, "began": began, "timescale": step.timescale}
        return RadioRun.model_validate({**self.shared, **about, **step.cell._asdict(), **pair.take(asked)})


def begin(name: str, path: Path) -> Session[RadioRun]:
    """With the runs that an earlier call took.

    @param name  runs that share it may be continued: same machine, same programs, same way to run them"""
    runs = read_runs(path) if path.exists() else []
    if any(run.sweep != name for run in runs):
        raise ResultsError(
            f"{path}: holds runs of another machine, other programs or other options ({WAY_OUT})"
        )
    return Session(path, RadioRun.model_dump_json, runs)


def left(plan: Plan, session: Session[RadioRun]) -> list[Step]:
    """The steps, which are announced. Of a search those after the next round have no timescale yet."""
    steps = list(plan.steps(session.lines))
    session.announce(f"{len(plan.cells)} variants", len(steps), sum(step.seconds for step in steps))
    return steps


def carry_out(
    name: str, plan: Plan, take: Callable[[Step], RadioRun], out: Path, fresh: bool, dry_run: bool
) -> int:
    """
    Take the runs that are not there yet, then report on all. Or only show them, of a search those of the next
    round, and change nothing.

    @return 0; 1 = no run came to its end, or some are left; 130 = interrupted, the same command goes on
    """
    if dry_run:
        steps = left(plan, begin(name, Path(os.devnull) if fresh else out / RUNS))
        for step in steps:
            if not plan.search or step.round == steps[0].round:
                print(step.round, step.text)
        return OK
    with results_of(out, RUNS, fresh) as path:
        session = begin(name, path)
        planned = left(plan, session)
        lane = here(plan.steps(session.lines), lambda step: [take(step)])
        session.run([lane], len(planned), sum(step.seconds for step in planned))
        return end(session, out)


def end(session: Session[RadioRun], out: Path) -> int:
    """@return exit status, as carry_out()"""

    def failure(run: RadioRun) -> str:
        return "" if run.outcome == "ok" else run.cause

    return session.end(lambda runs, warnings: report(runs, out, warnings), failure, are_results=True)
