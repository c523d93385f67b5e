# SPDX-License-Identifier: BSD-3-Clause
"""Takes the runs of a plan; each becomes a line, written at once: an interruption loses none."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable, Sequence

from nrbench.host import commit
from nrbench.progress import Progress
from nrbench.sweep.plan import Setting, still_to_do
from nrbench.sweep.record import Build, Host, Kind, Run, Status, identity
from nrbench.sweep.store import Writer, earlier_runs

FAILURES_MAX = 2


@dataclass(frozen=True)
class Taken:
    """What one run gave."""

    status: Status
    error: str | None = None
    build: Build | None = None
    snr_db: float | None = None
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
    seed: int
    take: Callable[[Setting], Taken]


@dataclass
class Result:
    """All runs of the sweep, those of earlier calls included; and those that this call took."""

    runs: list[Run]
    taken: list[Run] = field(default_factory=list)
    interrupted: bool = False

    def add(self, run: Run) -> None:
        self.runs.append(run)
        self.taken.append(run)

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.taken if run.status != "ok"]


class Runner:
    def __init__(self, sweep: Sweep, path: Path) -> None:
        self.sweep = sweep
        self.path = path
        self.runs = earlier_runs(path, sweep.id, sweep.settings)
        self.steps = still_to_do(sweep.settings, sweep.seed, self.runs)
        self.bench_commit = commit(Path(__file__).parent)
        good = {identity(run, 0) for run in self.runs if run.status == "ok"}
        self.has_succeeded = {setting for setting in sweep.settings if identity(setting, 0) in good}
        self.failures: Counter[Setting] = Counter()

    @property
    def planned_s(self) -> float:
        return sum(setting.guess_s for _, setting in self.steps)

    def _take(self, setting: Setting) -> Taken:
        """What never succeeds is not tried for ever; what fails now and then is."""
        if self.failures[setting] >= FAILURES_MAX and setting not in self.has_succeeded:
            return Taken("missing", f"left out: {FAILURES_MAX} runs of it failed and none succeeded")
        taken = self.sweep.take(setting)
        if taken.status == "ok":
            self.has_succeeded.add(setting)
        self.failures[setting] += taken.status != "ok"
        return taken

    def _line(self, repeat: int, setting: Setting, began: str, taken: Taken) -> Run:
        values = asdict(taken) | {"build": taken.build or Build(sha256=setting.program)}
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
            **values,
        )

    def _steps(self, writer: Writer, progress: Progress, result: Result) -> None:
        for repeat, setting in self.steps:
            progress.show(str(setting))
            began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            run = self._line(repeat, setting, began, self._take(setting))
            writer.write(run)
            result.add(run)
            progress.step(setting.guess_s, str(setting))

    def run(self) -> Result:
        """Until all is done, or the user interrupts."""
        result = Result(list(self.runs))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        writer = Writer(self.path)
        progress = Progress(len(self.steps), self.planned_s)
        try:
            self._steps(writer, progress, result)
        except KeyboardInterrupt:
            result.interrupted = True
        finally:
            progress.finish()
            writer.close()
        return result
