# SPDX-License-Identifier: BSD-3-Clause
"""The part demos: tables and plots of made-up answers; the programs themselves, where they were built."""

import json
import os
from pathlib import Path

import pytest

from nrbench import bench
from nrbench.demos import run
from nrbench.demos.plan import Options, sort_words
from nrbench.demos.table import report, sort_ratio, stops_paying
from nrbench.driver import BenchError

BUILD = os.environ.get("WS_BENCH_BUILD", "")
DEMOS = Path(BUILD) / "nr_ulsim_bench" / "demos"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
needs_programs = pytest.mark.skipif(
    not (BUILD and (DEMOS / "quicksort" / "quicksort").is_file()),
    reason="WS_BENCH_BUILD names no build of the demos",
)
HOST = {"bench": "host", "cpu": "Some CPU", "cores": 2, "kernel": "6.8", "commit": None, "load": 0.0}
HOST |= {"rounds": 3, "seed": 1}


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
    return "\n".join(report([HOST, *lines]))


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
    from nrbench.demos.plot import SORT, TICKER, draw_all

    lines = [sort_line(t, b, tpool=[1.0], qsort=[2.0]) for b in (50, 1) for t in (1, 2)]
    assert draw_all([HOST, *lines], tmp_path) == [SORT]
    assert draw_all([HOST, *lines, *ticks(20, {1: 50, 2: 100})], tmp_path) == [TICKER, SORT]
    assert all((tmp_path / name).stat().st_size > 10000 for name in (SORT, TICKER))


def test_full_sorts_four_gigabytes_once():
    options = Options(2, full=True)
    assert "--count=999999999" in sort_words(options, 2, 50)
    assert "--rounds=1" in sort_words(options, 2, 50)


def test_a_demo_that_was_not_built_is_named(tmp_path):
    with pytest.raises(BenchError, match="quicksort: no such file"):
        run.run(tmp_path, EXAMPLES, Options(2), tmp_path)


def test_full_needs_a_part_that_has_it(tmp_path):
    request = bench.Request(tmp_path / "ws-bench", tmp_path, tmp_path, only=("slot",), full=True)
    with pytest.raises(BenchError, match="--full"):
        bench.run(request)


@needs_programs
def test_the_programs_answer_and_the_report_can_be_made_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nrbench.demos.plan.QUICK_COUNT", 10000)
    run.run(DEMOS, EXAMPLES, Options(2, quick=True, rounds=1), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / run.RESULTS).read_text().splitlines()]
    assert not [line for line in lines if "error" in line]
    assert {line["demo"] for line in lines[1:]} == {"quicksort", "stock_ticker", "sudoku_validator"}
    assert {line["threads"] for line in lines if line.get("demo") == "stock_ticker"} == set(range(1, 12))
    first = capsys.readouterr().out
    bench.report_again(tmp_path)
    assert first.startswith(capsys.readouterr().out[:200])
