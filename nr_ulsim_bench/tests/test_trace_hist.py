# SPDX-License-Identifier: BSD-3-Clause
"""Quantiles and tails of times, against the sorted values."""

import math

import pytest

from nrbench.trace import hist

pytest.importorskip("hdrh")


def times_of(values) -> hist.Times:
    times = hist.Times()
    times.add_all(values)
    return times


def test_the_summary_of_a_thousand_values():
    assert times_of(range(1, 1001)).summary() == {
        "count": 1000,
        "p50_us": 0.5,
        "p99_us": 0.99,
        "max_us": 1.0,
        "mean_us": 0.5005,
    }


def test_of_one_value_all_quantiles_are_the_longest():
    summary = times_of([123_456_789]).summary()
    assert summary["p50_us"] == summary["p99_us"] == summary["max_us"] == summary["mean_us"] == 123_456.789


def test_of_no_value_there_is_no_quantile():
    empty = {"count": 0, "p50_us": None, "p99_us": None, "max_us": None, "mean_us": None}
    assert hist.Times().summary() == empty
    assert list(hist.Times().tail()) == []


@pytest.mark.parametrize("count", [*range(1, 260), 999, 1001, 1049, 1050, 1051, 1099])
def test_quantiles_have_the_nearest_rank(count):
    """Small values are not rounded."""
    expected = [math.ceil(percent * count / 100) / 1e3 for percent in (1, 50, 99, 100)]
    assert times_of(range(count, 0, -1)).quantiles_us(1, 50, 99, 100) == expected


def test_quantiles_are_those_of_sorted_values_to_a_thousandth():
    values = [(i * i * 7919) % 10_000_019 for i in range(5000)]
    times = times_of(values)
    p50, p99 = times.quantiles_us(50, 99)
    assert p50 == pytest.approx(sorted(values)[2499] / 1e3, rel=1e-3)
    assert p99 == pytest.approx(sorted(values)[4949] / 1e3, rel=1e-3)
    assert times.max_ns == max(values) and times.mean_us == pytest.approx(sum(values) / 5e6)


def test_no_quantile_is_beyond_the_longest():
    """Its bucket of the histogram ends at 10.009 us."""
    assert times_of([10_000] * 200).quantiles_us(50, 99) == [10.0, 10.0]


def test_a_tail_is_the_share_that_is_at_least_that_long():
    assert list(times_of([2000, 1, 3, 3]).tail()) == [(0.001, 1), (0.003, 0.75), (2.0, 0.25)]


def test_a_tail_ends_at_the_longest():
    *_, before, last = times_of([5_000, *range(100_000, 100_150), 1_000_001]).tail()
    assert before[0] == pytest.approx(100.149, rel=1e-3)
    assert last == (1000.001, 1 / 152)


@pytest.mark.parametrize("count", [hist.FEW - 1, hist.FEW, hist.FEW + 1, 2 * hist.FEW])
def test_few_values_and_many_give_the_same(count, monkeypatch):
    values = [(i * 7919) % 1_000_003 for i in range(count)]
    as_they_are = times_of(values)
    monkeypatch.setattr(hist, "FEW", 0)
    from_the_first = times_of(values)
    assert as_they_are.summary() == from_the_first.summary()
    assert list(as_they_are.tail()) == list(from_the_first.tail())


def test_few_values_need_no_histogram():
    assert times_of(range(hist.FEW))._hist is None
    more = times_of(range(hist.FEW + 1))
    assert more._hist is not None and not more._few


def test_times_beyond_the_range_count_as_the_longest():
    times = times_of([-5, 10**15])
    assert (times.count, times.max_ns) == (2, 10**15)
    assert times.quantiles_us(50) == [0.0]
    assert times.quantiles_us(99) == [pytest.approx(hist.HIGHEST_NS / 1e3, rel=1e-3)]
