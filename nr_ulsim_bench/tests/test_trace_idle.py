# SPDX-License-Identifier: BSD-3-Clause
"""The share of the CPUs that had nothing to do in a phase."""

import json

import pytest
from trace_log import MAIN, W0, W1, Log, analyse, only

from nrbench.trace.events import SYMBOL_PROCESSING, ULSCH_DECODING
from nrbench.trace.summary import Names, summarize
from nrbench.trace.text import tables


def phase_of_three_threads(log: Log) -> Log:
    """100 long: two workers run a task of 40 each, the phase's thread does things of its own for 20."""
    log.begin(0)
    log.push(5, 1)
    log.push(10, 2)
    log.run(30, 70, 1, W0)
    log.run(50, 90, 2, W1)
    log.join(20, 100)
    log.end(100, tasks=2)
    return log


def started(cpus: int, workers: int = 2) -> Log:
    log = Log()
    log.pool(workers=workers, cpus=cpus)
    return log


@pytest.mark.parametrize(
    "log, cores, room",
    [
        (started(cpus=2), 0, 200),
        (started(cpus=2), 64, 200),  # the pool knows better than the recorder
        (started(cpus=4), 1, 300),
        (Log(), 2, 200),  # a session that attaches to a program: two CPUs, however many threads
        (Log(), 64, 300),  # one a thread
    ],
)
def test_as_many_cpus_as_there_are(log, cores, room):
    figures = only(analyse(phase_of_three_threads(log), cores=cores))
    assert (figures.busy_ns, figures.room_ns) == (40 + 40 + 20, room)
    assert figures.idle_share == pytest.approx(1 - 100 / room)


def test_without_a_number_of_cpus_there_is_no_idle_share():
    analysis = analyse(phase_of_three_threads(Log()))
    summary = summarize(analysis, Names(analysis), set())
    assert json.loads(json.dumps(summary))["phases"][0]["idle_share"] is None
    phases = next(tables(summary))
    assert phases.all_rows[1][-1] == "-" and "-: their number is not known" in phases.notes[0]
    assert summary["phases"][0]["duration"]["max_us"] == 0.1


def two_phases_at_once(cpus: int) -> Log:
    """Of two threads that share a pool of one worker. It runs the task of the first phase for 40, the second
    thread its own one for 50."""
    other = 7
    log = Log()
    log.pool(workers=1, cpus=cpus)
    log.push(-90, 9)
    log.run(-80, -70, 9, tid=8)  # another thread, before both phases
    log.join(-85, -60)
    log.begin(0, SYMBOL_PROCESSING)
    log.begin(0, ULSCH_DECODING, tid=other)
    log.push(10, 1)
    log.push(20, 2, tid=other, group=0x90)
    log.run(20, 60, 1, W0)
    log.run(30, 80, 2, other, group=0x90)
    log.join(20, 100, tid=MAIN)
    log.join(25, 95, tid=other, group=0x90)
    log.end(100, tasks=1, name=SYMBOL_PROCESSING)
    log.end(100, tasks=1, name=ULSCH_DECODING, tid=other)
    return log


@pytest.mark.parametrize("cpus, first_room, second_room", [(8, 300, 200), (2, 200, 200), (1, 100, 100)])
def test_phases_of_two_threads_count_each_others_tasks(cpus, first_room, second_room):
    figures = analyse(two_phases_at_once(cpus)).figures
    first, second = figures[1, SYMBOL_PROCESSING], figures[1, ULSCH_DECODING]
    # both tasks, and what the thread did before it waited; the other thread is there for its task
    assert (first.busy_ns, first.room_ns) == (40 + 50 + 20, first_room)
    # both tasks, and 0..25 and 95..100 of its thread; the first thread ran no task
    assert (second.busy_ns, second.room_ns) == (40 + 50 + 30, second_room)
    assert first.idle_share == pytest.approx(max(0, 1 - 110 / first_room))


def test_a_task_that_was_there_before_and_goes_on_afterwards_counts_for_the_time_of_the_phase():
    """Of another thread: the worker was busy with it all the time."""
    log = started(cpus=2, workers=1)
    log.push(-50, 9, tid=8, group=0x90)
    log.run(-40, 150, 9, W0, group=0x90)
    log.begin(0)
    log.push(10, 1)
    log.run(20, 60, 1, MAIN)
    log.join(15, 70)
    log.end(100, tasks=1)
    figures = analyse(log).figures[1, SYMBOL_PROCESSING]
    # the worker's task, the thread's task, and what the thread did outside of its wait: 0..15 and 70..100
    assert (figures.busy_ns, figures.room_ns) == (100 + 40 + 45, 200)


@pytest.mark.parametrize("begin, end, busy", [(-40, 30, 30), (30, 150, 70), (-40, -10, 0), (100, 150, 0)])
def test_only_the_part_of_a_task_in_the_time_of_the_phase_counts(begin, end, busy):
    log = started(cpus=2, workers=1)
    log.push(-50, 9, tid=8, group=0x90)
    log.run(begin, end, 9, W0, group=0x90)
    log.begin(0)
    log.push(10, 1)
    log.run(20, 60, 1, MAIN)
    log.join(15, 70)
    log.end(100, tasks=1)
    assert analyse(log).figures[1, SYMBOL_PROCESSING].busy_ns == busy + 40 + 45
