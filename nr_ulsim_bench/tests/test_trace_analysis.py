# SPDX-License-Identifier: BSD-3-Clause
"""The figures of synthetic event streams, to the nanosecond."""

import pytest
from trace_log import FUNC, GROUP, MAIN, POOL, W0, W1, Log, analyse, only, path_of

from nrbench.trace import events as ev
from nrbench.trace.events import SYMBOL_PROCESSING, ULSCH_DECODING
from nrbench.trace.summary import Names, summarize
from nrbench.trace.text import late_tables

SP, UD = (1, SYMBOL_PROCESSING), (1, ULSCH_DECODING)


def values(times):
    """(count, sum, maximum) of a distribution, ns."""
    return times.count, sum(times.ns), max(times.ns, default=0)


def phase_with_a_woken_worker() -> Log:
    """Two tasks; the joiner runs one, a worker that sleeps wakes for the other and ends last."""
    log = Log()
    log.pool()
    log.park(50)
    log.begin(1000)
    log.push(1100, 0)
    log.wake(1110)
    log.push(1150, 1)
    log.add(ev.JOIN_BEGIN, 1200, MAIN, POOL, GROUP)
    log.run(1210, 1400, 1, MAIN)
    log.unpark(1310)
    log.run(1330, 1530, 0, W0)
    log.add(ev.JOIN_END, 1560, MAIN, POOL, GROUP)
    log.end(1600, tasks=2)
    return log


def test_a_phase_with_a_woken_worker():
    figures = only(analyse(phase_with_a_woken_worker()))
    assert values(figures.durations) == (1, 600, 600)
    assert values(figures.lags) == (2, (1210 - 1150) + (1330 - 1100), 230)
    assert values(figures.times) == (2, 190 + 200, 200)
    assert values(figures.wakes) == (1, 200, 200)
    assert (figures.tasks, figures.stolen, figures.by_timer) == (2, 1, 0)
    # busy: both tasks, and the phase's own thread for 1000..1200 and 1560..1600, on 2 CPUs
    assert (figures.busy_ns, figures.room_ns) == (190 + 200 + 240, 1200)
    assert figures.idle_share == pytest.approx(1 - 630 / 1200)


def test_late_starts_are_counted_by_their_cause():
    log = phase_with_a_woken_worker()
    for now, cause, late_ns in ((1700, "timer late", 30000), (1800, "gave up early", 50000)):
        log.add(ev.LATE, now, W0, POOL, cause, late_ns)
    log.add(ev.LATE, 1900, W1, POOL, "gave up early", 70000)
    analysis = analyse(log)
    summary = summarize(analysis, Names(analysis), ())
    (table,) = late_tables(summary)
    assert [row[1:] for row in table.rows] == [
        ["gave up early", "2", "66.7%", "60.0", "70.0"],
        ["timer late", "1", "33.3%", "30.0", "30.0"],
    ]
    assert summary["pools"][0]["late"][0]["median_us"] == 60.0
    none = analyse(phase_with_a_woken_worker())
    assert list(late_tables(summarize(none, Names(none), ()))) == []


def test_the_critical_path_goes_through_the_wake():
    figures = only(analyse(phase_with_a_woken_worker()))
    assert path_of(figures) == {
        "serial": 100 + 40,  # before the first push, after the wait
        "push": 10,  # from the push to the wake
        "wake": 200,
        "find": 20,
        "run": 200,
        "finish": 30,
    }


def test_the_critical_path_of_a_worker_that_was_awake_goes_from_the_push():
    log = Log()
    log.pool()
    log.unpark(100, how=ev.BY_TIMER)
    log.begin(1000)
    log.push(1040, 0)
    log.push(1060, 1)
    log.run(1050, 1350, 0, W0)
    log.add(ev.JOIN_BEGIN, 1080, MAIN, POOL, GROUP)
    log.run(1090, 1300, 1, MAIN)
    log.add(ev.JOIN_END, 1360, MAIN, POOL, GROUP)
    log.end(1360, tasks=2)
    figures = only(analyse(log))
    assert path_of(figures) == {"serial": 40, "find": 10, "run": 300, "finish": 10}
    assert (figures.by_timer, figures.wakes.count) == (1, 0)


def test_the_critical_path_of_a_worker_whose_timer_came_after_the_push():
    log = Log()
    log.pool()
    log.park(10)
    log.begin(1000)
    log.push(1000, 0)
    log.add(ev.JOIN_BEGIN, 1010, MAIN, POOL, GROUP)
    log.unpark(1080, how=ev.BY_TIMER)
    log.run(1100, 1200, 0, W0)
    log.add(ev.JOIN_END, 1205, MAIN, POOL, GROUP)
    log.end(1205, tasks=1)
    assert path_of(only(analyse(log))) == {"wake": 80, "find": 20, "run": 100, "finish": 5}


def test_the_critical_path_follows_a_chain_of_tasks_on_one_worker():
    log = Log()
    log.pool()
    log.begin(0)
    for i in range(3):
        log.push(10 * (i + 1), i)
    log.run(15, 100, 0, W0)
    log.run(103, 200, 1, W0)
    log.run(204, 300, 2, W0)
    log.join(40, 310)
    log.end(310, tasks=3)
    assert path_of(only(analyse(log))) == {"serial": 10, "find": 5 + 3 + 4, "run": 85 + 97 + 96, "finish": 10}


def test_a_wake_by_a_worker_is_followed_to_the_one_that_woke_it():
    log = Log()
    log.pool(workers=2, cpus=4)
    log.park(1, W0)
    log.park(2, W1)
    log.begin(1000)
    log.push(1000, 0)
    log.push(1001, 1)
    log.wake(1010, MAIN, 0)
    log.join(1020, 1500)
    log.unpark(1100, W0)
    log.wake(1110, W0, 1)
    log.run(1120, 1200, 0, W0)
    log.unpark(1210, W1)
    log.run(1230, 1490, 1, W1)
    log.end(1500, tasks=2)
    figures = only(analyse(log))
    # push 1000..1010, W0 wakes until 1100, looks until it wakes W1 at 1110, that wakes until 1210
    assert path_of(figures) == {"push": 10, "wake": 90 + 100, "find": 10 + 20, "run": 260, "finish": 10}
    assert values(figures.wakes) == (2, 190, 100)


def test_a_task_that_joins_and_helps():
    log = Log()
    log.pool()
    log.begin(0)
    log.push(0, 1)
    log.add(ev.JOIN_BEGIN, 10, MAIN, POOL, GROUP)
    log.add(ev.RUN_BEGIN, 20, MAIN, POOL, -1, FUNC, 1, GROUP)
    log.push(30, 2, group=0x90)
    log.push(40, 3, group=0x90)
    log.run(45, 95, 2, W0, group=0x90)
    log.add(ev.JOIN_BEGIN, 50, MAIN, POOL, 0x90)
    log.run(55, 80, 3, MAIN, group=0x90)
    log.add(ev.JOIN_END, 100, MAIN, POOL, 0x90)
    log.add(ev.RUN_END, 120, MAIN, 1)
    log.add(ev.JOIN_END, 130, MAIN, POOL, GROUP)
    log.end(130, tasks=3)  # the thread has pushed the children, too
    figures = only(analyse(log))
    assert values(figures.times) == (3, 100 + 50 + 25, 100)
    assert figures.tasks == 3 and figures.stolen == 1
    # run: 100..120 of the parent, 45..95 of the child, 20..30 of the parent; the gap 30..45 is the thief's
    assert path_of(figures) == {"find": 10 + 15, "run": 20 + 50 + 10, "finish": 5 + 10, "push": 10}
    # busy: the parent alone 20..50 and 100..120, the children, and the thread's own 0..10
    assert figures.busy_ns == 30 + 20 + 50 + 25 + 10


def test_tasks_pushed_by_a_task_belong_to_its_phase():
    log = Log()
    log.pool()
    log.begin(0)
    log.push(0, 1)
    log.add(ev.RUN_BEGIN, 10, W0, POOL, 0, FUNC, 1, GROUP)
    log.push(20, 2, tid=W0, group=0x90)
    log.join(25, 60, tid=W0, group=0x90)
    log.run(30, 55, 2, MAIN, group=0x90)
    log.add(ev.RUN_END, 70, W0, 1)
    log.join(28, 75)
    log.end(80, tasks=1)
    figures = only(analyse(log))
    assert (figures.durations.count, figures.tasks, figures.stolen) == (1, 2, 2)


def test_phases_that_overlap_in_one_thread():
    """Decoding of one user goes on while the symbols of the next are processed."""
    log = Log()
    log.pool()
    log.begin(0, ULSCH_DECODING)
    log.push(10, 1, group=0x80)
    log.begin(20, SYMBOL_PROCESSING)
    log.push(30, 2)
    log.run(35, 45, 2, MAIN)
    log.join(34, 50)
    log.end(60, tasks=1)
    log.push(70, 3, group=0x80)
    log.run(15, 75, 1, W0, group=0x80)
    log.run(85, 95, 3, MAIN, group=0x80)
    log.join(80, 96, group=0x80)
    log.end(100, tasks=3, name=ULSCH_DECODING)
    figures = analyse(log).figures
    assert (figures[SP].tasks, figures[UD].tasks) == (1, 2)
    assert values(figures[SP].durations) == (1, 40, 40)
    assert values(figures[UD].durations) == (1, 100, 100)
    assert figures[SP].left_out == figures[UD].left_out == 0
    assert sum(figures[UD].path_ns.values()) == 100


def test_a_second_begin_is_another_block_of_the_same_phase():
    log = Log()
    log.pool()
    log.begin(0, id=0)
    log.push(10, 1)
    log.begin(20, id=1)
    log.push(30, 2)
    log.run(40, 50, 1, MAIN)
    log.run(50, 60, 2, MAIN)
    log.join(35, 65)
    log.end(70, tasks=2, id=1)
    figures = only(analyse(log))
    assert values(figures.durations) == (1, 70, 70) and figures.tasks == 2


def test_a_begin_in_another_slot_begins_anew():
    """Of the first slot the end is missing, though no event was lost: a way out without a mark."""
    log = Log()
    log.pool()
    log.begin(0, slot=3)
    log.push(10, 1)
    log.run(20, 30, 1, MAIN)
    log.begin(40, slot=4)
    log.push(50, 2)
    log.run(60, 70, 2, MAIN)
    log.end(75, tasks=1, slot=4)
    log.begin(80, frame=8, slot=4)
    log.end(90, tasks=0, frame=8, slot=4)
    figures = only(analyse(log))
    assert values(figures.durations) == (2, 35 + 10, 35)
    assert (figures.tasks, figures.left_out, figures.unfinished) == (1, 0, 1)


def test_begins_without_end_and_ends_without_begin():
    log = Log()
    log.pool()
    log.end(5, tasks=0)
    log.begin(10)
    log.push(20, 1)
    figures = only(analyse(log))
    assert (figures.durations.count, figures.left_out, figures.unfinished) == (0, 1, 1)


def test_a_phase_whose_tasks_do_not_add_up_is_left_out():
    log = phase_with_a_woken_worker()
    log.end(1600, tasks=3)
    log.events.remove((ev.PHASE_END, 1600, 1, MAIN, SYMBOL_PROCESSING, 7, 3, 0, 2))
    figures = only(analyse(log))
    assert (figures.durations.count, figures.left_out, figures.lags.count) == (0, 1, 0)


@pytest.mark.parametrize(
    "window, good", [((0, 900), 1), ((1300, 1350), 0), ((1599, 9000), 0), ((1601, 9000), 1)]
)
def test_phases_in_which_events_were_lost_are_left_out(window, good):
    log = phase_with_a_woken_worker()
    log.lost(*window)
    analysis = analyse(log)
    figures = only(analysis)
    assert (figures.durations.count, figures.left_out) == (good, 1 - good)
    assert analysis.ledger.lost_events == 5


def test_what_was_pushed_before_events_were_lost_is_not_matched_afterwards():
    log = Log()
    log.pool()
    log.push(10, 1)  # its run is lost
    log.lost(20, 30)
    log.begin(100)
    log.push(110, 1)
    log.run(120, 130, 1, MAIN)
    log.join(115, 135)
    log.end(140, tasks=1)
    figures = analyse(log).figures
    assert values(figures[SP].lags) == (1, 10, 10)


def test_a_thread_whose_end_of_a_task_was_lost_recovers():
    log = Log()
    log.pool()
    log.add(ev.RUN_BEGIN, 5, W0, POOL, 0, FUNC, 9, GROUP)
    log.add(ev.JOIN_BEGIN, 6, MAIN, POOL, GROUP)
    log.lost(7, 8)
    log.park(10, W0)
    log.begin(100)
    log.push(110, 1)
    log.run(120, 130, 1, W0)
    log.join(115, 135)
    log.end(140, tasks=1)
    figures = only(analyse(log))
    # busy: the task, and the thread outside its wait of 20
    assert (figures.durations.count, figures.busy_ns) == (1, 10 + 20)


def test_a_worker_that_completes_several_tasks_at_once():
    log = Log()
    log.pool()
    log.begin(0)
    log.push(10, 1)
    log.push(20, 2)
    log.run(30, 100, 1, W0)
    log.run(103, 200, 2, W0)
    log.complete(207, W0)
    log.join(25, 210)
    log.end(210, tasks=2)
    assert path_of(only(analyse(log))) == {"serial": 10, "find": 20 + 3, "run": 70 + 97, "finish": 7 + 3}


@pytest.mark.parametrize("counted", [True, False])
def test_a_task_that_says_it_is_done_before_it_ends(counted):
    """A counted group has an event for it, a tag of a FIFO has not."""
    log = Log()
    log.pool()
    log.begin(0)
    log.push(0, 1)
    log.push(10, 2)
    log.run(15, 60, 1, MAIN)
    log.run(30, 108, 2, W0)  # the wait returns before that
    if counted:
        log.complete(58, MAIN)
        log.complete(95, W0)
    log.join(12, 100)
    log.end(103, tasks=2)
    figures = only(analyse(log))
    finish = {"finish": 5} if counted else {}
    assert path_of(figures) == {"serial": 3, "push": 10, "find": 20, "run": 65 if counted else 70} | finish
    assert values(figures.times) == (2, 45 + 78, 78)


def test_a_worker_that_is_no_worker_of_this_pool_and_several_pools():
    log = Log()
    log.pool(pool=1, name="a")
    log.pool(pool=2, name="b", workers=3, cpus=8)
    log.begin(0)
    log.push(10, 1, pool=1)
    log.push(12, 1, pool=2)  # the same function and argument
    log.run(20, 40, 1, W0, pool=1)
    log.add(ev.RUN_BEGIN, 15, W1, 2, -1, FUNC, 1, GROUP)
    log.add(ev.RUN_END, 45, W1, 1)
    log.join(18, 50)
    log.end(50, tasks=2)
    analysis = analyse(log)
    figures = only(analysis)
    assert values(figures.lags) == (2, 10 + 3, 10)
    # 18 of the thread itself, 20 and 30 in tasks; 1 + 3 workers, the thread, the other
    assert (figures.busy_ns, figures.room_ns) == (18 + 20 + 30, 6 * 50)
    process = analysis.processes[1]
    assert (process.threads[W0].worker, process.threads[W1].worker) == (0, -1)


def test_processes_have_figures_of_their_own():
    first, second = phase_with_a_woken_worker(), phase_with_a_woken_worker()
    second.events = [(kind, now + 7, 2, *rest) for kind, now, _, *rest in second.events]
    analysis = analyse(first, second)
    assert set(analysis.figures) == {(1, SYMBOL_PROCESSING), (2, SYMBOL_PROCESSING)}
    assert all(path_of(figures)["wake"] == 200 for figures in analysis.figures.values())
    analysis.keep({2})
    assert set(analysis.figures) == {(2, SYMBOL_PROCESSING)}


def test_a_session_that_begins_in_the_middle():
    """No pool_start: as many workers as were seen, CPUs of the machine; no begin of what runs already."""
    log = Log()
    log.add(ev.RUN_END, 5, W0, 77)
    log.add(ev.JOIN_END, 6, MAIN, POOL, GROUP)
    log.begin(10)
    log.push(20, 1)
    log.run(30, 40, 1, W0)
    log.join(25, 45)
    log.end(50, tasks=1)
    analysis = analyse(log, cores=8)
    assert only(analysis).room_ns == 2 * 40
    assert analysis.processes[1].pools[POOL].worker_count == 1


def test_pool_counts():
    log = phase_with_a_woken_worker()
    log.add(ev.STEAL, 1320, W0, POOL)
    log.add(ev.PREWAKE, 45, W0, POOL, 0)
    log.add(ev.PREWAKE, 46, MAIN, POOL, -1)
    pool = analyse(log).processes[1].pools[POOL]
    assert (pool.pushes, pool.runs, pool.parks, pool.wakes, pool.steals) == (2, 2, 1, 1, 1)
    assert (pool.plans, pool.hints, pool.unparks) == (1, 1, [1, 0, 0])
