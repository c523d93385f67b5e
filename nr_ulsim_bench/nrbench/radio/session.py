# SPDX-License-Identifier: BSD-3-Clause
"""A session from the plan to the report, and its exit status.

Each run that is taken becomes a line of the results file, written at once: an interruption loses none."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Protocol, Sequence

from nrbench.engine import interrupted_by_signals
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import Progress, clock_text, say
from nrbench.radio.plan import Plan, Step, counted
from nrbench.radio.record import RUNS, RadioRun, read_runs
from nrbench.sweep.record import ResultsError
from nrbench.sweep.session import INTERRUPTED, OK, SOME_FAILED, WAY_OUT, Writer, locked, put_aside


@dataclass(frozen=True)
class Session:
    """Which runs, and how to take one."""

    id: str  # runs that share it may be continued: same machine, same programs, same way to run them
    plan: Plan
    take: Callable[[Step], RadioRun]


def earlier_runs(path: Path, session: str) -> list[RadioRun]:
    """Runs of this session that an earlier call took."""
    runs = read_runs(path) if path.exists() else []
    if any(run.sweep != session for run in runs):
        raise ResultsError(
            f"{path}: holds runs of another machine, other programs or other options ({WAY_OUT})"
        )
    return runs


class Runner:
    def __init__(self, session: Session, path: Path) -> None:
        self.session, self.path = session, path
        self.runs = earlier_runs(path, session.id)  # grows
        self.planned = len(session.plan.missing(self.runs))
        self.taken: list[RadioRun] = []  # by this call
        self.interrupted, self.cut = False, ""

    @property
    def planned_s(self) -> float:
        return self.planned * self.session.plan.run_s

    def announce(self) -> None:
        plan = self.session.plan
        there = len(counted(self.runs))
        before = f", {there} runs are there from before" if there else ""
        about = f"about {clock_text(self.planned_s)}" if self.planned else "nothing left to do"
        say(f"{len(plan.cells)} variants, {self.planned} runs to take{before}; {about}")

    def run(self) -> None:
        """Until all is done, or the user interrupts."""
        run_s = self.session.plan.run_s
        writer = Writer(self.path)
        with contextlib.closing(writer), Progress(self.planned, self.planned_s) as progress:
            for step in self.session.plan.steps(self.runs):
                progress.show(str(step))
                run = self.session.take(step)
                if run.outcome == "interrupted":
                    raise KeyboardInterrupt
                writer.write(run)
                self.runs.append(run)
                self.taken.append(run)
                progress.step(run_s, f"{step}: {'lives' if run.lives else run.error or 'does not live'}")
        self.interrupted = progress.interrupted


def dry_run(session: Session, out: Path, fresh: bool) -> int:
    """Shows what is left to do, and changes nothing. A search shows the next timescale of each variant only:
    the others depend on how the runs end."""
    runner = Runner(session, Path(os.devnull) if fresh else out / RUNS)
    runner.announce()
    steps = list(session.plan.steps(runner.runs))
    if session.plan.limits:
        steps = list({step.cell: step for step in reversed(steps)}.values())[::-1]
    for step in steps:
        print(step.round, step)
    return OK


def carry_out(session: Session, out: Path, fresh: bool = False) -> int:
    """
    Take the runs that are not there yet, then report on all.

    @return 0; 1 = no run came to its end; 130 = interrupted, the same command goes on
    """
    path = out / RUNS
    with locked(out), interrupted_by_signals():
        aside = put_aside(path) if fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        runner = Runner(session, path)
        runner.announce()
        runner.run()
        return end(runner, out)


class Ended(Protocol):
    """A session that has ended: here, or on a cluster."""

    runs: list[RadioRun]
    taken: list[RadioRun]
    planned: int
    interrupted: bool
    cut: str  # why runs are left, without an interruption


def end(runner: Ended, out: Path) -> int:
    """Reports. @return exit status: see carry_out()"""
    cut = runner.cut
    if runner.interrupted:
        cut = f"interrupted: {len(runner.taken)} of {runner.planned} runs taken"
    if cut:
        cut += "; the same command takes the rest"
    if runner.runs:
        report(runner.runs, out, [cut] if cut else [])
    failed = Counter(
        f"{run.outcome}: {run.error or 'no reason known'}" for run in runner.taken if run.outcome != "ok"
    )
    for text, count in failed.items():
        say(f"{text}{f' ({count} times)' if count > 1 else ''}")
    if cut:
        say(cut)
    if runner.interrupted:
        return INTERRUPTED
    return OK if not cut and any(run.outcome == "ok" for run in runner.runs) else SOME_FAILED


def report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.radio.report import write_report  # loads matplotlib: a second

        names = write_report(runs, out, warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")
