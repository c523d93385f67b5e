# SPDX-License-Identifier: BSD-3-Clause
"""The part demos: tables and plots of made-up answers; the programs themselves, where they were built."""

import json

import pytest
from part_runs import PROGRAMS, host

from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.parts import demos
from nrbench.parts.demos import report, sort_ratio, stops_paying
from nrbench.stats import Results

HOST = host(3)


def sort_line(threads=2, buffer=50, **times):
    contestants = {
        name.replace("_", " "): {"wall_s": seconds, "cpu_s": [2 * s for s in seconds]}
        for name, seconds in times.items()
    }
    line = {"n": 1000, "threads": threads, "buffer": buffer, "rounds": 3, "seed": 1}
    return {"bench": "demos", "demo": "quicksort", **line, "contestants": contestants}


def ticks(delay_ms, throughput):
    head = {"bench": "demos", "demo": "stock_ticker", "delay_ms": delay_ms, "round": 0, "errors": 0}
    return [head | {"threads": n, "symbols_per_s": per_s} for n, per_s in throughput.items()]


def text(lines):
    return "\n".join(report(Results([HOST, *lines])))


def test_sorts_are_compared_round_by_round():
    line = sort_line(tpool=[1.0, 2.0, 4.0], one_thread=[2.0, 4.0, 8.0])
    assert sort_ratio(line, "one thread").value == 2.0
    assert sort_ratio(line, "parallel_sort") is None
    assert "2.000 [?] n/a n/a" in " ".join(text([line]).split())


def test_a_thread_more_pays_until_it_adds_less_than_a_tenth():
    assert stops_paying({1: 10, 2: 20, 3: 30}) is None
    assert stops_paying({1: 10, 2: 20, 3: 30, 4: 30.5, 5: 29}) == 3
    assert stops_paying({1: 10, 2: 10}) == 1
    assert stops_paying({1: 10}) is None


def test_the_ticker_has_a_row_for_each_delay():
    lines = [*ticks(20, {1: 50, 2: 100, 3: 150}), *ticks(2, {1: 400, 2: 800, 3: 790})]
    table = text(lines)
    assert "20 ms 50 100 150 beyond the sweep" in " ".join(table.split())
    assert "2 threads" in table
    assert "requests failed" not in table
    lines[0]["errors"] = 3
    assert "3 requests failed" in text(lines)


def test_the_validator_is_compared_with_one_thread():
    head = {"bench": "demos", "demo": "sudoku_validator", "repeat": 200}
    table = text([head | {"kind": "noisy", "one_ns": 1000, "several_ns": 1660}])
    assert "noisy, each task 200 times" in table and "1.66" in table


def test_a_demo_that_fails_is_named_and_the_others_are_shown():
    failed = {"bench": "demos", "demo": "quicksort", "error": "no answer within 120 s"}
    table = text([failed, *ticks(20, {1: 50, 2: 100})])
    assert "quicksort: no answer within 120 s" in table and "100" in table


def test_plots_are_drawn_of_what_is_there(tmp_path):
    lines = [sort_line(t, b, tpool=[1.0], qsort=[2.0]) for b in (50, 1) for t in (1, 2)]
    names = ["demos-ticker.png", "demos-quicksort.png"]
    assert list(demos.draw(Results(lines), tmp_path)) == names[1:]
    assert list(demos.draw(Results([*lines, *ticks(20, {1: 50, 2: 100})]), tmp_path)) == names
    assert all((tmp_path / name).stat().st_size > 10000 for name in names)


def test_full_sorts_four_gigabytes_once():
    for step in demos.sort_steps(Request(cores=2, full=True)):
        assert {"--count=999999999", "--rounds=1"} <= set(step.words)


def test_a_demo_that_was_not_built_is_named(tmp_path):
    with pytest.raises(BenchError, match="quicksort: no such file"):
        demos.plan(Request(tmp_path / "bin" / "ws-bench"))


@pytest.mark.program("../demos/quicksort/quicksort")
def test_the_programs_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(demos, "QUICK_COUNT", 10000)
    request = Request(PROGRAMS / "ws-bench", out=tmp_path, quick=True, rounds=1, cores=2)
    assert demos.PART.run(request) == 0
    lines = [json.loads(line) for line in (tmp_path / "demos.ndjson").read_text().splitlines()]
    assert not [line for line in lines if "error" in line]
    assert {line["demo"] for line in lines[1:]} == {"quicksort", "stock_ticker", "sudoku_validator"}
    assert {line["threads"] for line in lines if line.get("demo") == "stock_ticker"} == set(range(1, 12))
