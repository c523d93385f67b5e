# SPDX-License-Identifier: BSD-3-Clause
"""The engine that runs every part: order, lines, interruption, report; and each part through it."""

import json
import os
import random
import signal
from dataclasses import replace

import pytest
from part_runs import PROGRAMS, ask, host

from nrbench import bench, driver, engine
from nrbench.driver import BenchError
from nrbench.engine import INTERRUPTED, Part, Plan, Request, Step, in_rounds, shuffled
from nrbench.parts import latch, lives, pi, scan, tail, tracecost
from nrbench.stats import Results


def test_a_round_has_every_setting_and_those_of_a_unit_side_by_side():
    settings = [(case, state) for case in "abcd" for state in ("off", "on")]
    rounds = [shuffled(settings, random.Random(seed), lambda setting: setting[0]) for seed in range(20)]
    assert all(sorted(found) == settings for found in rounds)
    assert all(found[i][0] == found[i + 1][0] for found in rounds for i in range(0, 8, 2))
    assert len({tuple(found) for found in rounds}) > 10
    assert {found[0][1] for found in rounds} == {"off", "on"}


def test_the_seed_alone_decides_the_order_of_the_rounds():
    found = list(in_rounds("abc", 9, 1))
    assert found == list(in_rounds("abc", 9, 1)) != list(in_rounds("abc", 9, 2))
    rounds = [[one for number, one in found if number == wanted] for wanted in range(9)]
    assert all(sorted(names) == list("abc") for names in rounds) and len({tuple(r) for r in rounds}) > 1


def test_words_are_settings_by_name():
    assert engine.words(how="ws", class_="rr", n=1) == ("how=ws", "class=rr", "n=1")


def a_part(ask, count=3, **more):
    steps = [Step({"bench": "made-up", "round": n}, (), 1.0, f"step {n}") for n in range(count)]
    plan = Plan(steps, ask, {"rounds": count, "of": "the plan"}, **more)
    return Part("made-up", lambda results: [f"{len(results.lines)} lines"], lambda request: plan)


def lines_in(folder):
    return [json.loads(text) for text in (folder / "made-up.ndjson").read_text().splitlines()]


def test_each_answer_is_a_line_at_once_and_the_first_line_tells_of_host_and_plan(tmp_path):
    there = []

    def ask(step):
        there.append(len(lines_in(tmp_path)))
        return [{"figure": 1}, {"figure": 2}]

    assert a_part(ask).run(Request(out=tmp_path, seed=7)) == 0
    first, *lines = lines_in(tmp_path)
    assert (first["bench"], first["seed"], first["of"]) == ("host", 7, "the plan") and "cpu" in first
    assert there == [1, 3, 5] and [line["round"] for line in lines] == [0, 0, 1, 1, 2, 2]
    assert (tmp_path / "made-up.txt").read_text() == "6 lines\n"


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGHUP])
def test_what_was_taken_before_an_interruption_is_reported(tmp_path, capsys, number):
    def ask(step):
        if step.labels["round"] == 1 and number is None:
            raise KeyboardInterrupt
        if step.labels["round"] == 1:
            os.kill(os.getpid(), number)
        return [{"figure": 1}]

    before = signal.getsignal(signal.SIGTERM)
    assert a_part(ask).run(Request(out=tmp_path)) == INTERRUPTED
    assert len(lines_in(tmp_path)) == 2
    said = capsys.readouterr()
    assert said.out.startswith("1 lines\n") and "interrupted: 1 of 3 measurements taken" in said.err
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_hangup_that_is_ignored_ends_nothing(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        part = a_part(lambda step: [{"killed": os.kill(os.getpid(), signal.SIGHUP)}])
        assert part.run(Request(out=tmp_path)) == 0 and len(lines_in(tmp_path)) == 4
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_run_stops_at_its_budget_and_says_so(tmp_path, capsys):
    assert a_part(lambda step: [{}], budget_s=-1).run(Request(out=tmp_path)) == 0
    assert "0 of 3 measurements taken (the machine is slower than planned" in capsys.readouterr().err


def test_after_an_interruption_no_other_part_runs(tmp_path, monkeypatch):
    ran = []

    class Noted(Part):
        def run(self, request):
            ran.append(self.name)
            return INTERRUPTED

    parts = [Noted(name, lambda results: ()) for name in ("one", "other")]
    monkeypatch.setattr(bench, "chosen", lambda request: [(part, request) for part in parts])
    assert bench.run(Request(out=tmp_path)) == INTERRUPTED and ran == ["one"]


def test_results_that_were_there_stay_where_a_program_is_missing(tmp_path):
    (tmp_path / "pi.ndjson").write_text("old")
    with pytest.raises(BenchError, match="ws-bench: no such file"):
        pi.PART.run(Request(tmp_path / "ws-bench", out=tmp_path))
    assert (tmp_path / "pi.ndjson").read_text() == "old"


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(BenchError, match="holds none of lives.ndjson, results.ndjson, replay/runs.ndjson"):
        bench.report_again(tmp_path)


@pytest.mark.parametrize(
    "body, error",
    [
        ("exit 3", "no answer: exit status 3"),
        ("echo why >&2", "no answer: why"),
        ("echo '{'", "an answer that is not JSON"),
        ("kill -9 $$", "ended by signal 9"),
        ("exec sleep 6000", "no answer within 0 s"),
    ],
)
def test_a_program_without_an_answer_says_why(tmp_path, body, error):
    (tmp_path / "program").write_text(f"#!/bin/sh\n{body}\n")
    (tmp_path / "program").chmod(0o755)
    (answer,) = driver.ask(tmp_path / "program", [], 0.2 if "sleep" in body else 60)
    assert answer["error"].startswith(error)


EMPTY = {
    lives.PART: host(20, missing={}, skipped={}),
    latch.PART: host(9, blocks=16, block_bytes=131072, missing={}),
    pi.PART: host(200, intervals=2000000, warm=2, missing={}),
    scan.PART: host(9, bytes=1, block_bytes=1, passes=3, last_level_bytes=1, note=None),
    tail.PART: host(5, missing={}, skipped={}, versions={}),
    tracecost.PART: host(6, cases=[]),
}


@pytest.mark.parametrize("part", EMPTY, ids=lambda part: part.name)
def test_a_report_without_figures_has_no_verdict_and_no_plot(part, tmp_path, capsys):
    part.report_lines([EMPTY[part]], tmp_path)
    assert not [word for word in ("PASS", "MISS", "OPEN") if word in capsys.readouterr().out]
    assert os.listdir(tmp_path) == [f"{part.name}.txt"]
    with pytest.raises(ValueError, match="no line of the results describes the host"):
        list(part.report(Results([])))


def test_a_busy_machine_what_is_missing_and_what_failed_are_named():
    lines = [EMPTY[pi.PART] | {"load": 2.0, "missing": {"onetbb": "not built"}}]
    lines += [{"bench": "pi", "how": "ws", "round": n, "error": "killed"} for n in range(2)]
    text = "\n".join(pi.report(Results(lines)))
    for part in ("load 2.0", "missing: onetbb (not built)", "without a result: 2 times: ws: killed"):
        assert part in text


@pytest.mark.parametrize(
    "program, others, wrong",
    [
        pytest.param(program, others, wrong, marks=pytest.mark.program(program))
        for program, others, wrong in (
            (
                "ws-latch",
                ["how=fibers"],
                "how=none scans=0 workers=0 tables=0 blocks=0 block_bytes=5000 hold=on ms=0 x",
            ),
            ("ws-scan", [], "block_bytes=100 bytes=4096 scanners=0 passes=0 x=1"),
        )
    ],
)
def test_a_program_explains_what_it_does_not_understand(program, others, wrong):
    for word in wrong.split():
        status, (answer,) = ask(program, *others, word)
        assert status == 1 and answer["error"], word


SMALL = {latch: {"QUICK_MS": 20, "WARM_MS": 5, "QUICK_COUNT": 1000, "BLOCK_BYTES": 4096}}
SMALL[lives] = {"WARM": 5, "SLOTS": 5}
SMALL[tail] = {"QUICK_SLOTS": 5}


@pytest.mark.parametrize(
    "module, plots",
    [
        pytest.param(lives, ["lives.png"], marks=pytest.mark.program("ws-bench")),
        pytest.param(latch, ["latch.png"], marks=pytest.mark.program("ws-latch")),
        pytest.param(pi, ["pi.png"], marks=pytest.mark.program("ws-bench")),
        pytest.param(tail, ["tail.png"], marks=pytest.mark.program("ws-bench")),
        pytest.param(scan, ["scan.png"], marks=pytest.mark.program("ws-scan")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_quick_run_writes_results_report_and_plots(module, plots, tmp_path, capsys, monkeypatch):
    for name, value in SMALL.get(module, {}).items():
        monkeypatch.setattr(module, name, value)
    name = module.PART.name
    request = Request(PROGRAMS / "ws-bench", out=tmp_path, only=(name,), quick=True, rounds=1)
    assert bench.run(request) == 0
    assert sorted(os.listdir(tmp_path)) == sorted([f"{name}.ndjson", f"{name}.txt", *plots])
    text = capsys.readouterr().out
    assert "without a result" not in text
    bench.report_again(tmp_path)
    assert capsys.readouterr().out == text


def test_full_needs_a_part_that_has_it(tmp_path):
    request = Request(tmp_path / "ws-bench", out=tmp_path, only=("slot",), full=True)
    for wrong in (request, replace(request, only=()), replace(request, only=("tail",), quick=True)):
        with pytest.raises(BenchError, match="--full"):
            bench.run(wrong)
