# SPDX-License-Identifier: BSD-3-Clause
"""What a report says about runs of a gNB and a UE."""

import re

import pytest
from radio_runs import AUTO, CELLS, OFF, OLD, by_power, radio, run, side
from sweep_runs import OTHER_HOST
from test_sweep_report import read_page

from nrbench.radio import figures
from nrbench.radio.capacity import Limits
from nrbench.radio.plan import Plan
from nrbench.radio.record import BUDGET_BINS, RUNS
from nrbench.radio.report import report_files, write_report
from nrbench.radio.tables import equal_tables, failures, tables
from nrbench.record import ResultsError

pytestmark = pytest.mark.usefixtures("no_pictures")  # but in page
LATE = {OLD: 0.05, OFF: 0.01, AUTO: 0.004}


@pytest.fixture(scope="module")
def searched():
    runs = []
    for step in Plan(CELLS, 10, 1, 60.0, limits=Limits(0.1, 1.0)).steps(runs):
        runs.append(by_power(step.cell, step.timescale, step.round))
    return runs


@pytest.fixture(scope="module")
def page(searched, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    names = write_report([*searched, run(OLD, 0.3, 9, outcome="no-attach", error="no UE", sides={})], out)
    return out, names, *read_page(out)


def at_one_timescale(rounds=6):
    return [
        run(cell, 0.3, number, LATE[cell] * (1 + number / 20)) for cell in CELLS for number in range(rounds)
    ]


def rows_of(title, runs):
    [table] = [table for table in tables(runs) if table.title.startswith(title)]
    heads = [f"{column.group} {column.name}".strip() for column in table.columns]
    return {row[heads.index("variant")]: dict(zip(heads, row)) for row in table.rows}


def test_all_files_are_written_and_the_page_needs_no_other(page):
    out, names, _, found = page
    assert sorted(names) == sorted(path.name for path in out.iterdir())
    assert len(found.references) == 2 and all(one.startswith("data:image/") for one in found.references)


def test_the_summary_says_how_much_more_the_new_pool_carries(page):
    _, _, text, found = page
    auto = r"gNB new, UE new, auto carries the cell up to a timescale of 0\.5\d \[0\.\d\d, 0\.\d\d\], "
    assert re.search(auto + r"(1\.9|2\.0)\d \[1\.\d\d, 2\.\d\d\] times that of OAI's pool", found.texts["li"])
    assert text.count('<li class="is-good">') == 2


def test_runs_that_failed_are_named_and_count_as_dead(page, searched):
    out, *_ = page
    text = (out / "report.txt").read_text()
    assert "1 of 31 runs did not come to their end" in text and "no-attach: no UE" in text
    [table] = failures([run(outcome="ue-died", error="SIGABRT", sides={})] * 3)
    assert table.rows == [["gNB old, UE old, 106 PRB, floating", "3", "ue-died: SIGABRT"]]
    dead = [run(OLD, timescale, outcome="no-attach", sides={}) for timescale in (0.1, 0.2)]
    assert rows_of("Capacity", dead)["gNB old, UE old"]["lived"] == "0"


def test_a_report_of_the_file_is_the_report_of_the_session(searched, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / RUNS).write_text("".join(map(searched)))
    write_report(searched, tmp_path / "now")
    report_files([tmp_path / "a", tmp_path / "a" / RUNS], tmp_path / "again")
    assert (tmp_path / "now" / "report.html").read_bytes() == (
        tmp_path / "again" / "report.html"
    ).read_bytes()
    (tmp_path / "empty.ndjson").write_text("")
    with pytest.raises(ResultsError, match="holds no runs"):
        report_files([tmp_path / "empty.ndjson"], tmp_path / "none")


def test_late_samples_are_those_of_the_steady_stretch_beside_the_ratio_to_oais_pool():
    rows = rows_of("Late samples of the gNB", at_one_timescale())
    assert rows["gNB old, UE old"]["late slots"].startswith("56250 [5")  # of the whole run 4000 more
    assert rows["gNB old, UE old"]["÷ OAI's"] == "-"
    assert rows["gNB new, UE new, auto"]["÷ OAI's"].startswith("0.08 [0.08, 0.08]")  # round by round
    assert rows["gNB new, UE new, auto"]["÷ off"].startswith("0.40 [0.40, 0.40]")
    assert rows["gNB new, UE new, off"]["÷ off"] == "-"


def test_runs_without_steady_figures_count_as_a_whole():
    sides = {name: side("old", 0.01) | {"steady": None} for name in ("gnb", "ue")}
    rows = rows_of("Late samples of the UE", [run(sides=sides)])
    assert rows["gNB old, UE old"]["late slots"] == "14000"


def test_throughput_is_that_of_the_steady_stretch_and_of_wall_time():
    row = rows_of("Lost blocks", [run()])["gNB old, UE old"]
    assert (row["uplink Mbit/s"], row["uplink BLER %"], row["uplink lost %"]) == ("10.0", "2.00", "0.00")


def test_the_sample_clock_is_no_cost_of_a_pool():
    row = rows_of("Attach and cost", [run()])["gNB old, UE old"]
    assert (row["gNB CPUs"], row["gNB of the pool"], row["gNB wakes/s"]) == ("0.700", "0.500", "1000")


def test_times_of_steps_are_shown_where_oai_took_them():
    mean, largest = (rows_of(title, [run()])["gNB old, UE old"] for title in ("Mean times", "Largest times"))
    assert (mean["gNB encode"], largest["gNB encode"]) == ("130", "1200")
    assert (mean["gNB Rx"], mean["UE encode"]) == ("-", "-")
    without = run(sides={name: side("old", 0.001) | {"steps": {}} for name in ("gnb", "ue")})
    assert not any(table.title.startswith(("Mean", "Largest")) for table in tables([without]))


def test_budgets_are_wall_time():
    counts = [0] * BUDGET_BINS
    counts[4], counts[10] = 50, 950  # 5 % have 400 to 500 µs of sample time, the others 1000 to 1100
    assert figures.budget(counts, 0.01, timescale=0.5).us == pytest.approx(840)
    assert figures.budget(counts, 0.5, timescale=1.0).us == pytest.approx(1000 + 100 * 450 / 950)
    few = [one for one in at_one_timescale() if one.gnb == "new" and one.spin == "auto"]
    found = figures.budget(figures.bins(few, "gnb"), 0.001, 0.25)
    assert (found.sign, found.us) == ("<", 400)  # in the first bin: below 100 µs, or late
    counts = [0] * (BUDGET_BINS - 1) + [7]
    assert figures.budget(counts, 0.5, 1.0) == (2900, "≥")


def test_no_figure_is_made_up_where_the_programs_said_nothing():
    runs = [run(cell, 0.3, sides={}, ul=None, dl=None, outcome="no-report") for cell in CELLS]
    of_sides = [table for table in equal_tables(runs) if not table.title.startswith(("Lost", "Clocks"))]
    assert len(of_sides) == 4
    for table in of_sides:
        assert {cell for row in table.rows for cell in row[3:]} - {"0", "4.0"} == {"-"}, table.title


def test_settings_that_differ_are_named_and_not_compared_with_each_other(tmp_path):
    wide = [cell._replace(prb=273) for cell in CELLS]
    runs = [by_power(cell, timescale) for cell in (*CELLS, *wide) for timescale in (0.2, 0.3, 0.5)]
    [table] = [table for table in tables(runs) if table.title == "Capacity"]
    assert [row[0] for row in table.rows] == ["106 PRB", "", "", "273 PRB", "", ""]
    assert [row[5] for row in table.rows].count("-") == 2 and [row[6] for row in table.rows].count("-") == 4
    assert len(write_report(runs, tmp_path)) == 6


def test_each_host_has_tables_and_pictures_of_its_own(tmp_path):
    other = [one.model_copy(update={"host": OTHER_HOST}) for one in at_one_timescale(2)]
    names = write_report([*at_one_timescale(2), *other], tmp_path)
    assert {"Model-A-4-CPUs-0123abcd-budget.png", "Model-B-16-CPUs-fedc9876-budget.png"} <= set(names)
    text, _ = read_page(tmp_path)
    assert "<h2>Model A, 4 CPUs</h2>" in text and "<h2>Model B, 16 CPUs</h2>" in text


def test_what_was_taken_differently_is_warned_about(tmp_path, capsys):
    wrong = {"gnb": side("new", 0.001), "ue": side("old", 0.001)}
    runs = [run(), run(number=1, commit="def"), run(number=2, seconds=10.0, sides=wrong)]
    write_report(runs, tmp_path, ["interrupted"])
    said = " ".join(capsys.readouterr().out.split())
    assert "WARNING: interrupted" in said
    assert "the gNB given as --old (program 111111111111) has thread_pool_ws 0.1.0" in said
    assert "the UE given" not in said
    assert "runs with different commit taken together: abc, def" in said
    assert "runs with different seconds taken together: 60.0, 10.0" in said


def test_slots_that_are_all_in_time_are_no_division_by_zero():
    clean = {"gnb": side("old", 0.0), "ue": side("old", 0.0)}
    runs = [run(OLD, 0.3, number, sides=clean) for number in range(5)]
    rows = rows_of("Late samples of the gNB", [*runs, *at_one_timescale()[6:]])
    assert rows["gNB new, UE new, off"]["÷ OAI's"] == "-"
    assert radio(0.0)["budget_bins"][0] == 0
