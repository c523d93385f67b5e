# SPDX-License-Identifier: BSD-3-Clause
"""A sweep from the plan to the report, and its exit status.

Each run that is taken becomes a line of the results file, written at once: an interruption loses none."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import itertools
import json
import os
import random
import signal
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Protocol, Sequence

from pydantic import BaseModel

from nrbench.host import commit
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import Progress, clock_text, say
from nrbench.sweep.options import Options
from nrbench.sweep.record import (
    RUNS,
    Build,
    Host,
    Kind,
    ResultsError,
    Run,
    identity,
    read_runs,
    to_line,
    variant_of,
)

Taken = dict[str, Any]  # what a run gave: fields of a Run
FAILURES_MAX = 2
# A setting's and its runs'.
SHARED = ("scenario", "case", "options", "pool", "spin", "threads", "cpus", "seed", "at_once")
WAY_OUT = "--fresh puts these results aside and begins anew; --out names another folder"
OK, SOME_FAILED, INTERRUPTED = 0, 1, 130


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


@dataclass(frozen=True)
class Sweep:
    """Which sweep, and how to take a run of it."""

    id: str
    kind: Kind
    host: Host
    settings: Sequence[Setting]
    seed: int
    take: Callable[[Setting], Taken]


def sweep_id(machine: str, kind: str, what: dict[str, Any]) -> str:
    """Runs that share it may be continued: same machine, same programs, same way to run them.

    @param machine  its id, or a word for those of a cluster"""
    text = json.dumps({"host": machine, "kind": kind, **what}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def in_order(settings: Sequence[Setting], seed: int) -> Iterator[tuple[int, Setting]]:
    """Rounds of all settings, each in an order of its own, so that what changes here hits all alike. It does
    not depend on the number of rounds: a longer sweep continues a shorter one."""
    for repeat in range(max((setting.repeats for setting in settings), default=0)):
        this_round = list(settings)
        random.Random(f"{seed} {repeat}").shuffle(this_round)
        yield from ((repeat, setting) for setting in this_round if repeat < setting.repeats)


def still_to_do(settings: Sequence[Setting], seed: int, runs: Iterable[Run]) -> list[tuple[int, Setting]]:
    """Failed runs are tried again."""
    there = {identity(run, run.repeat) for run in runs if run.status == "ok"}
    steps = in_order(settings, seed)
    return [(repeat, setting) for repeat, setting in steps if identity(setting, repeat) not in there]


class Runner:
    def __init__(self, sweep: Sweep, path: Path) -> None:
        self.sweep = sweep
        self.path = path
        self.runs = earlier_runs(path, sweep.id, sweep.settings)  # grows
        self.taken: list[Run] = []  # by this call
        self.interrupted = False
        self.cut = ""
        self.steps = still_to_do(sweep.settings, sweep.seed, self.runs)
        self.bench_commit = commit(Path(__file__).parent)
        good = {identity(run, 0) for run in self.runs if run.status == "ok"}
        self.has_succeeded = {setting for setting in sweep.settings if identity(setting, 0) in good}
        self.failures: Counter[Setting] = Counter()

    @property
    def planned_s(self) -> float:
        return sum(setting.guess_s for _, setting in self.steps)

    @property
    def planned(self) -> int:
        return len(self.steps)

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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One sweep at a time: two would take every run twice, and disturb each other."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ResultsError(f"{folder}: another sweep is writing its results there") from error
    finally:
        os.close(handle)


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


def end_last_line(path: Path) -> None:
    """So that more can be appended: a line that was cut short goes from the file."""
    text = path.read_bytes() if path.exists() else b""
    whole = text.rfind(b"\n") + 1
    if whole == len(text):
        return
    try:
        json.loads(text[whole:])
    except (ValueError, RecursionError):  # it was cut off; read_runs has left it out
        os.truncate(path, whole)
    else:
        path.write_bytes(text + b"\n")


def put_aside(path: Path) -> Path | None:
    """@return where the results that were there are now"""
    if not path.exists():
        return None
    names = (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in itertools.count(1))
    return path.rename(next(name for name in names if not name.exists()))


class Writer:
    """Appends runs, each at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        end_last_line(path)
        self.out = open(path, "ab", buffering=0)

    def write(self, run: BaseModel) -> None:
        left = to_line(run).encode()
        try:
            while left:
                left = left[self.out.write(left) :]
        except OSError as error:
            raise ResultsError(
                f"{self.path}: {error.strerror}; the runs before are there, and the same command goes on"
            ) from error

    def close(self) -> None:
        self.out.close()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Like by the keyboard: the run is killed, and the results are reported."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def _announce(runner: Runner) -> None:
    settings = runner.sweep.settings
    count = sum(setting.repeats for setting in settings)
    there = count - len(runner.steps)
    left = f", {there} of them there from before" if there else ""
    about = f"about {clock_text(runner.planned_s)}" if runner.steps else "nothing left to do"
    say(f"{len(settings)} settings, {count} runs{left}; {about}")


def carry_out(sweep: Sweep, options: Options) -> int:
    """
    Take the runs that are not there yet, then report on all; or only show them, and change nothing.

    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    path = options.out / RUNS
    if options.dry_run:
        runner = Runner(sweep, Path(os.devnull) if options.fresh else path)
        _announce(runner)
        for repeat, setting in runner.steps:
            print(repeat, setting.variant, setting.case, *setting.options)
        return OK
    with locked(options.out), ended_by_signals():
        aside = put_aside(path) if options.fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        runner = Runner(sweep, path)
        _announce(runner)
        runner.run()
        return end(runner, options.out)


class Ended(Protocol):
    """A session that has ended: here, or on a cluster."""

    interrupted: bool
    cut: str  # why runs are left, without an interruption

    @property
    def runs(self) -> Sequence[Run]: ...
    @property
    def taken(self) -> Sequence[Run]: ...
    @property
    def planned(self) -> int: ...
    @property
    def failed(self) -> Sequence[Run]: ...


def end(runner: Ended, out: Path) -> int:
    """Reports. @return exit status: see carry_out()"""
    taken = len(runner.taken)
    cut = runner.cut
    if runner.interrupted:
        cut = f"interrupted: {taken} of {runner.planned} runs taken"
    if cut:
        cut += "; the same command takes the rest"
    if any(run.status == "ok" for run in runner.runs):
        _report(runner.runs, out, [cut] if cut else [])
    failed = Counter(
        f"{run.scenario}:{run.case} {run.variant} {run.threads} threads: {run.status}: {run.error}"
        for run in runner.failed
    )
    for text, count in failed.items():
        say(f"{text}{f' ({count} times)' if count > 1 else ''}")
    if cut:
        say(cut)
    if runner.interrupted:
        return INTERRUPTED
    if failed:
        say(f"{failed.total()} of {taken} runs gave no figures; the same command tries them again")
    return SOME_FAILED if failed or cut else OK


def _report(runs: Sequence[Run], out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.sweep.large_report import LARGE_RUNS
        from nrbench.sweep.report import report_files, write_report  # loads pandas and matplotlib: a second

        many = len(runs) > LARGE_RUNS
        names = report_files([out], out) if many else write_report(runs, out, warnings=warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")


def report_again(out: Path) -> None:
    runs = read_runs(out / RUNS)
    if not runs:
        raise ResultsError(f"{out / RUNS}: holds no run")
    _report(runs, out)
