# SPDX-License-Identifier: BSD-3-Clause
"""Whether something became faster or slower: what the interval of a ratio says."""

from __future__ import annotations

import math
from typing import NamedTuple

from nrbench.sweep.bootstrap import Interval

FASTER = "faster"
SLOWER = "slower"
SAME = "not distinguishable"
FEW = "too few repeats"
NONE = "no result"


class Verdict(NamedTuple):
    word: str
    repeats: int

    def __str__(self) -> str:
        if self.word == SAME:
            return f"{SAME} at n={self.repeats}"
        return f"{FEW} (n={self.repeats})" if self.word == FEW else self.word


def check_threshold(threshold: float) -> float:
    if not (math.isfinite(threshold) and 0 <= threshold < 1):
        raise ValueError(f"threshold {threshold:g}: a share from 0 to below 1 is wanted, as 0.02 for 2 %")
    return threshold


def judge(ratio: float | None, interval: Interval | None, repeats: int, threshold: float = 0.0) -> Verdict:
    """Of a ratio new/old of times. Faster or slower if the whole interval lies on that side of 1, by more
    than the threshold: 0.02 asks for an interval above 1.02 or below 1/1.02."""
    limit = 1 + check_threshold(threshold)
    if ratio is None:
        return Verdict(NONE, repeats)
    if interval is None:
        return Verdict(FEW, repeats)
    if interval.high < 1 / limit:
        return Verdict(FASTER, repeats)
    return Verdict(SLOWER if interval.low > limit else SAME, repeats)
