# SPDX-License-Identifier: BSD-3-Clause
"""What stands where in the picture of a slot."""

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from test_trace_scene import scene_of
from trace_log import FUNC, MAIN, POOL, W0, Log, analyse, burst

from nrbench.trace.events import SYMBOL_PROCESSING
from nrbench.trace.summary import Names

gantt = pytest.importorskip("nrbench.trace.gantt")
BLUE, ORANGE, GREEN = gantt.COLORS[:3]


def in_us(log: Log) -> Log:
    """The same a thousand times slower."""
    log.events = [(kind, now * 1000, *rest) for kind, now, *rest in log.events]
    return log


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws the part of a log, us, and gives the picture's axis."""
    figures = []
    monkeypatch.setattr(gantt.plt, "close", figures.append)

    def draw(log: Log, begin: int, end: int, palette=None):
        scene = scene_of(log, begin * 1000, end * 1000)
        gantt.draw(scene, Names(analyse(log)), tmp_path / "slot.png", palette or {})
        return figures[-1].axes[0]

    return draw


def boxes(axis, color: str) -> list[tuple[float, float, float]]:
    """(begin, length, middle) of what is filled with a colour."""
    from matplotlib.colors import to_rgb

    found = [patch for patch in axis.patches if patch.get_facecolor()[:3] == to_rgb(color)]
    return sorted(
        tuple(round(value, 6) for value in (p.get_x(), p.get_width(), p.get_y() + p.get_height() / 2))
        for p in found
    )


def texts(axis) -> list[str]:
    return [text.get_text() for text in axis.texts if text.get_text()]


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


def legend(axis) -> dict[str, str]:
    from matplotlib.colors import to_hex

    (found,) = axis.figure.legends
    patches = zip(found.get_texts(), found.legend_handles)
    return {
        text.get_text(): to_hex(handle.get_facecolor()).upper()
        for text, handle in patches
        if hasattr(handle, "get_facecolor")
    }


def test_a_row_for_each_thread_and_bars_in_us(drawn):
    axis = drawn(in_us(phase_with_a_woken_worker()), 1000, 1600)
    assert labels(axis) == [f"thread {MAIN}", "p worker 0"]
    # the phase above, its thread's own time and task, the worker's task
    assert boxes(axis, BLUE) == [(0, 600, -1), (0, 600, 0), (210, 190, 0), (330, 200, 1)]
    assert texts(axis) == ["symbol processing  600.0 µs", "190.0", "200.0"]
    assert axis.get_title(loc="left") == "slot 7.3, 600.0 µs"
    assert axis.get_xlabel() == "µs from the start of the slot"
    assert axis.get_xlim() == pytest.approx((-12, 660))


def test_pushes_and_wakes_are_where_they_were(drawn):
    axis = drawn(in_us(phase_with_a_woken_worker()), 1000, 1600)
    (arrow,) = [text for text in axis.texts if not text.get_text()]
    assert (arrow.xyann, arrow.xy) == ((110, 0), (310, 1))
    (pushes,) = [lines for lines in axis.collections if len(lines.get_segments()) == 2]
    assert [segment[0][0] for segment in pushes.get_segments()] == [100, 150]


def test_sleep_and_waits_are_hatched_and_grey(drawn):
    axis = drawn(in_us(phase_with_a_woken_worker()), 1000, 1600)
    assert boxes(axis, "white") == [(-12, 322, 1)]  # asleep until it is up
    assert boxes(axis, "#FBE9EB") == [(110, 200, 1)]  # woken, not up yet
    assert boxes(axis, "#ECECEC") == [(200, 360, 0)]


def test_colours_are_those_of_the_kinds(drawn):
    log = in_us(phase_with_a_woken_worker())
    axis = drawn(log, 1000, 1600, {(1, "other"): BLUE, (1, SYMBOL_PROCESSING): GREEN})
    assert legend(axis)["symbol processing"] == GREEN
    assert len(boxes(axis, GREEN)) == 4 and boxes(axis, BLUE) == []


def test_what_has_no_colour_gets_one_that_is_left(drawn):
    log = Log()
    log.pool()
    log.begin(0)
    log.end(300, tasks=0)
    burst(log, at=310)
    axis = drawn(in_us(log), 0, 600, {(1, SYMBOL_PROCESSING): ORANGE, (1, (POOL, 0x77)): BLUE})
    assert legend(axis)["symbol processing"] == ORANGE
    assert legend(axis)["0x1000"] == GREEN and len(boxes(axis, GREEN)) == 4


def test_bursts_have_the_colour_of_their_pool_and_function(drawn):
    log = Log()
    log.pool()
    end = burst(log)
    axis = drawn(in_us(log), 0, end, {(1, (POOL, FUNC)): GREEN})
    assert legend(axis)[f"{FUNC:#x}"] == GREEN


def test_when_all_colours_are_taken_the_rest_is_grey(drawn):
    log = in_us(phase_with_a_woken_worker())
    palette = gantt.palette([(1, number) for number in range(len(gantt.COLORS) + 2)])
    assert len(palette) == len(gantt.COLORS)
    assert legend(drawn(log, 1000, 1600, palette))["symbol processing"] == gantt.OTHER.upper()


def test_workers_of_pools_of_one_name_are_told_apart(drawn):
    log = phase_with_a_woken_worker()
    log.pool(pool=2, name="p")
    assert labels(drawn(in_us(log), 1000, 1600)) == [f"thread {MAIN}", "p (pool 1) worker 0"]


def test_threads_that_do_not_fit_are_counted(drawn, monkeypatch):
    monkeypatch.setattr(gantt, "ROWS_MAX", 1)
    axis = drawn(in_us(phase_with_a_woken_worker()), 1000, 1600)
    assert labels(axis) == [f"thread {MAIN}"]
    assert axis.get_title(loc="left").endswith("; 1 more threads")
    assert not any(text.get_text() == "200.0" for text in axis.texts) and W0 != MAIN
