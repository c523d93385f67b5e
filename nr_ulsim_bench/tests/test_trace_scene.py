# SPDX-License-Identifier: BSD-3-Clause
"""What a picture of a slot shows, and that it can be drawn."""

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import FUNC, GROUP, MAIN, POOL, W0, W1, Log, analyse

from nrbench.trace import events as ev
from nrbench.trace.scene import Scene
from nrbench.trace.slots import SlotName, Window
from nrbench.trace.summary import Names


def scene_of(log: Log, begin: int, end: int) -> Scene:
    scene = Scene(Window(SlotName(7, 3, 0), 1, begin, end))
    scene.build(log.sorted())
    return scene


def spans(things):
    return [(thing.begin_ns, thing.end_ns) for thing in things]


def test_bars_sleep_wakes_and_waits():
    scene = scene_of(phase_with_a_woken_worker(), 1000, 1600)
    main, worker = scene.shown_rows()
    assert (main.tid, worker.tid, worker.pool, worker.worker) == (MAIN, W0, POOL, 0)
    assert spans(main.bars) == [(1210, 1400)] and spans(main.waits) == [(1200, 1560)]
    assert main.pushes == [1100, 1150]
    assert spans(worker.bars) == [(1330, 1530)]
    assert spans(worker.parked) == [(50, 1310)] and spans(worker.rising) == [(1110, 1310)]
    (arrow,) = scene.arrows
    assert arrow == ((1110, MAIN), (1310, W0))
    (phase,) = scene.phases
    assert (phase.begin_ns, phase.end_ns, phase.phase.name) == (1000, 1600, "symbol_processing")
    assert all(bar.owner is phase.phase for row in (main, worker) for bar in row.bars)


def test_what_goes_on_at_the_edges():
    log = Log()
    log.workers[202] = 2
    log.add(ev.RUN_END, 1010, W0, 5)
    log.unpark(1020, W1)
    log.add(ev.RUN_BEGIN, 1030, W1, POOL, 1, FUNC, 7, GROUP)
    log.wake(1040, W1, worker=2)
    log.park(1050, W0)
    scene = scene_of(log, 1000, 1100)
    scene.add_sleepers({(POOL, 0): W0, (POOL, 1): W1, (POOL, 2): 202, (POOL, 3): 203})
    first, second, third, fourth = scene.shown_rows()
    assert spans(first.bars) == [(scene.begin_ns, 1010)] and spans(first.parked) == [(1050, scene.end_ns)]
    assert spans(second.parked) == [(scene.begin_ns, 1020)] and spans(second.bars) == [(1030, scene.end_ns)]
    assert spans(third.rising) == [(1040, scene.end_ns)]  # woken, and not yet up at the end
    assert spans(fourth.parked) == [(scene.begin_ns, scene.end_ns)] and fourth.rising == []


def test_tasks_inside_tasks():
    log = Log()
    log.add(ev.RUN_BEGIN, 10, MAIN, POOL, -1, FUNC, 1, GROUP)
    log.add(ev.JOIN_BEGIN, 20, MAIN, POOL, 0x90)
    log.run(30, 40, 2, MAIN, group=0x90)
    log.add(ev.JOIN_END, 50, MAIN, POOL, 0x90)
    log.add(ev.RUN_END, 60, MAIN, 1)
    (row,) = scene_of(log, 0, 70).shown_rows()
    assert [(bar.begin_ns, bar.end_ns, bar.depth) for bar in row.bars] == [(30, 40, 1), (10, 60, 0)]
    assert row.waits == [(20, 50, 1)]


def test_threads_of_another_process_with_the_same_numbers_are_not_in_it():
    """Thread ids are those of a container's own name space, so several processes may have the same."""
    log, other = phase_with_a_woken_worker(), phase_with_a_woken_worker()
    other.events = [(kind, now + 13, 2, *rest) for kind, now, _, *rest in other.events]
    scene = Scene(Window(SlotName(7, 3, 0), 1, 1000, 1600))
    scene.build(sorted(log.events + other.events, key=lambda event: event[1]))
    assert [spans(row.bars) for row in scene.shown_rows()] == [[(1210, 1400)], [(1330, 1530)]]
    assert [spans(row.waits) for row in scene.shown_rows()] == [[(1200, 1560)], []]
    assert [row.pushes for row in scene.shown_rows()] == [[1100, 1150], []]
    assert scene.arrows == [((1110, MAIN), (1310, W0))]
    assert spans(scene.phases) == [(1000, 1600)]


def test_a_picture_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from nrbench.trace import gantt

    log = phase_with_a_woken_worker()
    analysis = analyse(log)
    scene = scene_of(log, 1000, 1600)
    scene.add_sleepers({(POOL, number): 300 + number for number in range(1, 100)})
    gantt.draw(scene, Names(analysis), tmp_path / "slot.png", {})
    assert (tmp_path / "slot.png").read_bytes().startswith(b"\x89PNG")
