# SPDX-License-Identifier: BSD-3-Clause
"""The runs of `nrbench radio`, from the plan to the report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.radio.plan import Plan, Step
from nrbench.radio.record import RUNS, RadioRun, read_runs
from nrbench.record import ResultsError
from nrbench.session import OK, WAY_OUT, Lane, Session, results_of


def begin(name: str, path: Path) -> Session[RadioRun]:
    """With the runs that an earlier call took. @param name  as Radio.id"""
    runs = read_runs(path) if path.exists() else []
    if any(run.sweep != name for run in runs):
        raise ResultsError(
            f"{path}: holds runs of another machine, other programs or other options ({WAY_OUT})"
        )
    return Session(path, RadioRun.model_dump_json, runs)


@dataclass(frozen=True)
class Radio:
    """Which runs, and how to take one."""

    id: str  # runs that share it may be continued: same machine, same programs, same way to run them
    plan: Plan
    take: Callable[[Step], RadioRun]

    def lane(self, session: Session[RadioRun]) -> Lane[Step, RadioRun]:
        """With the runs that are left, which are announced."""

        def take(step: Step) -> list[RadioRun]:
            run = self.take(step)
            if run.outcome == "interrupted":
                raise KeyboardInterrupt
            return [run]

        planned = len(self.plan.missing(session.lines))
        lane = Lane("", self.plan.steps(session.lines), take, planned, planned * self.plan.run_s)
        session.announce(f"{len(self.plan.cells)} variants", [lane])
        return lane


def dry_run(radio: Radio, out: Path, fresh: bool) -> int:
    """Shows what is left to do, and changes nothing. A search shows the next timescale of each variant only:
    the others depend on how the runs end."""
    session = begin(radio.id, Path(os.devnull) if fresh else out / RUNS)
    steps = list(radio.lane(session).steps)
    if radio.plan.limits:
        steps = list({step.cell: step for step in reversed(steps)}.values())[::-1]
    for step in steps:
        print(step.round, step.text)
    return OK


def carry_out(radio: Radio, out: Path, fresh: bool = False) -> int:
    """
    Take the runs that are not there yet, then report on all.

    @return 0; 1 = no run came to its end, or some are left; 130 = interrupted, the same command goes on
    """
    with results_of(out, RUNS, fresh) as path:
        session = begin(radio.id, path)
        session.run([radio.lane(session)])
        return session.end(lambda runs, warnings: report(runs, out, warnings), failure, are_results=True)


def failure(run: RadioRun) -> str:
    return "" if run.outcome == "ok" else f"{run.outcome}: {run.error or 'no reason known'}"


def report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.radio.report import write_report  # loads matplotlib: a second

        names = write_report(runs, out, warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")
