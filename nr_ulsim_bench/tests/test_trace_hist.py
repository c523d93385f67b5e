# SPDX-License-Identifier: BSD-3-Clause
"""Quantiles and tails of times."""

import math

import pytest

from nrbench.trace.figures import Times


def times_of(values) -> Times:
    times = Times()
    times.add(*values)
    return times


def test_the_summary_of_a_thousand_values():
    assert times_of(range(1000, 0, -1)).summary() == {
        "count": 1000,
        "p50_us": 0.5,
        "p99_us": 0.99,
        "max_us": 1.0,
        "mean_us": pytest.approx(0.5005),
    }


def test_of_one_value_all_quantiles_are_the_longest():
    summary = times_of([123_456_789]).summary()
    assert summary["p50_us"] == summary["p99_us"] == summary["max_us"] == summary["mean_us"] == 123_456.789


def test_of_no_value_there_is_no_quantile():
    empty = {"count": 0, "p50_us": None, "p99_us": None, "max_us": None, "mean_us": None}
    assert Times().summary() == empty
    assert [list(part) for part in Times().tail()] == [[], []]


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 199, 200, 201, 1050])
def test_quantiles_have_the_nearest_rank(count):
    summary = times_of(range(count, 0, -1)).summary()
    assert summary["p50_us"] == math.ceil(count / 2) / 1e3
    assert summary["p99_us"] == math.ceil(99 * count / 100) / 1e3


def test_a_tail_is_the_share_that_is_at_least_that_long():
    times, shares = times_of([2000, 1, 3, 3]).tail()
    assert list(times) == [0.001, 0.003, 2.0] and list(shares) == [1, 0.75, 0.25]


def test_a_negative_time_counts_as_none():
    assert times_of([-5, 7]).summary()["p50_us"] == 0
