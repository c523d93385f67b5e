# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a sweep: which are planned, which are left, and how a run that was taken becomes a line."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

from nrbench.host import commit
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.record import Host, ResultsError
from nrbench.session import OK, WAY_OUT, Session, here, in_rounds, results_of
from nrbench.sweep.options import Options
from nrbench.sweep.record import RUNS, Build, Kind, Run, identity, read_runs, variant_of

Taken = dict[str, Any]  # what a run gave: fields of a Run
FAILURES_MAX = 2
# A setting's and its runs'.
SHARED = ("scenario", "case", "options", "pool", "spin", "threads", "cpus", "seed", "at_once")


@dataclass(frozen=True)
class Setting:
    """All that repeats of a run share."""

    scenario: str
    case: str
    options: tuple[str, ...]
    pool: str
    spin: str | None
    threads: int
    program: str = ""  # sha256, as in Build
    environment: tuple[tuple[str, str], ...] = ()
    cpus: str | None = None
    seed: int | None = None
    at_once: int | None = None
    repeats: int = 1
    limit_s: float = 120.0
    guess_s: float = 1.0

    @property
    def variant(self) -> str:
        return variant_of(self)

    def __str__(self) -> str:
        return f"{self.scenario}:{self.case} {self.variant} {self.threads} threads"


class Step(NamedTuple):
    round: int
    setting: Setting

    @property
    def text(self) -> str:
        return str(self.setting)

    @property
    def seconds(self) -> float:
        return self.setting.guess_s

    @property
    def identity(self) -> tuple[object, ...]:
        return identity(self.setting, self.round)


@dataclass(frozen=True)
class Sweep:
    """Which runs of one machine."""

    id: str
    kind: Kind
    host: Host
    settings: Sequence[Setting]
    seed: int

    def left(self, runs: Sequence[Run]) -> list[Step]:
        """In order. Failed runs are tried again."""
        there = {
            identity(run, run.repeat) for run in runs if run.status == "ok" and run.host.id == self.host.id
        }
        rounds = max((setting.repeats for setting in self.settings), default=0)
        steps = (Step(*one) for one in in_rounds(self.settings, rounds, self.seed))
        return [s for s in steps if s.round < s.setting.repeats and s.identity not in there]

    def run_of(self, step: Step, taken: Taken) -> Run:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        values = {"began": began, "build": Build(sha256=step.setting.program), **taken}
        return Run(
            kind=self.kind,
            sweep=self.id,
            repeat=step.round,
            host=self.host,
            bench_commit=commit(Path(__file__).parent),
            environment=dict(step.setting.environment),
            **{name: getattr(step.setting, name) for name in SHARED},
            **values,
        )


class Patience:
    """A setting that never succeeds is given up; one that fails now and then is not."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._good = {identity(run, 0) for run in runs if run.status == "ok"}
        self._failures: Counter[tuple[object, ...]] = Counter()

    def note(self, run: Run) -> Run:
        if run.status == "ok":
            self._good.add(identity(run, 0))
        self._failures[identity(run, 0)] += run.status != "ok"
        return run

    def is_over(self, setting: Setting) -> bool:
        key = identity(setting, 0)
        return self._failures[key] >= FAILURES_MAX and key not in self._good


LEFT_OUT: Taken = {
    "status": "missing",
    "error": f"left out: {FAILURES_MAX} runs of it failed and none succeeded",
}


def earlier_runs(path: Path, sweep: str, settings: Sequence[Setting]) -> list[Run]:
    """Runs of this sweep that an earlier call took. One name must not stand for two things in a report."""
    runs = read_runs(path) if path.exists() else []
    words = {(s.scenario, s.case, s.threads): (*s.options, f"seed={s.seed}") for s in settings}
    for run in runs:
        if run.sweep != sweep:
            raise ResultsError(
                f"{path}: holds a sweep of another machine, other programs or other options ({WAY_OUT})"
            )
        before = (*run.options, f"seed={run.seed}")
        now = words.get((run.scenario, run.case, run.threads), before)
        if now != before:
            raise ResultsError(
                f"{path}: {run.scenario}:{run.case} was run with {' '.join(before)}, "
                f"not with {' '.join(now)} ({WAY_OUT})"
            )
    return runs


def begin(sweep: Sweep, path: Path) -> tuple[Session[Run], list[Step]]:
    """@return the steps that are left, too, which are announced"""
    session = Session(path, Run.model_dump_json, earlier_runs(path, sweep.id, sweep.settings))
    steps = sweep.left(session.lines)
    session.announce(f"{len(sweep.settings)} settings", len(steps), sum(step.seconds for step in steps))
    return session, steps


def carry_out(sweep: Sweep, take: Callable[[Setting], Taken], options: Options) -> int:
    """
    Take the runs that are not there yet, then report on all; or only show them, and change nothing.

    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    if options.dry_run:
        _, steps = begin(sweep, Path(os.devnull) if options.fresh else options.out / RUNS)
        for step in steps:
            print(step.round, step.setting.variant, step.setting.case, *step.setting.options)
        return OK
    with results_of(options.out, RUNS, options.fresh) as path:
        session, steps = begin(sweep, path)
        patience = Patience(session.lines)

        def taken(step: Step) -> list[Run]:
            fields = LEFT_OUT if patience.is_over(step.setting) else take(step.setting)
            return [patience.note(sweep.run_of(step, fields))]

        session.run([here(iter(steps), taken)], len(steps), sum(step.seconds for step in steps))
        return session.end(lambda runs, warnings: report(options.out, warnings), failure)


def failure(run: Run) -> str:
    if run.status == "ok":
        return ""
    return f"{run.scenario}:{run.case} {run.variant} {run.threads} threads: {run.status}: {run.error}"


def report(out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.sweep.report import report as write_report  # loads pandas and matplotlib: a second

        names = write_report([out], out, warnings=warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")
