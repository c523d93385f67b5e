# SPDX-License-Identifier: BSD-3-Clause
"""The part scale: what ci/simulate is asked for, what is kept of its answer, and what the page shows."""

import json

import pytest
from matplotlib import pyplot as plt

from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.parts import scale
from nrbench.stats import read_lines


def point(workload, cpus, time, machine="epyc-64", pool="ws", **more):
    known = {"bench": "scale-point", "simulated": True, "producers": 1, "smt": 1, "whole_us": 28.0}
    return known | {"machine": machine, "workload": workload, "pool": pool, "cpus": cpus, "time": time} | more


POINTS = [
    point("22x28", 32, 40.0, cpu_per_work=1.2, start_lag_us=1.0),
    point("22x28", 64, 44.0, cpu_per_work=1.4, start_lag_us=1.5),
    point("22x28", 64, 110.0, pool="mutex-queue", start_lag_us=18.0),
    point("22x28", 64, 60.0, producers=4),
    point("22x28", 112, 50.0, machine="xeon-2x28", smt=2),
    point("empty:10000", 64, 140.0, whole_us=None),
]


@pytest.fixture
def page():
    figure = scale.figure_of(POINTS)
    yield figure
    plt.close(figure)


def panel(figure, title, unit=None):
    return next(
        axis
        for axis in figure.axes
        if axis.get_title().startswith(title) and unit in (None, axis.get_ylabel())
    )


def test_every_title_says_simulated(page):
    titles = [axis.get_title() for axis in page.axes if axis.get_lines()]
    assert len(titles) == 5 and all("(simulated)" in title for title in titles)
    assert page.get_suptitle().startswith("Simulated")


def test_a_panel_has_each_pool_and_whole_tasks(page):
    ends = {tuple(line.get_ydata())[-1] for line in panel(page, "22x28 (").get_lines()}
    assert {44.0, 110.0, 50.0, 28.0} <= ends
    names = {text.get_text() for text in page.legends[0].get_texts()}
    assert names == {"ws, epyc-64", "mutex-queue, epyc-64", "ws, xeon-2x28", "whole tasks"}


def test_units(page):
    assert panel(page, "empty:10000").get_ylabel() == "ns an empty task"
    assert panel(page, "22x28, 4 producers").get_ylabel() == "p50, us"


def test_cpu_time_is_that_of_ws_beside_its_limit(page):
    lines = panel(page, "22x28", "CPU time / work").get_lines()
    assert sorted({max(line.get_ydata()) for line in lines}) == [1.2, 1.4, 2.0]


def program(tmp_path, status=0):
    """Stands for ci/simulate: writes one point, prints its words."""
    path = tmp_path / "simulate"
    path.write_text(
        '#!/bin/sh\necho "asked: $*"\n'
        'while [ "$1" != --out ]; do shift; done\n'
        f"echo '{json.dumps(POINTS[0])}' >\"$2\"\nexit {status}\n"
    )
    path.chmod(0o755)
    return path


def test_the_report_is_printed_and_kept(tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setattr(scale, "SIMULATE", program(tmp_path))
    assert scale.PART.run(Request(out=out, quick=True, backends=("ws", "glib"), rounds=2)) == 0
    text = (out / "scale.txt").read_text()
    assert text == f"asked: scale --quick --pool ws --runs 2 --out {out / 'scale.ndjson'}\n"
    assert capsys.readouterr().out.startswith(text)
    assert read_lines(out / "scale.ndjson") == POINTS[:1]
    assert (out / "scale.png").stat().st_size > 0


def test_runs_that_failed_are_an_exit_status(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "SIMULATE", program(tmp_path, status=1))
    assert scale.PART.run(Request(out=tmp_path)) == 1


def test_without_an_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "SIMULATE", program(tmp_path, status=2))
    with pytest.raises(BenchError, match="ended with exit status 2"):
        scale.PART.run(Request(out=tmp_path))
    monkeypatch.setattr(scale, "SIMULATE", tmp_path / "none")
    with pytest.raises(BenchError, match="in this project's tree only"):
        scale.PART.run(Request(out=tmp_path))
