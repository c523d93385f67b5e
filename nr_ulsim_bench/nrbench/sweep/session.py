# SPDX-License-Identifier: BSD-3-Clause
"""A sweep from the plan to the report, and its exit status."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import clock_text, say
from nrbench.sweep.options import Options
from nrbench.sweep.plan import Sweep
from nrbench.sweep.record import RUNS, ResultsError, Run, read_runs
from nrbench.sweep.run import Runner
from nrbench.sweep.store import locked, put_aside

OK, SOME_FAILED, INTERRUPTED = 0, 1, 130


@contextmanager
def _ended_by_signals() -> Iterator[None]:
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
    with locked(options.out), _ended_by_signals():
        aside = put_aside(path) if options.fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        runner = Runner(sweep, path)
        _announce(runner)
        runner.run()
        return _end(runner, options.out)


def _end(runner: Runner, out: Path) -> int:
    taken, planned = len(runner.taken), len(runner.steps)
    cut = f"interrupted: {taken} of {planned} runs taken; the same command takes the rest"
    if any(run.status == "ok" for run in runner.runs):
        _report(runner.runs, out, [cut] if runner.interrupted else [])
    failed = Counter(
        f"{run.scenario}:{run.case} {run.variant} {run.threads} threads: {run.status}: {run.error}"
        for run in runner.failed
    )
    for text, count in failed.items():
        say(f"{text}{f' ({count} times)' if count > 1 else ''}")
    if runner.interrupted:
        say(cut)
        return INTERRUPTED
    if failed:
        say(f"{failed.total()} of {taken} runs gave no figures; the same command tries them again")
    return SOME_FAILED if failed else OK


def _report(runs: Sequence[Run], out: Path, warnings: Sequence[str] = ()) -> None:
    with matplotlib_apart():
        from nrbench.sweep.report import write_report  # loads pandas and matplotlib: a second

        names = write_report(runs, out, warnings=warnings)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")


def report_again(out: Path) -> None:
    runs = read_runs(out / RUNS)
    if not runs:
        raise ResultsError(f"{out / RUNS}: holds no run")
    _report(runs, out)
