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
    figure, axis = plt.subplots(figsize=(1 + 1.7 * len(names), 5), layout="constrained")
    places = list(range(len(names)))
    values = [list(results.ms[name].values()) for name in names]
    axis.boxplot(values, positions=places, widths=0.4, flierprops={"markersize": 3})
    for name, place in zip(names, places):
        mean, deviation = mean_and_deviation(results.ms[name])
        look: Any = {"fmt": "o", "color": "#d62728", "capsize": 3, "markersize": 4}
        axis.errorbar(place + 0.3, mean, yerr=deviation, **look)
    axis.set_xticks(places, [TITLES[name].replace(" ", "\n", 1).replace(", ", ",\n") for name in names])
    axis.set_xlim(-0.5, len(names) - 0.3)
    axis.set_ylabel("time of a reduction, ms; red: mean and standard deviation")
    axis.grid(axis="y", alpha=0.3)
    return [save(figure, path, dpi=130)]
