# SPDX-License-Identifier: BSD-3-Clause
"""Every run once, none lost; and what is a round only if it was taken as one."""

import pytest
from sweep_runs import HOST, OTHER_HOST, at, rounds, run

from nrbench.record import ResultsError
from nrbench.sweep.cells import case_results
from nrbench.sweep.facts import torn_rounds
from nrbench.sweep.figures import RX
from nrbench.sweep.frame import merged, passes
from nrbench.sweep.table import OVER_ALL, UNPAIRED, ratio_over_all, ratio_tables, spin_tables

HOUR = 3600


def failed(**changes):
    return run(status="crash", error="signal 11", figures={}, **changes)


def test_what_tells_runs_apart_loses_none():
    runs = [
        run(),
        run(cpus="0-1"),
        run(seed=1),
        run(environment={"A": "1"}),
        run(options=("-m", "9")),
        run(build={"sha256": "3" * 12}),
        run(sweep="b" * 12),
        run(repeat=1),
        run(host=OTHER_HOST),
    ]
    assert merged([("a", runs)]).runs == runs


def test_a_line_that_is_in_two_files_counts_once_and_it_is_said():
    result = merged([("a", rounds([1, 2])), ("b", rounds([1, 2, 3]))])
    assert [entry.figures[RX] for entry in result.runs] == [1, 2, 3]
    assert (result.repeated, result.replaced) == ({"b": 2}, [])


@pytest.mark.parametrize("turned", [False, True])
def test_of_a_run_that_failed_and_was_taken_again_the_result_counts(turned):
    bad, good = failed(began=at(0)), run(began=at(HOUR))
    result = merged([("a", [good, bad] if turned else [bad, good])])
    assert (result.runs, result.replaced) == ([good], [bad])


def test_two_results_of_one_run_are_an_error_that_names_files_and_times():
    one, other = run(began=at(0)), run(began=at(7))
    said = "^x.ndjson and y.ndjson: two results of one run .*slides / 273 PRB, new, 2 threads, repeat 0.*"
    with pytest.raises(ResultsError, match=f"{said}12:00:00.* and .*12:00:07.*two machines"):
        merged([("x.ndjson", [one]), ("y.ndjson", [other])])
    with pytest.raises(ResultsError, match="^x.ndjson: two results"):
        merged([("x.ndjson", [one, other])])


def taken(begun, wall_s=1.0):
    """Runs of which repeat and start are given."""
    return [
        run(threads=n + 1, repeat=repeat, began=at(t), wall_s=wall_s) for n, (repeat, t) in enumerate(begun)
    ]


@pytest.mark.parametrize(
    ("begun", "wall_s", "numbers"),
    [
        ([(0, 0), (0, 2), (1, 4), (1, 6)], 1.0, [0, 0, 0, 0]),
        ([(0, 0), (1, 2), (0, 4), (1, 6)], 1.0, [0, 0, 1, 1]),  # a setting was added at once
        ([(0, 0), (0, HOUR), (1, HOUR + 2)], 1.0, [0, 1, 1]),  # interrupted within a round
        ([(0, 0), (0, 300), (0, 600)], 299.0, [0, 0, 0]),  # long runs are no pause
        ([(1, 6), (0, 0), (1, 4), (0, 2)], 1.0, [0, 0, 0, 0]),  # in the order of their starts
        ([(1, 0), (0, 0), (1, 0)], 1.0, [0, 0, 0]),  # within a second
    ],
)
def test_what_was_taken_in_one_go(begun, wall_s, numbers):
    assert passes(taken(begun, wall_s)) == numbers


def test_other_sweeps_in_between_are_no_break():
    runs = [run(began=at(0)), run(began=at(2), sweep="b" * 12, repeat=5), run(began=at(4), repeat=1)]
    assert passes(runs) == [0, 0, 0]


def series(times, start_s, pool="new", spin="auto", threads=2):
    return [
        run(pool, spin, threads, repeat=repeat, figures={RX: us}, began=at(start_s + 10 * repeat))
        for repeat, us in enumerate(times)
    ]


TIMES = [100, 102, 104, 106, 108, 110, 112]


def ratio(runs):
    (result,) = case_results(runs)
    return result.get(2, "new auto", RX).ratio, result


def test_rounds_taken_together_are_pairs():
    found, result = ratio([*series(TIMES, 0, "old", None), *series([us / 2 for us in TIMES], 2)])
    assert (found.paired, found.repeats, found.interval) == (True, 7, pytest.approx((0.5, 0.5)))
    assert UNPAIRED not in next(iter(ratio_tables(result))).notes
    assert torn_rounds([*series(TIMES, 0), *series(TIMES, 2, spin="off")]) == {}


def test_a_setting_that_was_added_later_makes_no_pairs():
    runs = [*series(TIMES, 0, "old", None), *series([us / 2 for us in TIMES], HOUR)]
    found, result = ratio(runs)
    assert (found.paired, found.repeats) == (False, 7)
    assert found.interval.low < 0.5 < found.interval.high
    assert UNPAIRED in next(iter(ratio_tables(result))).notes
    assert torn_rounds(runs) == {HOST.label: 7}


def test_a_failed_run_that_was_taken_again_later_is_no_pair():
    new = series([us / 2 for us in TIMES], 2)
    new[3] = new[3].model_copy(update={"began": at(HOUR)})
    found, _ = ratio([*series(TIMES, 0, "old", None), *new])
    assert (found.paired, found.repeats) == (True, 6)


def test_where_few_rounds_are_pairs_all_runs_count_as_samples():
    """Of 7 rounds of either only 4 were taken together: too few for an interval."""
    old, new = series(TIMES, 0, "old", None), series(TIMES, 2)
    new[:3] = [entry.model_copy(update={"began": at(HOUR + n)}) for n, entry in enumerate(new[:3])]
    found, _ = ratio([*old, *new])
    assert (found.paired, found.repeats) == (False, 7)
    long = [100 + n for n in range(20)]
    most = [*series(long, 0, "old", None), *series(long[:6], 2)]
    most += [entry.model_copy(update={"repeat": n + 6}) for n, entry in enumerate(series(long[:14], HOUR))]
    assert ratio(most)[0].repeats == 20  # 6 of them together: enough for an interval, but the fewer
    few, _ = ratio([*old[3:], *new[3:]])
    assert (few.paired, few.repeats) == (True, 4)


def test_pre_wake_modes_that_were_added_later_have_no_mean_within_rounds():
    runs = [entry for t in (1, 2) for entry in series(TIMES, t, spin="off", threads=t)]
    runs += [entry for t in (1, 2) for entry in series(TIMES, HOUR + t, threads=t)]
    (result,) = case_results(runs)
    assert ratio_over_all(result, "new off", "new auto", RX) is None
    (table,) = spin_tables(result)
    assert OVER_ALL not in table.notes
    assert UNPAIRED in table.notes and [row[0] for row in table.rows] == ["1", "2"]


def test_runs_that_cannot_be_told_apart_within_a_round_are_no_pairs_and_none_is_dropped():
    new = [*series(TIMES, 2), *(e.model_copy(update={"options": ("-m", "9")}) for e in series(TIMES, 4))]
    found, result = ratio([*series(TIMES, 0, "old", None), *new])
    assert (found.paired, found.repeats) == (False, 7)
    assert result.get(2, "new auto", RX).count == 14
    off = [entry for t in (1, 2) for entry in series(TIMES, t, spin="off", threads=t)]
    one = series(TIMES, 3, threads=1)
    twice = [e.model_copy(update={"options": (o,)}) for o in "ab" for e in series(TIMES, 5, threads=2)]
    (modes,) = case_results([*off, *one, *twice])
    assert ratio_over_all(modes, "new off", "new auto", RX) is None
