# SPDX-License-Identifier: BSD-3-Clause
"""The results file of a sweep: what an earlier call has left in it, and how a run gets into it."""

from __future__ import annotations

import fcntl
import itertools
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
