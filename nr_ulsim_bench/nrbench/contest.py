# SPDX-License-Identifier: BSD-3-Clause
"""The coliseum's question: is this pool slower than another? Answered with intervals, or not at all."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Iterator

from nrbench.backends import ALONE, OWN
from nrbench.plan import FIB_CASES
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
        """Not slower by more than the tie. None = the rounds do not tell: the tie lies in the interval."""
        if self.interval is None or self.interval.low <= TIE < self.interval.high:
            return None
        return self.interval.high <= TIE

    def __str__(self) -> str:
        return f"{self.key} against {self.rival.pool()}: {self.percent} %"


def fair_key(summaries: Summaries, sched_class: str, case: str) -> Key | None:
    """The own pool with the fewest workers: as many computing threads as cores."""
    own = select(
        summaries,
        bench="coliseum",
        backend=OWN,
        mode="default",
        case=case,
        sched_class=sched_class,
        hog=False,
    )
    return min(own, key=lambda key: key.workers, default=None)


def contest_ratios(summaries: Summaries, name: str) -> Iterator[ContestRatio]:
    """Against each other pool in each class and case. `alone` has no queue: no rival in CPU time."""
    classes = dict.fromkeys(key.sched_class for key in select(summaries, bench="coliseum"))
    for sched_class, case in ((c, case) for c in classes for case in FIB_CASES):
        key = fair_key(summaries, sched_class, case)
        rivals = select(summaries, bench="coliseum", case=case, sched_class=sched_class, hog=False)
        for rival, summary in rivals.items() if key else ():
            if key is None or rival.backend == OWN or (name == "cpu_s" and rival.backend == ALONE):
                continue
            ratios = round_ratios(summaries[key], summary, name)
            if ratios:
                yield ContestRatio(key, rival, statistics.median(ratios), median_interval(ratios))
