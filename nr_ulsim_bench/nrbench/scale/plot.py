# SPDX-License-Identifier: BSD-3-Clause
"""One page: a panel for each workload, time against CPUs; then what the time consists of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import matplotlib

matplotlib.use("Agg")  # there may be no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from nrbench.backends import OWN  # noqa: E402
from nrbench.stats import Line  # noqa: E402

POINT = "scale-point"
COLUMNS = 5
STYLES = {OWN: "-", "mutex-per-worker": "--", "mutex-queue": ":"}
WHOLE = "whole tasks"


@dataclass(frozen=True)
class Panel:
    """What one workload shows, or with another figure of it."""

    workload: str
    producers: int
    figure: str = "time"
    own_only: bool = False
    limit: float | None = None

    @property
    def title(self) -> str:
        several = f", {self.producers} producers" if self.producers > 1 else ""
        return f"{self.workload.removesuffix('.slots')}{several} (simulated)"

    @property
    def unit(self) -> str:
        return WORDS.get(self.figure) or ("ns an empty task" if self.workload[:5] == "empty" else "p50, us")


WORDS = {
    "cpu_per_work": "CPU time / work",
    "start_lag_us": "start lag, us",
    "steals_lost": "lost steals a slot",
}
MORE = (
    Panel("22x28", 1, "cpu_per_work", True, 2.0),
    Panel("22x28", 1, "start_lag_us"),
    Panel("100x28", 1, "steals_lost", True),
)


def panels(points: Sequence[Line]) -> list[Panel]:
    found = [Panel(point["workload"], point["producers"]) for point in points]
    there = {panel.workload for panel in found}
    return [*dict.fromkeys(found), *(panel for panel in MORE if panel.workload in there)]


def color_of(machines: Sequence[str], machine: str) -> Any:
    return matplotlib.color_sequences["tab10"][machines.index(machine) % 10]


def _draw_line(axis: Axes, line: Sequence[Line], panel: Panel, color: Any) -> Any:
    pool = line[0]["pool"]
    own = pool == OWN
    xs, ys = [point["cpus"] for point in line], [point[panel.figure] for point in line]
    (handle,) = axis.plot(xs, ys, STYLES[pool], color=color, linewidth=1.8 if own else 1.0)
    for point in line if own else ():
        face = color if point["smt"] == 1 else "white"
        axis.plot(point["cpus"], point[panel.figure], "o", color=color, markerfacecolor=face, markersize=3.5)
    return handle


def _draw_whole(axis: Axes, points: Sequence[Line]) -> Any:
    whole = {p["cpus"]: p["whole_us"] for p in points if p["whole_us"] is not None and p["smt"] == 1}
    if not whole:
        return None
    (handle,) = axis.plot(*zip(*sorted(whole.items())), color="black", linewidth=0.9, zorder=1)
    return handle


def _axes(axis: Axes, panel: Panel, counts: Sequence[int]) -> None:
    axis.set_xscale("log", base=2)
    ticks = [count for count in counts if count & (count - 1) == 0]
    axis.set_xticks(ticks, [str(count) for count in ticks])
    if panel.figure == "time":
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    number = FuncFormatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_major_formatter(number)
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.3, which="both")
    axis.set_title(panel.title, fontsize=9)
    axis.set_ylabel(panel.unit, fontsize=8)
    axis.tick_params(labelsize=7)
    if panel.limit is not None:
        axis.axhline(panel.limit, color="black", linewidth=0.8, linestyle="-.")


def _draw_panel(axis: Axes, points: Sequence[Line], panel: Panel, machines: Sequence[str]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    here = [
        point
        for point in points
        if (point["workload"], point["producers"]) == (panel.workload, panel.producers)
        and (point["pool"] == OWN or not panel.own_only)
    ]
    for machine in machines:
        for pool in STYLES:
            line = [p for p in here if (p["machine"], p["pool"]) == (machine, pool) and panel.figure in p]
            if line:
                name = f"{pool}, {machine}"
                handles[name] = _draw_line(axis, line, panel, color_of(machines, machine))
    if panel.figure == "time" and (whole := _draw_whole(axis, here)):
        handles[WHOLE] = whole
    _axes(axis, panel, sorted({point["cpus"] for point in points}))
    return handles


def figure_of(points: Sequence[Line]) -> Any:
    shown = panels(points)
    machines = list(dict.fromkeys(point["machine"] for point in points))
    rows = math.ceil(len(shown) / COLUMNS)
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(3.6 * COLUMNS, 2.7 * rows + 1), squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for axis, panel in zip(axes.flat, shown):
        for name, handle in _draw_panel(axis, points, panel, machines).items():
            handles.setdefault(name, handle)
    for axis in list(axes.flat)[len(shown) :]:
        axis.axis("off")
    figure.suptitle(
        "Simulated: time against the number of CPUs, on machine files that are not calibrated"
        " (hollow points: two CPUs a core)",
        fontsize=12,
    )
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncol=5, frameon=False)
    return figure


def draw_curves(lines: Sequence[Line], path: Path) -> list[str]:
    """@return names of the files written"""
    points = [line for line in lines if line.get("bench") == POINT]
    if not points:
        return []
    figure = figure_of(points)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    return [path.name]
