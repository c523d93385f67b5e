# SPDX-License-Identifier: BSD-3-Clause
"""Takes the runs of a plan; each becomes a line, written at once: an interruption loses none."""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from pathlib import Path

from nrbench.host import commit
from nrbench.progress import Progress
from nrbench.sweep.plan import Setting, Sweep, Taken, still_to_do
from nrbench.sweep.record import Build, Run, identity
from nrbench.sweep.store import Writer, earlier_runs

FAILURES_MAX = 2
SHARED = (
    "scenario",
    "case",
    "options",
    "pool",
    "spin",
    "threads",
    "cpus",
    "seed",
    "at_once",
)  # a setting's and its runs'


class Runner:
    def __init__(self, sweep: Sweep, path: Path) -> None:
        self.sweep = sweep
        self.path = path
        self.runs = earlier_runs(path, sweep.id, sweep.settings)  # grows
        self.taken: list[Run] = []  # by this call
        self.interrupted = False
        self.steps = still_to_do(sweep.settings, sweep.seed, self.runs)
        self.bench_commit = commit(Path(__file__).parent)
        good = {identity(run, 0) for run in self.runs if run.status == "ok"}
        self.has_succeeded = {setting for setting in sweep.settings if identity(setting, 0) in good}
        self.failures: Counter[Setting] = Counter()

    @property
    def planned_s(self) -> float:
        return sum(setting.guess_s for _, setting in self.steps)

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.taken if run.status != "ok"]

    def _take(self, setting: Setting) -> Taken:
        """A setting that never succeeds is given up; one that fails now and then is not."""
        if self.failures[setting] >= FAILURES_MAX and setting not in self.has_succeeded:
            error = f"left out: {FAILURES_MAX} runs of it failed and none succeeded"
            return {"status": "missing", "error": error}
        taken = self.sweep.take(setting)
        if taken["status"] == "ok":
            self.has_succeeded.add(setting)
        self.failures[setting] += taken["status"] != "ok"
        return taken

    def _run_of(self, repeat: int, setting: Setting) -> Run:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        values = {"build": Build(sha256=setting.program), **self._take(setting)}
        return Run(
            kind=self.sweep.kind,
            sweep=self.sweep.id,
            repeat=repeat,
            began=began,
            host=self.sweep.host,
            bench_commit=self.bench_commit,
            environment=dict(setting.environment),
            **{name: getattr(setting, name) for name in SHARED},
            **values,
        )

    def run(self) -> None:
        """Until all is done, or the user interrupts."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        writer = Writer(self.path)
        with contextlib.closing(writer), Progress(len(self.steps), self.planned_s) as progress:
            for repeat, setting in self.steps:
                progress.show(str(setting))
                run = self._run_of(repeat, setting)
                writer.write(run)
                self.runs.append(run)
                self.taken.append(run)
                progress.step(setting.guess_s, str(setting))
        self.interrupted = progress.interrupted
