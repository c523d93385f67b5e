# SPDX-License-Identifier: BSD-3-Clause
"""The part lives: its plan, a run with a program that stands for ws-bench, verdicts on made-up lives, and the
noise of ws-bench itself. No figure is judged."""

import json
import os
import signal
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest
from part_runs import PROGRAMS, ask, host, is_gone, until

from nrbench import bench, cli
from nrbench import host as machine
from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.parts import lives, lives_judge
from nrbench.parts.lives import NOISE_TEXT, NOISES, POOLS, report
from nrbench.parts.lives_judge import Place, goal, goal_word
from nrbench.stats import Results

needs_program = pytest.mark.program("ws-bench")
pytestmark = pytest.mark.usefixtures("no_pictures")
FAKE = """#!/bin/sh
echo "$@" >> "$0.log"
case "$*" in *alone*) us=73 ;; *mode=hot*) us=40 ;; *) us=42 ;; esac
cat << END
{"makespan_p50_us": $us, "makespan_p99_us": 90, "cpu_s": 0.1, "wall_s": 0.3, "stopped_callers": 1}
END
"""


@pytest.fixture
def fake(stand_in):
    """Answers as ws-bench."""
    return stand_in(FAKE)


def request(program, **more):
    return Request(program, **{"out": program.parent / "out", "only": ("lives",), "cores": 2, **more})


def labels(plan, *names):
    return [tuple(step.labels[name] for name in names) for step in plan.steps]


def test_the_full_plan_has_each_pool_once_in_a_round_of_each_place(fake):
    (fake.parent / "libbench_onetbb.so").touch()
    plan = lives.plan(request(fake, rounds=2))
    found = labels(plan, "round", "case", "class", "noise", "pool")
    assert len(found) == len(set(found)) == 2 * 2 * 3 * len(NOISES) * len(POOLS)
    assert plan.about["missing"] == plan.about["skipped"] == {}
    assert len(lives.plan(request(fake)).steps) == 10 * len(found)


def test_the_pools_of_a_place_are_side_by_side_in_an_order_of_their_own(fake):
    plan = lives.plan(request(fake, rounds=9))
    runs = [
        list(run)
        for _, run in groupby(labels(plan, "round", "case", "class", "noise", "pool"), lambda s: s[:4])
    ]
    assert all(len(run) == len(POOLS) - 1 for run in runs)  # oneTBB is not there
    assert len({tuple(pool for *_, pool in run) for run in runs}) > 5
    assert len({tuple(run[0][1:4] for run in runs if run[0][0] == number) for number in range(9)}) == 9


def test_the_words_of_a_life():
    step = lives.Setting(Place("12x6", "rr", "c"), "hot").step(3)
    given = "backend=ws mode=hot bench=slot workers=1 class=rr bursts=12x6 period_us=500 warm=1000 slots=600"
    assert set(given.split()) < set(step.words) and step.labels["round"] == 3
    assert [word for word in step.words if word.startswith(("noise", "hog"))] == [
        "noise=lowest:20000:20000",
        "hog=1",
    ]


def test_the_short_form_is_short_and_comes_first(fake):
    plain = request(fake, only=())
    assert bench.chosen(plain)[0][0] is lives.PART
    assert lives.PART not in [part for part, _ in bench.chosen(request(fake, only=("slot",)))]
    assert lives.PART not in [part for part, _ in bench.chosen(request(fake, only=(), backends=("ws",)))]
    places = {
        ("4x20", "other", "alone"),
        ("4x20", "other", "b"),
        ("12x6", "rr", "b"),
        ("12x6", "rrall", "f2"),
    }
    for asked, limit_s in (
        (plain, 55),
        (request(fake, only=(), quick=True), 15),
        (request(fake, quick=True), 15),
    ):
        plan = lives.plan(asked)
        assert plan.seconds <= limit_s
        assert set(labels(plan, "case", "class", "noise")) == places
        assert set(labels(plan, "pool")) == {("auto",), ("hot",), ("none",)}
    assert set(labels(lives.plan(request(fake, only=(), classes=("rrall",))), "class")) == {("rrall",)}


def test_real_time_classes_and_noise_are_skipped_where_they_are_not_allowed(fake, monkeypatch, capsys):
    monkeypatch.setattr(machine, "realtime_allowed", lambda *_: False)
    asked = request(fake, rounds=1)
    assert lives.PART.run(asked) == 0
    text = capsys.readouterr().out
    for what in ("class rr", "class rrall", *(f"noise {noise}" for noise in ("d", "f1", "f2", "f3"))):
        assert f"skipped: {what} (no permission for real-time classes" in text
    assert {line["class"] for line in written(asked)} == {"other"}
    assert {line["noise"] for line in written(asked)} == {"alone", "a", "b", "c", "e"}
    with pytest.raises(BenchError, match="nothing to measure: class"):
        lives.plan(request(fake, classes=("rr",)))


def test_a_noise_is_skipped_where_only_its_priority_is_not_allowed(fake, monkeypatch):
    monkeypatch.setattr(machine, "realtime_allowed", lambda priority=50: priority <= 50)
    full, short = (lives.plan(request(fake, only=only)) for only in (("lives",), ()))
    assert set(full.about["skipped"]) == {"noise f1", "noise f2", "noise f3"}
    assert set(labels(full, "noise")) == {(noise,) for noise in ("alone", "a", "b", "c", "d", "e")}
    assert set(short.about["skipped"]) == {"noise f2"}
    assert set(labels(short, "class", "noise")) == {("other", "alone"), ("other", "b"), ("rr", "b")}
    with pytest.raises(BenchError, match="nothing to measure: noise f2: no permission .* priority 99"):
        lives.plan(request(fake, only=(), classes=("rrall",)))


def written(asked):
    lines = [json.loads(text) for text in (asked.out / "lives.ndjson").read_text().splitlines()]
    return [line for line in lines if line["bench"] == "lives"]


def test_a_run_writes_a_line_a_life_a_report_and_a_plot(fake, capsys):
    asked = request(fake, rounds=2, classes=("other", "rrall"))
    assert bench.run(asked) == 0
    assert len(written(asked)) == 2 * 2 * 2 * len(NOISES) * (len(POOLS) - 1)
    assert sorted(os.listdir(asked.out)) == ["lives.ndjson", "lives.png", "lives.txt"]
    text = capsys.readouterr().out
    verdicts = text.partition("Verdicts:\n")[2].splitlines()
    assert verdicts[0].startswith("  met  60 of 60 lives within 1.25 x hot's; none slower than no pool.")
    assert verdicts[0].endswith(". Another 12 lives had no CPU for the worker")
    row = next(line for line in text.splitlines() if line.startswith("4x20 rrall ws "))
    assert row.split()[3:] == ["2", "100", "%", "0", *["42"] * 4, *["90"] * 4, "0.33", "1/1"]
    assert "missing: onetbb (not built" in text
    bench.report_again(asked.out)
    assert capsys.readouterr().out == text


def lines_of(noise="alone", auto=(40,) * 20, hot=(40,), none=(73,), sched_class="other", cases=("12x6",)):
    lines = []
    for case in cases:
        for pool, p50s in {"auto": auto, "hot": hot, "none": none}.items():
            for number, us in enumerate(p50s):
                about = {"bench": "lives", "case": case, "class": sched_class, "noise": noise, "pool": pool}
                figures = {"makespan_p50_us": us, "makespan_p99_us": 90, "cpu_s": 1, "wall_s": 2}
                lines.append(about | {"round": number} | ({"error": "hung"} if us is None else figures))
    return lines


def verdicts_of(*groups, cores=2):
    every = lives_judge.collect(
        Results([host(20, cores=cores), *(line for group in groups for line in group)])
    )
    return list(lives_judge.verdicts(every, cores, NOISE_TEXT))


def test_the_first_verdict_is_of_all_lives():
    first, *others = verdicts_of(
        lines_of(auto=[40] * 49 + [60], cases=("12x6", "4x20")), lines_of("a", [44] * 20, sched_class="rr")
    )
    assert first == "met  118 of 120 lives within 1.25 x hot's; none slower than no pool"
    assert others == [
        "met  other, alone: 98 of 100 lives, goal 95 %; none slower than no pool",
        "met  rr, (a) a lowest-priority process, 20 ms on and 20 ms off: 20 of 20 lives, goal 95 %; "
        "none slower than no pool",
    ]


@pytest.mark.parametrize(
    "auto, word",
    [
        ([50] * 20, "met"),  # 1.25 x hot
        ([50.1] * 20, "missed"),
        ([40] * 19 + [60], "met"),
        ([40] * 18 + [60] * 2, "not known"),
        ([40] * 16 + [60] * 4, "missed"),
        ([40] * 19 + [76.6], "met"),  # 1.05 x no pool
        ([40] * 19 + [76.7], "missed"),
        ([40] * 19 + [None], "met"),  # without a result: not good
        ([40] * 16 + [None] * 4, "missed"),
    ],
)
def test_the_word_of_a_verdict(auto, word):
    assert [verdict.split()[0] for verdict in verdicts_of(lines_of(auto=auto))] == [word, word]


def test_a_limit_is_the_median_of_the_lives_beside_the_same_noise():
    first, alone, busy = verdicts_of(
        lines_of(hot=(40, 41, 90)), lines_of("b", [60] * 9, hot=(50,), none=(57,)), cores=3
    )
    assert alone.startswith("met") and first.startswith("missed  29 of 29 lives")
    assert busy.endswith("9 of 9 lives, goal 90 %; 9 slower than no pool") and busy.startswith("missed")


def test_lives_without_a_cpu_for_the_worker_have_no_goal_but_are_not_slower():
    first, _, busy = verdicts_of(lines_of(), lines_of("b", [60] * 20))
    assert first == (
        "met  20 of 20 lives within 1.25 x hot's; none slower than no pool. "
        "Another 20 lives had no CPU for the worker"
    )
    assert busy.startswith(
        "no result  other, (b) a busy normal process: 0 of 20 lives, no CPU is left for the worker"
    )
    assert verdicts_of(lines_of("b", [80] * 20))[0].startswith("missed")
    assert goal(Place("12x6", "rr", "b"), 2) == goal(Place("12x6", "other", "b"), 3) == 0.90
    assert goal(Place("12x6", "other", "e"), 3) is None and goal(Place("12x6", "rr", "alone"), 1) is None
    assert goal(Place("12x6", "other", "f2"), 2) == goal(Place("12x6", "rrall", "f2"), 2) == 0.95


def test_each_noise_has_a_text_and_a_goal():
    assert list(NOISES) == list(NOISE_TEXT) == list(lives_judge.GOALS)


def test_nothing_to_compare_with_is_no_verdict():
    assert verdicts_of(lines_of(hot=())) == ["no result  lives within 1.25 x hot's: n/a"]
    assert verdicts_of(lines_of(none=()))[0].startswith("met")


def test_few_lives_miss_a_goal_only_where_chance_does_not_explain_them():
    assert goal_word(9, 9, 0.95) == "met"
    assert goal_word(8, 9, 0.95) == goal_word(7, 9, 0.95) == "not known"
    assert goal_word(6, 9, 0.95) == "missed"


def test_lives_without_a_result_are_named():
    text = "\n".join(report(Results([host(1, missing={}), *lines_of(auto=[40, None])])))
    assert "without a result: 1 times: auto: hung" in text
    assert any(line.split()[:4] == ["12x6", "other", "ws", "2"] for line in text.splitlines())


def test_a_quantile_is_a_life():
    values = [4, 1, 3, 2, 5]
    assert [lives.quantile(values, share) for share in (0.1, 0.5, 0.9, 1.0)] == [1, 3, 5, 5]


def test_the_part_has_a_name_on_the_command_line():
    assert "lives" in cli.Part.__members__


SLOTS = ["bench=slot", "backend=alone", "bursts=1x1", "limit_s=600"]
EVERY_NOISE = ["hog=1", "noise=normal:1000:0", "noise=lowest:2000:2000", "noise=session:2000:2000"]


def children(parent):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def start(*command):
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@needs_program
@pytest.mark.parametrize(
    "wrong", ["x:1:1", "lowest", "lowest:1", "lowest:0:1", "lowest:1:1x", "lowest:1:10000001", "host:1:0"]
)
def test_a_noise_that_is_not_understood_is_named(wrong):
    status, (answer,) = ask("ws-bench", *SLOTS, f"noise={wrong}")
    assert status == 1 and answer["error"].endswith(f"'noise' with value '{wrong}' is not understood")


@needs_program
def test_noise_ends_with_its_life():
    status, (answer,) = ask("ws-bench", *SLOTS, "slots=5", *EVERY_NOISE)
    assert status == 0 and answer["slots"] == 5


@needs_program
def test_stopped_callers_are_of_this_pool_only():
    words = ["bench=slot", "bursts=2x5", "slots=5", "workers=2", "limit_s=60"]
    (own,), (other,) = (ask("ws-bench", *words, f"backend={name}")[1] for name in ("ws", "alone"))
    assert own["stopped_callers"] >= 0 and "stopped_callers" not in other


@needs_program
def test_each_noise_has_its_class_and_session():
    process = start(PROGRAMS / "ws-bench", *SLOTS, "slots=1000000", *EVERY_NOISE)
    try:
        until(lambda: len(children(process.pid)) == 5)
        *noise, _ = sorted(children(process.pid))
        until(lambda: sorted(os.getpriority(os.PRIO_PROCESS, one) for one in noise)[-2:] == [19, 19])
        sessions = [os.getsid(0)] * 3 + [max(noise)]
        until(lambda: sorted(os.getsid(one) for one in noise) == sorted(sessions))
        assert {os.sched_getscheduler(one) for one in noise} == {os.SCHED_OTHER}
    finally:
        process.kill()
        process.wait()


@needs_program
def test_a_host_is_a_process_on_each_cpu_above_all_classes():
    if not machine.realtime_allowed(99):
        pytest.skip("no permission for real-time classes with priority 99")
    cpus = sorted(os.sched_getaffinity(0))
    process = start(PROGRAMS / "ws-bench", *SLOTS, "slots=1000000", "noise=host:100:10000")
    try:
        until(lambda: len(children(process.pid)) == len(cpus) + 1)
        *noise, _ = every = sorted(children(process.pid))
        until(lambda: [os.sched_getscheduler(one) for one in noise] == [os.SCHED_FIFO] * len(cpus))
        assert [os.sched_getparam(one).sched_priority for one in noise] == [99] * len(cpus)
        assert sorted(map(list, map(os.sched_getaffinity, noise))) == [[cpu] for cpu in cpus]
    finally:
        process.kill()
        process.wait()
    until(lambda: all(is_gone(one) for one in every))


@needs_program
@pytest.mark.parametrize("kind, priority", [("realtime", 10), ("host", 99)])
def test_a_real_time_noise_that_is_not_allowed_is_an_error(kind, priority):
    words = [*SLOTS, "slots=20", f"noise={kind}:100:10000"]
    status, (answer,) = ask("ws-bench", *words)
    allowed = machine.realtime_allowed(priority)
    assert status == 0 and ("error" not in answer if allowed else "no process beside" in answer["error"])


@needs_program
@pytest.mark.parametrize("killed", ["the program", "its parent"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_noise_outlives_what_started_it(killed, number):
    """The parent stands for nrbench."""
    heed = "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)"
    words = [*SLOTS, "slots=1000000", *EVERY_NOISE]
    parent = start(
        sys.executable, "-c", f"{heed}; subprocess.run(sys.argv[1:])", PROGRAMS / "ws-bench", *words
    )
    try:
        until(lambda: len(children(parent.pid)) == 1)
        (program,) = children(parent.pid)
        until(lambda: len(children(program)) == 5)
        every = [program, *children(program)]
        os.kill(program if killed == "the program" else parent.pid, number)
        until(lambda: all(is_gone(one) for one in every))
    finally:
        parent.kill()
        parent.wait()
