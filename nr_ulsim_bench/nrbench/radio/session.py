# SPDX-License-Identifier: BSD-3-Clause
"""The runs of `nrbench radio`: which are planned, how one is taken, and the way to the report."""

import os
from itertools import product
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.radio import pair
from nrbench.radio.capacity import Limits, next_timescale
from nrbench.radio.record import RUNS, Cell, RadioRun, read_runs
from nrbench.radio.report import report
from nrbench.radio.softmodem import Pair, Programs
from nrbench.record import ResultsError, now
from nrbench.session import OK, WAY_OUT, Lane, Session, in_rounds, results_of

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
    environment: tuple[tuple[str, str], ...] = ()  # for both programs of all runs

    @property
    def shared(self) -> dict[str, Any]:
        """Fields of all runs."""
        return {"seconds": self.seconds, "environment": dict(self.environment)}

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


def take(programs: Programs, shared: Mapping[str, Any], step: Step) -> RadioRun:
    """@param shared  fields of all runs: sweep, host, commit, and those of the plan"""
    asked = Pair(programs, step.cell, step.timescale, shared["seconds"], shared["environment"])
    about = {"round": step.round, "began": now(), "timescale": step.timescale}
    return RadioRun.model_validate({**shared, **about, **step.cell._asdict(), **pair.take(asked)})


def begin(name: str, path: Path) -> Session[RadioRun]:
    """With the runs that an earlier call took.

    @param name  runs that share it may be continued: same machine, same programs, same way to run them"""
    runs = read_runs(path) if path.exists() else []
    if any(run.sweep != name for run in runs):
        others = "runs of another machine, other programs or other options"
        raise ResultsError(f"{path}: holds {others} ({WAY_OUT})")
    return Session(path, RadioRun.model_dump_json, runs)


def lane(plan: Plan, runs: Sequence[RadioRun], take: Callable[[Step], Sequence[RadioRun]]) -> Lane[RadioRun]:
    """Of the runs that are left. Of a search those after the next round have no timescale yet.

    @param runs  those that are there; it grows"""
    steps = list(plan.steps(runs))
    return Lane("", plan.steps(runs), take, len(steps), sum(step.seconds for step in steps))


def carry_out(
    name: str, plan: Plan, take: Callable[[Step], RadioRun], out: Path, fresh: bool, dry_run: bool
) -> int:
    """
    Take the runs that are not there yet, then report on all. Or only show them, of a search those of the next
    round, and change nothing.

    @return 0; 1 = no run came to its end, or some are left; 130 = interrupted, the same command goes on
    """

    def announced(session: Session[RadioRun]) -> Lane[RadioRun]:
        here = lane(plan, session.lines, lambda step: [take(step)])
        session.announce(f"{len(plan.cells)} variants", [here])
        return here

    if dry_run:
        steps = list(announced(begin(name, Path(os.devnull) if fresh else out / RUNS)).steps)
        for step in steps:
            if not plan.search or step.round == steps[0].round:
                print(step.round, step.text)
        return OK
    with results_of(out, RUNS, fresh) as path:
        session = begin(name, path)
        session.run([announced(session)])
        return end(session, out)


def end(session: Session[RadioRun], out: Path) -> int:
    """@return exit status, as carry_out()"""

    def failure(run: RadioRun) -> str:
        return "" if run.outcome == "ok" else run.cause

    return session.end(lambda runs, warnings: report(runs, out, warnings), failure, are_results=True)
