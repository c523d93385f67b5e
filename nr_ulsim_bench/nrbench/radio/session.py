# SPDX-License-Identifier: BSD-3-Clause
"""The runs of `nrbench radio`, from the plan to the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.radio.plan import Plan, Step
from nrbench.radio.record import RUNS, RadioRun, read_runs
from nrbench.record import ResultsError
from nrbench.session import OK, WAY_OUT, Session, here, results_of


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
            if not plan.limits or step.round == steps[0].round:
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
    return session.end(lambda runs, warnings: report(runs, out, warnings), failure, are_results=True)


def failure(run: RadioRun) -> str:
    return "" if run.outcome == "ok" else run.cause


def report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.radio.report import write_report  # loads matplotlib: a second

        names = write_report(runs, out, warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")
