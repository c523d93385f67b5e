# SPDX-License-Identifier: BSD-3-Clause
"""A sweep from the plan to the report, and what the exit status says."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Sequence

from nrbench.progress import clock_text, say
from nrbench.sweep.record import ResultsError, Run, read_runs
from nrbench.sweep.run import Result, Runner, Sweep, put_aside

RUNS = "runs.ndjson"
THREADS = (1, 2, 4, 8, 16, 24)
OK, SOME_FAILED, INTERRUPTED = 0, 1, 130


def default_threads(cores: int) -> tuple[int, ...]:
    """Those of the slides, as far as four threads on each CPU."""
    return tuple(count for count in THREADS if count <= 4 * cores)


def sha256_of(path: Path) -> str:
    """First twelve hex digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()[:12]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _announce(runner: Runner, sweep: Sweep) -> None:
    count = len(sweep.settings) * sweep.repeats
    there = count - len(runner.steps)
    left = f", {there} of them there from before" if there else ""
    about = f"about {clock_text(runner.planned_s)}" if runner.steps else "nothing left to do"
    say(f"{len(sweep.settings)} settings x {sweep.repeats} repeats = {count} runs{left}; {about}")


def _failures(runs: Sequence[Run]) -> list[str]:
    counts = Counter(
        f"{run.case} {run.variant} {run.threads} threads: {run.status}: {run.error}"
        for run in runs
        if run.status != "ok"
    )
    return [f"{text}{f' ({count} times)' if count > 1 else ''}" for text, count in counts.items()]


def carry_out(sweep: Sweep, out: Path, fresh: bool, dry: bool = False) -> int:
    """
    Take the runs that are not there yet, then report on all.
    @param dry  only show what would be run
    @return 0; 1 = some runs gave no figures, which are named; 130 = interrupted, the same command goes on
    """
    path = out / RUNS
    aside = put_aside(path) if fresh and not dry else None
    if aside:
        say(f"the results that were there are now {aside.name}")
    runner = Runner(sweep, path)
    _announce(runner, sweep)
    if dry:
        for repeat, setting in runner.steps:
            print(repeat, setting.variant, setting.case, *setting.options)
        return OK
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        result = runner.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    return _end(result, out, len(runner.steps))


def _end(result: Result, out: Path, steps: int) -> int:
    if any(run.status == "ok" for run in result.runs):
        _report(result.runs, out)
    failed = _failures(result.runs[-result.taken :] if result.taken else [])
    for text in failed:
        say(text)
    if result.interrupted:
        say(f"interrupted: {result.taken} of {steps} runs taken; the same command goes on where this ended")
        return INTERRUPTED
    if failed:
        say(f"{result.failed} of {result.taken} runs gave no figures; the same command tries them again")
        return SOME_FAILED
    return OK


def _report(runs: Sequence[Run], out: Path) -> None:
    os.environ.setdefault("MPLCONFIGDIR", str(out / ".matplotlib"))
    from nrbench.sweep.report import write_report  # loads pandas and matplotlib: a second

    names = write_report(runs, out)
    print(f"\nwritten to {out}/: {' '.join([RUNS, *names])}")


def report_again(out: Path) -> None:
    runs = read_runs(out / RUNS)
    if not runs:
        raise ResultsError(f"{out / RUNS}: holds no run")
    _report(runs, out)
