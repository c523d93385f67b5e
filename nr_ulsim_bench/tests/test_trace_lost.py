# SPDX-License-Identifier: BSD-3-Clause
"""Stretches of time in which events were lost."""

import random

import pytest
from trace_log import W0, Log, analyse, burst, only

from nrbench.trace.figures import Lost


def of(*stretches: tuple[int, int]) -> Lost:
    found = Lost()
    for begin, end in stretches:
        found.add(begin, end)
    return found


@pytest.mark.parametrize(
    "begin, end, said",
    [(0, 9, False), (0, 10, True), (20, 25, True), (21, 29, False), (15, 16, True), (41, 99, False)],
)
def test_both_ends_belong_to_a_stretch(begin, end, said):
    assert of((10, 20), (30, 40)).between(begin, end) is said


@pytest.mark.parametrize(
    "stretches, count",
    [
        ([], 0),
        ([(10, 20), (30, 40)], 2),
        ([(30, 40), (10, 20)], 2),  # in any order
        ([(10, 20), (20, 40)], 1),
        ([(10, 20), (30, 40), (50, 60), (15, 50)], 1),
        ([(10, 20), (50, 60), (30, 40), (12, 13)], 3),
        ([(100, 2**63), (10, 20), (110, 120), (30, 40)], 3),  # a trace that is cut off is told first
    ],
)
def test_stretches_that_touch_are_one(stretches, count):
    assert of(*stretches).count == count


def test_it_is_as_if_all_were_looked_at():
    numbers = random.Random(1)
    stretches = [(at, at + numbers.randrange(30)) for at in (numbers.randrange(10_000) for _ in range(150))]
    found = of(*stretches)
    for _ in range(2000):
        begin = numbers.randrange(10_000)
        end = begin + numbers.randrange(100)
        assert found.between(begin, end) is any(b <= end and e >= begin for b, e in stretches)


def test_bursts_between_stretches_and_across_them():
    log = Log()
    log.pool()
    for i in range(50):
        burst(log, at=1000 * i, tasks=2)
        log.lost(1000 * i + 500, 1000 * i + 600, 1)
    log.push(50_000, 1)
    log.lost(50_010, 50_020, 1)
    log.run(50_030, 50_040, 1, W0)
    log.join(50_005, 50_050)
    analysis = analyse(log)
    figures = only(analysis)
    assert (figures.durations.count, figures.left_out) == (50, 1)
    assert (analysis.ledger.lost.count, analysis.ledger.lost_events) == (51, 51)
