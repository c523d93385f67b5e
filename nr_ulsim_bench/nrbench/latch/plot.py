# SPDX-License-Identifier: BSD-3-Clause
"""Fibers that yield against tasks that block, over how long a latch is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nrbench.drawing import plain_numbers, plt, save
from nrbench.latch.judge import Cell, Results, median
from nrbench.latch.plan import FIBERS

KINDS = {"sleep": "writers sleep (I/O)", "work": "writers compute"}


def _point(results: Results, cell: Cell) -> tuple[float, float, float, float] | None:
    """Hold / work, the ratio, and the bounds of its interval."""
    ratio = results.ratio(cell)
    hold_us, work_us = (median(results.rounds(cell, FIBERS, name)) for name in ("hold_us", "work_us"))
    if ratio is None or not hold_us or not work_us:
        return None
    low, high = ratio.interval or (ratio.value, ratio.value)
    return hold_us / work_us, ratio.value, low, high


def draw_ratios(results: Results, path: Path) -> list[str]:
    """@return names of the files written"""
    figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    drawn = 0
    for place, (kind, a_worker) in enumerate(sorted({(c.level.hold, c.a_worker) for c in results.cells})):
        cells = [cell for cell in results.cells if (cell.level.hold, cell.a_worker) == (kind, a_worker)]
        points = sorted(point for cell in cells if (point := _point(results, cell)))
        if not points:
            continue
        drawn += 1
        x, y, low, high = zip(*points)
        spans = [[v - a for v, a in zip(y, low)], [b - v for v, b in zip(y, high)]]
        look: Any = {"marker": "o" if kind == "sleep" else "s", "color": f"C{place}", "capsize": 3}
        label = f"{KINDS[kind]}, {a_worker * results.workers} clients"
        axis.errorbar(x, y, yerr=spans, linestyle="-" if kind == "sleep" else "--", label=label, **look)
        axis.axhline(a_worker, color=f"C{place}", linestyle=":", linewidth=0.8)
    if not drawn:
        plt.close(figure)
        return []
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    plain_numbers(axis.xaxis)
    plain_numbers(axis.yaxis)
    axis.set_xlabel("time that a writer holds a block / time to sum up a block, both measured")
    axis.set_ylabel("blocks per second, (c) fibers / (b) tasks that block")
    axis.set_title(f"{results.workers} workers; dotted: clients a worker, Little's bound", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return [save(figure, path, dpi=130)]
