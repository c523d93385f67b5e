# SPDX-License-Identifier: BSD-3-Clause
"""Reports on very many runs: the same figures as the usual report's, from columns."""

import csv
import json
import os
import re
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import sweep_large
from sweep_runs import at, rounds, run

from nrbench.record import ResultsError
from nrbench.sweep import large_report, report
from nrbench.sweep.cells import case_results
from nrbench.sweep.columns import Columns, count_lines
from nrbench.sweep.facts import labelled
from nrbench.sweep.frame import merged, passes
from nrbench.sweep.large import Large
from nrbench.sweep.maps import map_rows, maps
from nrbench.sweep.record import read_runs

ROOT = Path(__file__).resolve().parents[1]


def read(path):
    columns = Columns()
    columns.read(path)
    return columns


def large_of(path):
    columns = read(path)
    return Large(columns, labelled(columns.settings))


def written(folder, runs):
    path = folder / "runs.ndjson"
    path.write_text("".join(map(runs)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "runs.ndjson"
    sweep_large.write(path, hosts=2, repeats=6)
    return path


def test_columns_hold_what_the_lines_hold(some):
    columns, runs = read(some), read_runs(some)
    assert len(columns) == len(runs) and len(columns.settings) == 2 * 12 * 5
    for place, run_ in enumerate(runs):
        setting = columns.settings[columns.setting[place]]
        assert (setting.case, setting.variant, setting.threads) == (run_.case, run_.variant, run_.threads)
        assert columns.repeat[place] == run_.repeat and columns.errors[place] == run_.errors
        assert (
            columns.main_us[place] == run_.figures["rx_us"]
            and columns.began_s[place] == run_.time.timestamp()
        )


def test_a_setting_is_read_once(some, monkeypatch):
    """Else a million runs take minutes."""
    slow = []
    monkeypatch.setattr(
        Columns, "_new", lambda self, one, line, new=Columns._new: (slow.append(1), new(self, one, line))
    )
    assert len(read(some)) == 6 * len(slow)


def test_a_run_takes_little_memory(some):
    """In columns, beside its setting: 41 bytes, and what arrays keep free. Counted, not timed."""
    columns = read(some)
    before = sys.getsizeof(columns.main_us)
    tracemalloc.start()
    for _ in range(20):
        columns.read(some)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sys.getsizeof(columns.main_us) > before
    assert grown / (20 * len(columns) / 21) < 150


def test_ratios_and_medians_are_those_of_the_usual_report(tmp_path):
    few = tmp_path / "runs.ndjson"
    sweep_large.write(few, hosts=2, mcs=(9,), repeats=6)
    large = large_of(few)
    medians = dict(
        zip(large.cells, (large.medians["median_us"].get(place) for place in range(len(large.cells))))
    )
    ratios = {one.key: one.ratio for one in large.ratios}
    seen = 0
    for result in case_results(labelled(read_runs(few))):
        for (threads, variant, column), cell in result.cells.items():
            key = (*result.group.key[:4], threads, variant)
            if column != "rx_us":
                continue
            assert medians[key] == pytest.approx(cell.median)
            if cell.ratio:
                assert ratios[key].value == pytest.approx(cell.ratio.value)
                assert ratios[key].interval == pytest.approx(cell.ratio.interval, rel=0.03)
                seen += 1
    assert seen == len(ratios) == 2 * 6 * 2


def test_maps_are_those_of_the_usual_report(some):
    own, usual = maps(large_of(some).map_rows()), maps(map_rows(labelled(read_runs(some))))
    assert [(one.of, one.family, one.threads) for one in own] == [(m.of, m.family, m.threads) for m in usual]
    for one, other in zip(own, usual):
        assert one.points == other.points


def test_passes_are_those_of_the_usual_report(tmp_path):
    """A pause, and a round that comes again, begin a new one."""
    moments = [(0, 0), (1, 10), (2, 200), (0, 210), (1, 220)]
    runs = [
        run("old", repeat=repeat, began=at(s), threads=1 + place) for place, (repeat, s) in enumerate(moments)
    ]
    large = large_of(written(tmp_path, runs))
    found = large.frame["round"].to_numpy() >> 32
    assert list(found) == passes(runs) == [0, 0, 1, 2, 2]


def test_a_run_that_failed_and_was_taken_again_counts_once(tmp_path):
    bad = run("old", status="hang", error="killed", figures={}, began=at(0))
    runs = [bad, run("old", began=at(5)), run("old", began=at(5)), *rounds([90.0] * 5, "new", "auto")]
    large = large_of(written(tmp_path, runs))
    kept = merged([("", runs)]).runs
    assert len(large.frame) == len(kept) == 6
    assert large.frame["ok"].all() and large.causes.total() == 1


def test_two_results_of_one_run_are_refused(tmp_path):
    runs = [run("old", began=at(0)), run("old", began=at(5), figures={"rx_us": 50.0})]
    with pytest.raises(ResultsError, match="two results of one run of sweep aaaaaaaaaaaa .*273 PRB"):
        assert len(large_of(written(tmp_path, runs)).frame)


def test_a_last_line_that_was_cut_off_is_left_out(some, tmp_path):
    path = tmp_path / "runs.ndjson"
    path.write_bytes(some.read_bytes()[:-40])
    assert len(read(path)) == len(read(some)) - 1


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"status":"ok"', '"status":"fine"', "not a run of a sweep: status"),
        ('"wall_s":1.0', '"wall_s":-1.0', "not a run of a sweep: wall_s"),
        ('"wall_s":1.0', '"wall_s":1.0,"more":2', "not a run of a sweep: more"),
        ('"repeat":3', '"repeat":-3', "not a run of a sweep: repeat"),
        ('"errors":', '"errors":x', "not JSON"),
    ],
)
def test_a_wrong_line_is_named(some, tmp_path, old, new, message):
    lines = some.read_text().splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if place > 200 and old in line)
    lines[number] = lines[number].replace(old, new, 1)
    path = tmp_path / "runs.ndjson"
    path.write_text("".join(lines))
    with pytest.raises(ResultsError, match=f"{path}:{number + 1}: {message}"):
        read(path)


def test_fields_in_another_order_are_read_too(some, tmp_path):
    lines = [json.loads(line) for line in some.read_text().splitlines()[:50]]
    path = tmp_path / "runs.ndjson"
    path.write_text("".join(json.dumps(dict(sorted(line.items()))) + "\n" for line in lines))
    assert list(read(path).main_us) == [line["figures"]["rx_us"] for line in lines]


def test_the_number_of_runs_decides_which_report_is_made(some, tmp_path, monkeypatch):
    lines = count_lines([some], 10**9)
    assert lines == len(read_runs(some)) and count_lines([some, some], 10**9) == 2 * lines
    made = []
    monkeypatch.setattr(report, "report_large", lambda *given: made.append(given) or [])
    monkeypatch.setattr(large_report, "LARGE_RUNS", lines - 1)
    report.report_files([some], tmp_path / "out")
    assert len(made) == 1 and not large_report.has_many_runs([tmp_path / "none"])


def test_the_report_on_many_runs(some, tmp_path, capsys, no_pictures):
    names = large_report.report_large([some], tmp_path)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    shown = capsys.readouterr().out
    assert "Hosts side by side, over all cases" in shown
    assert re.search(
        r"all classes, 2 hosts: new auto is 1\.2\d times as fast as old over all cases at 1 thr", shown
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "on 2 hosts" in page and "Classes pooled, over all cases" in page and "Map of map, class A" in page
    with open(tmp_path / "results.csv", encoding="utf-8") as rows:
        cells = list(csv.DictReader(rows))
    assert len(cells) == 2 * 12 * 5 and {row["verdict"] for row in cells} == {"faster", "no result"}
    with open(tmp_path / "classes.csv", encoding="utf-8") as rows:
        pooled = list(csv.DictReader(rows))
    assert len(pooled) == 12 * 2 * 3
    assert np.median([float(row["ratio"]) for row in pooled]) == pytest.approx(sweep_large.RATIO, rel=0.03)


@pytest.mark.alone
def test_a_million_runs_in_a_minute_of_cpu_time_and_two_gb(tmp_path):
    """In a process of its own. CPU time: the machine may have other work."""
    path = tmp_path / "runs.ndjson"
    shape = {
        "hosts": 10,
        "snrs": range(6, 26, 2),
        "mcs": range(0, 20, 2),
        "layers": (1, 2, 3, 4),
        "threads": (1, 4),
    }
    repeats = int(os.environ.get("WS_LARGE_RUNS", "1000000")) // 20000
    assert sweep_large.write(path, **shape, repeats=repeats) == repeats * 20000
    words = [sys.executable, "-m", "nrbench", "report", str(path), "--out", str(tmp_path / "out")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{repeats * 20000} runs: {cpu_s:.0f} s of CPU time, {after.ru_maxrss >> 10} MiB")
    assert after.ru_maxrss < 2 << 20  # KiB
    assert cpu_s < 120  # twice what a machine of 2025 takes
