# SPDX-License-Identifier: BSD-3-Clause
import pytest

from nrbench.backends import FACADES
from nrbench.parts.pools.contest import facade_cost, facade_lines
from nrbench.parts.pools.table import usage_tables
from nrbench.parts.pools.verdict import facade_verdict
from nrbench.stats import summarize

FACADE = FACADES[0]


def line(bench, backend, number=0, workers=1, case="fib19", **values):
    labels = {"bench": bench, "case": case, "backend": backend, "workers": workers, "class": "other"}
    return labels | {"mode": "default", "hog": False, "round": number} | values


def test_what_a_contest_cost_is_a_row_for_each_pool():
    figures = {"wall_s": 2.0, "cpu_s": 3.0, "user_s": 2.5, "system_s": 0.5, "tasks": 1000, "work_s": 1.0}
    figures |= {"ctx_switches": 70, "involuntary_switches": 20}
    lines = [line("coliseum", "ws", **figures), line("coliseum", "glib", error="killed")]
    rows = [text.split() for text in usage_tables(summarize(lines))]
    assert [row for row in rows if row and row[0] in ("ws", "glib")] == [
        ["ws", "1w", "1000", "3.000", "1.50", "2.500", "0.500", "70", "20"]
    ]


def empty(backend, costs, workers=1):
    return [
        line("coliseum", backend, n, workers, "empty", ns_per_task=c, tasks=10, work_s=0, inline_tasks=0)
        for n, c in enumerate(costs)
    ]


def test_an_interface_is_compared_with_the_core_round_by_round():
    summaries = summarize(empty("ws", [30, 50, 40]) + empty(FACADE, [33, 54]) + empty("ws", [1, 1], 2))
    assert facade_cost(summaries, FACADE).value == 3.5
    assert "+3.5 [?] ns a task" in "\n".join(facade_lines(summaries, FACADES))


@pytest.mark.parametrize("more, word", [(9, "PASS"), (11, "FAIL")])
def test_an_interface_is_judged_by_the_interval(more, word):
    core = [40.0 + n for n in range(9)]
    summaries = summarize(empty("ws", core) + empty(FACADE, [cost + more for cost in core]))
    assert facade_verdict(summaries, FACADE).word == word


def test_an_interface_is_open_where_the_rounds_disagree_or_are_few():
    core, facade = [40.0] * 9, [41.0, 80.0] * 4 + [45.0]
    assert facade_verdict(summarize(empty("ws", core) + empty(FACADE, facade)), FACADE).word == "OPEN"
    assert facade_verdict(summarize(empty("ws", [40]) + empty(FACADE, [41])), FACADE).word == "OPEN"
    assert facade_verdict(summarize(empty("ws", [40])), FACADE).detail == "not measured"
