# SPDX-License-Identifier: BSD-3-Clause
"""Count, elapsed and remaining time: a line now and then."""

import sys
import time
from datetime import timedelta
from typing import TextIO

LOG_PERIOD_S = 15.0


def clock_text(seconds: float) -> str:
    """As 4:05 or 1:04:05."""
    return str(timedelta(seconds=int(seconds))).removeprefix("0:").removeprefix("0")


def say(text: str) -> None:
    """What the user should know while something runs, apart from the results on stdout."""
    print(f"nrbench: {text}", file=sys.stderr)


class Progress:
    def __init__(self, count: int, planned_s: float, out: TextIO | None = None) -> None:
        self.count, self.planned_s, self.out = count, planned_s, out or sys.stderr
        self.begin, self.last_shown = time.monotonic(), -LOG_PERIOD_S
        self.done, self.failed, self.done_planned_s = 0, 0, 0.0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.begin

    def _times(self) -> str:
        """What is left, by how the estimates of what is done have held so far."""
        elapsed_s, left_s = self.elapsed_s, self.planned_s - self.done_planned_s
        left_s *= elapsed_s / self.done_planned_s if self.done_planned_s > 0 else 1
        return f"elapsed {clock_text(elapsed_s)}  left {clock_text(left_s)}"

    def step(self, planned_s: float, what: str, count: int = 1, failed: int = 0) -> None:
        """Something is done that was planned to take so long. The first failure is shown at once."""
        is_first, self.failed = failed > self.failed == 0, self.failed + failed
        self.done += count
        self.done_planned_s += planned_s
        if self.elapsed_s - self.last_shown >= LOG_PERIOD_S or self.done == self.count or is_first:
            self.last_shown = self.elapsed_s
            share = f"{self.done:>5}/{self.count} {100 * self.done / self.count:3.0f} %"
            what = f"{self.failed} failed  {what}" if self.failed else what
            print(f"{share}  {self._times()}  {what}"[:110], file=self.out, flush=True)
