# SPDX-License-Identifier: BSD-3-Clause
"""Stretches of time in which events were lost: what touches them, how many there are, and how long a search
takes."""

import random

import pytest
from trace_log import W0, Log, analyse, burst, only

from nrbench.trace import lost
from nrbench.trace.lost import Lost


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


def test_their_number_is_limited(monkeypatch):
    monkeypatch.setattr(lost, "STRETCHES_MAX", 8)
    found = of(*((100 * i, 100 * i + 10) for i in range(1000)))
    assert found.count == 1000 and len(found._begins) == len(found._ends) <= 8
    assert found.between(99_905, 99_950) and not found.between(99_911, 99_999)
    assert not found.between(99_811, 99_899)  # the last ones are all there
    assert found.between(50_020, 50_030)  # of the first ones it is no longer known


def test_what_is_asked_of_many_stretches_reads_few_of_them(monkeypatch):
    """16000 stretches, each with a burst behind it: the number of comparisons, not of seconds."""
    compared = 0

    class Time(int):
        def __lt__(self, other: int) -> bool:
            nonlocal compared
            compared += 1
            return int(self) < int(other)

        def __gt__(self, other: int) -> bool:
            nonlocal compared
            compared += 1
            return int(self) > int(other)

    found = of(*((Time(100 * i), Time(100 * i + 10)) for i in range(16_000)))
    compared = 0
    assert all(not found.between(100 * i + 20, 100 * i + 90) for i in range(16_000))
    assert compared <= 16_000 * 15


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
