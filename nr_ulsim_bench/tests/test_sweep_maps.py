# SPDX-License-Identifier: BSD-3-Clause
"""Maps over SNR, MCS and layers: which runs are their points, and the figures of a point."""

import csv

import pytest
import sweep_large
from sweep_runs import run, sweep
from test_sweep_report import read_page

from nrbench.sweep import scenario
from nrbench.sweep.maps import map_rows, maps, point_of, rate_interval
from nrbench.sweep.maps_table import map_tables
from nrbench.sweep.record import read_runs
from nrbench.sweep.report import report_files


def made(folder, **shape):
    path = folder / "runs.ndjson"
    sweep_large.write(path, **shape)
    return path


@pytest.mark.parametrize(
    "options",
    [("-m9", "-n10", "-s1"), ("-m9", "-n10", "-s1", "-S3"), ("-n10", "-s1", "-S1"), ("-m9", "-s1", "-S1")],
)
def test_a_run_without_one_snr_and_mcs_is_no_point(options):
    assert point_of(options) is None


def test_a_point_has_snr_mcs_layers_slots_and_the_options_that_its_map_shares():
    point = point_of(("-u1", "-n100", "-m9", "-W2", "-y2", "-z4", "-s-3.5", "-S-3.5", "-P", "-C2"))
    assert point == ("-u1 -P (+2 RX antennas)", -3.5, 9, 2, 100)
    assert point_of(("-n5", "-m0", "-s0", "-S0"))[3] == 1


@pytest.mark.parametrize("name", scenario.names())
def test_the_scenarios_that_come_with_the_tool_are_no_maps(name):
    runs = [run(case=c.name, scenario=name, options=c.options(2)) for c in scenario.load(name).cases]
    assert maps(map_rows(runs)) == []


def test_runs_at_one_snr_are_no_map(tmp_path):
    runs = read_runs(made(tmp_path, hosts=1, snrs=(8,), mcs=(4, 9)))
    assert len(map_rows(runs)) and maps(map_rows(runs)) == [] == maps(
        map_rows(sweep(cases=("a",), threads=(1,)))
    )


def test_the_interval_of_a_rate_is_wilsons():
    low, high = rate_interval(10, 100)
    assert (low, high) == (pytest.approx(0.0552, abs=1e-4), pytest.approx(0.1744, abs=1e-4))
    assert rate_interval(0, 100).low == 0 and rate_interval(0, 100).high == pytest.approx(0.037, abs=1e-3)
    assert rate_interval(100, 100).high == 1


def test_slots_and_errors_of_all_pools_count_and_failed_runs_too(tmp_path):
    runs = read_runs(made(tmp_path, hosts=1, threads=(2,), repeats=5))
    lost = [one.model_copy(update={"status": "failed", "error": "not decoded"}) for one in runs]
    (good,), (bad,) = maps(map_rows(runs)), maps(map_rows(lost))
    assert len(good.points) == len(bad.points) == 3 * 2 * 2
    key = (2, 16, 12.0)
    chosen = [r for r in runs if r.pool != "inline" and "-m16" in r.options and "-W2" in r.options]
    chosen = [r for r in chosen if "-s12" in r.options]
    assert good.points[key].slots == bad.points[key].slots == 100 * len(chosen) == 1000
    assert good.points[key].errors == sum(r.errors for r in chosen) == bad.points[key].errors
    assert set(good.points[key].times) == {"old", "new auto"} and bad.points[key].times == {}
    assert good.variants == ["old", "new auto"] and good.ours == "new auto"


def test_times_are_of_the_most_threads_that_do_not_exceed_the_cores(tmp_path):
    runs = read_runs(made(tmp_path, hosts=1, threads=(2, 4, 8), repeats=5))
    (found,) = maps(map_rows(runs))
    assert found.threads == 4
    old, new = (found.points[1, 9, 8.0].times[name].median_us for name in ("old", "new auto"))
    assert new / old == pytest.approx(sweep_large.RATIO, rel=0.06)


def test_a_map_has_a_class_and_hosts_widen_its_intervals(tmp_path):
    runs = read_runs(made(tmp_path, hosts=4, threads=(2,), repeats=5))
    first, second = maps(map_rows(runs))
    assert (first.of, second.of) == ("A", "B")
    figures = first.points[1, 9, 8.0]
    assert figures.slots == 2 * 2 * 5 * 100
    low, high = figures.times["old"].interval
    assert low < figures.times["old"].median_us < high


def test_the_tables_have_the_grid_and_the_intervals(tmp_path):
    runs = read_runs(made(tmp_path, hosts=1, threads=(2,), repeats=5))
    (found,) = maps(map_rows(runs))
    tables = list(map_tables(found))
    assert [table.title for table in tables[:2]] == [
        "BLER: map, class A, 1 layer", "Whole RX of new auto, µs, 2 threads: map, class A, 1 layer"
    ]  # fmt: skip
    assert tables[0].rows == [
        [str(mcs), *(f"{found.points[1, mcs, snr].error_rate:.3f}" for snr in (8.0, 10.0, 12.0))]
        for mcs in (9, 16)
    ]
    assert len(tables[-1].rows) == 12 and tables[-1].rows[0][5].startswith("[")
    assert len(list(map_tables(found, short=True))) == 4


def test_the_report_shows_a_map_in_place_of_its_cases(tmp_path, no_pictures):
    out = tmp_path / "out"
    names = report_files([made(tmp_path, hosts=1, mcs=(9,), threads=(2,), repeats=5)], out)
    assert sorted(names) == sorted(path.name for path in out.iterdir())
    assert [name for name in names if name.endswith("png")] == ["map-map-class-A.png"]
    text, found = read_page(out)
    assert "Map of map, class A" in found.texts["h2"] and 'alt="Map of map, class A"' in text
    summary = "whole RX of new auto at 2 threads, at each point on each host: faster 6 of 6"
    assert summary in found.texts["ul"]
    with open(out / "maps.csv", encoding="utf-8") as rows:
        points = list(csv.DictReader(rows))
    assert len(points) == 3 * 2 * 2 and 0 < float(points[0]["bler_high"]) <= 1
    with open(out / "results.csv", encoding="utf-8") as rows:
        assert len({row["case"] for row in csv.DictReader(rows)}) == 6
