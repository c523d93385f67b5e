# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a report: capacities with their intervals, and how often how little of the budget was left."""

from __future__ import annotations

from itertools import accumulate, product
from pathlib import Path
from typing import Any, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import plain_numbers, plt
from nrbench.radio.capacity import capacity, lived_up_to
from nrbench.radio.plan import NO_SPIN, Cell, counted, trials
from nrbench.radio.record import SIDES, RadioRun
from nrbench.radio.tables import by_cell, edges_us, has_capacity, limits, name_of, places
from nrbench.sweep.plots import GREY, OURS, SVG, finish, save_both

BLUES = ("#2171b5", "#9ecae1")  # one side new
NEARLY_ALL = 0.999  # of the slots: what lies above is not drawn
PANELS_MAX = 4  # timescales that are drawn: the highest


def colour(cell: Cell) -> Any:
    """OAI's pool black, this pool on both sides in reds, on one side in blues."""
    if cell.spin == NO_SPIN:
        return "#000000"
    shades = OURS if cell.gnb == cell.ue else BLUES
    return shades[0 if cell.spin == "auto" else 1 if cell.spin == "off" else len(cell.spin) % len(shades)]


def capacity_bars(runs: Sequence[RadioRun]) -> Canvas:
    cells, of_all = by_cell(runs), limits(runs)
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
        end = max(found.value, found.high or 0), row
        axis.annotate(str(found), end, (6, 0), textcoords="offset points", va="center", fontsize=9)
    axis.set_yticks(range(len(cells)), [name_of(cell, cells) for cell in cells])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.35 * axis.dataLim.x1)
    axis.set_xlabel("capacity: timescale at which half of the runs live (1 is real time)")
    axis.spines[["top", "right"]].set_visible(False)
    return canvas


def budgets(runs: Sequence[RadioRun]) -> Canvas | None:
    """Share of the slots with at most so much time left. The last bin has no end and is not drawn. None: no
    radio gave a histogram."""
    every = [place for place in places(runs) if any(place.bins("gnb"))]
    timescales = sorted({place.timescale for place in every})[-PANELS_MAX:]
    cells = list(dict.fromkeys(place.cell for place in every))
    rows = []
    for place, side in product([one for one in every if one.timescale in timescales], SIDES):
        counts = place.bins(side)
        shares = [below / max(1, sum(counts)) for below in accumulate(counts[:-1])]
        shown = [*(share for share in shares if 0 < share <= NEARLY_ALL), NEARLY_ALL]
        edges = [edge for edge, share in zip(edges_us(place.timescale), shares) if share > 0]
        where = f"{SIDES[side]}, timescale {place.timescale:g}", name_of(place.cell, cells)
        rows += [(*where, edge, share) for edge, share in zip(edges, shown)]
    if not rows:
        return None
    table = pd.DataFrame(
        rows, columns=["panel", "variant", "time left, µs of wall time", "share of the slots"]
    )
    names = [name_of(cell, cells) for cell in cells]
    grid = sns.relplot(
        table, x="time left, µs of wall time", y="share of the slots", hue="variant", style="variant",
        col="panel", col_wrap=len(SIDES), kind="line", palette=[colour(cell) for cell in cells],
        hue_order=names, height=3.2, aspect=1.4,
        facet_kws={"sharex": False}, legend=False,
    )  # fmt: skip
    grid.set(yscale="log").set_titles("")
    for panel, axis in grid.axes_dict.items():
        axis.set_title(panel, fontsize=10, loc="left")
        plain_numbers(axis.yaxis)
        axis.grid(alpha=0.25)
    return finish(grid, "Time left", names)


def draw_all(runs: Sequence[RadioRun], out: Path, stem: str = "") -> dict[str, Path]:
    """PNG and SVG.

    @param stem  of the files' names, in front of what they show. @return the PNGs by what they show"""
    runs, paths = counted(runs), {}
    with plt.rc_context(SVG):
        if has_capacity(runs):
            paths["capacity"] = save_both(capacity_bars(runs), out / f"{stem}capacity.png")
        canvas = budgets(runs)
        if canvas is not None:
            paths["budget"] = save_both(canvas, out / f"{stem}budget.png")
    return paths
