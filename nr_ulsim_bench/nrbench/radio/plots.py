# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a report: capacities with their intervals, and how often how little of the budget was left."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.radio import figures
from nrbench.radio.capacity import capacity, lived_up_to
from nrbench.radio.figures import SIDES, Place
from nrbench.radio.plan import NO_SPIN, Cell, counted, trials
from nrbench.radio.record import RadioRun
from nrbench.radio.tables import has_capacity, limits, name_of
from nrbench.sweep.plots import DASHES, DPI, GREY, OLD, OURS, OURS_OTHER, SVG

MIXED = {"off": "#9ecae1", "auto": "#2171b5"}  # one side new
NEARLY_ALL = 0.999  # of the slots: what lies above is not drawn
PANELS_MAX = 4  # timescales that are drawn: the highest


def colour(cell: Cell) -> Any:
    """OAI's pool black, this pool on both sides in reds, on one side in blues."""
    if cell.spin == NO_SPIN:
        return OLD
    shades = OURS if cell.gnb == cell.ue else MIXED
    return shades.get(cell.spin, OURS_OTHER[len(cell.spin) % len(OURS_OTHER)])


def capacity_bars(runs: Sequence[RadioRun]) -> Canvas:
    cells, of_all = figures.by_cell(runs), limits(runs)
    canvas = plt.figure(figsize=(8.5, 0.8 + 0.55 * len(cells)), layout="constrained")
    axis = canvas.add_subplot()
    for row, (cell, of_cell) in enumerate(cells.items()):
        tried = trials(of_cell)
        found, safe = capacity(tried, of_all), lived_up_to(tried)
        axis.barh(row, found.value, color=colour(cell), alpha=0.75, height=0.6)
        ends = [0 if end is None else abs(end - found.value) for end in (found.low, found.high)]
        axis.errorbar(found.value, row, xerr=[[ends[0]], [ends[1]]], color=GREY, capsize=4, lw=1.6)
        if safe is not None:
            axis.plot(safe, row, "|", color="white", ms=14, mew=2)
        axis.annotate(f"  {found}", (max(found.value, found.high or 0), row), va="center", fontsize=9)
    axis.set_yticks(range(len(cells)), [name_of(cell, cells) for cell in cells])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.35 * axis.dataLim.x1)
    axis.set_xlabel("capacity: timescale at which half of the runs live (1 is real time)")
    axis.spines[["top", "right"]].set_visible(False)
    return canvas


def _draw_budgets(axis: Axes, places: Sequence[Place], side: str, cells: Sequence[Cell]) -> None:
    """Share of the slots with at most so much time left. The last bin has no end and is not drawn."""
    right = 0.0
    for place in places:
        counts = figures.bins(place.runs, side)
        if not any(counts):
            continue
        shares = [below / sum(counts) for below in accumulate(counts[:-1])]
        edges = figures.edges_us(place.timescale)
        end = next((edge for edge, share in zip(edges, shares) if share > NEARLY_ALL), edges[-1])
        right = max(right, end)
        dashes = DASHES[cells.index(place.cell) % len(DASHES)]
        axis.plot(
            edges, [share or np.nan for share in shares],
            color=colour(place.cell), ls=dashes, lw=1.6, label=name_of(place.cell, cells),
        )  # fmt: skip
    axis.set_yscale("log")
    plain_numbers(axis.yaxis)
    axis.set_title(f"{SIDES[side]}, timescale {places[0].timescale:g}", fontsize=10, loc="left")
    axis.set_xlabel("time left, µs of wall time")
    axis.set_ylabel("share of the slots")
    axis.set_xlim(0, right * 1.05 or 1)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def budgets(runs: Sequence[RadioRun]) -> Canvas | None:
    """None: no radio gave a histogram."""
    every = [place for place in figures.places(runs) if any(figures.bins(place.runs, "gnb"))]
    timescales = sorted({place.timescale for place in every})[-PANELS_MAX:]
    if not timescales:
        return None
    cells = list(dict.fromkeys(place.cell for place in every))
    canvas = plt.figure(figsize=(9, 3.2 * len(timescales) + 0.8), layout="constrained")
    grid = canvas.add_gridspec(len(timescales), len(SIDES))
    for row, timescale in enumerate(timescales):
        of_row = [place for place in every if place.timescale == timescale]
        for column, side in enumerate(SIDES):
            _draw_budgets(canvas.add_subplot(grid[row, column]), of_row, side, cells)
    legend(canvas, 2, fontsize=9, handlelength=3)
    return canvas


def draw_all(runs: Sequence[RadioRun], out: Path, stem: str = "") -> dict[str, Path]:
    """PNG and SVG.

    @param stem  of the files' names, in front of what they show. @return the PNGs by what they show"""
    runs, paths = counted(runs), {}
    with plt.rc_context({"text.parse_math": False, **SVG}):
        drawn = {
            "capacity": capacity_bars(runs) if has_capacity(runs) else None,
            "budget": budgets(runs),
        }
        for name, canvas in drawn.items():
            if canvas is None:
                continue
            paths[name] = out / f"{stem}{name}.png"
            canvas.savefig(paths[name], dpi=DPI)
            canvas.savefig(paths[name].with_suffix(".svg"), metadata={"Date": None})
            plt.close(canvas)
    return paths
