# SPDX-License-Identifier: BSD-3-Clause
"""Takes the runs of a plan; each becomes a line, written at once: an interruption loses none."""

from __future__ import annotations

import datetime
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable, Sequence

from nrbench.host import commit
from nrbench.progress import Progress
from nrbench.sweep.plan import Setting, still_to_do
from nrbench.sweep.record import Build, Host, Kind, ResultsError, Run, Status, read_runs, to_line

FAILURES_MAX = 2


@dataclass(frozen=True)
class Taken:
    """What one run gave."""

    status: Status
    error: str | None = None
    build: Build | None = None
    trials: int | None = None
    errors: int | None = None
    figures: dict[str, float] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    wall_s: float | None = None
    cpu_s: float | None = None
    rss_mib: float | None = None
    ctx_voluntary: int | None = None
    ctx_involuntary: int | None = None


@dataclass(frozen=True)
class Sweep:
    """Which sweep, and how to take a run of it."""

    id: str
    kind: Kind
    host: Host
    settings: Sequence[Setting]
    repeats: int
    seed: int
    take: Callable[[Setting], Taken]


@dataclass
class Result:
    runs: list[Run]
    taken: int = 0
    failed: int = 0
    interrupted: bool = False


def _check_cases(path: Path, settings: Sequence[Setting], runs: Sequence[Run]) -> None:
    """One name must not stand for two things in a report."""
    options = {(s.scenario, s.case, s.threads): s.options for s in settings}
    for run in runs:
        now = options.get((run.scenario, run.case, run.threads), run.options)
        if now != run.options:
            raise ResultsError(
                f"{path}: {run.scenario}:{run.case} was run with {' '.join(run.options)}, "
                f"not with {' '.join(now)} "
                "(--fresh puts these results aside and begins anew; --out names another folder)"
            )


def earlier_runs(path: Path, sweep: str) -> list[Run]:
    """Runs of this sweep that an earlier call took. A line that was cut short goes from the file."""
    if not path.exists():
        return []
    runs = read_runs(path)
    for run in runs:
        if run.sweep != sweep:
            raise ResultsError(
                f"{path}: holds a sweep of another machine, other programs or other options "
                "(--fresh puts it aside and begins a new one; --out names another folder)"
            )
    _end_last_line(path)
    return runs


def _end_last_line(path: Path) -> None:
    """So that more can be appended."""
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole == len(text):
        return
    try:
        json.loads(text[whole:])
    except ValueError:  # it was cut off; read_runs has left it out
        os.truncate(path, whole)
    else:
        with open(path, "ab") as out:
            out.write(b"\n")


def put_aside(path: Path) -> Path | None:
    """@return where the results that were there are now"""
    if not path.exists():
        return None
    for number in range(1, 10000):
        aside = path.with_name(f"{path.stem}.{number}{path.suffix}")
        if not aside.exists():
            return path.rename(aside)
    raise ResultsError(f"{path.parent}: too many results put aside")


class Runner:
    def __init__(self, sweep: Sweep, path: Path) -> None:
        self.sweep = sweep
        self.path = path
        self.runs = earlier_runs(path, sweep.id)
        _check_cases(path, sweep.settings, self.runs)
        self.steps = still_to_do(sweep.settings, sweep.repeats, sweep.seed, self.runs)
        self.bench_commit = commit(Path(__file__).parent)
        self.failures: Counter[Setting] = Counter()

    @property
    def planned_s(self) -> float:
        return sum(setting.guess_s for _, setting in self.steps)

    def _take(self, setting: Setting) -> Taken:
        if self.failures[setting] >= FAILURES_MAX:
            return Taken("missing", f"left out: {FAILURES_MAX} runs of it failed before")
        taken = self.sweep.take(setting)
        self.failures[setting] += taken.status != "ok"
        return taken

    def _line(self, repeat: int, setting: Setting, began: str, taken: Taken) -> Run:
        return Run(
            kind=self.sweep.kind,
            sweep=self.sweep.id,
            repeat=repeat,
            began=began,
            host=self.sweep.host,
            bench_commit=self.bench_commit,
            scenario=setting.scenario,
            case=setting.case,
            options=setting.options,
            pool=setting.pool,
            spin=setting.spin,
            threads=setting.threads,
            cpus=setting.cpus,
            seed=setting.seed,
            environment=dict(setting.environment),
            **asdict(taken),
        )

    def run(self) -> Result:
        """Until all is done, or the user interrupts."""
        result = Result(self.runs)
        progress = Progress(len(self.steps), self.planned_s)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as out:
            try:
                for repeat, setting in self.steps:
                    progress.show(str(setting))
                    began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
                    taken = self._take(setting)
                    run = self._line(repeat, setting, began, taken)
                    out.write(to_line(run))
                    out.flush()
                    self.runs.append(run)
                    result.taken += 1
                    result.failed += run.status != "ok"
                    progress.step(setting.guess_s, str(setting))
            except KeyboardInterrupt:
                result.interrupted = True
            finally:
                progress.finish()
        return result
