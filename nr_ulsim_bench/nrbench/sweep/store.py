# SPDX-License-Identifier: BSD-3-Clause
"""The results file of a sweep: what an earlier call has left in it, and how a run gets into it."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from nrbench.sweep.plan import Setting
from nrbench.sweep.record import ResultsError, Run, read_runs, to_line

WAY_OUT = "--fresh puts these results aside and begins anew; --out names another folder"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One sweep at a time: two would take every run twice, and disturb each other."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResultsError(f"{folder}: another sweep is writing its results there") from error
        yield
    finally:
        os.close(handle)


def _check_cases(path: Path, settings: Sequence[Setting], runs: Sequence[Run]) -> None:
    """One name must not stand for two things in a report."""
    words = {(s.scenario, s.case, s.threads): (*s.options, f"seed={s.seed}") for s in settings}
    for run in runs:
        before = (*run.options, f"seed={run.seed}")
        now = words.get((run.scenario, run.case, run.threads), before)
        if now != before:
            raise ResultsError(
                f"{path}: {run.scenario}:{run.case} was run with {' '.join(before)}, "
                f"not with {' '.join(now)} ({WAY_OUT})"
            )


def earlier_runs(path: Path, sweep: str, settings: Sequence[Setting]) -> list[Run]:
    """Runs of this sweep that an earlier call took."""
    if not path.exists():
        return []
    runs = read_runs(path)
    for run in runs:
        if run.sweep != sweep:
            raise ResultsError(
                f"{path}: holds a sweep of another machine, other programs or other options ({WAY_OUT})"
            )
    _check_cases(path, settings, runs)
    return runs


def end_last_line(path: Path) -> None:
    """So that more can be appended: a line that was cut short goes from the file."""
    if not path.exists():
        return
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


class Writer:
    """Appends runs, each at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        end_last_line(path)
        self.out = open(path, "ab", buffering=0)

    def write(self, run: Run) -> None:
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
