# SPDX-License-Identifier: BSD-3-Clause
"""The part tail: its plan with a program that stands for ws-bench, quantiles and verdicts of made-up slots,
and the histogram of ws-bench itself. No figure is judged."""

import json
import os
import sys
from collections import Counter

import pytest
from part_runs import ask, host

from nrbench import bench, cli
from nrbench import host as machine
from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.parts import tail
from nrbench.parts.tail import CASES, FULL_CASES, HISTOGRAM, collect, quantile_us, report, verdicts
from nrbench.stats import Results

needs_program = pytest.mark.program("ws-bench")
pytestmark = pytest.mark.usefixtures("no_pictures")
FAKE = """
import json, sys

def answer(words):
    given = dict(word.split("=", 1) for word in words)
    if given["backend"] in ("libfork", "ocudu"):
        return {"error": "no such file"}
    if given["bench"] == "info":
        about = dict.fromkeys(("waiter_helps", "has_workers", "nests", "nested_push"), True)
        return about | {"version": "1", "waiter_helps": given["backend"] != "mutex-queue"}
    figures = {"makespan_max_us": 90.25, "cpu_s": 0.4, "work_s": 0.1, "late_slots": 1}
    return figures | {"makespan_histogram_ns": [20000, int(given["slots"]) - 2, 90303, 2]}

lines = [sys.argv[1:]] if sys.argv[1:] else (line.rstrip("\\n").split("\\t") for line in sys.stdin)
for words in lines:
    print(json.dumps(answer(words)), flush=True)
"""


@pytest.fixture
def fake(stand_in):
    """Answers as ws-bench. Two pools are not there."""
    return stand_in(f"#!{sys.executable} -SE{FAKE}")


def request(program, **more):
    return Request(program, **{"out": program.parent / "out", "only": ("tail",), "cores": 2, **more})


def slots_of(step):
    return next(int(word[len("slots=") :]) for word in step.words if word.startswith("slots="))


def slots_by_cell(plan):
    found = Counter()
    for step in plan.steps:
        found[tuple(step.labels[name] for name in ("case", "class", "pool"))] += slots_of(step)
    return found


def test_each_pool_has_enough_slots_for_one_in_a_thousand(fake):
    plan = tail.plan(request(fake))
    cells = slots_by_cell(plan)
    assert set(cells.values()) == {20_000} and plan.seconds < 8 * 60
    assert {case for case, *_ in cells} == set(CASES) and {c for _, c, _ in cells} == {"other"}
    pools = {pool for *_, pool in cells}
    assert pools >= {"ws", "ws hot", "ws off", "no pool", "onetbb", "mutex-queue", "forkunion", "citor"}
    assert not pools & {"onetbb hot", "citor hot", "libfork", "glib"}
    assert "WS_BENCH_LIBFORK_DIR" in plan.about["missing"]["libfork"]


def test_full_has_a_million_slots_all_cases_and_hot_pools(fake):
    cells = slots_by_cell(tail.plan(request(fake, full=True)))
    assert set(cells.values()) == {1_000_000} and {case for case, *_ in cells} == set(FULL_CASES)
    assert {"onetbb hot", "citor hot"} <= {pool for *_, pool in cells}


def test_classes_and_pools_may_be_chosen(fake):
    plan = tail.plan(request(fake, classes=("rr", "rrall"), backends=("ws", "glib", "citor"), quick=True))
    cells = slots_by_cell(plan)
    pools = ("ws", "ws hot", "ws off", "glib", "citor", "citor hot")
    assert set(cells) == {("12x2", c, pool) for c in ("rr", "rrall") for pool in pools}
    assert plan.seconds < 60


def test_without_permission_a_real_time_class_is_nothing_to_measure(fake, monkeypatch):
    monkeypatch.setattr(machine, "realtime_allowed", lambda *_: False)
    with pytest.raises(BenchError, match="class rr: no permission"):
        tail.plan(request(fake, classes=("rr",)))


def test_the_pools_of_a_place_are_side_by_side_in_an_order_of_their_own(fake):
    steps = tail.plan(request(fake, rounds=9)).steps
    of_a_place = len(steps) // (9 * len(CASES))
    groups = [steps[first : first + of_a_place] for first in range(0, len(steps), of_a_place)]
    assert all(len({(step.labels["round"], step.labels["case"]) for step in group}) == 1 for group in groups)
    assert len({tuple(step.labels["pool"] for step in group) for group in groups}) > 20


def test_the_words_of_a_measurement(fake):
    steps = {step.labels["pool"]: step for step in tail.plan(request(fake, quick=True)).steps}
    given = "bench=slot backend=ws mode=default workers=1 class=other bursts=12x2"
    pace = "period_us=500 warm=1000 slots=2000"
    off, hot, queue, passive = (steps[name] for name in ("ws off", "ws hot", "mutex-queue", "openmp-gcc"))
    assert list(off.words) == [
        *given.split(),
        *pace.split(),
        "histogram=1",
        "limit_s=16",
        "env=TPOOL_WS_SPIN=off",
    ]
    assert "mode=hot" in hot.words and not [word for word in hot.words if word.startswith("env=")]
    assert "workers=2" in queue.words and "warm=200" in queue.words
    assert "env=OMP_WAIT_POLICY=passive" in passive.words


def test_a_run_writes_lines_a_report_and_a_plot(fake, capsys):
    asked = request(fake, rounds=2, backends=("ws", "onetbb"))
    assert bench.run(asked) == 0
    assert sorted(os.listdir(asked.out)) == ["tail.ndjson", "tail.png", "tail.txt"]
    first, *lines = [json.loads(text) for text in (asked.out / "tail.ndjson").read_text().splitlines()]
    assert first["versions"] == {"ws": "1", "onetbb": "1"} and len(lines) == 2 * len(CASES) * 5
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("ws hot "))
    assert row.split()[2:] == ["8000", *["20.0"] * 5, "90.2", "2", "4.0"]
    assert "versions: ws 1, onetbb 1" in text
    bench.report_again(asked.out)
    assert capsys.readouterr().out == text


def test_a_quantile_is_the_end_of_a_bin():
    counts = Counter({1000: 9980, 2000: 10, 30000: 10})
    assert [quantile_us(counts, share) for share in (0.5, 0.99, 0.998, 0.999, 1.0)] == [1, 1, 1, 2, 30]
    assert quantile_us(Counter({5000: 1}), 0.999) == 5
    with pytest.raises(ValueError):
        quantile_us(Counter(), 0.5)


def lines_of(pools, rounds=5):
    """@param pools  by title: back end, mode, p99.9 in us, CPU time in s"""
    lines = []
    for title, (backend, mode, us, cpu_s) in pools.items():
        for number in range(rounds):
            labels = {"bench": "tail", "case": "12x2", "class": "other", "backend": backend, "mode": mode}
            pairs = [15000, 990, us * 1000 + number, 10]
            figures = {
                HISTOGRAM: pairs,
                "makespan_max_us": us,
                "cpu_s": cpu_s,
                "work_s": 1.0,
                "late_slots": 0,
            }
            lines.append(labels | {"pool": title, "round": number} | figures)
    return lines


OWN_LINES = {"ws": ("ws", "default", 40, 3.0), "ws hot": ("ws", "hot", 20, 9.0)}


@pytest.mark.parametrize(
    "rivals, first, second",
    [
        ({"glib": ("glib", "default", 80, 3.2)}, "met glib", "met glib"),
        ({"glib": ("glib", "default", 30, 3.2)}, "missed glib", "met glib"),
        ({"glib": ("glib", "default", 30, 3.4)}, "no result", "met glib"),  # takes too much CPU time
        ({"glib": ("glib", "default", 80, 3), "asio": ("asio", "default", 10, 9)}, "met glib", "missed asio"),
        ({"no pool": ("alone", "default", 10, 1.0)}, "no result", "no result"),
        ({}, "no result", "no result"),
    ],
)
def test_verdicts_compare_with_the_lowest_tail_of_pools_in_reach(rivals, first, second):
    found = list(verdicts(collect(Results([host(5), *lines_of(OWN_LINES | rivals)]))))
    assert len(found) == 2
    for verdict, wanted in zip(found, (first, second)):
        word, *rival = wanted.split()
        assert verdict.startswith(f"{word}  12x2 other: p99.9 of ws") and all(
            f": to {name} " in verdict for name in rival
        )


def test_few_rounds_are_no_verdict_and_no_own_pool_is_none():
    lines = lines_of(OWN_LINES | {"glib": ("glib", "default", 80, 3.0)}, rounds=2)
    assert [verdict.split()[0] for verdict in verdicts(collect(Results(lines)))] == ["not known", "not known"]
    assert not list(verdicts(collect(Results(lines_of({"glib": ("glib", "default", 80, 3.0)})))))


def test_rounds_are_pooled_and_errors_are_named():
    lines = lines_of(OWN_LINES)
    lines.append(
        {"bench": "tail", "case": "12x2", "class": "other", "pool": "citor", "round": 0, "error": "hung"}
    )
    text = list(report(Results([host(5, missing={}, skipped={"class rr": "no"}, versions={}), *lines])))
    row = next(line for line in text if line.startswith("ws  "))
    assert row.split() == ["ws", "5000", "15.0", "15.0", "40.0", "40.0", "40.0", "40.0", "0", "3.0"]
    assert "skipped: class rr (no)" in text and "without a result: 1 times: citor: hung" in text


def test_the_part_has_a_name_on_the_command_line():
    assert "tail" in cli.Part.__members__


@needs_program
def test_a_histogram_has_each_slot_and_its_bins_are_narrow():
    words = ["bench=slot", "backend=alone", "bursts=3x1+2x5", "slots=300", "limit_s=600"]
    status, (answer,) = ask("ws-bench", *words, "histogram=1")
    ends, counts = answer[HISTOGRAM][::2], answer[HISTOGRAM][1::2]
    assert status == 0 and sum(counts) == 300 and ends == sorted(set(ends))
    assert answer["makespan_max_us"] * 1e3 <= ends[-1] < answer["makespan_max_us"] * 1e3 * (1 + 1 / 64)
    assert quantile_us(Counter(dict(zip(ends, counts))), 0.5) == pytest.approx(
        answer["makespan_p50_us"], rel=1 / 32
    )
    assert HISTOGRAM not in ask("ws-bench", *words)[1][0]
