# SPDX-License-Identifier: BSD-3-Clause
"""Latency against CPU time: fixed leads are a curve, and auto should lie on it or below."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from nrbench.drawing import legend, plt, save
from nrbench.prewake.judge import Line, Results
from nrbench.prewake.plan import environments

COLUMNS = 4


def _point(line: Line) -> tuple[float, float]:
    return line["cpu_us"] - line["work_us"], line["lateness_mean_us"]


def _draw_scenario(axis: Axes, name: str, modes: dict[str, Line], color: Any) -> None:
    leads = sorted((line for mode, line in modes.items() if mode[:6] == "fixed:"), key=lambda a: a["lead_us"])
    points = [_point(line) for line in leads]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    axis.plot(xs, ys, "-o", color=color, markersize=3, linewidth=1, label=name)
    for line, point in list(zip(leads, points))[::3]:
        place: Any = {"textcoords": "offset points", "xytext": (2, 2)}
        axis.annotate(f"{line['lead_us']:g}", point, fontsize=6, **place)
    for mode, marker, size in (("off", "s", 7), ("auto", "*", 13)):
        if mode in modes:
            look: Any = {"markersize": size, "markeredgecolor": "black", "zorder": 3}
            axis.plot(*_point(modes[mode]), marker, color=color, **look)


def draw_environments(results: Results, path: Path) -> list[str]:
    """@return names of the files written"""
    regret = {key: result for key, result in results.items() if key.kind == "regret" and result.modes}
    names = [env.name for env in environments(1) if any(key.env == env.name for key in regret)]
    if not names:
        return []
    rows, columns = math.ceil(len(names) / COLUMNS), min(COLUMNS, len(names))
    size = (4.2 * columns, 3.6 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    scenarios = sorted({key.scenario for key in regret})
    for axis, name in zip(axes.flat, names):
        for key in sorted(key for key in regret if key.env == name):
            color = f"C{scenarios.index(key.scenario)}"
            _draw_scenario(axis, key.scenario, regret[key].modes, color)
        axis.set_title(name, fontsize=10)
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(names) :]:
        axis.axis("off")
    figure.supxlabel("CPU time a slot beyond the work, us", fontsize=9)
    figure.supylabel("lateness, mean, us", fontsize=9)
    figure.suptitle("Curves: fixed leads, us; squares: off; stars: auto, to lie on its curve or below")
    legend(figure, 1, "outside right upper")
    return [save(figure, path, dpi=130)]
