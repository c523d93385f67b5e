# SPDX-License-Identifier: BSD-3-Clause
"""Intervals hold the true figure as often as they say, in simulations with fixed seeds; and what they allow
to say."""

import numpy as np
import pandas as pd
import pytest

from nrbench import table
from nrbench.judge import Interval, judge, late, median_interval, student_quantile, tail

TRIALS = 200
GROUPS = range(TRIALS)


def long(values, group=0):
    """A row a value: each row of an array is a group."""
    places = np.indices(values.shape)
    return pd.DataFrame(
        {"group": places[0].ravel() + group, "round": places[1].ravel(), "value": values.ravel()}
    )


def ratios(old, new, paired=True):
    """Of each row. Not paired: no round has both."""
    of_new = long(new, TRIALS)
    of_new["round"] += 0 if paired else 100
    return table.ratios(pd.concat([long(old), of_new]), {TRIALS + group: group for group in GROUPS})


def share(found, true, low="ratio_low", high="ratio_high"):
    return ((found[low] <= true) & (true <= found[high])).mean()


@pytest.mark.parametrize("degrees, known", [(4, 2.776), (6, 2.447), (9, 2.262), (19, 2.093), (100, 1.984)])
def test_student_quantiles_are_those_of_the_tables(degrees, known):
    assert student_quantile(0.975, degrees) == pytest.approx(known, abs=0.01)


def test_the_tail_grows_to_that_of_the_normal_distribution():
    tails = [tail(count) for count in (5, 7, 20, 1000)]
    assert tails == sorted(tails) and tails[-1] == pytest.approx(0.025, abs=0.001)


@pytest.mark.parametrize("count", [5, 7, 10, 20])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_interval_of_a_median_holds_it(count, skewed):
    """0.95 is wanted; of five values no interval holds more than 0.94. Three standard errors are 0.046."""
    rng, shape = np.random.default_rng(count), (TRIALS, count)
    values = rng.lognormal(0, 0.5, shape) if skewed else rng.normal(100, 5, shape)
    found = table.medians(long(values))
    assert share(found, 1 if skewed else 100, "low", "high") >= 0.90
    assert (found["low"][0], found["high"][0]) == pytest.approx(median_interval(values[0]))


@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_a_ratio_holds_it(paired):
    """Pairs take out what hits both."""
    rng, shape = np.random.default_rng(3), (TRIALS, 7)
    drift = rng.lognormal(0, 0.1, shape) if paired else 1
    found = ratios(rng.normal(100, 5, shape) * drift, rng.normal(150, 5, shape) * drift, paired)
    assert share(found, 1.5) >= 0.91 and set(found["paired"]) == {paired}


def test_few_values():
    assert median_interval([3, 1, 5, 2, 4]) == (1, 5)
    assert median_interval([1, 2, 3, 4]) is None
    assert table.medians(long(np.array([[1.0, 2, 3, 4]])))["low"].isna().all()


@pytest.mark.parametrize(
    "low, high, verdict",
    [(0.9, 0.98, "faster"), (0.9, 0.981, "not known"), (1.03, 1.1, "slower"), (1.019, 1.1, "not known")],
)
def test_a_threshold_of_2_percent(low, high, verdict):
    """1 ÷ 1.02 is 0.9804."""
    assert judge(Interval(low, high), 0.02) == verdict


def test_late_is_longer_than_the_deadline_else_than_5_4_of_the_median():
    assert late([8.0, 8.0, 8.0, 10.0, 11.0]) == (10.0, 1)
    assert late([8.0, 8.0, 8.0, 10.0, 11.0], 9.0) == (9.0, 2)
    assert late([]) == (0.0, 0)
