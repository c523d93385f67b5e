# SPDX-License-Identifier: BSD-3-Clause
"""Whether a time became shorter or longer: what the interval of a ratio shows."""

from __future__ import annotations

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
    if not 0 <= threshold < 1:
        raise ValueError(f"--threshold {threshold:g}: not a share from 0 to below 1, such as 0.02 for 2 %")
    return threshold


def judge(interval: Interval | None, repeats: int, threshold: float = 0.0) -> Verdict:
    """Of a ratio new/old of times. Faster or slower if the whole interval lies on that side of 1, by more
    than the threshold: 0.02 asks for an interval above 1.02 or below 1/1.02."""
    limit = 1 + threshold
    if interval is None:
        return Verdict(FEW, repeats)
    if interval.high < 1 / limit:
        return Verdict(FASTER, repeats)
    return Verdict(SLOWER if interval.low > limit else SAME, repeats)
