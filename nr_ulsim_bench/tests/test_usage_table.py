# SPDX-License-Identifier: BSD-3-Clause
import pytest

from nrbench.backends import FACADES
from nrbench.parts.pools.contest import counters_source, facade_cost, facade_lines
from nrbench.parts.pools.table import usage_tables
from nrbench.parts.pools.verdict import facade_verdict
from nrbench.stats import summarize

FACADE = FACADES[0]


def line(bench, backend, number=0, workers=1, case="fib19", **values):
    labels = {"bench": bench, "case": case, "backend": backend, "workers": workers, "class": "other"}
    return labels | {"mode": "default", "hog": False, "round": number} | values


def usage(backend, **more):
    figures = {"wall_s": 2.0, "cpu_s": 3.0, "user_s": 2.5, "system_s": 0.5, "tasks": 1000}
    return line("usage", backend, **figures, ctx_switches=70, involuntary_switches=20, **more)


def cells(lines):
    """The rows of the table by pool, without its title."""
    rows = [text.split() for text in usage_tables(summarize(lines), counters_source(lines))]
    return {row[0]: row for row in rows if len(row) > 5 and row[0] in ("ws", "glib")}


def test_where_counters_can_be_had_they_are_shown():
    perf = {"perf_task_clock_s": 4.0, "perf_ctx_switches": 60, "instructions": 9e9, "cycles": 6e9}
    lines = [usage("ws", **perf, counters_user_only=False), usage("glib", **perf, counters_user_only=False)]
    assert cells(lines)["ws"] == ["ws", "1w", "1000", "4.000", "2.00", "2.500", "0.500", "60", "20", "1.50"]
    assert counters_source(lines) == "the kernel's perf events"


def test_counters_of_user_mode_only_are_named_so():
    lines = [usage("ws", perf_task_clock_s=4.0, counters_user_only=True)]
    assert "user mode only" in counters_source(lines)


def test_without_hardware_counters_the_reason_is_named():
    lines = [usage("ws", perf_task_clock_s=4.0, counters_missing="No such file or directory")]
    assert cells(lines)["ws"][-1] == "n/a"
    assert "No such file or directory" in counters_source(lines)


def test_without_perf_events_getrusage_serves():
    lines = [usage("glib", counters_missing="Permission denied")]
    assert cells(lines)["glib"][3:8] == ["3.000", "1.50", "2.500", "0.500", "70"]
    assert counters_source(lines).startswith("getrusage")


def test_a_run_that_failed_is_no_row_and_no_source():
    failed = line("usage", "ws", error="killed")
    assert cells([failed]) == {} and counters_source([failed]).startswith("getrusage")


def empty(backend, costs, workers=1):
    return [
        line("coliseum", backend, n, workers, "empty", ns_per_task=c, tasks=10, work_s=0, inline_tasks=0)
        for n, c in enumerate(costs)
    ]


def test_an_interface_is_compared_with_the_core_round_by_round():
    summaries = summarize(empty("ws", [30, 50, 40]) + empty(FACADE, [33, 54]) + empty("ws", [1, 1], 2))
    assert facade_cost(summaries, FACADE).value == 3.5
    assert "+3.5 [?] ns a task" in "\n".join(facade_lines(summaries, FACADES))


@pytest.mark.parametrize("more, word", [(9, "met"), (11, "missed")])
def test_an_interface_is_judged_by_the_interval(more, word):
    core = [40.0 + n for n in range(9)]
    summaries = summarize(empty("ws", core) + empty(FACADE, [cost + more for cost in core]))
    assert facade_verdict(summaries, FACADE).word == word


def test_an_interface_is_open_where_the_rounds_disagree_or_are_few():
    core, facade = [40.0] * 9, [41.0, 80.0] * 4 + [45.0]
    assert facade_verdict(summarize(empty("ws", core) + empty(FACADE, facade)), FACADE).word == "not known"
    assert facade_verdict(summarize(empty("ws", [40]) + empty(FACADE, [41])), FACADE).word == "not known"
    assert facade_verdict(summarize(empty("ws", [40])), FACADE).detail == "not measured"
