# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidth of each way to scan, a mark a round, against what the memory gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from nrbench.drawing import legend, plt, save
from nrbench.scan.judge import READS, STEPS, TRIADS, Results, best_of, median
from nrbench.scan.table import TITLES

COLORS = ("black", "C0", "C3", "C1")


def _draw(axis: Axes, results: Results, scanners: int, title: str) -> None:
    for place, step in enumerate(STEPS):
        rounds = results.rounds(step, scanners)
        if rounds:
            values = list(rounds.values())
            axis.bar(place, median(rounds), color=COLORS[place], alpha=0.35, label=TITLES[step])
            axis.plot([place] * len(values), values, ".", color=COLORS[place])
    for names, style in ((READS, "--"), (TRIADS, ":")):
        best = best_of(results, names)
        if best:
            look: Any = {"color": "grey", "linestyle": style, "label": f"STREAM: {TITLES[best]}"}
            axis.axhline(median(results.rounds(best)), **look)
    axis.set_xticks(range(len(STEPS)), ["(a)", "(b)", "(c)", "(d)"])
    axis.set_title(title, fontsize=10)
    axis.grid(axis="y", alpha=0.3)
    axis.set_ylim(bottom=0)


def draw_scans(results: Results, path: Path) -> list[str]:
    """@return names of the files written"""
    if not results.gb_per_s:
        return []
    several = results.contended
    panels = [(1, "one scan"), *([(several, f"{several} scans at once")] if several else [])]
    size = (4.2 * len(panels), 4.4)
    figure, axes = plt.subplots(
        1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (scanners, title) in zip(axes[0], panels):
        _draw(axis, results, scanners, title)
    axes[0][0].set_ylabel("GB/s: median of the rounds (bar), each round (dot)")
    legend(figure, 2, fontsize=8)
    return [save(figure, path, dpi=130)]
