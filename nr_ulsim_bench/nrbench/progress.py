# SPDX-License-Identifier: BSD-3-Clause
"""Count, percent, elapsed and remaining time, on one line of a terminal or now and then in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

TERMINAL_PERIOD_S = 0.2
LOG_PERIOD_S = 15.0


def clock_text(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    def __init__(self, count: int, planned_s: float, out: TextIO = sys.stderr) -> None:
        self.count = count
        self.planned_s = planned_s
        self.out = out
        self.terminal = out.isatty()
        self.begin = time.monotonic()
        self.last_shown = -LOG_PERIOD_S
        self.done = 0
        self.done_planned_s = 0.0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.begin

    def left_s(self) -> float:
        """From how the estimates of what is done have held so far."""
        if self.done_planned_s <= 0:
            return self.planned_s
        return (self.planned_s - self.done_planned_s) * self.elapsed_s / self.done_planned_s

    def step(self, planned_s: float, what: str) -> None:
        self.done += 1
        self.done_planned_s += planned_s
        period_s = TERMINAL_PERIOD_S if self.terminal else LOG_PERIOD_S
        if self.elapsed_s - self.last_shown >= period_s or self.done == self.count:
            self.last_shown = self.elapsed_s
            self._show(what)

    def _show(self, what: str) -> None:
        text = (
            f"{self.done:>5}/{self.count} {100 * self.done / self.count:3.0f} %  "
            f"elapsed {clock_text(self.elapsed_s)}  left {clock_text(self.left_s())}  {what}"
        )
        self.out.write(f"\r\033[K{text[:110]}" if self.terminal else f"{text}\n")
        self.out.flush()

    def finish(self) -> None:
        if self.terminal:
            self.out.write("\r\033[K")
            self.out.flush()
