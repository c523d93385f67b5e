# SPDX-License-Identifier: BSD-3-Clause
"""Tables, headlines and CSV of made-up runs, against numbers worked out by hand."""

import csv

import pytest
from sweep_runs import HOST, rounds, run, sweep

from nrbench.render import WIDTH, parts, to_text
from nrbench.sweep.cells import case_results
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.report import to_csv
from nrbench.sweep.table import (
    case_tables,
    chosen_threads,
    cost_tables,
    failures,
    headlines,
    median_tables,
    number,
    ratio_tables,
)

OLD = [100, 102, 104, 106, 108, 110, 112]  # median 106, quartiles 103 and 109
WORK = run("inline", None, 0, figures={SYMBOLS: 30.0, DECODING: 60.0, RX: 110.0})


def only(runs, threshold=0.0):
    (result,) = case_results(runs, threshold)
    return result


def pair(new, old=OLD, threads=2):
    return [*rounds(old, "old", threads=threads), *rounds(new, "new", "auto", threads=threads)]


def halved():
    return [*pair([us / 2 for us in OLD]), WORK]


def text_of(tables):
    return to_text(part for table in tables for part in parts(table))


def test_the_slides_table():
    (table,) = median_tables(only(halved()))
    assert [(column.group, column.name) for column in table.columns] == [
        ("", "threads"),
        ("symbol processing", "old"),
        ("symbol processing", "new auto"),
        ("ULSCH decoding", "old"),
        ("ULSCH decoding", "new auto"),
        ("whole RX", "old"),
        ("whole RX", "new auto"),
    ]
    assert table.rows == [["2", "21.2 ±0.6", "10.6 ±0.3", "42.4 ±1.2", "21.2 ±0.6", "106 ±3", "53.0 ±1.5"]]
    assert table.notes == ["µs, medians of 7 runs ± half the interquartile range"]


def test_ratio_verdict_and_bound():
    tables = {table.title: table for table in ratio_tables(only(halved()))}
    table = tables["Whole RX, against old and the bound"]
    old, new = table.rows
    assert old == ["2", "old", "106 ±3", "", "", "", "50.0", "2.12"]  # 110 - 90 + 90 / 3
    assert new == ["", "new auto", "53.0 ±1.5", "0.50", "[0.50, 0.50]", "faster", "50.0", "1.06"]
    assert "CPU time, against old" in tables


def test_the_parallel_bound_beside_the_other():
    """On 4 cores, with 3 threads: 20 + 90 / 4, and 20 + 108 / 4 with what runs side by side take."""
    beside = {SYMBOLS: 36.0, DECODING: 72.0, RX: 132.0}
    runs = [*pair([us / 2 for us in OLD], threads=3), *pair(OLD, threads=1), WORK]
    result = only([*runs, WORK.model_copy(update={"at_once": 4, "figures": beside})])
    (table,) = [table for table in ratio_tables(result) if table.title.startswith("Whole RX")]
    assert [column.name for column in table.columns][-4:] == [
        "bound, µs", "÷ bound", "parallel", "÷ it"
    ]  # fmt: skip
    assert [row[-4:] for row in table.rows] == [
        ["65.0", "1.63", "-", "-"],
        ["65.0", "1.63", "-", "-"],
        ["42.5", "2.49", "47.0", "2.26"],
        ["42.5", "1.25", "47.0", "1.13"],
    ]
    text = " ".join(text_of(ratio_tables(result)).split())
    assert "4 at once take 1.20 times as long as one alone (whole RX)" in text
    (line,) = headlines(result)
    assert line.sentence.endswith("; 1.25 times the bound, 1.13 times the parallel bound")
    lines = text_of(case_tables(result)).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    assert any("not distinguishable" in line for line in lines)  # not cut in a word


def test_equal_times_cannot_be_told_apart():
    result = only(pair([110, 102, 106, 104, 112, 100, 108]))
    (table,) = [table for table in ratio_tables(result) if table.title.startswith("Whole RX")]
    assert table.rows[1][3] == "1.00"
    assert table.rows[1][5] == "not known (n=7)"
    (times,) = median_tables(result)
    assert times.notes[-1] == "no bound: no inline run of this case gave a result"


def test_slower_unless_the_threshold_is_higher():
    runs = pair([us * 1.05 for us in OLD])
    for threshold, said in ((0.0, "slower"), (0.04, "slower"), (0.06, "not known (n=7)")):
        cell = only(runs, threshold).get(2, "new auto", RX)
        assert (cell.ratio.value, str(cell.ratio.verdict)) == (pytest.approx(1.05), said)


def test_rounds_that_one_side_did_not_finish_are_in_no_ratio():
    """Round 6 is not there: of the old times 100 to 110 the median is 105."""
    runs = [*rounds(OLD, "old"), *rounds([50] * 6, "new", "auto"),
            run("new", "auto", repeat=6, status="crash", error="signal 11", figures={})]  # fmt: skip
    cell = only(runs).get(2, "new auto", RX)
    assert (cell.count, len(cell.causes), cell.ratio.repeats, cell.ratio.paired) == (6, 1, 6, True)
    assert cell.ratio.value == pytest.approx(50 / 105)


def test_one_repeat():
    result = only([*pair([50], [100]), WORK])
    assert [*median_tables(result)][0].rows == [["2", "20.0", "10.0", "40.0", "20.0", "100", "50.0"]]
    assert [*median_tables(result)][0].notes == ["µs, one run each"]
    assert "not known (n=1)" in text_of(ratio_tables(result))
    (line,) = headlines(result)
    assert "takes 0.50 times as long as old at 2 threads: not known (n=1)" in line.sentence


def test_only_failed_runs():
    runs = [run("old", status="hang", error="killed after 60 s", figures={}, repeat=i) for i in range(2)]
    result = only([*runs, *rounds(OLD, "new", "auto")])
    (table,) = median_tables(result)
    assert table.rows[0][1] == "hang ×2"
    assert "no result" in text_of(ratio_tables(result))
    (line,) = headlines(result)
    assert "cannot be compared with old at 2 threads" in line.sentence
    nothing = only(runs)
    assert list(ratio_tables(nothing)) == []
    assert [line.sentence for line in headlines(nothing)] == ["no run gave a result"]


def test_failures_are_grouped_by_cause():
    bad = {"status": "hang", "error": "killed after 60 s", "figures": {}}
    runs = [
        *(run("old", None, 8, repeat=i, **bad) for i in range(3)),
        run("old", None, 4, **bad),
        run("new", "auto", 4, status="crash", error="signal 11", figures={}),
        run(),
    ]
    (table,) = failures(runs)
    assert table.title == "5 of 6 runs gave no result"
    assert [row[2:] for row in table.rows] == [
        ["old", "4 ×1, 8 ×3", "hang: killed after 60 s"],
        ["new auto", "4 ×1", "crash: signal 11"],
    ]
    assert failures([run()]) == []


def test_a_bound_that_does_not_hold_is_said():
    runs = [*pair([us / 2 for us in OLD], [us / 2 for us in OLD]), WORK]
    assert "too high here" not in text_of(ratio_tables(only(runs)))
    slow = WORK.model_copy(update={"figures": {SYMBOLS: 60.0, DECODING: 120.0, RX: 220.0}})
    result = only([*runs[:-1], slow])
    text = text_of(ratio_tables(result))
    assert text.count("The bound is too high here") == 3  # 53.0 against 220 - 180 + 180 / 3 = 100
    (line,) = headlines(result)
    assert line.sentence.endswith("; 0.53 times the bound, which is too high here")


def test_the_threshold_is_said():
    assert "leaves out 1 by more than 2 %." in " ".join(text_of(ratio_tables(only(halved(), 0.02))).split())


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0912, "0.0912"), (0.00123, "0.0012"), (0.5, "0.500"), (1.234, "1.23"), (99.96, "100.0"),
     (1234.6, "1235"), (0.0, "0.00"), (None, "-")],
)  # fmt: skip
def test_numbers_have_three_digits(value, shown):
    assert number(value) == shown


def test_without_an_old_pool_only_the_bound_is_left():
    result = only([*rounds(OLD, "new", "auto"), WORK])
    titles = [table.title for table in ratio_tables(result)]
    assert titles == [
        f"{name}, against the bound" for name in ("Symbol processing", "ULSCH decoding", "Whole RX")
    ]
    (line,) = headlines(result)
    assert line.sentence == "whole RX: new auto takes 106 µs at 2 threads; 2.12 times the bound"
    assert list(ratio_tables(only(rounds(OLD, "new", "auto")))) == []


def test_rows_with_more_threads_than_cores():
    (table,) = median_tables(only([run("old", threads=threads) for threads in (2, 4, 8, 16)]))
    assert [row[0] for row in table.rows] == ["2", "4", "8 *", "16 *"]
    assert "* 4 cores: 8, 16 threads share them" in table.notes


def test_derived_figures_have_a_footnote():
    (table,) = median_tables(only([run("old", derived=(SYMBOLS,)), run("new", "auto")]))
    assert [column.name for column in table.columns] == [
        "threads",
        "old†",
        *["new auto", "old"] * 2,
        "new auto",
    ]
    assert table.notes[-1].startswith("† calculated as a difference")
    (plain,) = median_tables(only([run("old")]))
    assert not any(note.startswith("†") for note in plain.notes)


def test_slots_that_were_not_decoded_at_once_are_said():
    (table,) = median_tables(only([run("old", errors=3), run("new", "auto", errors=5)]))
    assert "slots not decoded in their first round: old 3 of 100, new auto 5 of 100" in table.notes


def test_many_variants_become_rows():
    pools = [f"pool-{number:02}" for number in range(14)]
    result = only([run(pool, None, threads, kind="replay") for pool in pools for threads in (1, 2, 4)])
    tables = list(median_tables(result))
    assert [table.title for table in tables] == [
        f"Times: {name}" for name in ("symbol processing", "ULSCH decoding", "whole RX")
    ]
    assert [row[0] for row in tables[0].rows] == pools
    assert [column.name for column in tables[0].columns] == ["variant", "1", "2", "4"]


def test_a_narrow_terminal_gets_every_cell():
    (result,) = case_results(sweep(hosts=[HOST], cases=["a"], repeats=5))
    for table in case_tables(result, 80):
        lines = to_text(parts(table), 80).splitlines()
        assert max(map(len, lines)) <= 80
        shown = "".join("".join(lines).split())
        wanted = [word for row in table.rows for cell in row for word in cell.split()]
        assert all(number in shown for number in wanted if number.strip("[],±").replace(".", "").isdecimal())


def test_all_lines_fit():
    for result in case_results(sweep(hosts=[HOST], repeats=5)):
        lines = text_of(case_tables(result)).splitlines()
        assert max(len(line) for line in lines) <= WIDTH
        assert len([line for line in lines if "new auto" in line]) >= 20


def test_cpu_time_beside_wall_time():
    runs = [run("old", cpu_s=3.0, wall_s=1.5), run("new", "auto", cpu_s=1.0, wall_s=1.25)]
    (table,) = cost_tables(only(runs))
    assert table.rows == [["2", "3.00", "1.00", "1.50", "1.25"]]
    assert [column.group for column in table.columns] == ["", *["CPU time"] * 2, *["wall time"] * 2]


def test_more_cpu_time_is_not_slower():
    runs = [
        run(pool, repeat=i, cpu_s=cpu_s) for pool, cpu_s in (("old", 1.0), ("new", 2.0)) for i in range(5)
    ]
    (table,) = [table for table in ratio_tables(only(runs)) if table.title == "CPU time, against old"]
    assert table.rows[1][3:] == ["2.00", "[2.00, 2.00]", "more"]


def test_the_headline_is_at_the_most_threads_that_have_a_core_each():
    runs = [entry for threads in (1, 2, 8) for entry in pair([us / 2 for us in OLD], threads=threads)]
    result = only([*runs, WORK])
    assert chosen_threads(result) == 2
    (line,) = headlines(result)
    assert line.word == "faster"
    assert line.sentence == (
        "whole RX: new auto is 2.00 times as fast as old at 2 threads [2.00, 2.00] "
        "(all threads: faster 3 of 3); 1.06 times the bound"
    )
    assert chosen_threads(only([run(threads=8), run(threads=16)])) == 8


def test_headlines_of_a_slower_and_of_an_equal_one():
    (line,) = headlines(only(pair([us * 2 for us in OLD])))
    assert "new auto takes 2.00 times as long as old at 2 threads [2.00, 2.00]" in line.sentence
    (line,) = headlines(only(pair(OLD[::-1])))
    assert "new auto and old are not known (n=7) at 2 threads: ratio 1.00" in line.sentence


def test_csv_has_all_figures(tmp_path):
    extra = [entry.model_copy(update={"figures": entry.figures | {"rx_p99_us": 200.0}}) for entry in halved()]
    to_csv(case_results(extra), tmp_path / "results.csv")
    rows = list(csv.DictReader((tmp_path / "results.csv").open(encoding="utf-8")))
    (new,) = [row for row in rows if row["figure"] == RX and row["variant"] == "new auto"]
    wanted = {
        "median": "53", "ratio": "0.5", "verdict": "faster", "bound": "50", "over_bound": "1.06",
        "runs": "7", "failed": "0", "unit": "us", "baseline": "old", "threads": "2", "cores": "4",
        "paired": "1", "parallel_bound": "", "over_parallel_bound": "",
    }  # fmt: skip
    assert {name: new[name] for name in wanted} == wanted
    assert {row["figure"] for row in rows} == {SYMBOLS, DECODING, RX, "rx_p99_us", "cpu_s", "wall_s"}


def test_markup_in_names_is_shown_as_it_is():
    name = "[bold]x[/bold]"
    bad = run(name, case=name, status="failed", error="[link=a]b", figures={})
    assert f"slides / {name}" in text_of(failures([bad]))
    assert "failed: [link=a]b" in text_of(failures([bad]))
    assert name in text_of(median_tables(only([run(name)])))
