# SPDX-License-Identifier: BSD-3-Clause
"""What may stand in one table: one version of OAI, one set of programs, CPUs, environment and seed."""

import pytest
from sweep_runs import OTHER_HOST, run

from nrbench.record import ResultsError
from nrbench.sweep.configuration import labels_of_sides
from nrbench.sweep.frame import groups


def of(pool, sweep, program, oai="v2.1.0", threads=2, **changes):
    return run(pool, None, threads, sweep=sweep * 12, build={"sha256": program * 12, "oai": oai}, **changes)


def both(sweep, old, new, **changes):
    """A sweep of two builds, with an inline run of each."""
    pools = (("old", old), ("new", new))
    inline = [of("inline", sweep, program, threads=0, **changes) for _, program in pools]
    return [*(of(pool, sweep, program, **changes) for pool, program in pools), *inline]


def names(runs):
    return [group.key.name for group in groups(runs)]


def counts(runs):
    return [(len(group.frame), len(group.inline)) for group in groups(runs)]


def test_both_builds_of_a_sweep_are_one_configuration():
    runs = both("a", "1", "2")
    assert (names(runs), counts(runs)) == (["slides / 273 PRB"], [(2, 2)])


def test_versions_are_apart_and_named():
    runs = [*both("a", "1", "2"), *both("b", "3", "4", oai="v2.3.0"), *both("c", "5", "6", oai=None)]
    assert names(runs) == [
        "slides / 273 PRB, OAI v2.1.0",
        "slides / 273 PRB, OAI v2.3.0",
        "slides / 273 PRB, OAI of an unknown version",
    ]
    assert counts(runs) == [(2, 2)] * 3


def test_builds_of_different_versions_in_one_sweep_stay_together():
    runs = [of("old", "a", "1", oai="v2.1.0"), of("new", "a", "2", oai="v2.3.0")]
    assert names(runs) == ["slides / 273 PRB"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"cpus": "0-1"}, "CPUs 0-1"),
        ({"environment": {"TPOOL_WS_SPIN_CPU_MAX": "10"}}, "TPOOL_WS_SPIN_CPU_MAX=10"),
        ({"seed": 7, "environment": {"OAI_RNGSEED": "7"}}, "noise seed 7"),
    ],
)
def test_what_was_set_otherwise_is_apart_and_named(change, name):
    plain = {"cpus": "not bound to CPUs", "seed": "noise not seeded"}
    runs = [*both("a", "1", "2"), *both("b", "1", "2", **change)]
    other = next((text for key, text in plain.items() if key in change), "nothing set for the pool")
    assert names(runs) == [f"slides / 273 PRB, {text}" for text in (other, name)]
    assert counts(runs) == [(2, 2)] * 2


def test_pre_wake_is_a_variant_and_not_a_configuration():
    runs = [run("new", spin, environment={"TPOOL_WS_SPIN": spin}) for spin in ("off", "auto")]
    assert names(runs) == ["slides / 273 PRB"]


def test_the_environment_of_the_new_pool_does_not_take_the_old_one_away():
    tuned = [of("old", "b", "1"), of("new", "b", "2", environment={"TPOOL_WS_SPIN_CPU_MAX": "10"})]
    assert counts([*both("a", "1", "2"), *tuned]) == [(2, 2), (2, 0)]


def test_a_pool_that_was_built_anew_is_apart_and_named():
    again = both("b", "1", "3", began="2026-02-03T04:05:06+00:00")
    runs = [*both("a", "1", "2"), *again]
    assert names(runs) == [
        "slides / 273 PRB, new 222222222222 of 2026-01-02",
        "slides / 273 PRB, new 333333333333 of 2026-02-03",
    ]
    assert counts(runs) == [(2, 2)] * 2


def test_a_program_with_all_pools_is_named_once():
    runs = [
        of(pool, sweep, sweep, oai=None, kind="replay") for sweep in ("a", "b") for pool in ("ws", "glib")
    ]
    assert names(runs) == [f"slides / 273 PRB, program {sweep * 12} of 2026-01-02" for sweep in ("a", "b")]


def test_pools_of_two_programs_of_recorded_slots_are_apart():
    runs = [of("ws", "a", "1", oai=None, kind="replay"), of("glib", "b", "2", oai=None, kind="replay")]
    assert counts(runs) == [(1, 0), (1, 0)]


def test_a_later_sweep_must_agree_with_all_that_are_together():
    assert counts([of("old", "a", "1"), of("new", "b", "2"), of("new", "c", "3")]) == [(2, 0), (1, 0)]


def test_the_day_is_that_of_the_first_run_on_this_host():
    def day(sweep, new, date, **changes):
        return both(sweep, "1", new, began=f"{date}T03:04:05+00:00", **changes)

    runs = [
        *day("a", "2", "2026-01-01"),
        *day("b", "2", "2026-03-03", host=OTHER_HOST),
        *day("c", "2", "2026-02-02", host=OTHER_HOST),
        *day("d", "3", "2026-04-04", host=OTHER_HOST),
    ]
    assert names(runs) == [
        "slides / 273 PRB",
        "slides / 273 PRB, new 222222222222 of 2026-02-02",
        "slides / 273 PRB, new 333333333333 of 2026-04-04",
    ]


def test_sweeps_of_the_same_programs_are_taken_together():
    assert counts([*both("a", "1", "2"), *both("b", "1", "2")]) == [(4, 4)]
    assert counts([of("old", "a", "1"), of("new", "b", "2")]) == [(2, 0)]  # --old and --new apart


def test_a_failed_run_without_a_build_belongs_to_its_sweep():
    failed = run("new", sweep="a" * 12, build=None, status="hang", figures={}, repeat=1)
    assert counts([*both("a", "1", "2"), failed]) == [(3, 2)]


def test_cases_that_have_one_configuration_are_not_burdened_with_names():
    runs = [*both("a", "1", "2"), *both("b", "1", "2", cpus="0-1"), *both("a", "1", "2", case="other")]
    assert names(runs)[-1] == "slides / other"


def test_programs_are_built_on_each_host_and_cpus_are_its_own():
    mine = both("a", "1", "2", cpus="0-1")
    yours = both("b", "3", "4", cpus="2-9", host=OTHER_HOST)
    newer = both("c", "5", "6", oai="v2.3.0", host=OTHER_HOST)
    assert names([*mine, *yours]) == ["slides / 273 PRB"] * 2
    assert names([*mine, *newer]) == [f"slides / 273 PRB, OAI {oai}" for oai in ("v2.1.0", "v2.3.0")]


def test_sides_of_a_comparison_are_told_the_same_facts():
    before = [*both("a", "1", "2"), *both("b", "3", "4", oai="v2.3.0")]
    after = both("c", "3", "5", oai="v2.3.0")
    first, second = labels_of_sides({"before": before, "after": after})
    assert [*dict.fromkeys(first)] == [", OAI v2.1.0", ", OAI v2.3.0"]
    assert {*second} == {", OAI v2.3.0"}
    assert labels_of_sides({"before": both("a", "1", "2"), "after": after}) == [[""] * 4] * 2


def test_a_side_with_two_builds_is_refused():
    with pytest.raises(ResultsError, match="^after: holds several builds .new 2.* and new 3"):
        labels_of_sides({"before": [], "after": [*both("a", "1", "2"), *both("b", "1", "3")]})
