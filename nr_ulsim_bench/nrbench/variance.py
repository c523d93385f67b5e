# SPDX-License-Identifier: BSD-3-Clause
"""Do two samples differ in their variances, or in their means? The F test, and Welch's t test."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Sequence

TERMS_MAX = 500
PRECISION = 1e-14
_TINY = 1e-300


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, evaluated from its head (Lentz). It converges
    fast for x < (a + 1) / (a + b + 2)."""
    upper, lower = 1.0, 1 - (a + b) * x / (a + 1)
    lower = 1 / (lower or _TINY)
    value = lower
    for m in range(1, TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            lower = 1 / ((1 + term * lower) or _TINY)
            upper = (1 + term / upper) or _TINY
            value *= upper * lower
        if abs(upper * lower - 1) < PRECISION:
            break
    return value


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised: 0 at x = 0, 1 at x = 1. a and b are above 0."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - beta) / a * _fraction(x, a, b)


def f_above(value: float, upper: int, lower: int) -> float:
    """Probability that F with these degrees of freedom is above the value."""
    return incomplete_beta(lower / (lower + upper * value), lower / 2, upper / 2)


def t_outside(value: float, degrees: float) -> float:
    """Probability that Student's t is further from 0 than the value, on either side."""
    return incomplete_beta(degrees / (degrees + value * value), degrees / 2, 0.5)


class Outcome(NamedTuple):
    value: float  # F or t
    p: float  # two-sided


def f_test(first: Sequence[float], second: Sequence[float]) -> Outcome | None:
    """Of var(first) / var(second). None: too few values, or all of them alike."""
    if min(len(first), len(second)) < 2:
        return None
    variances = statistics.variance(first), statistics.variance(second)
    if min(variances) <= 0:
        return None
    value = variances[0] / variances[1]
    above = f_above(value, len(first) - 1, len(second) - 1)
    below = f_above(1 / value, len(second) - 1, len(first) - 1)  # not 1 - above, which may round to 0
    return Outcome(value, min(1.0, 2 * min(above, below)))


def welch_test(first: Sequence[float], second: Sequence[float]) -> Outcome | None:
    """Of mean(first) - mean(second), whatever the variances."""
    if min(len(first), len(second)) < 2:
        return None
    parts = [statistics.variance(values) / len(values) for values in (first, second)]
    if sum(parts) <= 0:
        return None
    value = (statistics.fmean(first) - statistics.fmean(second)) / math.sqrt(sum(parts))
    freedom = sum(part**2 / (len(values) - 1) for part, values in zip(parts, (first, second)))
    return Outcome(value, t_outside(value, sum(parts) ** 2 / freedom))
