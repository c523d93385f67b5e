# SPDX-License-Identifier: BSD-3-Clause
"""Run times by task function: whose time it is, what the table shows."""

import json

import pytest
from trace_log import FUNC, GROUP, MAIN, POOL, W0, W1, Log, analyse, summary_of

from nrbench.trace import events as ev
from nrbench.trace import functions
from nrbench.trace.figures import Times
from nrbench.trace.functions import BLOCKS, FUNCTIONS_MAX, Functions, bounds, drawn, histogram
from nrbench.trace.text import FUNCTIONS, tables

SLOW, TRAMPOLINE = 0x2000, 0x3000


def rows_of(*logs: Log) -> dict[str, dict]:
    return {row["name"]: row for row in summary_of(*logs)["functions"]}


def test_each_function_has_its_times_and_the_largest_sum_is_first():
    log = Log()
    for i in range(99):
        log.run(1000 * i, 1000 * i + 10, i, W0)
    log.run(500_000, 500_900, 7, W0)
    log.run(0, 800_000, 8, W1, func=SLOW)
    first, second = summary_of(log)["functions"]
    assert (first["name"], first["count"], first["total_us"], first["max_us"]) == ("0x2000", 1, 800, 800)
    assert (second["name"], second["count"], second["total_us"]) == ("0x1000", 100, 1.89)
    assert (second["p50_us"], second["p99_us"], second["max_us"]) == (0.01, 0.01, 0.9)


def test_a_task_of_an_interface_counts_for_the_users_function():
    log = Log()
    for at, func in ((0, FUNC), (1000, SLOW), (2000, FUNC)):
        log.add(ev.RUN_BEGIN, at, W0, POOL, 0, TRAMPOLINE, at, GROUP)
        log.add(ev.RUN_AS, at + 1, W0, func)
        log.add(ev.RUN_END, at + 100, W0, at)
    assert {name: row["count"] for name, row in rows_of(log).items()} == {"0x1000": 2, "0x2000": 1}


def test_what_a_task_runs_inside_itself_or_waits_for_is_not_its_time():
    log = Log()
    log.add(ev.RUN_BEGIN, 0, W0, POOL, 0, FUNC, 1, GROUP)
    log.add(ev.JOIN_BEGIN, 100, W0, POOL, 0x80)
    log.run(150, 950, 2, W0, func=SLOW)
    log.add(ev.JOIN_END, 1000, W0, POOL, 0x80)
    log.add(ev.RUN_END, 1030, W0, 1)
    found = rows_of(log)
    assert (found["0x1000"]["total_us"], found["0x2000"]["total_us"]) == (0.13, 0.8)


def test_a_name_outside_any_task_names_nothing():
    log = Log()
    log.add(ev.RUN_AS, 5, MAIN, SLOW)
    log.run(10, 20, 1, W0)
    assert list(rows_of(log)) == ["0x1000"]


def test_a_task_during_which_events_were_lost_is_left_out():
    log = Log()
    log.run(0, 100, 1, W0)
    log.run(1000, 2000, 2, W0)
    log.lost(1500, 1600)
    assert rows_of(log)["0x1000"]["count"] == 1


def test_a_task_without_begin_or_end_is_left_out():
    log = Log()
    log.add(ev.RUN_END, 50, W0, 9)
    log.add(ev.RUN_BEGIN, 60, W0, POOL, 0, FUNC, 1, GROUP)
    assert rows_of(log) == {}
    assert FUNCTIONS not in [table.title for table in tables(summary_of(log))]


def test_processes_are_told_apart_and_chosen():
    one, two = Log(1), Log(2)
    one.pool()
    two.pool()
    one.run(0, 10, 1, W0)
    two.run(0, 30, 1, W0)
    assert sorted(rows_of(one, two)) == ["process[1] 0x1000", "process[2] 0x1000"]
    analysis = analyse(one, two)
    analysis.keep({2})
    assert list(analysis.functions.times) == [(2, FUNC)]


def test_too_many_functions_share_a_row():
    log = Log()
    for i in range(FUNCTIONS_MAX + 10):
        log.run(100 * i, 100 * i + 10, i, W0, func=0x1000 + 16 * i)
    found = rows_of(log)
    assert len(found) == FUNCTIONS_MAX + 1 and found["other functions"]["count"] == 10
    assert sum(row["count"] for row in found.values()) == FUNCTIONS_MAX + 10


def times_of(*values: int) -> Times:
    times = Times()
    times.add(*values)
    return times


@pytest.mark.parametrize(
    "value, low", [(-5, 1), (0, 1), (1, 1), (2, 2), (3, 2), (1023, 512), (1024, 1024), (2**40 + 1, 2**40)]
)
def test_a_time_counts_at_the_power_of_two_that_it_reaches(value, low):
    assert histogram(times_of(value)) == {str(low): 1}


def test_the_most_frequent_has_the_highest_block_and_none_has_a_dot():
    row = {"histogram": histogram(times_of(*[1] * 80, *[8] * 40, *[9] * 1, 17))}
    assert bounds([row]) == range(0, 5)
    assert drawn(row, bounds([row])) == f"{BLOCKS[7]}··{BLOCKS[4]}{BLOCKS[0]}"


def test_the_table_has_one_scale_for_all_rows():
    log = Log()
    log.run(0, 1100, 1, W0)
    log.run(0, 70_000, 2, W1, func=SLOW)
    (table,) = [table for table in tables(summary_of(log)) if table.title == FUNCTIONS]
    assert table.all_rows == [
        ["", "tasks", "sum", "p50", "p99", "max", "1.02 .. 131.1"],
        ["0x2000", "1", "70.0", "70.0", "70.0", "70.0", "······█"],
        ["0x1000", "1", "1.10", "1.10", "1.10", "1.10", "█······"],
    ]


def test_the_figures_are_plain_values():
    found = Functions()
    found.add(1, FUNC, 5)
    assert json.loads(json.dumps(found.summary(lambda pid, func: "f")))[0]["histogram"] == {"4": 1}
    assert list(functions.cells([], str)) == []
