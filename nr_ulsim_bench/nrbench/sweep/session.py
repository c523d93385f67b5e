# SPDX-License-Identifier: BSD-3-Clause
"""A sweep from the plan to the report, and what the exit status says."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Iterator, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import clock_text, say
from nrbench.sweep.record import RUNS, ResultsError, Run, read_runs
from nrbench.sweep.run import Result, Runner, Sweep
from nrbench.sweep.store import locked, put_aside

THREADS = (1, 2, 4, 8, 16, 24)
OK, SOME_FAILED, INTERRUPTED = 0, 1, 130


def default_threads(cores: int) -> tuple[int, ...]:
    """Those of the slides, as far as four threads on each CPU."""
    return tuple(count for count in THREADS if count <= 4 * cores)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Like by the keyboard: the run is killed, what is there is reported."""
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _announce(runner: Runner, sweep: Sweep) -> None:
    count = sum(setting.repeats for setting in sweep.settings)
    there = count - len(runner.steps)
    left = f", {there} of them there from before" if there else ""
    about = f"about {clock_text(runner.planned_s)}" if runner.steps else "nothing left to do"
    say(f"{len(sweep.settings)} settings, {count} runs{left}; {about}")


def _failures(runs: Sequence[Run]) -> list[str]:
    counts = Counter(
        f"{run.scenario}:{run.case} {run.variant} {run.threads} threads: {run.status}: {run.error}"
        for run in runs
    )
    return [f"{text}{f' ({count} times)' if count > 1 else ''}" for text, count in counts.items()]


def show_plan(sweep: Sweep, out: Path, fresh: bool) -> int:
    """What carry_out() would run, in order; nothing is touched."""
    runner = Runner(sweep, Path(os.devnull) if fresh else out / RUNS)
    _announce(runner, sweep)
    for repeat, setting in runner.steps:
        print(repeat, setting.variant, setting.case, *setting.options)
    return OK


def carry_out(sweep: Sweep, out: Path, fresh: bool) -> int:
    """
    Take the runs that are not there yet, then report on all.

    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    path = out / RUNS
    with locked(out), _ended_by_signals():
        aside = put_aside(path) if fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        runner = Runner(sweep, path)
        _announce(runner, sweep)
        return _end(runner.run(), out, len(runner.steps))


def _end(result: Result, out: Path, steps: int) -> int:
    if any(run.status == "ok" for run in result.runs):
        _report(result.runs, out)
    for text in _failures(result.failed):
        say(text)
    taken = len(result.taken)
    if result.interrupted:
        say(f"interrupted: {taken} of {steps} runs taken; the same command goes on where this ended")
        return INTERRUPTED
    if result.failed:
        say(f"{len(result.failed)} of {taken} runs gave no figures; the same command tries them again")
        return SOME_FAILED
    return OK


def _report(runs: Sequence[Run], out: Path) -> None:
    with matplotlib_apart():
        from nrbench.sweep.report import write_report  # loads pandas and matplotlib: a second

        names = write_report(runs, out)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")


def report_again(out: Path) -> None:
    runs = read_runs(out / RUNS)
    if not runs:
        raise ResultsError(f"{out / RUNS}: holds no run")
    _report(runs, out)
