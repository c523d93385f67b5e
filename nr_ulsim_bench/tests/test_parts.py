# SPDX-License-Identifier: BSD-3-Clause
"""The parts of ci/bench: what they plan to measure, the limits of their verdicts, and what is not theirs."""

import itertools

import pytest
from fake import POINT, executable, install
from machine_tree import CPUS, tuned
from made_up import nrbench
from part_runs import line, slot

from nrbench.backends import BACKENDS, CLASSES, FACADES, Present
from nrbench.cases import NAMED, SHAPES
from nrbench.driver import BenchError
from nrbench.engine import Request, Step, asks
from nrbench.parts import contest as the_contest
from nrbench.parts import lives, prewake, scale, scan, ticks
from nrbench.parts.pools import BUDGET_S, PARTS, QUICK_BUDGET_S, steps_of
from nrbench.parts.pools_judge import verdicts, wake_us
from nrbench.parts.scan import MIB, table_bytes
from nrbench.stats import Results, groups, read_lines
from nrbench.system import CPU

# What is planned


def pools():
    helpers = {"ws", *FACADES, "alone", "onetbb", "openmp-gcc", "openmp-llvm"}
    found = (b for b in BACKENDS if "cmake" not in b.install)
    return tuple(Present(b, "1", b.name in helpers, b.name != "alone", b.name in helpers) for b in found)


def plan_of(**options):
    request = Request(**{"cores": 2, "only": tuple(PARTS), "classes": CLASSES, **options})
    return steps_of(request, pools())[0]


@pytest.mark.parametrize("quick, budget_s", [(False, BUDGET_S), (True, QUICK_BUDGET_S)])
def test_a_plan_fits_its_budget_on_a_machine_somewhat_slower(quick, budget_s):
    assert sum(step.seconds for step in plan_of(quick=quick)) <= 0.93 * budget_s


def test_pre_wake_takes_six_minutes_or_one():
    def seconds(quick):
        request = Request(cores=2, quick=quick)
        return sum(step.seconds for step in prewake.steps_of(request))

    assert seconds(False) <= 360 and seconds(True) <= 60


def test_slots_count_only_after_the_pool_has_settled():
    for step in (step for step in plan_of() if step.labels["bench"] == "slot"):
        given = dict(word.split("=", 1) for word in step.words)
        settled_us = 500_000 if step.labels["backend"] == "ws" else 100_000
        assert int(given["warm"]) * int(given["period_us"]) >= settled_us
        assert int(given["slots"]) >= 8


def test_shapes_and_irregular_slots_are_measured_beside_no_pool_and_others():
    found = {(step.labels["case"], step.labels["backend"]) for step in plan_of()}
    names, special = ("ws", "alone", "mutex-per-worker"), {*SHAPES, *NAMED}
    assert {of for of in found if of[0] in special} == set(itertools.product(special, names))


def test_every_round_holds_the_same_measurements_in_another_order():
    steps = plan_of(only=("wake",), rounds=2)
    first, second = ([s.words for s in steps if s.labels["round"] == number] for number in (0, 1))
    assert first != second and sorted(first) == sorted(second)


def caches(l3="32768K"):
    """Each CPU has a cache of its own; four share one of the last level."""
    files = {}
    for cpu in range(CPUS):
        folder = f"{CPU}/cpu{cpu}/cache"
        shared = "0-3" if cpu < 4 else "4-7"
        for index, (level, size, cpus) in enumerate([(1, "32K", str(cpu)), (3, l3, shared)]):
            files |= {
                f"{folder}/index{index}/level": f"{level}\n",
                f"{folder}/index{index}/size": f"{size}\n",
                f"{folder}/index{index}/shared_cpu_list": f"{cpus}\n",
            }
    return files


def machine(tmp_path, free_kib, **files):
    return tuned(tmp_path, {**caches(**files), "/proc/meminfo": f"MemAvailable: {free_kib} kB\n"})


def test_all_caches_of_the_last_level_count(tmp_path):
    assert scan.last_level_bytes(machine(tmp_path, 1)) == 64 * MIB


@pytest.mark.parametrize(
    "free_gib, quick, l3, mib, noted",
    [
        (64, False, "32768K", 1024, False),
        (64, True, "32768K", 256, False),
        (64, True, "262144K", 2048, False),  # four times both caches
        (1, True, "32768K", 128, True),
    ],
)
def test_the_table_is_larger_than_the_caches_if_memory_allows(tmp_path, free_gib, quick, l3, mib, noted):
    size, note = table_bytes(machine(tmp_path, free_gib << 20, l3=l3), quick)
    assert size == mib * MIB and bool(note) == noted


def test_unknown_caches_are_noted(tmp_path):
    assert "not known" in table_bytes(tuned(tmp_path, {}), True)[1]


def test_only_lives_beside_what_is_not_allowed_are_left_out(tmp_path, monkeypatch):
    """Real-time classes up to priority 50 are allowed."""
    monkeypatch.setattr("nrbench.host.realtime_allowed", lambda priority=50: priority <= 50)
    (tmp_path / "ws-bench").touch()
    plan = lives.plan(Request(tmp_path / "ws-bench", only=("lives",)))
    left = {step.labels["noise"] for step in plan.steps}
    assert left == set(lives.NOISES) - {"f1", "f2", "f3"}
    assert set(plan.about["skipped"]) == {"noise f1", "noise f2", "noise f3"}


@pytest.mark.parametrize("budget_s, tasks", [(600, None), (1e6, the_contest.TASKS)])
def test_the_contest_takes_ten_minutes_or_has_the_size_of_the_slides(budget_s, tasks, tmp_path, monkeypatch):
    (tmp_path / "ws-bench").touch()
    monkeypatch.setattr(the_contest, "chosen", lambda *_: (pools(), {}))
    plan = the_contest.plan(Request(tmp_path / "ws-bench", cores=2, budget_s=budget_s))
    planned_s = sum(step.seconds for step in plan.steps if step.labels.get("bench") == "coliseum")
    assert plan.about["tasks"] == tasks or planned_s == pytest.approx(600, rel=0.01)
    assert {s.labels["threads"] for s in plan.steps if s.labels.get("bench") == "series"} == {1, 2}
    assert not {"barrier", "ws-tpool", "alone"} & {step.labels["backend"] for step in plan.steps}


def test_a_contest_of_chosen_threads_and_tasks_is_one_of_fib19_alone(tmp_path, monkeypatch):
    (tmp_path / "ws-bench").touch()
    monkeypatch.setattr(the_contest, "chosen", lambda *_: (pools(), {}))
    plan = the_contest.plan(Request(tmp_path / "ws-bench", cores=2, threads=4, tasks=1_048_576))
    asked = {(s.labels["bench"], s.labels["case"], s.labels["threads"]) for s in plan.steps}
    assert asked == {("coliseum", "fib19", 4)} and all("tasks=1048576" in step.words for step in plan.steps)


def test_ticks_are_compared_where_some_cpus_have_none(tmp_path):
    (tmp_path / "ws-ticks").touch()
    request, mine = Request(tmp_path / "ws-bench"), {f"{CPU}/nohz_full": "2-5\n"}
    steps = ticks.plan(request, tuned(tmp_path / "some", mine)).steps
    wanted = dict.fromkeys((4, 5), ticks.KINDS[0]) | dict.fromkeys((6, 7), ticks.KINDS[1])
    assert {step.labels["cpu"]: step.labels["kind"] for step in steps} == wanted
    with pytest.raises(BenchError, match="no CPU without a tick"):
        ticks.plan(request, tuned(tmp_path / "none", {f"{CPU}/nohz_full": None}))


# Limits of verdicts


def wake(p50, sched_class="other", idle_us=500, other=True):
    found = {"other_cpu_p50_us": p50} if other else {}
    found |= {
        "idle_us": idle_us,
        "p50_us": p50,
        "p99_us": 2 * p50,
        "slots": 30,
        "other_cpu_starts": 30 * other,
    }
    return line("wake", f"idle{idle_us}us", "ws", sched_class, **found)


def verdict(lines, name):
    return next(v for v in verdicts(groups(Results(lines)), 2) if name in v.text)


def word(lines, name):
    return verdict(lines, name).word


@pytest.mark.parametrize("p50, p99, expected", [(49.0, 61.0, "met"), (50.0, 62.0, "missed")])
def test_slot_target_is_the_bound_and_half_the_wake_and_a_little(p50, p99, expected):
    # 1.03 x (36 + 20/2) + 2 = 49.38; of p99 1.25 x that
    for name in ("slot p50 within 1.03", "slot p99 within 1.25"):
        assert word([slot("12x6", "ws", p50, p99), wake(20.0)], name) == expected


def test_the_wake_latency_is_taken_after_the_nearest_idle_time():
    summaries = groups(Results([wake(20.0, idle_us=500), wake(40.0, idle_us=5000)]))
    assert wake_us(summaries, "other", 700) == 20.0
    assert wake_us(summaries, "other", 4000) == 40.0


def test_a_class_whose_wakes_all_stay_on_the_producers_cpu_borrows_from_another():
    summaries = groups(Results([wake(2.8, other=False), wake(18.0, sched_class="rrall")]))
    assert wake_us(summaries, "other", 500) == 18.0


def test_a_pool_that_takes_too_much_cpu_time_is_no_rival():
    lines = [slot("12x6", name, us, us, cpu_s=s) for name, us, s in
             (("ws", 45, 0.02), ("onetbb", 37, 0.06), ("glib", 50, 0.02))]  # fmt: skip
    assert word(lines, "slot p50 better") == "met"
    assert word([slot("12x6", "ws", 45, 45, mode="hot"), *lines], "slot hot") == "missed"
    in_another_class = slot("12x6", "glib", 37, 37, sched_class="rr")
    assert word([lines[0], lines[2], in_another_class], "slot p50 better") == "met"


@pytest.mark.parametrize("sched_class, name, good, bad", [
    ("other", "hot's, normal", 49.9, 50.1),
    ("rr", "hot's, real-time", 43.9, 44.1),
    ("rrall", "hot's, real-time", 43.9, 44.1),
])  # fmt: skip
def test_p99_beside_that_of_a_pool_that_never_sleeps(sched_class, name, good, bad):
    hot = slot("12x6", "ws", 36, 40, mode="hot", sched_class=sched_class)
    for p99, expected in ((good, "met"), (bad, "missed")):
        assert word([hot, slot("12x6", "ws", 38, p99, sched_class=sched_class)], name) == expected
    assert word([slot("12x6", "ws", 38, 40, sched_class=sched_class)], name) == "no result"


def contest(case, backend, wall_s, cpu_s, **values):
    values = {"tasks": 1000, "ns_per_task": wall_s * 1e6, "work_s": 1.0, "inline_tasks": 0} | values
    return line("coliseum", case, backend, wall_s=wall_s, cpu_s=cpu_s, **values)


@pytest.mark.parametrize("p50, expected", [(20.2, "met"), (20.3, "missed")])
def test_tiny_tasks_may_take_a_tenth_more_than_no_pool(p50, expected):
    lines = [slot("38x0.5", "ws", p50, p50, workers=8), slot("38x0.5", "alone", 18.4, 20)]
    assert word(lines, "38x0.5 within") == expected
    assert word(lines, "CPU time within") == "no result"  # its CPU time is the waking itself


def stream(backend, overtaken=0, **labels):
    lags = {"lag_p50_us": 3.04, "lag_p99_us": 60.0}
    counts = {"cpu_s": 0.15, "wall_s": 0.1, "slots": 2000, "overtaken": overtaken}
    return line("stream", "1x10", backend, **lags, **counts, **labels)


def test_a_stream_may_overtake_no_argument_ring():
    assert word([stream("ws"), stream("glib", 7)], "stream") == "met"
    found = verdict([stream("ws"), stream("ws", 3, sched_class="rr")], "stream")
    assert found.word == "missed" and "3 tasks, limit 0 tasks" in found.text


def test_empty_tasks_must_be_cheap_and_queued():
    assert word([contest("empty", "ws", 5e-5, 1e-4)], "empty task within 60 ns") == "met"
    assert word([contest("empty", "ws", 5e-5, 1e-4, inline_tasks=3)], "inside a push") == "missed"


def test_an_idle_pool_may_not_wake_up():
    idle = line("wake", "idle-cpu", "ws", cpu_s=4e-6, ctx_switches=0)
    assert word([idle], "idle pool") == word([idle], "no context switch") == "met"
    assert word([{**idle, "ctx_switches": 1}], "no context switch") == "missed"
    assert word([{**idle, "cpu_s": 6e-5}], "idle pool takes") == "missed"


# Of other programs


@pytest.mark.parametrize("status", [0, 1, 2])
def test_the_simulator_is_asked_and_its_status_kept(tmp_path, monkeypatch, status):
    """0: done; 1: some runs failed; 2: not done."""
    monkeypatch.setattr(scale, "SIMULATE", install(tmp_path, "simulate", status=status) / "simulate")
    words = ("run", "--only", "scale", "--quick", "--rounds", "2", "--backends", "ws,glib", "--out", tmp_path)
    said = nrbench(*words, status=status)
    if status == 2:
        assert "ended with exit status 2" in said
        return
    assert '"asked": "scale --report ' in (tmp_path / "scale.txt").read_text()
    assert (tmp_path / "asked").read_text().startswith("scale --quick --pool ws --runs 2 --out")
    assert read_lines(tmp_path / "scale.ndjson") == [POINT] and (tmp_path / "scale.png").stat().st_size > 0


@pytest.mark.parametrize("seconds, limit", [(0.1, 60), (4, 60), (50, 500)])
def test_a_limit_is_ten_times_the_estimate_and_a_minute_at_least(tmp_path, seconds, limit):
    program = executable(tmp_path / "ws-bench", '#!/bin/sh\necho "{\\"words\\": \\"$*\\"}"\n')
    assert asks(program)(Step({}, ("bench=pi",), seconds, "")) == [{"words": f"limit_s={limit} bench=pi"}]
