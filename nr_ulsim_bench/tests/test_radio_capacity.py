# SPDX-License-Identifier: BSD-3-Clause
"""The search for the capacity, on cells whose capacity is known."""

import math
import random
from typing import NamedTuple

import pytest

from nrbench.radio.capacity import RATIO_MAX, Limits, capacity, limits_of, next_timescale, ratio, verdict


class Trial(NamedTuple):
    timescale: float
    lives: bool


LIMITS = Limits(0.1, 1.0)


def search(lives, count, limits=LIMITS):
    """@param lives  whether a run at a timescale lives"""
    trials = []
    for _ in range(count):
        timescale = next_timescale(trials, limits)
        trials.append(Trial(timescale, lives(timescale)))
    return trials


def by_chance(true, width, draw):
    """A run lives by a logistic curve; at its middle in one of two runs."""
    return lambda timescale: draw.random() < 1 / (1 + math.exp(math.log(timescale / true) / width))


def test_the_timescales_to_try_are_close_together_and_reach_both_limits():
    grid = LIMITS.grid
    assert (grid[0], grid[-1]) == LIMITS
    assert all(1 < high / low <= RATIO_MAX for low, high in zip(grid, grid[1:]))


@pytest.mark.parametrize("true", [0.13, 0.27, 0.9])
def test_eight_runs_find_a_sharp_edge(true):
    trials = search(lambda timescale: timescale < true, 8)
    found = capacity(trials, LIMITS)
    assert found.value == pytest.approx(true, rel=0.05) and not found.sign
    assert (found.low or 0) < true < (found.high or math.inf)


@pytest.mark.parametrize("width", [0.02, 0.06])
def test_the_interval_holds_the_capacity_of_cells_that_die_by_chance(width):
    draw = random.Random(7)
    held = 0
    for _ in range(40):
        true = draw.uniform(0.15, 0.8)
        found = capacity(search(by_chance(true, width, draw), 10), LIMITS)
        held += (found.low or 0) <= true <= (found.high or math.inf)
    assert held >= 36


def test_a_stray_death_far_below_the_capacity_is_made_up_for():
    strays = iter([True])  # the first run dies, whatever its timescale
    trials = search(lambda timescale: not next(strays, False) and timescale < 0.6, 14)
    assert not trials[0].lives and trials[0].timescale < 0.4
    assert capacity(trials, LIMITS).value == pytest.approx(0.6, rel=0.1)


def test_runs_that_all_live_or_all_die_give_a_bound():
    living, dying = search(lambda _: True, 8), search(lambda _: False, 8)
    above, below = capacity(living, LIMITS), capacity(dying, LIMITS)
    assert (above.sign, above.value, above.high) == ("≥", 1.0, None)
    assert (below.sign, below.value, below.low) == ("<", 0.1, None)
    assert str(below).startswith("< 0.10 […, ")


def test_one_run_is_enough_for_a_report():
    one = [Trial(0.3, True)]
    assert limits_of(one) == (0.3, 0.3)
    assert str(capacity(one, limits_of(one))) == "≥ 0.30 […, …]"


def test_the_ratio_of_two_capacities():
    old = search(lambda timescale: timescale < 0.27, 12)
    new = search(lambda timescale: timescale < 0.54, 12)
    found = ratio(new, old, LIMITS)
    assert found.value == pytest.approx(2.0, rel=0.05)
    assert 1.7 < found.low < 2 < found.high < 2.3
    back = ratio(old, new, LIMITS)
    assert back.value == pytest.approx(1 / found.value, rel=0.02)
    assert (verdict(found), verdict(back)) == ("faster", "slower")


def test_the_ratio_to_a_bound_is_a_bound():
    old, new = search(lambda timescale: timescale < 0.25, 12), search(lambda _: True, 12)
    found = ratio(new, old, LIMITS)
    assert found.sign == "≥" and found.high is None
    assert found.value == pytest.approx(4.0, rel=0.05) and 3 < found.low <= found.value
    assert ratio(old, new, LIMITS).sign == "<"
    assert (verdict(found), verdict(ratio(old, new, LIMITS))) == ("faster", "slower")
    assert ratio(new, new, LIMITS) is None
