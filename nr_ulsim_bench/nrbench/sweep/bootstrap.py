# SPDX-License-Identifier: BSD-3-Clause
"""Confidence intervals of medians and of ratios of medians, by resampling; seeded, so always the same.

The intervals are percentiles of 5000 resampled medians. Plain percentiles are too narrow for few values (at
7 they hold 88 % instead of 95 %), so they are taken further out by the usual correction: the level that
Student's t has, widened by sqrt(n / (n - 1)) ("expanded percentiles"). At 5 values the interval goes from the
smallest to the largest, which holds 94 %.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 5000
N_MIN = 5
SEED = 1

Values = Sequence[float] | NDArray[np.float64]


class Interval(NamedTuple):
    low: float
    high: float

    def inverse(self) -> Interval:
        return Interval(1 / self.high, 1 / self.low)


def student_quantile(probability: float, degrees: int) -> float:
    """Of Student's distribution with at least 4 degrees of freedom, to three digits."""
    z = NormalDist().inv_cdf(probability)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )


def tail(count: int) -> float:
    """Share of the resampled medians that is cut off at either end."""
    t = student_quantile((1 + CONFIDENCE) / 2, count - 1)
    return NormalDist().cdf(-t * math.sqrt(count / (count - 1)))


@lru_cache(maxsize=16)
def _picks(count: int, seed: int) -> NDArray[np.intp]:
    return np.random.default_rng((seed, count)).integers(0, count, (RESAMPLES, count))


def _medians(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    resampled = np.sort(values[_picks(len(values), seed)], axis=1)  # for few values faster than a partition
    middle = len(values) // 2
    if len(values) % 2:
        return resampled[:, middle]
    return (resampled[:, middle - 1] + resampled[:, middle]) / 2


def _interval(statistics: NDArray[np.float64], count: int) -> Interval:
    cut = tail(count)
    low, high = np.quantile(statistics, [cut, 1 - cut])
    return Interval(float(low), float(high))


def _positive(values: Values, what: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{what}: a ratio needs finite values above 0, got {values!r}")
    return array


def median_interval(values: Values, seed: int = SEED) -> Interval | None:
    """None: too few values."""
    array = np.asarray(values, dtype=np.float64)
    return _interval(_medians(array, seed), len(array)) if len(array) >= N_MIN else None


def paired_ratio_interval(old: Values, new: Values, seed: int = SEED) -> Interval | None:
    """Of median(new) / median(old), where old[i] and new[i] are of the same round: rounds are resampled, so
    what hits both alike widens nothing. None: too few rounds."""
    before, after = _positive(old, "old"), _positive(new, "new")
    if len(before) != len(after):
        raise ValueError(f"pairs wanted, got {len(before)} and {len(after)} values")
    if len(before) < N_MIN:
        return None
    return _interval(_medians(after, seed) / _medians(before, seed), len(before))


def ratio_interval(old: Values, new: Values, seed: int = SEED) -> Interval | None:
    """Of median(new) / median(old), taken apart from each other. None: too few values on one side."""
    before, after = _positive(old, "old"), _positive(new, "new")
    fewest = min(len(before), len(after))
    if fewest < N_MIN:
        return None
    return _interval(_medians(after, seed) / _medians(before, seed + 1), fewest)
