# SPDX-License-Identifier: BSD-3-Clause
"""What is in the pictures, read from their axes."""

import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sweep_runs import HOST, rounds, run, sweep

from nrbench.sweep import plots
from nrbench.sweep.cells import case_results
from nrbench.sweep.figures import RX


@pytest.fixture(autouse=True)
def all_are_closed():
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


def drawn(result):
    """Axes by title; the figure is closed."""
    canvas = plots.case_figure(result)
    plt.close(canvas)
    return {axis.get_title(loc="left"): axis for axis in canvas.axes}


def lines(axis):
    return {line.get_label(): line for line in axis.get_lines()}


@pytest.fixture(scope="module")
def result():
    return case_results(sweep(hosts=[HOST], cases=["a"], repeats=5))[0]


def test_all_panels_are_there(result):
    names = ("symbol processing", "ULSCH decoding", "whole RX")
    assert set(drawn(result)) == {
        *names, *(f"{name}, speed-up over inline" for name in names), "whole RX, every run", "CPU time",
    }  # fmt: skip


def test_times_are_medians_over_threads(result):
    axis = drawn(result)["whole RX"]
    found = lines(axis)
    assert set(found) == {"old", "new off", "new auto", "bound", "number of cores"}
    for variant in ("old", "new off", "new auto"):
        wanted = [result.get(threads, variant, RX).median for threads in (1, 2, 3, 4, 8)]
        assert list(found[variant].get_xdata()) == [1, 2, 3, 4, 8]
        assert list(found[variant].get_ydata()) == pytest.approx(wanted)
    assert list(found["bound"].get_ydata()) == pytest.approx([780, 580, 480, 480, 480])
    assert list(found["number of cores"].get_xdata()) == [4, 4]
    assert axis.get_xscale() == "log"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "3", "4", "8"]
    assert axis.get_ylim()[0] == 0
    assert len(axis.collections) == 3  # a band each


def test_speed_up_is_over_inline(result):
    found = lines(drawn(result)["whole RX, speed-up over inline"])
    assert list(found["ideal: computing threads"].get_ydata()) == [2, 3, 4, 4, 4]
    assert list(found["new auto"].get_ydata())[0] == pytest.approx(
        1380 / result.get(1, "new auto", RX).median
    )
    assert list(found["bound"].get_ydata())[0] == pytest.approx(1380 / 780)


def test_every_run_is_a_point(result):
    axis = drawn(result)["whole RX, every run"]
    points = [line for line in axis.get_lines() if line.get_marker() in ("o", "D", "s")]
    assert len(points) == 5 * 3
    assert all(len(line.get_ydata()) == 5 for line in points)
    old = sorted(points[0].get_ydata())
    assert old[2] == pytest.approx(1)


def test_ours_are_red_and_the_old_one_is_black(result):
    found = plots.styles(result.group)
    assert found["old"].color == "#000000"
    assert found["new auto"].color == "#d62728"
    assert found["new off"].color != found["new auto"].color


def test_no_two_styles_are_the_same():
    runs = [run(f"p{number}", None, kind="replay") for number in range(20)]
    runs += [run("ws", spin, kind="replay") for spin in ("off", "auto", "hot", "fixed:20")]
    (found,) = case_results(runs)
    looks = plots.styles(found.group)
    assert len({(to_hex(look.color), str(look.dashes), look.marker) for look in looks.values()}) == 24


def test_without_inline_runs_there_is_no_speed_up():
    (found,) = case_results(rounds([100, 101], "new", "auto", threads=2))
    axes = drawn(found)
    assert "whole RX" in axes and not any("speed-up" in title for title in axes)
    assert "bound" not in lines(axes["whole RX"])
    assert [label.get_text() for label in axes["whole RX"].get_xticklabels()] == ["2"]


def test_files(tmp_path):
    runs = [
        run(case="273 PRB / $x^{ <b>é"),
        run(case="273 PRB - $x^{ <b>è"),
        run(case="bad", status="crash", figures={}),
    ]
    paths = plots.draw_all(case_results(runs), tmp_path)
    assert list(paths) == [0, 1]  # the third has nothing to draw
    assert len(set(paths.values())) == 2
    for path in paths.values():
        assert path.read_bytes().startswith(b"\x89PNG")
        svg = path.with_suffix(".svg").read_text(encoding="utf-8")
        assert "</svg>" in svg and "$x^{" in svg
    assert len(list(tmp_path.iterdir())) == 4


def test_the_same_runs_make_the_same_svg(tmp_path):
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths = plots.draw_all(case_results([run()]), tmp_path / name)
        texts.append(paths[0].with_suffix(".svg").read_bytes())
    assert texts[0] == texts[1]
