# SPDX-License-Identifier: BSD-3-Clause
"""Which push belongs to which run, and which wake to which rise."""

import pytest
from trace_log import MAIN, W0, W1, Log, analyse, only

from nrbench.trace import events as ev


def figures_of_wakes(log: Log):
    """Of a phase that goes on all the time."""
    log.begin(0)
    log.push(5, 1)
    log.run(6, 7, 1, MAIN)
    log.end(10_000, tasks=1)
    return only(analyse(log)).wakes


@pytest.mark.parametrize("how, count", [(ev.WOKEN, 1), (ev.BY_TIMER, 0), (2, 0)])
def test_only_who_is_woken_has_a_wake_latency(how, count):
    """A worker's own timer came while it was being called; or it had not yet slept."""
    log = Log()
    log.pool()
    log.park(10)
    log.wake(100)
    log.unpark(140, how=how)
    wakes = figures_of_wakes(log)
    assert (wakes.count, sum(wakes.ns)) == (count, 40 * count)


def test_a_wake_is_for_one_rise():
    """What rises next was woken by something that is not in the trace."""
    log = Log()
    log.pool()
    log.wake(100)
    log.unpark(140, how=ev.BY_TIMER)
    log.unpark(900, how=ev.WOKEN)
    assert figures_of_wakes(log).count == 0


def test_a_wake_that_came_before_the_worker_lay_down_is_forgotten():
    log = Log()
    log.pool()
    log.wake(100)
    log.park(200)
    log.unpark(900)
    assert figures_of_wakes(log).count == 0


def test_a_wake_is_for_the_worker_that_it_names():
    log = Log()
    log.pool(workers=2)
    log.wake(100, worker=1)
    log.wake(150, worker=0)
    log.unpark(190, W1)
    log.unpark(400, W0)
    wakes = figures_of_wakes(log)
    assert (wakes.count, sum(wakes.ns), max(wakes.ns)) == (2, 90 + 250, 250)


def test_equal_tasks_run_in_the_order_of_their_pushes():
    log = Log()
    log.pool()
    log.begin(0)
    for at in (10, 100, 1000):
        log.push(at, 1)
    log.run(1010, 1020, 1, MAIN)  # of the first
    log.run(1110, 1120, 1, MAIN)
    log.run(2010, 2020, 1, MAIN)
    log.end(3000, tasks=3)
    lags = only(analyse(log)).lags
    assert (lags.count, sum(lags.ns)) == (3, 1000 + 1010 + 1010)
    assert max(lags.ns) == 1010  # last in, first out: 2000


def test_equal_tasks_of_two_owners_go_to_the_owner_that_pushed_first():
    log = Log()
    log.pool()
    log.begin(0, tid=W1)
    log.push(10, 1, tid=W1)
    log.begin(0, "ulsch_decoding")
    log.push(500, 1)
    log.run(600, 610, 1, MAIN)
    log.run(650, 680, 1, W1)
    log.end(1000, tasks=1, tid=W1)
    log.end(1000, tasks=1, name="ulsch_decoding")
    first, second = analyse(log).figures.values()
    assert (sum(first.lags.ns), sum(first.times.ns)) == (590, 10)
    assert (sum(second.lags.ns), sum(second.times.ns)) == (150, 30)
