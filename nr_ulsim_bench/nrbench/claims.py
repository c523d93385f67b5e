# SPDX-License-Identifier: BSD-3-Clause
"""
Ratios of two measurements that were taken in the same rounds, and what they allow to claim.

PASS: the whole interval keeps the limit. MISS: no part of it does. OPEN: the rounds do not tell, or there are
too few of them. ----: there are no figures.
"""

from __future__ import annotations

import math
import statistics
from typing import Callable, Mapping, NamedTuple, Sequence

from nrbench.sweep.bootstrap import Interval, median_interval

Rounds = Mapping[int, float]  # value by round
HINTS_EQUAL = 1.05


class Ratio(NamedTuple):
    value: float
    interval: Interval | None  # 95 %; None = too few rounds

    def __str__(self) -> str:
        return self.text(lambda value: f"{value:.3f}")

    def text(self, form: Callable[[float], str]) -> str:
        value, *limits = map(form, (self.value, *(self.interval or ())))
        return f"{value} [{', '.join(limits) or '?'}]"

    def percent(self, digits: int) -> str:
        """By how much it is above 1."""
        return self.text(lambda value: f"{100 * (value - 1):+.{digits}f}")


def typical(values: Sequence[float]) -> Ratio | None:
    """The median of ratios, or of differences, and its interval. None: there are no values."""
    return Ratio(statistics.median(values), median_interval(values)) if values else None


def median(rounds: Rounds) -> float | None:
    return statistics.median(rounds.values()) if rounds else None


def round_ratio(of: Rounds, to: Rounds) -> Ratio | None:
    """Median over the rounds of the ratio in a round. None: no round has both. A round in which the divisor
    is 0, because nothing was done in its time, has no ratio."""
    return typical([of[number] / to[number] for number in sorted(of.keys() & to.keys()) if to[number] != 0])


def passed_word(passed: bool | None) -> str:
    return "----" if passed is None else "PASS" if passed else "MISS"


def _within_word(ratio: Ratio | None, low: float, high: float) -> str:
    if ratio is None:
        return "----"
    interval = ratio.interval
    if interval is None:
        return "OPEN"
    if low <= interval.low and interval.high <= high:
        return "PASS"
    return "MISS" if interval.high < low or interval.low > high else "OPEN"


def equal_word(ratio: Ratio | None, most: float) -> str:
    """@param most  the ratio up to which two values count as equal"""
    return _within_word(ratio, 1 / most, most)


def at_least_word(ratio: Ratio | None, limit: float) -> str:
    return _within_word(ratio, limit, math.inf)


def at_most_word(ratio: Ratio | None, limit: float) -> str:
    return _within_word(ratio, -math.inf, limit)


def hints_verdict(ratio: Ratio | None, nodes: int, scans: str) -> str:
    """Of the speed with NUMA hints to the speed without them. On one node they must change nothing."""
    found = f"(d) / (c) = {ratio or 'n/a'}"
    if nodes == 1:
        return f"{equal_word(ratio, HINTS_EQUAL)}  one node: hints change nothing, within 5 %: {found}"
    return f"{at_least_word(ratio, 1.0)}  {nodes} nodes: hints make {scans} faster: {found}"
