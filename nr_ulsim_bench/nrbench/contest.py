# SPDX-License-Identifier: BSD-3-Clause
"""The coliseum's question: is this pool slower than another? Answered with intervals, or not at all."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Iterator

from nrbench.backends import ALONE, FACADES, OWN
from nrbench.plan import CLASSES, FIB_CASES
from nrbench.stats import Key, Summaries, round_ratios, select
from nrbench.sweep.bootstrap import Interval, median_interval

TIE = 1.01  # slower by less than that is no loss


@dataclass(frozen=True)
class ContestRatio:
    """Time of the own pool ÷ time of a rival: median over the rounds that both have."""

    key: Key
    rival: Key
    value: float
    interval: Interval | None  # None = too few rounds

    @property
    def percent(self) -> str:
        if self.interval is None:
            return f"{100 * (self.value - 1):+.1f} [?]"
        low, high = (100 * (limit - 1) for limit in self.interval)
        return f"{100 * (self.value - 1):+.1f} [{low:+.1f}, {high:+.1f}]"

    @property
    def holds(self) -> bool | None:
        """Not slower by more than the tie. None = undecided: the tie lies in the interval."""
        if self.interval is None or self.interval.low <= TIE < self.interval.high:
            return None
        return self.interval.high <= TIE

    def __str__(self) -> str:
        return f"{self.key} against {self.rival.pool()}: {self.percent} %"


def contest_ratios(summaries: Summaries, name: str) -> Iterator[ContestRatio]:
    """Against each other pool in each class and case: the own pool with the fewest workers, which are as many
    computing threads as cores. `alone` has no queue: no rival in CPU time."""
    for sched_class, case in ((c, case) for c in CLASSES for case in FIB_CASES):
        every = select(summaries, bench="coliseum", case=case, sched_class=sched_class, hog=False)
        own = select(every, backend=OWN, mode="default")
        key = min(own, key=lambda key: key.workers, default=None)
        for rival, summary in every.items() if key else ():
            if (
                key is None
                or rival.backend in (OWN, *FACADES)
                or (name == "cpu_s" and rival.backend == ALONE)
            ):
                continue
            ratios = round_ratios(summaries[key], summary, name)
            if ratios:
                yield ContestRatio(key, rival, statistics.median(ratios), median_interval(ratios))
