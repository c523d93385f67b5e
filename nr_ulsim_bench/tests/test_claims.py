# SPDX-License-Identifier: BSD-3-Clause
"""Claims about ratios need an interval on one side of the limit."""

import pytest

from nrbench.judge import Interval, Ratio, at_least_word, at_most_word, equal_word, round_ratio


def ratio(low, high):
    return Ratio((low + high) / 2, Interval(low, high))


def test_rounds_that_only_one_side_has_do_not_count():
    found = round_ratio({0: 2.0, 1: 4.0, 7: 9.0}, {0: 1.0, 1: 2.0, 8: 1.0})
    assert found == Ratio(2.0, None) and str(found) == "2.000 [?]"
    assert round_ratio({0: 1.0}, {1: 1.0}) is None


def test_a_round_in_which_nothing_was_done_has_no_ratio():
    assert round_ratio({0: 4.0, 1: 6.0}, {0: 0.0, 1: 2.0}).value == 3.0
    assert round_ratio({0: 4.0}, {0: 0.0}) is None


def test_five_rounds_have_an_interval():
    found = round_ratio({n: 1.0 + n / 100 for n in range(5)}, dict.fromkeys(range(5), 1.0))
    assert found.value == pytest.approx(1.02)
    assert found.interval.low == pytest.approx(1.0) and found.interval.high == pytest.approx(1.04)


@pytest.mark.parametrize(
    "found, equal, least, most",
    [
        (ratio(0.99, 1.01), "met", "met", "met"),
        (ratio(0.90, 0.94), "missed", "missed", "met"),
        (ratio(0.93, 1.02), "not known", "not known", "not known"),
        (ratio(1.06, 1.20), "missed", "met", "missed"),
        (ratio(0.99, 1.06), "not known", "met", "not known"),
        (Ratio(1.0, None), "not known", "not known", "not known"),
        (None, "no result", "no result", "no result"),
    ],
)
def test_the_words(found, equal, least, most):
    assert equal_word(found, 1.05) == equal
    assert at_least_word(found, 0.95) == least
    assert at_most_word(found, 1.01) == most
