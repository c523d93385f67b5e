# SPDX-License-Identifier: BSD-3-Clause
"""The capacity of a cell: the timescale at which half of its runs live. Which timescale to try next, and the
estimate with its interval.

The share of runs that live falls with log(timescale) as a logistic curve. The position and the width of the
curve are unknown, and a run in fifty ends against the odds (LAPSE). Bayes' rule gives the probability of each
position and width from the runs. The next run is taken where its outcome is expected to reduce the entropy of
that probability most: a bisection at first, then a staircase around the capacity. One stray run does not
mislead it for long. The interval holds 95 % of the probability. A bootstrap would need more runs than a cell
has: many resamples of ten runs lack every run near the capacity."""

import math
from typing import Any, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from nrbench.judge import CONFIDENCE, Interval, judge
from nrbench.radio.record import RadioRun

RATIO_MAX = 1.06  # of neighbours among the timescales to try
LAPSE = 0.02
WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16)  # of the curve, in units of log(timescale); equally probable
STEP = 0.01  # of the lattice, in units of log(timescale)
BEYOND = 0.15  # how far the lattice goes beyond the limits, likewise
CUT = (1 - CONFIDENCE) / 2
Array = NDArray[Any]


class Limits(NamedTuple):
    low: float
    high: float

    @property
    def grid(self) -> list[float]:
        """Timescales that can be tried, both limits among them."""
        span = math.log(self.high / self.low)
        count = max(1, math.ceil(span / math.log(RATIO_MAX)))
        return [round(self.low * math.exp(span * place / count), 4) for place in range(count + 1)]

    @property
    def lattice(self) -> Array:
        """Possible positions: logarithms."""
        first = math.floor((math.log(self.low) - BEYOND) / STEP)
        last = math.ceil((math.log(self.high) + BEYOND) / STEP)
        return np.arange(first, last + 1) * STEP


def limits_of(runs: Sequence[RadioRun]) -> Limits:
    timescales = [run.timescale for run in runs]
    return Limits(min(timescales), max(timescales))


def _lives(timescales: Sequence[float], lattice: Array) -> Array:
    """Probability that a run lives, by timescale, width and position."""
    place, width = np.log(timescales)[:, None, None], np.array(WIDTHS)[:, None]
    return np.asarray(LAPSE + (1 - 2 * LAPSE) / (1 + np.exp((place - lattice) / width)))


def _posterior(runs: Sequence[RadioRun], lattice: Array) -> Array:
    """Probability of each width and position. Before any run all are alike."""
    found = np.ones((len(WIDTHS), len(lattice)))
    for lives, run in zip(_lives([run.timescale for run in runs], lattice), runs):
        found *= lives if run.lives else 1 - lives
    found /= found.sum()
    return found


def _uncertainty(outcome: Array) -> Array:
    """Entropy after an outcome, times the probability of the outcome; a row a timescale."""
    of_outcome = outcome.sum(axis=(1, 2), keepdims=True)
    return np.asarray(-(outcome * np.log(outcome / of_outcome)).sum(axis=(1, 2)))


def _quantiles(lattice: Array, probability: Array) -> tuple[float, float, float]:
    """Low end of the interval, median, high end: logarithms."""
    low, middle, high = np.interp((CUT, 0.5, 1 - CUT), np.cumsum(probability), lattice)
    return float(low), float(middle), float(high)


def next_timescale(runs: Sequence[RadioRun], limits: Limits) -> float:
    """Of the grid within the limits. It depends on the cell's own runs only, so that a session that goes on
    chooses as one that was never interrupted."""
    lattice, grid = limits.lattice, limits.grid
    known, lives = _posterior(runs, lattice), _lives(grid, lattice)
    return grid[int(np.argmin(_uncertainty(known * lives) + _uncertainty(known * (1 - lives))))]


class Bounded(NamedTuple):
    """An estimate with its interval. An end is None where the runs do not bound it."""

    value: float
    low: float | None
    high: float | None
    sign: str = ""  # of the value, where it is a bound itself: ≥ or <

    def __str__(self) -> str:
        ends = ("…" if end is None else f"{end:.2f}" for end in (self.low, self.high))
        return f"{self.sign + ' ' if self.sign else ''}{self.value:.2f} [{', '.join(ends)}]"


def capacity(runs: Sequence[RadioRun], limits: Limits) -> Bounded:
    """A value outside the timescales that were tried is no estimate: it becomes a bound.

    @param limits  of all cells that are compared. They bound what is possible before any run."""
    own, lattice = limits_of(runs), limits.lattice
    low, value, high = np.exp(_quantiles(lattice, _posterior(runs, lattice).sum(axis=0)))
    sign = "≥" if value > own.high else "<" if value < own.low else ""
    least = float(min(low, own.high)) if low > own.low else None
    most = float(max(high, own.low)) if high < own.high else None
    return Bounded(float(min(max(value, own.low), own.high)), least, most, sign)


def ratio(new: Sequence[RadioRun], old: Sequence[RadioRun], limits: Limits) -> Bounded | None:
    """Of the capacities of two cells. None: neither is more than a bound, or the bounds are on one side."""
    ends = {"": 0, "≥": 1, "<": -1}
    of_new, of_old = capacity(new, limits), capacity(old, limits)
    side = ends[of_new.sign] - ends[of_old.sign]
    if of_new.sign and of_old.sign and side == 0:
        return None
    lattice = limits.lattice
    positions = [_posterior(runs, lattice).sum(axis=0) for runs in (new, old)]
    difference = np.convolve(positions[0], positions[1][::-1])
    steps = np.arange(len(difference)) - (len(lattice) - 1)
    low, value, high = map(float, np.exp(_quantiles(steps * STEP, difference)))
    bound = of_new.value / of_old.value
    if side > 0:
        return Bounded(bound, min(low, bound), None, "≥")
    return Bounded(bound, None, max(high, bound), "<") if side < 0 else Bounded(value, low, high)


def verdict(of: Bounded) -> str:
    """@param of  a ratio of capacities; where it is above 1, times are shorter"""
    times = Interval(1 / of.high if of.high else 0.0, 1 / of.low if of.low else math.inf)
    return judge(times)
