# SPDX-License-Identifier: BSD-3-Clause
"""Count, elapsed and remaining time: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

LOG_PERIOD_S = 15.0


def clock_text(seconds: float) -> str:
    """As 4:05 or 1:04:05."""
    return str(timedelta(seconds=int(seconds))).removeprefix("0:").removeprefix("0")


def say(text: str) -> None:
    """What the user should know while something runs, apart from the results on stdout."""
    print(f"nrbench: {text}", file=sys.stderr)


def shows_bars(out: TextIO) -> bool:
    """@return whether it is a terminal that can draw a bar again and again; TERM=dumb cannot"""
    return out.isatty() and not Console(file=out).is_dumb_terminal


class Progress:
    def __init__(self, count: int, planned_s: float, out: TextIO | None = None) -> None:
        self.count = count
        self.planned_s = planned_s
        self.out = out or sys.stderr
        self.begin = time.monotonic()
        self.last_shown = -LOG_PERIOD_S
        self.done = 0
        self.done_planned_s = 0.0
        self.interrupted = False
        self.bar: Bar | None = None
        if shows_bars(self.out):
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
            # refreshed by hand: a thread that draws would disturb what is measured
            self.bar = Bar(*columns, console=Console(file=self.out), transient=True, auto_refresh=False)
            self.task = self.bar.add_task(self._times(), total=count)
            self.bar.start()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.begin

    def _times(self) -> str:
        """What is left, by how the estimates of what is done have held so far."""
        elapsed_s, left_s = self.elapsed_s, self.planned_s - self.done_planned_s
        left_s *= elapsed_s / self.done_planned_s if self.done_planned_s > 0 else 1
        return f"elapsed {clock_text(elapsed_s)}  left {clock_text(left_s)}"

    def show(self, what: str) -> None:
        """What is being done now."""
        if self.bar:
            self.bar.update(self.task, completed=self.done, description=f"{self._times()}  {what[:60]}")
            self.bar.refresh()

    def step(self, planned_s: float, what: str) -> None:
        """Something is done that was planned to take so long."""
        self.done += 1
        self.done_planned_s += planned_s
        self.show(what)
        due = self.elapsed_s - self.last_shown >= LOG_PERIOD_S or self.done == self.count
        if not self.bar and due:
            self.last_shown = self.elapsed_s
            share = f"{self.done:>5}/{self.count} {100 * self.done / self.count:3.0f} %"
            print(f"{share}  {self._times()}  {what}"[:110], file=self.out, flush=True)

    def finish(self) -> None:
        if self.bar:
            self.bar.stop()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> bool:
        """An interruption by the user ends the work, and is no error."""
        self.finish()
        self.interrupted = error is KeyboardInterrupt
        return self.interrupted
