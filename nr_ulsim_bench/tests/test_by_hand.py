# SPDX-License-Identifier: BSD-3-Clause
"""Reports of few runs whose figures were worked out by hand; the arithmetic stands at each.

An interval of five values goes from the least to the greatest: a median of five draws is the least value with
a probability of 5.8 %, and 0.1 % is cut off at either end."""

import pytest
from made_up import SWEEP, failed, nrbench, rows, run, runs, write
from part_runs import host, line

pytestmark = pytest.mark.usefixtures("no_pictures")
OPEN = "not known"
ROUNDS = (80, 90, 95, 98, 99)  # µs; OAI's pool takes 100


@pytest.fixture
def reported(tmp_path):
    """Rows of the whole RX by variant and threads, of a report on these runs."""

    def report(lines, *words):
        nrbench("report", write(tmp_path / "runs.ndjson", lines), "--out", tmp_path / "out", *words)
        found = [row for row in rows(tmp_path / "out" / "results.csv") if row["figure"] == "rx_us"]
        return {(row["case"], row["host_label"], row["variant"], int(row["threads"])): row for row in found}

    return report


def of(found, variant="new auto", threads=2, case=SWEEP["case"], machine="a"):
    return found[case, machine, variant, threads]


def ratio(row):
    """With its interval; None: none."""
    return tuple(float(row[name]) if row[name] else None for name in ("ratio", "ratio_low", "ratio_high"))


def close(value):
    return pytest.approx(value, rel=1e-5)


def near(*values):
    return close(values)


# Verdicts of a sweep: OAI's pool takes 100 µs in each round, so a ratio is this pool's time ÷ 100.


def test_a_median_its_spread_and_a_ratio(reported):
    """Of 80 90 95 98 99: median 95; quartiles 90 and 98, half of their distance 4; ratio 95 ÷ 100."""
    row = of(reported([*runs("old", *[100] * 5), *runs("new", *ROUNDS)]))
    assert (float(row["median"]), float(row["half_iqr"])) == (95, 4)
    assert ratio(row) == near(0.95, 0.80, 0.99) and row["verdict"] == "faster"
    assert (row["runs"], row["failed"], row["paired"]) == ("5", "0", "1")


@pytest.mark.parametrize(
    "times, verdict",
    [
        ((80, 90, 95, 98, 99.9), "faster"),  # the interval ends at 0.999
        ((80, 90, 95, 98, 100), OPEN),  # at 1
        ((101, 102, 105, 106, 107), "slower"),  # begins at 1.01
        ((100, 102, 105, 106, 107), OPEN),  # at 1
        ((80, 90, 95, 98), "not known"),
        ((98, 99, 100, 101, 102), "same"),  # within 1 ÷ 1.03 and 1.03
        ((98, 99, 100, 101, 103.1), OPEN),
    ],
)
def test_a_verdict_at_its_boundary(reported, times, verdict):
    found = reported([*runs("old", *[100] * len(times)), *runs("new", *times)])
    assert of(found)["verdict"] == verdict


def test_a_round_that_one_pool_lacks_has_no_pair(reported):
    """Round 2 of the new pool fails. Of the five that both have, 100 110 120 130 140 and 50 to 70: 60 ÷ 120.
    The median of OAI's pool is still that of its six, 100 110 120 130 140 900: 125."""
    old, new = (100, 110, 900, 120, 130, 140), (50, 55, None, 60, 65, 70)
    found = reported([*runs("old", *old), *runs("new", *new), failed("new", 2)])
    assert ratio(of(found)) == near(0.5, 0.5, 0.5) and float(of(found, "old")["median"]) == 125
    assert (of(found)["runs"], of(found)["failed"], of(found, "old")["runs"]) == ("5", "1", "6")


def test_a_failed_run_that_was_taken_again_no_longer_counts(reported):
    lines = [*runs("old", *[100] * 5), failed("new", 4), *runs("new", *ROUNDS)]
    row = of(reported(lines))
    assert ratio(row) == near(0.95, 0.80, 0.99) and (row["runs"], row["failed"]) == ("5", "0")


def test_pools_that_share_no_round_are_two_samples(reported):
    """Medians 100 and 80. The ends are 70 ÷ 120 and 90 ÷ 90, the least ÷ the greatest and vice versa."""
    lines = [*runs("old", 90, 95, 100, 110, 120), *runs("new", 70, 75, 80, 85, 90, sweep="b" * 12)]
    row = of(reported(lines))
    assert ratio(row) == near(0.8, 70 / 120, 1.0) and row["verdict"] == OPEN and row["paired"] == "0"


def test_what_no_pool_can_beat(reported):
    """Inline the median is 1000 µs: 200 symbols, 400 decoding, 400 that nothing divides. With 2 threads three
    compute, 400 + 600 ÷ 3 = 600; with 8 the 4 cores, 400 + 600 ÷ 4 = 550."""
    inline = runs("inline", 990, 1000, 1010, threads=0)
    lines = [*inline, *runs("new", *[660] * 3), *runs("new", *[660] * 3, threads=8)]
    found = reported(lines)
    assert [float(of(found, threads=threads)["bound"]) for threads in (2, 8)] == [600, 550]
    assert [float(of(found, threads=threads)["over_bound"]) for threads in (2, 8)] == [close(1.1), 1.2]


def test_the_bound_of_inline_runs_side_by_side(reported):
    """Side by side the parallel parts take 240 and 480 µs: 400 + 720 ÷ 4 = 580, where all four compute."""
    beside = {"symbol_processing_us": 240, "decoding_us": 480, "rx_us": 1150}
    lines = [*runs("inline", 1000, threads=0), run("inline", 0, 0, threads=0, at_once=4, figures=beside)]
    found = reported([*lines, *runs("new", 725, threads=8), *runs("new", 725)])
    assert float(of(found, threads=8)["parallel_bound"]) == 580
    assert float(of(found, threads=8)["over_parallel_bound"]) == close(1.25)
    assert of(found, threads=2)["parallel_bound"] == ""


@pytest.mark.parametrize(
    "other, said",
    [
        ((1020,) * 5, "differ by 2.0 %, those of one spread by 0.0 %: quiet"),
        ((1000,) * 4, "spread by 0.0 % (fewer than 5 runs): not known whether it was quiet"),
        ((1040,) * 5, "differ by 4.0 %, those of one spread by 0.0 %: not quiet (limits 3 and 8 %)"),
        ((900, 950, 1000, 1050, 1100), "differ by 0.0 %, those of one spread by 10.0 %: not quiet"),
    ],
)
def test_whether_it_was_quiet_is_told_by_inline_runs_of_both_builds(tmp_path, other, said):
    """Their quartiles are the second and the fourth of five: (1050 - 950) ÷ 1000."""
    of_old = run("old", 0, 1)["build"]
    lines = [*runs("inline", *[1000] * 5, threads=0), *runs("inline", *other, threads=0, build=of_old)]
    lines += [*runs("old", *[100] * 5), *runs("new", *ROUNDS)]
    text = nrbench("report", write(tmp_path / "runs.ndjson", lines), "--out", tmp_path / "out")
    assert said in " ".join(text.split()) and ("WARNING: a, slides" in text) == ("not quiet" in said)
    assert (tmp_path / "out" / "report.html").read_text().count(said) == 2 + ("not quiet" in said)


def test_a_ratio_of_too_few_rounds_has_a_reason_in_place_of_an_interval(tmp_path):
    lines = [*runs("old", *[100] * 4), *runs("new", *[80] * 4)]
    text = nrbench("report", write(tmp_path / "runs.ndjson", lines), "--out", tmp_path / "out")
    assert "÷ old 0.80 (fewer than 5 rounds: no interval), not known" in " ".join(text.split())


# The parts of ci/bench: the report of the lines that a part writes.


@pytest.fixture
def said(tmp_path):
    """The lines of the report that begin so, as words."""

    def report(name, lines, begin):
        write(tmp_path / f"{name}.ndjson", lines)
        text = nrbench("report", "--out", tmp_path)
        return [line.split() for line in text.splitlines() if line.strip().startswith(begin)]

    return report


def pools(*lines):
    """What ci/bench measures of pools, on two cores."""
    about = host(5, missing={}, skipped={}, pools={})
    return [about, *(line for each in lines for line in each)]


def jobs(backend, *walls, **more):
    same = {"cpu_s": 2.0, "work_s": 2.0, "tasks": 1000, "inline_tasks": 0, "ns_per_task": 1000} | more
    return [line("coliseum", "fib19", backend, round=n, wall_s=wall, **same) for n, wall in enumerate(walls)]


def test_jobs_against_another_pool_are_compared_round_by_round(said):
    """1 ÷ 1.25 = 0.8 in each round, -20 %, whatever the rounds' own lengths."""
    lines = pools(jobs("ws", 1, 2, 3, 4, 5), jobs("glib", 1.25, 2.5, 3.75, 5, 6.25, workers=2))
    assert said("results", lines, "other  ")[0][2:] == ["glib", "2w", "faster", "0.800", "[0.800,", "0.800]"]


def test_jobs_of_a_round_that_failed_have_no_ratio(said):
    """Four rounds are left, and four give no interval: not known. Of all five it would be met."""
    lines = pools(jobs("ws", 1, 2, 3, 4, 5), jobs("glib", 1.25, 2.5, 3.75, 5, 6.25, workers=2))
    name = "met  coliseum not 1 % slower than any pool, by 95 % intervals: wall time"
    assert said("results", lines, name)
    lines[-1] = line("coliseum", "fib19", "glib", workers=2, round=4, error="killed")
    assert said("results", lines, name.replace("met", "not known"))
    assert said("results", lines, "without a result: 1 times: glib: killed")


def lives(*p50s, pool="auto", case="12x6", noise="alone"):
    labels = {"bench": "lives", "case": case, "class": "other", "noise": noise, "pool": pool}
    more = {"makespan_p99_us": 200.0, "cpu_s": 1.0, "wall_s": 2.0}
    return [labels | {"round": number, "makespan_p50_us": us} | more for number, us in enumerate(p50s)]


@pytest.mark.parametrize(
    "good, word",
    [
        (19, "met"),  # 19 of 20 are the goal's 95 %
        (18, "not known"),  # a pool of 95 % has 18 or fewer with 1 - 0.358 - 0.377 = 26 %
        (16, "missed"),  # 16 or fewer with 1.6 %; 17 or fewer with 7.5 %
    ],
)
def test_the_share_of_good_lives(said, good, word):
    """Good: at most 1.25 × the median of hot's lives, 1.25 × 40 = 50 µs. Slower: above 1.05 × 100 µs."""
    taken = [
        *lives(*[50] * good, *[50.1] * (20 - good)),
        *lives(30, 40, 90, pool="hot"),
        *lives(100, pool="none"),
    ]
    (line, *_) = said("lives", [host(20, missing={}, skipped={}), *taken], f"{word}  {good} of 20 lives")
    assert line[-5:] == "none slower than no pool".split()


@pytest.mark.parametrize("us, word, slower", [(100, "met", "none"), (106, "missed", 20)])
def test_lives_that_no_timer_foresees_are_compared_with_no_pool_only(said, us, word, slower):
    taken = []
    for case, own_us in (("4x20", 40), ("4x20 by chance", us)):
        taken += lives(*[own_us] * 20, case=case)
        taken += [*lives(40, pool="hot", case=case), *lives(100, pool="none", case=case)]
    (line, *_) = said("lives", [host(20, missing={}, skipped={}), *taken], f"{word}  20 of 20 lives")
    assert line[-5:] == f"{slower} slower than no pool".split()


def test_a_life_without_a_result_is_not_good(said):
    times = ("makespan_p50_us", "makespan_p99_us", "cpu_s", "wall_s")
    broken = {name: value for name, value in lives(0)[0].items() if name not in times}
    taken = [
        *lives(40, 40, 40),
        broken | {"round": 9, "error": "hung"},
        *lives(40, pool="hot"),
        *lives(100, pool="none"),
    ]
    assert said("lives", [host(4, missing={}, skipped={}), *taken], "not known  3 of 4 lives")
