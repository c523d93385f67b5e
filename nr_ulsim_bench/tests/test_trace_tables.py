# SPDX-License-Identifier: BSD-3-Clause
"""What the tables of a report say, to the character, and what it says of losses."""

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import MAIN, POOL, W0, Log, summary_of

from nrbench.trace import events as ev
from nrbench.trace.events import ULSCH_DECODING
from nrbench.trace.text import Table, losses, tables, text


def table_of(summary, title: str) -> Table:
    return next(table for table in tables(summary) if table.title == title)


SLOTS, LEFT_OUT = 200, 2
GROUP = 0x70


def many_slots() -> Log:
    """The later the longer. In every third one a timer wakes a worker, in the others it is woken.
    In two events are lost, and the last has no end."""
    log = Log()
    log.pool(workers=3, cpus=4, name="cell")
    log.events[0] = (*log.events[0][:-1], 2)  # CPUs for workers
    for number in range(SLOTS + LEFT_OUT):
        a_slot(log, number)
    log.lost(SLOTS * 10**6 + 500, SLOTS * 10**6 + 600, 9)
    log.lost((SLOTS + 1) * 10**6 + 500, (SLOTS + 1) * 10**6 + 600, 2)
    at = (SLOTS + LEFT_OUT) * 10**6
    log.begin(at, frame=SLOTS + LEFT_OUT)
    for _ in range(5):
        log.unpark(at, W0, how=2)
    for worker, count in ((0, 6), (-1, 7)):
        for _ in range(count):
            log.add(ev.PREWAKE, at, W0, POOL, worker)
    for _ in range(8):
        log.add(ev.STEAL, at, W0, POOL)
    for _ in range(3):
        log.wake(at, worker=1)  # that is not awake when the trace ends
    return log


def a_slot(log: Log, number: int) -> None:
    """A worker runs the first task, the joiner all others."""
    at, more = number * 10**6, number * number
    tasks = 4 if number % 4 == 0 else 3
    log.park(at - 10, W0)
    if number % 3 == 0:
        log.unpark(at - 5, W0, ev.BY_TIMER)
    log.begin(at, frame=number)
    for i in range(tasks):
        log.push(at + 1000 * (i + 1), i)
    if number % 3:
        log.wake(at + 2000)
        log.unpark(at + 30_000 + more, W0)
    log.run(at + 40_000 + more, at + 240_000 + 3 * more, 0, W0)
    log.add(ev.JOIN_BEGIN, at + 6000, MAIN, POOL, GROUP)
    for i in range(1, tasks):
        log.run(at + 10_000 * i, at + 10_000 * i + 7000 + 100 * i, i, MAIN)
    log.add(ev.JOIN_END, at + 245_000 + 3 * more, MAIN, POOL, GROUP)
    log.end(at + 250_000 + 3 * more, tasks=tasks, frame=number)


GOLDEN = """
Phases
                   count  left out    p50    p99    max   mean  tasks each   idle
symbol_processing    200         3  279.4  366.4  368.8  289.7         3.2  78.1%

Tasks
                   tasks  lag p50  lag p99  time p50  time p99  stolen
symbol_processing    650     17.0     76.2      7.20     274.5   30.8%

Wakes
                   woken   p50   p99   max  own timer
symbol_processing    133  38.0  66.8  67.6         67

Critical path
                   count       serial         push         wake         find            run       finish
symbol_processing    200  6.00 (2.1%)  0.67 (0.2%)  27.4 (9.5%)  24.1 (8.3%)  226.5 (78.2%)  5.00 (1.7%)

Pools
      workers  CPUs  for workers  pushed  steals  parks  wakes  woken  own timer  did not sleep  prewake
cell        3     4            2     657       8    202    137    134         68              5      6+7

Run time by task function
        tasks    sum   p50    p99    max  4.10 .. 524.3
0x1000    657  49115  7.20  276.1  280.8        █····▄▁
"""


def test_a_golden_text():
    """Whatever is exchanged with something else shows: hardly two cells are the same."""
    lines = list(text(summary_of(many_slots())))
    shown = "\n".join(line for line in lines if not line.startswith("  ") or line.startswith("     "))
    assert shown.split("\n", 1)[1].strip() == GOLDEN.strip() + "\n\nlongest slot 199.3: 368.8 us"
    assert shown.startswith("LOST: 11 events in 2 stretches of time. 3 phases are left out, and the numbers")


def test_the_summary_tells_lags_from_times_and_ways_to_get_up():
    summary = summary_of(many_slots())
    (phase,), (pool,) = summary["phases"], summary["pools"]
    assert phase["start_lag"]["max_us"] == 40 + 0.199**2 * 1e3 - 1
    assert phase["task_time"]["max_us"] == 200 + 2 * 0.199**2 * 1e3
    assert phase["tasks_each"] == 3.25  # of those that are counted
    assert (phase["left_out"], phase["unfinished"]) == (2, 1)
    assert pool["unparks"] == {"woken": 134, "by_own_timer": 68, "did_not_sleep": 5}
    assert (pool["prewake_plans"], pool["prewake_hints"]) == (6, 7)


# What is missing


def losses_of(*stretches, of: Log | None = None) -> list[str]:
    log = of or phase_with_a_woken_worker()
    for stretch in stretches:
        log.lost(*stretch)
    return losses(summary_of(log))


@pytest.mark.parametrize(
    "stretches, said",
    [
        ([(1300, 1310, 77)], "77 events in 1 stretch of time. 1 phase is left out"),
        ([(1300, 1310, 77), (9000, 9001, 1)], "78 events in 2 stretches of time. 1 phase is left out"),
        ([(9000, 9010, 1)], "1 event in 1 stretch of time. 0 phases are left out"),
        ([(1300, 1310, 0, 3)], "3 packets in 1 stretch"),
        ([(1300, 1310, 2, 1), (1400, 1401, 0, 3)], "2 events and 4 packets in 2 stretches"),
        (
            [(1300, 1310, 9), (1400, 1410, None)],
            "at least 9 events in 2 stretches of time. 1 phase is",
        ),
        ([(1300, 1310, None)], "an unknown number of events in 1 stretch of time. 1 phase is left out"),
    ],
)
def test_losses_are_counted_in_the_first_line(stretches, said):
    line = losses_of(*stretches)[0]
    assert line.startswith(f"LOST: {said}")
    assert "--subbuf-size" in line


def test_nothing_is_said_of_losses_where_there_are_none():
    assert losses_of() == []


def test_as_many_phases_are_left_out_as_the_table_says():
    log = phase_with_a_woken_worker()
    log.begin(2000, ULSCH_DECODING)  # without end
    (line,) = losses_of((2100, 2200, 1), of=log)
    assert "1 phase is left out" in line
    assert [row[2] for row in table_of(summary_of(log), "Phases").all_rows] == ["left out", "0", "1"]


def test_stretches_of_unknown_losses_are_counted_once_they_have_grown_together():
    summary = summary_of(lossy := phase_with_a_woken_worker())
    assert summary["lost_uncounted"] == 0
    lossy.lost(1300, 1400, None)
    lossy.lost(1350, 1450, None)
    assert [summary_of(lossy)[key] for key in ("lost_stretches", "lost_uncounted")] == [1, 1]


# Columns


def test_what_is_not_known_of_the_critical_path_shows_where_there_is_any():
    summary = summary_of(phase_with_a_woken_worker())
    path = summary["phases"][0]["critical_path"]
    assert path["mean_us"]["unknown"] == 0  # a program reads it all the same
    known = table_of(summary, "Critical path")
    assert [row[-1] for row in known.all_rows] == ["finish", "0.03 (5.0%)"] and "unknown" not in known.notes[
        0
    ]
    path["mean_us"]["unknown"], path["share"]["unknown"] = 0.06, 0.1
    table = table_of(summary, "Critical path")
    assert [row[-1] for row in table.all_rows] == ["unknown", "0.06 (10.0%)"]
    assert table.notes[0].endswith("unknown: what is not in the trace.")


@pytest.mark.parametrize("width", [50, 108, 200])
def test_notes_are_as_wide_as_is_asked_for(width):
    lines = list(text(summary_of(phase_with_a_woken_worker()), width))
    notes = [line for line in lines if line.startswith("  ") and "  " not in line.strip()]
    assert width - 25 < max(map(len, notes)) <= width
    assert any(line == "Phases" for line in lines)
