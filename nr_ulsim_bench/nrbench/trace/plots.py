# SPDX-License-Identifier: BSD-3-Clause
"""Distributions as pictures: how many of all are at least as long as a time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from nrbench.drawing import legend, plain_numbers, plt, save
from nrbench.trace.figures import Figures, Times

PANELS = (("durations", "duration of a phase"), ("lags", "start lag of a task"), ("wakes", "wake latency"))


class Curve(NamedTuple):
    """A kind of phase."""

    name: str
    figures: Figures
    color: str


def has_tail(times: Times) -> bool:
    """Of one value there is no distribution."""
    return times.count > 1


def _curve(axis: Axes, times: Times, label: str, color: str) -> None:
    if not times.count:
        return
    x, y = times.tail()
    axis.plot(x, y, drawstyle="steps-pre", color=color, lw=1.6, label=label)
    axis.plot(x[-1:], y[-1:], "o", color=color, markersize=3)


def _finish(axis: Axes, title: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = axis.get_xlim()
    narrow = high < 300 * low
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel("µs")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,), numticks=20))
    plain_numbers(axis.xaxis)
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_locator(LogLocator(numticks=12))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axis.set_ylim(top=1.3)
    axis.grid(which="major", alpha=0.3)
    axis.grid(which="minor", axis="x", alpha=0.1)
    axis.spines[["top", "right"]].set_visible(False)


def draw_tails(curves: Sequence[Curve], path: Path) -> bool:
    """@return whether there was anything to draw"""
    panels = [
        panel for panel in PANELS if any(has_tail(getattr(figures, panel[0])) for _, figures, _ in curves)
    ]
    if not panels:
        return False
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.7 * len(panels), 4.2), squeeze=False, layout="constrained"
    )
    for axis, (attribute, title) in zip(axes[0], panels):
        for name, figures, color in curves:
            _curve(axis, getattr(figures, attribute), name.replace("_", " "), color)
        _finish(axis, title)
    axes[0, 0].set_ylabel("share that is at least that long")
    legend(figure, min(len(curves), 4), fontsize=8)
    save(figure, path, dpi=130)
    return True
