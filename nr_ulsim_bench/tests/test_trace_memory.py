# SPDX-License-Identifier: BSD-3-Clause
"""Of a long trace only times and slots are kept."""

import gc

import pytest
from trace_log import FUNC, GROUP, MAIN, POOL, W0, Log, burst

from nrbench.trace import events as ev
from nrbench.trace.analysis import Analysis

SLOT_NS = 500_000


def slots(count: int):
    """A gNB's events: each slot has a phase of 8 tasks, half of them on a worker that is woken."""
    for number in range(count):
        log, at = Log(), number * SLOT_NS
        log.begin(at, frame=number // 20 % 1024, slot=number % 20)
        for i in range(8):
            log.push(at + i, 0x100 + 64 * i + number % 3)
        log.wake(at + 3)
        log.unpark(at + 20)
        for i in range(8):
            log.run(at + 30 + 10 * i, at + 39 + 10 * i, 0x100 + 64 * i + number % 3, W0 if i % 2 else MAIN)
        log.join(at + 25, at + 120)
        log.end(at + 130, tasks=8, frame=number // 20 % 1024, slot=number % 20)
        log.park(at + 140)
        yield from log.sorted()


def lost_runs(count: int):
    """Tasks that are pushed to ever new addresses and never run."""
    for number in range(count):
        yield (ev.PUSH, number * 10, 1, MAIN, POOL, FUNC, number, GROUP)


def open_phase(count: int):
    """A phase that never ends, in which bursts come and go."""
    yield (ev.PHASE_BEGIN, 0, 1, 77, "symbol_processing", 1, 1, 0)
    at = 10
    for _ in range(count // 9):
        log = Log()
        at = burst(log, at) + 10
        yield from log.sorted()


def new_groups(count: int):
    """Each burst has a group of its own."""
    for number in range(count // 4):
        log, at = Log(), number * 1000
        log.push(at, 1, group=64 * number + 64)
        log.run(at + 10, at + 20, 1, W0, group=64 * number + 64)
        log.join(at + 5, at + 30, group=64 * number + 64)
        yield from log.sorted()


def peak_objects(stream, every: int = 997) -> int:
    """The most objects that the analysis keeps alive."""
    analysis, peak = Analysis(), 0
    gc.collect()
    gc.freeze()  # what is there is not looked at again and again
    before = len(gc.get_objects())
    for number, event in enumerate(stream):
        analysis.feed((event,))
        if number % (every * 20) == every:
            gc.collect()
            slots = analysis.ledger.slots
            windows = 2 * len([*slots.slots, *slots.bursts])  # each with its name; they are kept
            peak = max(peak, len(gc.get_objects()) - before - windows)
    analysis.finish()
    gc.unfreeze()
    return peak


def test_a_long_trace_of_slots_needs_no_more_than_a_short_one():
    short, long = peak_objects(slots(1200)), peak_objects(slots(9600))
    assert long <= short + 200


@pytest.mark.parametrize(
    "stream, limit", [(lost_runs, 1 << 18), (open_phase, 1 << 17), (new_groups, 1 << 13)]
)
def test_what_has_no_end_is_limited(stream, limit, monkeypatch):
    monkeypatch.setattr("nrbench.trace.analysis.PENDING_MAX", 2000)
    monkeypatch.setattr("nrbench.trace.state.GROUPS_MAX", 50)
    monkeypatch.setattr("nrbench.trace.ledger.MARKS_MAX", 2000)
    assert peak_objects(stream(60_000)) < 8000


def test_too_many_kinds_share_one_entry(monkeypatch):
    monkeypatch.setattr("nrbench.trace.ledger.KINDS_MAX", 5)
    analysis = Analysis()
    for number in range(20):
        log = Log()
        log.push(number * 1000, 1, func=number)
        log.run(number * 1000 + 10, number * 1000 + 20, 1, W0, func=number)
        log.join(number * 1000 + 5, number * 1000 + 30)
        analysis.feed(log.sorted())
    assert len(analysis.figures) == 6
    assert analysis.figures[1, "others"].durations.count == 15


def test_pools_that_have_stopped_leave_no_threads_behind():
    """A test program makes pool after pool; each burst looks at all threads that there are."""
    analysis = Analysis()
    for number in range(200):
        log, at = Log(), number * 1000
        log.workers = {1000 + number: 0}
        log.pool(at, pool=number + 1)
        log.push(at + 1, 1, pool=number + 1)
        log.run(at + 10, at + 20, 1, 1000 + number, pool=number + 1)
        log.join(at + 5, at + 30, pool=number + 1)
        log.add(ev.POOL_STOP, at + 40, MAIN, number + 1)
        analysis.feed(log.sorted())
    (process,) = analysis.processes.values()
    assert set(process.threads) == {MAIN} and not process.threads[MAIN].run_ns
    assert len(process.pools) == 200  # of which the table has a row each
    assert sum(figures.tasks for figures in analysis.figures.values()) == 200


def test_a_pool_that_stops_in_a_phase_is_part_of_it():
    log = Log()
    log.pool(0)
    log.begin(10)
    log.push(11, 1)
    log.run(20, 60, 1, W0)
    log.join(15, 70)
    log.add(ev.POOL_STOP, 80, MAIN, POOL)
    log.end(90, tasks=1)
    analysis = Analysis()
    analysis.feed(log.sorted())
    (figures,) = analysis.figures.values()
    assert figures.busy_ns == 40 + (80 - 55)  # the task; the phase's own thread outside its wait
