# SPDX-License-Identifier: BSD-3-Clause
"""Where bursts begin and end in programs that mark no phases."""

import pytest
from test_trace_analysis import values
from trace_log import FUNC, MAIN, POOL, W0, Log, analyse, burst, only, path_of


@pytest.mark.parametrize("counted", [True, False])
def test_bursts_whose_last_task_ends_after_the_wait(counted):
    log = Log()
    log.pool()
    for at in (0, 1000, 2000):
        log.push(at, 1)
        log.run(at + 30, at + 108, 1, W0)
        if counted:
            log.complete(at + 95, W0)
        log.join(at + 12, at + 100)
    figures = only(analyse(log))
    assert values(figures.durations) == (3, 300, 100)
    assert values(figures.times) == (3, 3 * 78, 78)
    assert figures.not_joined == 0


def test_a_burst_whose_task_ends_while_the_next_one_is_pushed():
    log = Log()
    log.pool()
    log.push(0, 1)
    log.run(30, 1050, 1, W0)
    log.join(12, 1000)
    log.push(1010, 2)
    log.run(1020, 1040, 2, MAIN)
    log.join(1015, 1045)
    assert values(only(analyse(log)).durations) == (2, 1000 + 35, 1000)


def test_a_burst_begins_with_its_first_push_and_ends_with_the_join():
    log = Log()
    log.pool()
    end = burst(log, at=10)
    second = burst(log, at=end + 50)
    figures = only(analyse(log))
    assert values(figures.durations) == (2, (end - 10) + (second - end - 50), end - 10)
    assert figures.tasks == 4
    assert list(analyse(log).figures) == [(1, (POOL, FUNC))]
    assert figures.path_ns["serial"] == 0


def test_bursts_of_two_functions_that_are_joined_together():
    log = Log()
    log.pool()
    log.push(0, 1)
    log.push(5, 2, func=0x2000)
    log.run(20, 30, 1, MAIN)
    log.run(30, 60, 2, MAIN, func=0x2000)
    log.join(10, 65)
    figures = analyse(log).figures
    assert values(figures[1, (POOL, FUNC)].durations) == (1, 65, 65)
    assert values(figures[1, (POOL, 0x2000)].durations) == (1, 60, 60)


def test_a_burst_that_is_pulled_task_by_task_ends_with_the_last():
    log = Log()
    log.pool()
    for i in range(3):
        log.push(i, i)
    log.run(10, 20, 0, W0)
    log.join(5, 25)
    log.run(21, 40, 1, W0)
    log.run(41, 60, 2, W0)
    log.join(26, 42)
    log.join(43, 65)
    assert values(only(analyse(log)).durations) == (1, 65, 65)


def test_bursts_that_nobody_waits_for_end_with_their_last_task():
    log = Log()
    log.pool()
    for at in (0, 500_000, 1_000_000):
        log.push(at, 1)
        log.run(at + 30, at + 80, 1, W0)
    figures = only(analyse(log))
    assert values(figures.durations) == (3, 240, 80) and figures.not_joined == 3


def test_a_long_pause_between_two_pushes_of_a_group_that_is_joined_parts_nothing():
    log = Log()
    log.pool()
    for at in (0, 1_000_000):
        log.push(at, 1)
        log.run(at + 30, at + 80, 1, W0)
        log.push(at + 500_000, 2)
        log.run(at + 500_030, at + 500_080, 2, W0)
        log.join(at + 500_010, at + 500_090)
    figures = only(analyse(log))
    assert max(figures.durations.ns) == 500_090
    assert figures.not_joined == 1  # of the first one nothing was known


def test_a_wait_for_the_whole_pool_ends_all_bursts_in_it():
    log = Log()
    log.pool()
    log.push(0, 1, group=0)
    log.push(5, 2, group=0x90, func=0x2000)
    log.push(6, 3, group=0x90, func=0x3000, pool=2)
    log.run(20, 30, 1, W0, group=0)
    log.run(31, 60, 2, W0, func=0x2000, group=0x90)
    log.run(21, 22, 3, 300, func=0x3000, group=0x90, pool=2)
    log.join(10, 65, group=0)
    log.join(70, 80, group=0x90)
    figures = analyse(log).figures
    assert values(figures[1, (POOL, FUNC)].durations) == (1, 65, 65)
    assert values(figures[1, (POOL, 0x2000)].durations) == (1, 60, 60)
    assert values(figures[1, (2, 0x3000)].durations) == (1, 74, 74)
    assert path_of(figures[1, (POOL, FUNC)]) == {"find": 20 + 1, "run": 10 + 29, "finish": 5}
