# SPDX-License-Identifier: BSD-3-Clause
"""Two result files against each other."""

import pytest
from sweep_runs import HOST, OTHER_HOST, rounds, run
from typer import Typer
from typer.testing import CliRunner

from nrbench.record import ResultsError
from nrbench.sweep.compare import (
    CANNOT,
    NOT_WORSE,
    SOME_WORSE,
    compare,
    comparison_tables,
    only_on_one_side,
    summary,
)
from nrbench.sweep.compare_cli import compare as command
from nrbench.sweep.figures import RX

TIMES = [100, 102, 104, 106, 108, 110, 112]


def times(factor=1.0, **changes):
    return rounds([us * factor for us in TIMES], "new", "auto", **changes)


def rx_row(comparison):
    (row,) = [row for row in comparison.rows if row.key.figure.key == RX]
    return row


@pytest.mark.parametrize(
    ("factor", "verdict", "status"),
    [
        (1.0, "not known (n=7)", NOT_WORSE),
        (0.5, "faster", NOT_WORSE),
        (2.0, "slower", SOME_WORSE),
    ],
)
def test_verdict_and_status(factor, verdict, status):
    comparison = compare(times(), times(factor))
    row = rx_row(comparison)
    assert (row.old.median, row.new.median) == (106, 106 * factor)
    assert row.ratio.value == pytest.approx(factor)
    assert (row.verdict, comparison.status) == (verdict, status)
    assert not row.ratio.paired
    assert (comparison.missing, comparison.added, comparison.warnings) == ([], [], [])


def test_the_threshold_is_for_what_does_not_matter():
    changed = times(1.15)
    assert compare(times(), changed).status == SOME_WORSE
    assert compare(times(), changed, 0.1).status == NOT_WORSE  # the interval begins below 1.1
    with pytest.raises(ValueError, match="threshold"):
        compare(times(), changed, -1)


def test_too_few_repeats_tell_nothing():
    comparison = compare(times()[:4], times(2.0)[:4])
    assert rx_row(comparison).verdict == "not known (n=4)"
    assert comparison.status == CANNOT
    assert summary(comparison) == "3 times: not known 3"


def test_a_lost_result_is_no_success():
    crashed = [run("new", "auto", repeat=i, status="crash", error="signal 11", figures={}) for i in range(7)]
    comparison = compare([*times(), *times(threads=4)], [*crashed, *times(threads=4)])
    lost = [row for row in comparison.rows if row.word == "lost its result"]
    assert {row.key.threads for row in lost} == {2}
    assert comparison.status == SOME_WORSE
    assert compare(crashed + times(threads=4), times() + times(threads=4)).status == NOT_WORSE


def crashes(count, first=0, **changes):
    bad = {"status": "crash", "error": "signal 11", "figures": {}}
    return [run("new", "auto", repeat=first + index, **bad, **changes) for index in range(count)]


def test_runs_that_fail_after_are_worse_even_where_the_others_are_fast():
    comparison = compare(times(), [*times()[:1], *crashes(4, 1)])
    assert rx_row(comparison).failing
    assert comparison.status == SOME_WORSE
    assert rx_row(comparison).verdict == "not known (n=1), fails more often"
    (table,) = comparison_tables(comparison)
    place = [column.name for column in table.columns].index("failed runs")
    assert {row[place] for row in table.rows} == {"0/7 → 4/5"}
    assert summary(comparison).endswith("; settings of which more runs fail: 1")


@pytest.mark.parametrize(
    ("before", "after", "failing"),
    [((0, 7), (0, 5), False), ((1, 7), (1, 4), False), ((1, 5), (2, 10), False), ((1, 5), (2, 5), True)],
)
def test_failing_more_often_is_more_runs_and_a_larger_share(before, after, failing):
    sides = (before, after)
    runs = [[*rounds([100] * (taken - bad), "new", "auto"), *crashes(bad, 20)] for bad, taken in sides]
    assert rx_row(compare(*runs)).failing == failing


def test_without_failures_there_is_no_column_of_them():
    (table,) = comparison_tables(compare(times(), times()))
    assert "failed runs" not in [column.name for column in table.columns]


def test_a_pool_that_is_gone_is_no_success():
    comparison = compare([*times(), *times(threads=4)], times())
    assert comparison.status == SOME_WORSE
    assert summary(comparison).endswith("; settings with rows only before: 1")
    assert compare(times(), [*times(), *times(threads=4)]).status == NOT_WORSE
    without_cpu_time = [entry.model_copy(update={"cpu_s": None}) for entry in times()]
    assert compare(times(), without_cpu_time).status == NOT_WORSE


def test_where_all_runs_fail_all_rows_are_lost():
    comparison = compare(times(), crashes(7))
    assert (comparison.status, comparison.missing) == (SOME_WORSE, [])
    assert {row.word for row in comparison.rows} == {"lost its result"}
    found = compare(crashes(7), times())
    assert ({row.word for row in found.rows}, found.added) == ({"no result"}, [])


def test_times_of_runs_that_did_not_decode_do_not_count():
    slow = run(
        "new", "auto", repeat=9, status="failed", error="not decoded", figures={RX: 9000.0}, cpu_s=90.0
    )
    row = rx_row(compare(times(), [*times(), slow]))
    assert (row.new.median, row.new.failed) == (106, 1)


def test_rows_are_of_one_version():
    def of(oai, sweep, factor=1.0):
        return times(factor, sweep=sweep * 12, build={"sha256": sweep * 12, "oai": oai})

    comparison = compare([*of("v2.1.0", "a"), *of("v2.3.0", "b", 2.0)], of("v2.3.0", "c", 2.0))
    assert rx_row(comparison).key.case == "slides / 273 PRB, OAI v2.3.0"
    assert (rx_row(comparison).old.median, rx_row(comparison).new.median) == (212, 212)
    assert {key.case for key in comparison.missing} == {"slides / 273 PRB, OAI v2.1.0"}
    with pytest.raises(ResultsError, match="^before: holds several builds"):
        compare([*of("v2.1.0", "a"), *of("v2.1.0", "b")], of("v2.1.0", "c"))


def test_more_cpu_time_is_said_but_does_not_count():
    comparison = compare(times(cpu_s=1.0), times(cpu_s=2.0))
    (row,) = [row for row in comparison.rows if row.key.figure.title == "CPU time"]
    assert (row.verdict, comparison.status) == ("more", NOT_WORSE)


def test_rows_of_one_side_are_listed():
    comparison = compare(times() + times(threads=4), times() + times(case="other"))
    figures = "symbol processing, ULSCH decoding, whole RX, CPU time"
    assert list(only_on_one_side(comparison)) == [
        f"only before: slides / 273 PRB, new auto, 4 threads: {figures}",
        f"only after: slides / other, new auto, 2 threads: {figures}",
    ]
    nothing = compare(times(), times(case="other"))
    assert (nothing.rows, nothing.status) == ([], CANNOT)
    assert summary(nothing) == "nothing to compare: no row is on both sides"


def test_what_differs_is_named():
    host = HOST.model_copy(update={"kernel": "6.8.0", "governor": None, "load": 3.0})
    new = times(host=host, build={"sha256": "3" * 12, "pool": "1.1"}, options=("-m", "9"))
    warnings = compare(times(), new).warnings
    assert warnings == [
        "hosts differ: kernel 6.1.0 / 6.8.0; frequency governor performance / unknown",
        "programs of new differ: program 111111111111, OAI 2026.w10 / program 333333333333",
        "options of slides / 273 PRB, new auto, 2 threads differ: -m 28 / -m 9",
    ]


def test_options_that_differ_in_many_rows_are_told_once():
    before, after = (
        [run("new", "auto", threads, options=(option,)) for threads in (1, 2, 4)] for option in ("-a", "-b")
    )
    assert compare(before, after).warnings == [
        "options of slides / 273 PRB, new auto, 1 threads differ: -a / -b (and of 2 more)"
    ]


def test_inline_runs_are_no_row():
    inline = [run("inline", None, 0, repeat=i) for i in range(7)]
    assert {row.key.variant for row in compare(times() + inline, times() + inline).rows} == {"new auto"}


def test_a_run_that_was_taken_again_counts_once():
    first = [entry.model_copy(update={"status": "hang", "figures": {}}) for entry in times()]
    row = rx_row(compare(first + times(), times()))
    assert (row.old.median, row.old.taken, row.old.failed) == (106, 7, 0)


def test_several_hosts_cannot_be_compared():
    with pytest.raises(ResultsError, match="^after: holds runs of 2 hosts .*Model B"):
        compare(times(), times() + times(host=OTHER_HOST))
    with pytest.raises(ResultsError, match="^before: holds no runs"):
        compare([], times())


def test_a_table_a_case():
    tables = comparison_tables(compare(times() + times(case="b"), times(2.0) + times(case="b")))
    assert [table.title for table in tables] == [
        f"slides / {case}, after against before" for case in ("273 PRB", "b")
    ]
    row = tables[0].rows[2]
    assert row[:6] + row[7:] == ["2", "new auto", "whole RX", "106", "212", "2.00", "slower"]
    low, high = (float(end) for end in row[6].strip("[]").split(","))
    assert 1.8 < low < 2.0 < high < 2.2


def invoke(*arguments):
    app = Typer()

    @app.callback(invoke_without_command=True)
    def nothing() -> None: ...

    app.command()(command)
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], standalone_mode=False)


def test_the_command(tmp_path):
    before, after = tmp_path / "before.ndjson", tmp_path / "after.ndjson"
    before.write_text("".join(map(times())))
    after.write_text("".join(map(times(2.0) + times(threads=4))))
    result = invoke(before, after)
    assert result.return_value == SOME_WORSE
    assert "slower" in result.output
    assert "only after: slides / 273 PRB, new auto, 4 threads: symbol processing" in result.output
    assert invoke(before, before).return_value == NOT_WORSE
    (tmp_path / "runs.ndjson").write_text(before.read_text())
    assert invoke(tmp_path, before).return_value == NOT_WORSE
    assert "more of a row's runs fail" in " ".join(invoke("--help").output.replace("│", " ").split())
    after.write_text("{}\n")
    wrong = invoke(before, after)
    assert wrong.return_value == CANNOT
    assert f"{after}:1: not a run of a sweep" in wrong.output
