# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a sweep: which are left, and how a run that was taken becomes a line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

from pydantic import ValidationError

from nrbench.host import commit
from nrbench.record import Host, first_error, now
from nrbench.session import Lane, Session, earlier, in_rounds, results_of
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
        about = setting.model_dump(include=set(What.model_fields))
        about |= {"kind": self.kind, "sweep": self.id, "repeat": repeat, "host": self.host, "began": now()}
        about |= {"bench_commit": commit(Path(__file__).parent), "build": Build(sha256=setting.program)}
        try:
            return Run(**about | taken)
        except ValidationError as error:
            kept = {name: taken[name] for name in ("began", "build") if name in taken}
            return Run(**about | kept | {"status": "unparsable", "error": first_error(error)})


def session_of(path: Path, sweep: str, settings: Sequence[Setting]) -> Session[Run]:
    """With the runs that an earlier call took."""
    planned = {(s.scenario, s.case, s.threads): s.options for s in settings}

    def belongs(run: Run) -> bool:
        own = planned.get((run.scenario, run.case, run.threads), run.options)
        return run.sweep == sweep and own == run.options

    return Session(path, Run.model_dump_json, earlier(path, read_runs, belongs), fails=failure)


def carry_out(sweep: Sweep, options: Options) -> int:
    """
    On this machine: takes the runs that are not there yet, then reports on all.

    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    with results_of(options.out, RUNS, options.fresh) as path:
        session = session_of(path, sweep.id, sweep.settings)
        session.take(f"{len(sweep.settings)} settings", [sweep.lane(session.lines)])
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
