# SPDX-License-Identifier: BSD-3-Clause
"""A case as a picture: times, speed-up, cost and the single runs, by number of threads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.sweep.cells import CPU_TIME, CaseResult
from nrbench.sweep.figures import Figure
from nrbench.sweep.frame import Group

OURS = {"auto": "#d62728", "off": "#f28e7f"}
OURS_OTHER = ("#8c1d18", "#d6277f", "#a65628", "#f4a3a0")  # fixed leads and the like
OLD = "#000000"
REDS = (2, 3, 6, 7)  # of the palette; they are ours
PALETTE: Any = plt.get_cmap("tab20")
OTHERS = [PALETTE(index) for index in range(20) if index not in REDS]
DASHES: tuple[Any, ...] = ("-", (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (8, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "oDs^vPX<>*hp"
BOUND: Any = {"color": "#1f3b73", "ls": "--", "lw": 1.2, "label": "bound", "zorder": 2}
PARALLEL_BOUND: Any = BOUND | {"ls": ":", "marker": "_", "ms": 9, "label": "parallel bound"}
GREY = "#888888"
SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "nrbench"}  # small, and the same file for the same runs
DPI = 110
T = TypeVar("T")


class Style(NamedTuple):
    color: Any
    dashes: Any
    marker: str


def styles(group: Group) -> dict[str, Style]:
    """Ours in reds, the old one black, each other its own colour; no two differ by colour alone."""
    found: dict[str, Style] = {}
    ours = other = 0
    for index, variant in enumerate(group.variants):
        color: Any = OLD
        if variant in group.ours:
            spin = variant.rpartition(" ")[2]
            color = OURS.get(spin, OURS_OTHER[ours % len(OURS_OTHER)])
            ours += spin not in OURS
        elif variant != group.baseline:
            color, other = OTHERS[other % len(OTHERS)], other + 1
        found[variant] = Style(color, DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])
    return found


def file_name(text: str) -> str:
    """Letters, digits, dot, hyphen and underscore only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:120] or "case"


def _finish(axis: Axes, title: str, unit: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_ylabel(unit)
    axis.set_xlabel("threads")
    plain_numbers(axis.yaxis)
    axis.grid(alpha=0.25)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _over_threads(axis: Axes, group: Group, title: str, unit: str) -> None:
    """Curves by number of threads, from zero."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(group.threads, [str(threads) for threads in group.threads])
    axis.minorticks_off()
    if len(group.threads) == 1:
        axis.set_xlim(group.threads[0] / 2, group.threads[0] * 2)
    low, high = axis.get_xlim()
    if low < group.cores() < high:
        axis.axvline(group.cores(), color=GREY, lw=1, ls=":", label="number of cores", zorder=0)
    axis.set_ylim(0, 1.06 * max(axis.dataLim.y1, 1e-9))
    _finish(axis, title, unit)


def _curve(axis: Axes, x: Sequence[int], y: Sequence[float], style: Style, label: str) -> None:
    look = {"color": style.color, "ls": style.dashes, "marker": style.marker}
    axis.plot(x, y, ms=4.5, lw=1.6, label=label, zorder=3, **look)


def draw_times(axis: Axes, result: CaseResult, figure: Figure, unit: str = "µs") -> None:
    """Medians with their intervals; the bound below them."""
    group = result.group
    for variant, style in styles(group).items():
        cells = result.line(variant, figure.key)
        _curve(axis, [t for t, _ in cells], [cell.median or 0.0 for _, cell in cells], style, variant)
        band = [(t, *cell.interval) for t, cell in cells if cell.interval is not None]
        if band:
            x, low, high = zip(*band)
            axis.fill_between(x, low, high, color=style.color, alpha=0.18, lw=0, zorder=1)
    bounds = [(t, bound) for t in group.threads if (bound := group.bounds(t).get(figure.key)) is not None]
    if bounds:
        axis.plot(*zip(*bounds), **BOUND)
    parallel = {t: group.parallel_bounds(t).get(figure.key) for t in group.threads}
    there = [(t, bound) for t, bound in parallel.items() if bound is not None]
    if there:
        axis.plot(*zip(*there), **PARALLEL_BOUND)
    _over_threads(axis, group, figure.title, unit)


def draw_speed_up(axis: Axes, result: CaseResult, figure: Figure) -> None:
    """Over the same work without a pool. The ideal: all threads and the one that waits, on a core each."""
    group = result.group
    inline = group.work[figure.key]
    for variant, style in styles(group).items():
        cells = [(t, cell.median) for t, cell in result.line(variant, figure.key) if cell.median]
        _curve(axis, [t for t, _ in cells], [inline / median for _, median in cells], style, variant)
    ideal = [min(threads + 1, group.cores(threads)) for threads in group.threads]
    axis.plot(group.threads, ideal, color="#4d9221", ls="-.", lw=1.2, label="ideal: computing threads")
    bounds = [(t, inline / bound) for t in group.threads if (bound := group.bounds(t).get(figure.key))]
    if bounds:
        axis.plot(*zip(*bounds), **BOUND)
    _over_threads(axis, group, f"{figure.title}, speed-up over inline", "times as fast")


def _draw_row(axis: Axes, place: int, runs: dict[str, Any], unit: float, look: dict[str, Style]) -> None:
    """The runs of a number of threads: a box and points for each variant, side by side."""
    width = 0.84 / len(look)
    if place % 2:
        axis.axvspan(place - 0.5, place + 0.5, color=GREY, alpha=0.08, lw=0, zorder=0)
    for index, (variant, values) in enumerate(runs.items()):
        x, style = place - 0.42 + (index + 0.5) * width, look[variant]
        if len(values) >= 4:
            line = {"color": style.color, "lw": 1}
            lines: Any = {f"{part}props": line for part in ("box", "whisker", "cap", "median")}
            axis.boxplot([values / unit], positions=[x], widths=[0.8 * width], manage_ticks=False,
                         showfliers=False, **lines)  # fmt: skip
        spots = [x + width * 0.22 * ((2 * i + 1) / len(values) - 1) for i in range(len(values))]
        size = 4 if len(look) < 6 else 2.6
        axis.plot(spots, values / unit, style.marker, color=style.color, ms=size, alpha=0.6, mew=0)


def draw_runs(axis: Axes, result: CaseResult, figure: Figure) -> None:
    """Each run as a point on its box, as a share of the old pool's median in that row (without an old pool:
    of the row's own), so that all numbers of threads fit one scale."""
    group = result.group
    look = styles(group)
    for place, threads in enumerate(group.threads):
        values = {variant: group.values(variant, threads, figure.key).to_numpy() for variant in look}
        runs = {variant: of_variant for variant, of_variant in values.items() if len(of_variant)}
        if runs:
            every = np.concatenate(list(runs.values()))
            unit = float(np.median(runs.get(str(group.baseline), every)))
            _draw_row(axis, place, runs, unit or 1.0, look)
    axis.axhline(1, color=GREY, lw=0.8, zorder=0)
    axis.set_xticks(range(len(group.threads)), [str(threads) for threads in group.threads])
    axis.set_xlim(-0.6, len(group.threads) - 0.4)
    _finish(axis, f"{figure.title}, every run", f"÷ median of {group.baseline or 'the row'}")


def case_figure(result: CaseResult) -> Canvas | None:
    """None: no run gave a figure."""
    main, work = result.main, result.group.work
    if main is None:
        return None
    columns, rows = max(2, len(result.figures)), 3 if main.key in work else 2
    canvas = plt.figure(figsize=(4.3 * columns, 3.2 * rows + 0.7), layout="constrained")
    grid = canvas.add_gridspec(rows, columns)
    for index, figure in enumerate(result.figures):
        draw_times(canvas.add_subplot(grid[0, index]), result, figure)
        if rows == 3 and figure.key in work:
            draw_speed_up(canvas.add_subplot(grid[1, index]), result, figure)
    has_cost = CPU_TIME in result.costs
    draw_runs(canvas.add_subplot(grid[-1, : columns - has_cost]), result, main)
    if has_cost:
        draw_times(canvas.add_subplot(grid[-1, -1]), result, CPU_TIME, "s a run")
    legend(canvas, 6, fontsize=9, handlelength=3)
    canvas.suptitle(f"{result.group.key.name}\n{result.group.host.label}", fontsize=11)
    return canvas


def _case_name(result: CaseResult) -> str:
    key = result.group.key
    return f"{result.group.host.label} {key.scenario} {key.case}{key.configuration}"


def draw_each(
    things: Sequence[T], draw: Callable[[T], Canvas | None], name_of: Callable[[T], str], out: Path
) -> dict[int, Path]:
    """PNG and SVG of every thing that has a picture. @return the PNG, by the thing's place in the list; the
    SVG lies beside it"""
    paths: dict[int, Path] = {}
    with plt.rc_context({"text.parse_math": False, **SVG}):  # a $ in a name is a $
        for index, thing in enumerate(things):
            canvas, name = draw(thing), file_name(name_of(thing))
            if canvas is None:
                continue
            if name.lower() in {path.stem.lower() for path in paths.values()}:
                name = f"{name}-{index}"
            paths[index] = out / f"{name}.png"
            canvas.savefig(paths[index], dpi=DPI)
            canvas.savefig(paths[index].with_suffix(".svg"), metadata={"Date": None})
            plt.close(canvas)
    return paths


def draw_all(results: Sequence[CaseResult], out: Path) -> dict[int, Path]:
    """Of every case; as draw_each()."""
    return draw_each(results, case_figure, _case_name, out)
