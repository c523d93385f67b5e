# SPDX-License-Identifier: BSD-3-Clause
"""The times of all runs as box plots, each with its mean and standard deviation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nrbench.drawing import plt, save
from nrbench.pi.judge import Results, mean_and_deviation
from nrbench.pi.table import NAMES, TITLES


def draw_times(results: Results, path: Path) -> list[str]:
    """@return names of the files written"""
    names = [name for name in NAMES if results.ms.get(name)]
    if not names:
        return []
    figure, axis = plt.subplots(figsize=(9, 1.4 + 0.7 * len(names)), layout="constrained")
    places = list(range(len(names), 0, -1))
    values = [list(results.ms[name].values()) for name in names]
    axis.boxplot(values, positions=places, vert=False, widths=0.5, flierprops={"markersize": 3})
    for name, place in zip(names, places):
        mean, deviation = mean_and_deviation(results.ms[name])
        look: Any = {"fmt": "o", "color": "#d62728", "capsize": 3, "markersize": 4}
        axis.errorbar(mean, place + 0.36, xerr=deviation, **look)
    axis.set_yticks(places, [TITLES[name] for name in names])
    axis.set_ylim(0.4, len(names) + 0.8)
    axis.set_xlabel("time of a reduction, ms; red: mean and standard deviation")
    axis.grid(axis="x", alpha=0.3)
    return [save(figure, path, dpi=130)]
