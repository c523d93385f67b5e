# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a sweep: which are left, and how a run that was taken becomes a line."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

from pydantic import ValidationError

from nrbench.host import commit
from nrbench.record import Host, ResultsError, first_error, now
from nrbench.session import OK, WAY_OUT, Lane, Session, in_rounds, results_of
from nrbench.sweep.options import Options
from nrbench.sweep.record import RUNS, Build, Kind, Run, Setting, What, identity, read_runs

Taken = dict[str, Any]  # what a run gave: fields of a Run


class Step(NamedTuple):
    """Runs of a round that follow each other."""

    round: int
    settings: list[Setting]
    text: str
    seconds: float


@dataclass(frozen=True)
class Sweep:
    """Of one machine."""

    id: str
    kind: Kind
    host: Host
    settings: Sequence[Setting]
    seed: int
    take: Callable[[Sequence[Setting]], Sequence[Taken]]

    def left(self, runs: Sequence[Run]) -> list[tuple[int, Setting]]:
        """In order, with the round of each. Failed runs are tried again."""
        good = (run for run in runs if run.status == "ok" and run.host.id == self.host.id)
        there = {identity(run, run.repeat) for run in good}
        rounds = max((setting.repeats for setting in self.settings), default=0)
        drawn = in_rounds(self.settings, rounds, self.seed, lambda one: identity(one, 0))
        return [(n, one) for n, one in drawn if n < one.repeats and identity(one, n) not in there]

    def lane(self, runs: Sequence[Run], side_by_side: bool = False) -> Lane[Run]:
        """Of what is left.

        @param side_by_side  both pools in one step, where they have the same case and number of threads"""
        steps: dict[tuple[int, object], list[Setting]] = {}
        left = self.left(runs)
        for number, one in left:
            unit = (one.scenario, one.case, one.threads) if side_by_side else identity(one, number)
            steps.setdefault((number, unit), []).append(one)
        every = (
            Step(number, settings, str(settings[0]), sum(setting.guess_s for setting in settings))
            for (number, _), settings in steps.items()
        )
        return Lane("", every, self._runs, len(left), sum(setting.guess_s for _, setting in left))

    def _runs(self, step: Step) -> list[Run]:
        taken = zip(step.settings, self.take(step.settings))
        return [self.run_of(setting, step.round, fields) for setting, fields in taken]

    def run_of(self, setting: Setting, repeat: int, taken: Taken) -> Run:
        """A figure that no record holds, such as a time below 0, is a failure of its run."""

        def made(taken: Taken) -> Run:
            about = setting.model_dump(include=set(What.model_fields))
            about |= {"kind": self.kind, "sweep": self.id, "repeat": repeat, "host": self.host}
            about |= {"bench_commit": commit(Path(__file__).parent), "began": now()}
            return Run(**about | {"build": Build(sha256=setting.program)} | taken)

        try:
            return made(taken)
        except ValidationError as error:
            kept = {name: taken[name] for name in ("began", "build") if name in taken}
            return made(kept | {"status": "unparsable", "error": first_error(error)})


def earlier_runs(path: Path, sweep: str, settings: Sequence[Setting]) -> list[Run]:
    """Runs of this sweep that an earlier call took. One name must not stand for two things in a report."""
    runs = read_runs(path) if path.exists() else []
    planned = {(s.scenario, s.case, s.threads): (s.options, s.seed) for s in settings}
    for run in runs:
        before = run.options, run.seed
        if run.sweep != sweep or planned.get((run.scenario, run.case, run.threads), before) != before:
            other = f"of another machine, other programs or other options, such as {run}"
            raise ResultsError(f"{path}: holds a sweep {other} {' '.join(run.options)} ({WAY_OUT})")
    return runs


def begin(sweep: Sweep, path: Path) -> tuple[Session[Run], Lane[Run]]:
    """On this machine; what is left is announced."""
    session = Session(path, Run.model_dump_json, earlier_runs(path, sweep.id, sweep.settings), fails=failure)
    lane = sweep.lane(session.lines)
    session.announce(f"{len(sweep.settings)} settings", [lane])
    return session, lane


def carry_out(sweep: Sweep, options: Options) -> int:
    """
    Take the runs that are not there yet, then report on all; or only show them, and change nothing.

    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    if options.dry_run:
        _, lane = begin(sweep, Path(os.devnull) if options.fresh else options.out / RUNS)
        for step in lane.steps:
            for setting in step.settings:
                print(step.round, setting.variant, setting.case, *setting.options)
        return OK
    with results_of(options.out, RUNS, options.fresh) as path:
        session, lane = begin(sweep, path)
        session.run([lane])
        return end(session, options.out)


def end(session: Session[Run], out: Path) -> int:
    """@return exit status: see carry_out()"""
    return session.end(lambda _, warnings: report(out, warnings), failure)


def failure(run: Run) -> str:
    return "" if run.status == "ok" else f"{run}: {run.status}: {run.error}"


def report(out: Path, warnings: Sequence[str] = ()) -> None:
    from nrbench.sweep.report import report as write_report  # loads pandas and matplotlib: a second

    names = write_report([out], out, warnings=warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")
