# SPDX-License-Identifier: BSD-3-Clause
import pytest

from nrbench.parts.pools.table import (
    contest_ratio_tables,
    drift_lines,
    full_report,
    slot_table,
    start_table,
    stream_table,
    tail_table,
)
from nrbench.parts.pools.verdict import Score, all_verdicts, judge, wake_us
from nrbench.stats import Key, read_lines, select, summarize


def line(bench, case, backend, workers=1, sched_class="other", mode="default", hog=False, **values):
    return {
        "bench": bench,
        "case": case,
        "backend": backend,
        "workers": workers,
        "class": sched_class,
        "mode": mode,
        "hog": hog,
        "round": 0,
        **values,
    }


def slot(case, backend, p50, p99=None, work_s=0.01, cpu_s=0.02, bound=36.0, **labels):
    p99 = p50 * 1.1 if p99 is None else p99
    return line(
        "slot",
        case,
        backend,
        makespan_p50_us=p50,
        makespan_p99_us=p99,
        work_s=work_s,
        cpu_s=cpu_s,
        ratio_p50=p50 / bound,
        ratio_p99=p99 / bound,
        bound_us=bound,
        **labels,
    )


def wake(p50, sched_class="other", idle_us=500, other=True):
    values = {"other_cpu_p50_us": p50} if other else {}
    return line(
        "wake",
        f"idle{idle_us}us",
        "ws",
        sched_class=sched_class,
        idle_us=idle_us,
        p50_us=p50,
        p99_us=2 * p50,
        slots=30,
        other_cpu_starts=30 if other else 0,
        **values,
    )


def verdict(lines, name):
    return next(v for v in all_verdicts(summarize(lines), 2) if name in v.name)


def word(lines, name):
    return verdict(lines, name).word


def test_medians_are_taken_over_rounds_and_errors_are_kept_apart():
    lines = [slot("12x6", "ws", p50) | {"round": n} for n, p50 in enumerate((40, 90, 41))]
    lines += [line("slot", "12x6", "ws", error="killed")]
    ((key, summary),) = summarize(lines).items()
    assert key == Key("slot", "12x6", "ws", 1, "other", "default", False)
    assert (summary["makespan_p50_us"], summary.rounds, summary.errors) == (41, 3, ["killed"])


def test_select_leaves_out_what_has_no_result():
    summaries = summarize([line("slot", "12x6", "ws", error="killed"), slot("12x6", "alone", 72)])
    assert [key.backend for key in select(summaries, bench="slot")] == ["alone"]


def test_a_check_names_its_worst_case():
    result = judge("x", [Score(0.5, "good"), Score(1.2, "bad"), Score(1.1, "less bad")])
    assert str(result) == "missed  x: 1 of 3 cases; worst: bad"


def test_a_check_without_data_neither_passes_nor_fails():
    assert judge("x", []).word == "no result"


@pytest.mark.parametrize("p50, expected", [(49.0, "met"), (50.0, "missed")])
def test_slot_target_is_the_bound_and_half_the_wake_and_a_little(p50, expected):
    # 1.03 x (36 + 20/2) + 2 = 49.38
    assert word([slot("12x6", "ws", p50), wake(20.0)], "slot p50 within 1.03") == expected


@pytest.mark.parametrize("p99, expected", [(61.0, "met"), (62.0, "missed")])
def test_slot_p99_target(p99, expected):
    assert word([slot("12x6", "ws", 45, p99), wake(20.0)], "slot p99 within 1.25") == expected


def test_the_wake_latency_is_taken_after_the_nearest_idle_time():
    summaries = summarize([wake(20.0, idle_us=500), wake(40.0, idle_us=5000)])
    assert wake_us(summaries, "other", 700) == 20.0
    assert wake_us(summaries, "other", 4000) == 40.0


def test_a_class_whose_wakes_all_stay_on_the_producers_cpu_borrows_from_another():
    summaries = summarize([wake(2.8, other=False), wake(18.0, sched_class="rrall")])
    assert wake_us(summaries, "other", 500) == 18.0


def test_a_pool_that_takes_too_much_cpu_time_is_no_rival():
    lines = [slot("12x6", "ws", 45), slot("12x6", "onetbb", 37, cpu_s=0.06), slot("12x6", "glib", 50)]
    assert word(lines, "slot p50 better") == "met"
    assert word([slot("12x6", "ws", 45, mode="hot"), *lines], "slot hot") == "missed"


def test_a_better_pool_in_another_class_or_beside_a_hog_is_no_rival():
    lines = [
        slot("12x6", "ws", 45),
        slot("12x6", "glib", 50),
        slot("12x6", "glib", 37, sched_class="rr"),
        slot("12x6", "glib", 37, hog=True),
    ]
    assert word(lines, "slot p50 better") == "met"


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


def test_more_workers_than_cores_may_cost_three_percent():
    two, more = slot("12x6", "ws", 45, workers=2), "4 and 8 workers"
    assert word([two, slot("12x6", "ws", 46, workers=8)], more) == "met"
    assert word([two, slot("12x6", "ws", 47, workers=4)], more) == "missed"


def contest(case, backend, wall_s, cpu_s, **values):
    values = {
        "tasks": 1000,
        "ns_per_task": wall_s * 1e6,
        "work_s": 1.0,
        "ideal_s": 0.5,
        "inline_tasks": 0,
        **values,
    }
    return line("coliseum", case, backend, wall_s=wall_s, cpu_s=cpu_s, **values)


def rounds(backend, walls, cpus=None, sched_class="other"):
    cpus = cpus or walls
    return [
        {**contest("fib19", backend, wall, cpu), "class": sched_class, "round": number}
        for number, (wall, cpu) in enumerate(zip(walls, cpus))
    ]


STEADY = [0.50, 0.60, 0.45, 0.52, 0.70, 0.51, 0.49]  # a machine that drifts; what is compared drifts with it


def scaled(factor, wobble=0.0):
    return [wall * (factor + wobble * (-1) ** n) for n, wall in enumerate(STEADY)]


def test_the_coliseum_holds_when_the_whole_interval_is_within_a_percent():
    lines = [*rounds("ws", scaled(1.0, 0.001)), *rounds("asio", STEADY)]
    found = verdict(lines, "wall time")
    assert found.word == "met" and "1 of 1 comparisons hold" in found.detail


def test_the_coliseum_is_lost_when_the_whole_interval_is_beyond():
    lines = [*rounds("ws", scaled(1.03)), *rounds("asio", STEADY), *rounds("glib", scaled(2))]
    found = verdict(lines, "wall time")
    assert found.word == "missed" and "asio 1w: +3.0" in found.detail


def test_what_the_rounds_do_not_resolve_is_open_not_a_tie():
    noisy = verdict([*rounds("ws", scaled(1.005, 0.02)), *rounds("asio", STEADY)], "wall time")
    few = verdict([*rounds("ws", STEADY[:3]), *rounds("asio", STEADY[:3])], "wall time")
    for found in (noisy, few):
        assert found.word == "not known"
    assert "[?]" in few.detail


def test_another_class_is_no_rival_in_the_coliseum():
    lines = [*rounds("ws", STEADY), *rounds("asio", scaled(0.5), sched_class="rr")]
    assert word(lines, "wall time") == "no result"


def test_no_pool_is_no_rival_in_cpu_time():
    lines = [*rounds("ws", STEADY, scaled(1.1)), *rounds("alone", scaled(2), STEADY)]
    assert word(lines, "intervals: CPU time") == "no result"
    assert word(lines, "wall time") == "met"


@pytest.mark.parametrize("p50, expected", [(20.2, "met"), (20.3, "missed")])
def test_tiny_tasks_may_take_a_tenth_more_than_no_pool(p50, expected):
    lines = [slot("38x0.5", "ws", p50, workers=8), slot("38x0.5", "alone", 18.4)]
    assert word(lines, "38x0.5 within") == expected
    assert word(lines, "CPU time within") == "no result"  # its CPU time is the waking itself


def test_start_and_steady_state_are_tables_of_their_own():
    line = slot("12x6", "ws", 40) | {"start_ratio_p50": 1.77, "start_ratio_p99": 1.99, "settled_s": 0.5}
    rival = slot("12x6", "glib", 80) | {"settled_s": 0.1}
    found = summarize([line, rival])
    text = "\n".join(
        [line for table in (slot_table(found, hog=False), start_table(found)) for line in table.lines({})]
    )
    assert "from 0.5 s (ws), 0.1 s (the others) after a pool's first slot on" in text
    steady, start = text.split("Start: the slots of the first 100 ms")
    assert "1.11/1.22" in steady and "1.77/1.99" in start and "glib" not in start


def stream(backend, overtaken=0, **labels):
    lags = {"lag_p50_us": 3.04, "lag_p99_us": 60.0, "start_lag_p50_us": 19.0, "start_lag_p99_us": 67.0}
    counts = {"cpu_s": 0.15, "wall_s": 0.1, "slots": 2000, "overtaken": overtaken}
    return line("stream", "1x10", backend, **lags, **counts, **labels)


def test_a_stream_may_overtake_no_argument_ring():
    assert word([stream("ws"), stream("glib", 7)], "stream") == "met"
    found = verdict([stream("ws"), stream("ws", 3, sched_class="rr")], "stream")
    assert found.word == "missed" and "3 of 2000 tasks overtaken" in found.detail


def test_a_stream_has_a_table_of_lags_and_of_cpus_beside_the_producers():
    lines = [stream("ws", 20), line("stream", "1x10", "glib", error="no result; killed")]
    text = "\n".join(stream_table(summarize(lines)).lines({}))
    assert "3.0/60.0 [0.50]" in text and "19.0/67.0" in text and "1.0" in text and "hung" in text


def test_a_stream_names_the_order_of_starts_and_the_fan_of_a_task():
    fan = {"fan_lag_p50_us": 2.04, "fan_lag_p99_us": 31.0, "fan_reordered": 16, "slots": 200, "work_s": 0.018}
    lines = [
        stream("ws") | {"reordered": 50, "work_s": 0.02},
        line("stream", "1x10+8", "ws", cpu_s=0.15, wall_s=0.1, lag_p50_us=1.0, lag_p99_us=2.0, **fan),
        line("stream", "1x10+8", "glib", error="n/a: a task of this pool cannot push"),
    ]
    text = "\n".join(stream_table(summarize(lines)).lines({}))
    assert "[0.30]" in text  # 1.5 CPUs less the producer's and 0.2 of work
    assert "2.5" in text and "2.0/31.0" in text and "1.0" in text


def test_the_tail_has_a_table_where_it_was_measured():
    tail = slot("12x6", "ws", 40) | {"ratio_p999": 2.345, "slots": 200}
    text = "\n".join(tail_table(summarize([tail, slot("12x6", "glib", 50)])).lines({}))
    assert "p99.9" in text and "200 slots" in text and "2.35" in text or "2.34" in text
    assert list(tail_table(summarize([slot("12x6", "glib", 50)])).lines({})) == []


def test_results_of_a_version_that_knew_no_steady_state_claim_none():
    text = "\n".join(slot_table(summarize([slot("12x6", "ws", 40)]), hog=False).lines({}))
    assert text.startswith("\nSlots: makespan")


def test_the_report_says_whether_the_pools_had_settled():
    lines = [slot(case, "ws", 40) | {"drift": d} for case, d in (("12x6", 0.9), ("4x20", 1.0), ("50x5", 1.1))]
    (text,) = drift_lines(summarize([*lines, slot("12x6", "glib", 50)]))
    assert text.endswith("quartiles over the cases: ws 0.90, 1.00, 1.10")
    assert list(drift_lines(summarize([slot("12x6", "ws", 40)]))) == []


def test_the_coliseums_intervals_are_in_the_report():
    text = "\n".join(contest_ratio_tables(summarize([*rounds("ws", scaled(1.02)), *rounds("asio", STEADY)])))
    assert "+2.0 [+2.0, +2.0]" in text


def test_empty_tasks_must_be_cheap_and_queued():
    assert word([contest("empty", "ws", 5e-5, 1e-4)], "empty task within 60 ns") == "met"
    assert word([contest("empty", "ws", 5e-5, 1e-4, inline_tasks=3)], "inside a push") == "missed"


def test_an_idle_pool_may_not_wake_up():
    idle = line("wake", "idle-cpu", "ws", cpu_s=4e-6, ctx_switches=0)
    assert word([idle], "idle pool") == "met"
    assert word([{**idle, "ctx_switches": 1}], "idle pool") == "missed"
    assert word([{**idle, "cpu_s": 6e-5}], "idle pool") == "missed"


def test_the_report_names_what_is_missing_and_what_hung():
    host = {
        "bench": "host",
        "cpu": "x",
        "cores": 2,
        "kernel": "6",
        "governor": None,
        "commit": None,
        "load": 0,
        "rounds": {},
        "seed": 1,
        "scale": 1.0,
        "missing": {"glib": "not built"},
        "skipped": {},
        "pools": {"ws": {"version": "1", "waiter_helps": True}},
    }
    lines = [
        slot("12x6", "ws", 45),
        line("slot", "12x6", "onetbb", sched_class="rr", error="no result; killed"),
        wake(20.0),
        contest("empty", "ws", 5e-5, 1e-4, work_s=0),
        line("wake", "idle-cpu", "ws", cpu_s=0, ctx_switches=0),
    ]
    text = "\n".join(full_report(host, summarize(lines)))
    assert "missing: glib (not built)" in text
    assert "slot rr onetbb 1w: 12x6 x1: no result; killed" in text
    assert "hung" in text


def test_a_broken_results_file_is_named(tmp_path):
    path = tmp_path / "results.ndjson"
    path.write_text('{"bench": "host"}\n{"bench"\n')
    with pytest.raises(ValueError, match=r"results\.ndjson:2: not JSON"):
        read_lines(path)
