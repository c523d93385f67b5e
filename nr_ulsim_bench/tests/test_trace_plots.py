# SPDX-License-Identifier: BSD-3-Clause
"""The curves of distributions: their points, and whose they are."""

import pytest

from nrbench.trace.figures import Figures

plots = pytest.importorskip("nrbench.trace.plots")


def figures_of(durations=(), lags=(), wakes=()) -> Figures:
    figures = Figures()
    for times, values in ((figures.durations, durations), (figures.lags, lags), (figures.wakes, wakes)):
        times.add(*values)
    return figures


@pytest.fixture
def panels(monkeypatch, tmp_path):
    """Draws curves and gives the axes."""
    figures = []
    monkeypatch.setattr(plots.plt, "close", figures.append)

    def draw(*curves):
        assert plots.draw_tails([plots.Curve(*curve) for curve in curves], tmp_path / "tails.png")
        assert (tmp_path / "tails.png").read_bytes().startswith(b"\x89PNG")
        return figures[-1].axes

    return draw


def points(line) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(line.get_xdata(), line.get_ydata())]


def test_each_distribution_is_in_its_own_panel_in_us(panels):
    figures = figures_of([2000, 1000, 2000, 1500], lags=[5, 6], wakes=[700, 900])
    duration, lag, wake = panels(("symbol_processing", figures, "#112233"))
    assert [axis.get_title(loc="left") for axis in (duration, lag, wake)] == [
        "duration of a phase",
        "start lag of a task",
        "wake latency",
    ]
    assert points(duration.lines[0]) == [(1, 1), (1.5, 0.75), (2, 0.5)]
    assert points(lag.lines[0]) == [(0.005, 1), (0.006, 0.5)]
    assert points(wake.lines[0]) == [(0.7, 1), (0.9, 0.5)]
    assert [points(axis.lines[1]) for axis in (duration, lag, wake)] == [
        [(2, 0.5)],
        [(0.006, 0.5)],
        [(0.9, 0.5)],
    ]
    assert {axis.get_xlabel() for axis in (duration, lag, wake)} == {"µs"}


def test_curves_have_the_order_and_colours_that_are_asked_for(panels):
    one, two = figures_of([1000, 2000]), figures_of([3000, 4000], lags=[7, 8, 9])
    duration, lag = panels(("first_kind", one, "#112233"), ("second", two, "#445566"))
    assert [line.get_color() for line in duration.lines[::2]] == ["#112233", "#445566"]
    assert [line.get_color() for line in lag.lines] == ["#445566"] * 2
    (legend,) = duration.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first kind", "second"]


def test_of_one_value_there_is_no_distribution(tmp_path):
    assert not plots.draw_tails([plots.Curve("a", figures_of([5], [6]), "#112233")], tmp_path / "tails.png")
    assert not (tmp_path / "tails.png").exists()
