# SPDX-License-Identifier: BSD-3-Clause
"""The documents show what the committed raw runs give."""

import json
import shutil
from pathlib import Path

import pytest
from made_up import run, write
from radio_runs import AUTO, OLD, by_power
from typer.testing import CliRunner

from nrbench import cli, results
from nrbench.record import ResultsError

RAW = Path(__file__).resolve().parents[2] / "docs" / "results"
SWEEP = "2-cores-sweep-v2.3.0.ndjson"


def describe(folder, files):
    (folder / "headers.json").write_text(json.dumps(files), encoding="utf-8")


@pytest.fixture
def page(tmp_path):
    """A page about one sweep, in a tree of its own."""
    (tmp_path / "docs" / "results").mkdir(parents=True)
    shutil.copy(RAW / SWEEP, tmp_path / "docs" / "results" / SWEEP)
    describe(tmp_path / "docs" / "results", {SWEEP: {}})
    made = tmp_path / "docs" / "page.md"
    made.write_text(
        "So <!-- results: bounds -->?<!-- end -->.\n\n<!-- results: first table -->\n<!-- end -->\n"
    )
    return made


def nrbench(page, *words):
    return CliRunner().invoke(cli.app, ["results", str(page.parent / "results"), *words])


def test_every_raw_run_is_described():
    files = {path.name for path in RAW.iterdir()} - {"headers.json"}
    assert set(json.loads((RAW / "headers.json").read_text(encoding="utf-8"))) == files


def test_the_pages_show_what_the_raw_runs_give():
    assert results.stale(RAW) == []


def test_a_page_that_differs_is_named_and_mended(page):
    answer = nrbench(page)
    assert answer.exit_code == 1 and f"{page}: differs" in answer.output
    assert nrbench(page, "--write").exit_code == 0
    assert nrbench(page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "So <!-- results: bounds -->1.11 to 1.15<!-- end -->." in text
    assert "| 2 | 0.78 [0.75, 0.81] | 1.13 | 1.11 |" in text


@pytest.mark.parametrize("mark", ["figures", f"quote {SWEEP} | no such line", "quote missing.txt | A"])
def test_marks_that_mean_nothing_are_errors(page, mark):
    with pytest.raises((ResultsError, OSError)):
        results.filled(f"<!-- results: {mark} --><!-- end -->", page.parent / "results")


def test_a_mark_without_an_end_takes_nothing_from_the_page():
    with pytest.raises(ResultsError, match="has no end"):
        results.filled("<!-- results: bounds --> text <!-- results: bounds -->?<!-- end -->", RAW)


def test_a_page_shows_a_table_of_runs_in_real_time(page):
    cells = (OLD, AUTO)
    runs = [
        by_power(cell, timescale, number) for cell in cells for timescale in (0.2, 0.3) for number in range(5)
    ]
    write(page.parent / "results" / "radio.ndjson", runs)
    describe(page.parent / "results", {SWEEP: {}, "radio.ndjson": {}})
    page.write_text("<!-- results: radio radio.ndjson | Late slots -->\n<!-- end -->\n")
    assert nrbench(page, "--write").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "| timescale | variant | runs | gNB: late slots | CPUs | UE: late slots | CPUs |" in text
    assert "|  | gNB new, UE new, auto | 5 | 1091 [1091, 1091] | 0.700 | 545 [545, 545] | 0.700 |" in text
    facts = results.facts_of(page.parent / "results" / "radio.ndjson")
    assert facts["runs"] == "20" and facts["commit"] == "abc"
    assert len(results.sweeps(page.parent / "results")) == 1


def test_modes_are_compared_with_off_by_threads_and_over_all(tmp_path):
    modes = {"off": (100, 50), "auto": (90, 40), "hint": (80, 50)}
    settings = [(mode, at, rx) for mode, both in modes.items() for at, rx in zip((1, 2), both)]
    lines = (run("new", n, rx, at, spin=mode) for mode, at, rx in settings for n in range(5))
    write(tmp_path / "a.ndjson", lines)
    table = results.modes(tmp_path, "a.ndjson").splitlines()
    assert table[0].startswith("| threads | whole RX: auto ÷ off | hint ÷ off | symbol processing: auto ÷")
    assert [line.split(" | ")[:3] for line in table[2:]] == [
        ["| 1", "0.90 [0.90, 0.90]", "0.80 [0.80, 0.80]"],
        ["| 2", "0.80 [0.80, 0.80]", "1.00 [1.00, 1.00]"],
        ["| all", "0.85 [0.85, 0.85]", "0.89 [0.89, 0.89]"],
    ]
    assert results.toggle(tmp_path, "a.ndjson rx_us") == "0.85 [0.85, 0.85] (auto), 0.89 [0.89, 0.89] (hint)"


def test_hours_compare_each_pool_with_oais_of_the_same_hour(tmp_path):
    rows = ["hour,cpus,pool,spin,threads,rx_us"]
    for hour, old, new in (("a", 100, 50), ("b", 200, 150)):
        rows += [f"{hour},16,OAI,,4,{old + n}" for n in range(6)]
        rows += [f"{hour},16,c0ffee,off,4,{new + n}" for n in range(6 if hour == "a" else 2)]
    rows.append("c,2,OAI,,1,77")
    (tmp_path / "hours.csv").write_text("\n".join(rows), encoding="utf-8")
    table = results.hours(tmp_path, "16")
    assert "| a | OAI's, µs | 102 |" in table and "|  | c0ffee, off | 0.51 [0.50, 0.52] |" in table
    assert "|  | c0ffee, off | 0.75 (n=2) |" in table and "77" not in table


def test_the_gain_of_hours_is_that_with_pre_wake(tmp_path):
    rows = ["hour,cpus,pool,spin,threads,rx_us"]
    for hour, auto in (("a", 60), ("b", 75)):
        rows += [f"{hour},16,OAI,,4,100", f"{hour},16,c0ffee,auto,4,{auto}", f"{hour},16,c0ffee,off,4,10"]
    rows += ["b,16,OAI,,8,100", "b,16,c0ffee,auto,8,90", "b,16,c0ffee,off,8,10"]
    (tmp_path / "hours.csv").write_text("\n".join(rows), encoding="utf-8")
    assert results.hour_gain(tmp_path, "16 4 8") == "0.60 to 0.75 with 4, 0.90 with 8"
