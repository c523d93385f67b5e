# SPDX-License-Identifier: BSD-3-Clause
"""Runs as a frame, by host and case; the old variant; the bound."""

import pytest
from sweep_runs import HOST, OTHER_HOST, rounds, run

from nrbench.sweep.cells import case_results
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.frame import cores_of, groups, to_frame

WORK = {SYMBOLS: 300.0, DECODING: 900.0, RX: 1380.0}


def only(runs):
    (group,) = groups(runs)
    return group


def inline(figures, program="1" * 12, **changes):
    return run("inline", None, 0, figures=figures, build={"sha256": program}, **changes)


def test_a_row_a_run_and_a_column_a_figure():
    bad = run("old", repeat=1, status="crash", error="signal 11", figures={}, wall_s=None)
    frame = to_frame([run("new", "auto", 4, figures={RX: 50.0, "zeta_us": 1.0}, derived=(RX,)), bad])
    assert len(frame) == 2
    first, second = frame.to_dict("records")
    assert (first["host"], first["host_label"], first["cores"]) == (HOST.id, HOST.label, 4)
    assert (first["variant"], first["pool"], first["spin"], first["threads"]) == (
        "new auto",
        "new",
        "auto",
        4,
    )
    assert (first[RX], first["zeta_us"], first["cpu_s"], first["derived"]) == (50.0, 1.0, 2.0, RX)
    assert (second["status"], second["error"]) == ("crash", "signal 11")
    assert frame[RX].isna().tolist() == [False, True]
    assert list(frame.columns)[-2:] == [RX, "zeta_us"]


@pytest.mark.parametrize(
    ("kind", "pools", "order", "baseline"),
    [
        ("nr_ulsim", [("new", "auto"), ("new", "off"), ("old", None)], ("old", "new off", "new auto"), "old"),
        ("nr_ulsim", [("new", "off"), ("other", None)], ("other", "new off"), "other"),
        ("nr_ulsim", [("new", "auto")], ("new auto",), None),
        (
            "replay",
            [("glib", None), ("ws", "auto"), ("mutex-per-worker", None)],
            ("mutex-per-worker", "ws auto", "glib"),
            "mutex-per-worker",
        ),
        ("replay", [("ws", "auto"), ("glib", None), ("asio", None)], ("glib", "ws auto", "asio"), "glib"),
    ],
)
def test_the_old_variant_and_the_order(kind, pools, order, baseline):
    group = only([run(pool, spin, kind=kind) for pool, spin in pools])
    assert (group.variants, group.baseline) == (order, baseline)


def test_groups_are_by_host_and_case_the_hosts_together():
    runs = [run(host=host, case=case) for case in ("a", "b") for host in (HOST, OTHER_HOST)]
    found = [(group.host.label, group.key.case) for group in groups(runs)]
    assert found == [(host.label, case) for host in (HOST, OTHER_HOST) for case in ("a", "b")]


def test_values_are_of_good_runs_by_round():
    runs = [*rounds([10, 11, 12]), run(repeat=3, status="hang", figures={})]
    values = only(runs).values("new", 2, RX)
    assert values.tolist() == [10, 11, 12]
    assert values.index.tolist() == [("a" * 12, 0, 0), ("a" * 12, 1, 0), ("a" * 12, 2, 0)]


def test_the_bound_divides_the_parallel_parts_only():
    group = only([*(inline(WORK, repeat=i) for i in range(3)), run(threads=1), run(threads=8)])
    assert group.bounds(1) == pytest.approx({SYMBOLS: 150, DECODING: 450, RX: 780})  # 180 + 1200 / 2
    assert group.bounds(8) == pytest.approx({SYMBOLS: 75, DECODING: 225, RX: 480})  # 4 cores
    assert group.threads == (1, 8)  # inline runs are no row


def test_the_bound_is_from_medians():
    slow = {SYMBOLS: 3000.0, DECODING: 9000.0, RX: 13800.0}
    group = only([inline(WORK, repeat=0), inline(WORK, repeat=1), inline(slow, repeat=2), run(threads=1)])
    assert group.bounds(1)[RX] == pytest.approx(780)


def test_of_two_programs_the_one_with_less_work_bounds():
    less = {SYMBOLS: 400.0, DECODING: 600.0, RX: 1200.0}
    group = only([inline(WORK, "0" * 12), inline(less, "1" * 12), run(threads=1)])
    assert group.bounds(1) == pytest.approx({SYMBOLS: 200, DECODING: 300, RX: 700})


BESIDE = {SYMBOLS: 360.0, DECODING: 1080.0, RX: 1700.0}


def test_the_parallel_bound_has_the_work_of_runs_side_by_side():
    """The serial rest is that of a run alone; only where as many threads compute."""
    group = only([inline(WORK), inline(BESIDE, at_once=4), run(threads=1), run(threads=3), run(threads=8)])
    assert group.bounds(8) == pytest.approx({SYMBOLS: 75, DECODING: 225, RX: 480})
    for threads in (3, 8):
        wanted = {SYMBOLS: 90, DECODING: 270, RX: 540}  # 180 + 1440 / 4
        assert group.parallel_bounds(threads) == pytest.approx(wanted)
    assert group.parallel_bounds(1) == {}  # two compute
    assert group.threads == (1, 3, 8)


def test_without_runs_side_by_side_there_is_no_parallel_bound():
    assert only([inline(WORK), run(threads=8)]).parallel_bounds(8) == {}
    failed = inline(BESIDE, at_once=4, status="crash", error="x")
    assert only([inline(WORK), failed, run(threads=8)]).parallel_bounds(8) == {}
    assert only([inline({RX: 100.0}), inline(BESIDE, at_once=4), run(threads=8)]).parallel_bounds(
        8
    ) == pytest.approx({SYMBOLS: 90, DECODING: 270})


def test_without_inline_runs_there_is_no_bound():
    assert only([run()]).bounds(2) == {}
    assert only([run(), inline({}, status="crash")]).bounds(2) == {}


def test_without_the_parts_the_whole_has_no_bound():
    assert only([run(), inline({RX: 100.0, DECODING: 40.0})]).bounds(1) == pytest.approx({DECODING: 20})


def test_recorded_slots_bring_their_own_bound():
    own = {RX: 600.0, "rx_bound_us": 555.0}
    group = only([inline(WORK, kind="replay"), run("ws", "auto", 1, kind="replay", figures=own)])
    assert group.bounds(1) == pytest.approx({SYMBOLS: 150, DECODING: 450, RX: 555})


def test_cores_are_those_that_a_run_was_bound_to():
    bound, free = groups([inline(WORK, cpus="0-1"), run(threads=4, cpus="0-1"), inline(WORK), run(threads=1)])
    assert (bound.cores(4), free.cores(1)) == (2, 4)
    assert bound.bounds(4)[SYMBOLS] == pytest.approx(150)


@pytest.mark.parametrize(
    ("cpus", "quota", "cores"),
    [("0-7", None, 8), ("0-7", 2.0, 2), ("0-7", 2.5, 3), ("0-7", 0.5, 1), ("3", 2.0, 1), (None, 2.0, 4)],
)
def test_cores_of_a_bound_run_are_not_those_of_the_callers_mask(cpus, quota, cores):
    """The sweep itself could use 4 CPUs when it described the host."""
    assert cores_of(run(cpus=cpus, host=HOST.model_copy(update={"quota_cpus": quota}))) == cores


def test_times_of_runs_that_did_not_decode_count_nowhere():
    """They have figures, but went through more iterations."""
    bad = {"status": "failed", "error": "not decoded", "repeat": 9}
    slow = {SYMBOLS: 3000.0, DECODING: 9000.0, RX: 13800.0, "rx_p99_us": 20000.0, "rx_bound_us": 1.0}
    runs = [*rounds([100, 102, 104], threads=1), inline(WORK)]
    failed = [run(threads=1, figures=slow, cpu_s=99.0, **bad), inline(slow, **bad)]
    result, alone = case_results(runs)[0], case_results([*runs, *failed])[0]
    assert alone.get(1, "new", RX).median == 102
    assert alone.get(1, "new", RX).causes == ("failed",)
    assert alone.get(1, "new", "cpu_s").median == 2
    assert alone.get(1, "new", "rx_p99_us") is None
    assert (
        alone.group.bounds(1)
        == result.group.bounds(1)
        == pytest.approx({SYMBOLS: 150, DECODING: 450, RX: 780})
    )
