# SPDX-License-Identifier: BSD-3-Clause
"""A case as a picture: times, speed-up, cost and the single runs, by number of threads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, Sequence

import matplotlib
import numpy as np

matplotlib.use("Agg")  # there may be no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure as Canvas  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

from nrbench.sweep.cells import CaseResult, Cell  # noqa: E402
from nrbench.sweep.figures import DECODING, RX, SYMBOLS, Figure  # noqa: E402
from nrbench.sweep.frame import CPU, Group  # noqa: E402
from nrbench.sweep.table import main_figure  # noqa: E402

OURS = {"auto": "#d62728", "off": "#f28e7f"}
OURS_OTHER = ("#8c1d18", "#d6277f", "#a65628", "#f4a3a0")  # fixed leads and the like
OLD = "#000000"
PALETTE = plt.get_cmap("tab20").colors  # type: ignore[attr-defined]
REDS = (2, 3, 6, 7)  # of the palette; they are ours
DASHES: tuple[Any, ...] = ("-", (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (8, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "oDs^vPX<>*hp"
BOUND = "#1f3b73"
SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "nrbench"}  # small, and the same file for the same runs
DPI = 110


class Style(NamedTuple):
    color: Any
    dashes: Any
    marker: str


def styles(group: Group) -> dict[str, Style]:
    """Ours in reds, the old one black, each other its own colour; no two differ by colour alone."""
    others = [color for index, color in enumerate(PALETTE) if index not in REDS]
    found: dict[str, Style] = {}
    ours = other = 0
    for index, variant in enumerate(group.variants):
        if variant == group.baseline:
            color: Any = OLD
        elif variant in group.ours:
            spin = variant.rpartition(" ")[2]
            color = OURS.get(spin, OURS_OTHER[ours % len(OURS_OTHER)])
            ours += spin not in OURS
        else:
            color, other = others[other % len(others)], other + 1
        found[variant] = Style(color, DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])
    return found


def file_name(text: str) -> str:
    """Letters, digits, dot, hyphen and underscore only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:120] or "case"


def _threads_axis(axis: Axes, group: Group) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(group.threads, [str(threads) for threads in group.threads])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.minorticks_off()
    if len(group.threads) == 1:
        axis.set_xlim(group.threads[0] / 2, group.threads[0] * 2)
    low, high = axis.get_xlim()
    if low < group.cores() < high:
        axis.axvline(group.cores(), color="#888888", lw=1, ls=":", label="number of cores", zorder=0)
    axis.set_xlabel("threads")


def _from_zero(axis: Axes) -> None:
    axis.set_ylim(0, 1.06 * max(axis.dataLim.y1, 1e-9))


def _finish(axis: Axes, title: str, unit: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_ylabel(unit)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.grid(alpha=0.25)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _line(axis: Axes, points: Sequence[tuple[int, float]], style: Style, label: str) -> None:
    x = [threads for threads, _ in points]
    y = [value for _, value in points]
    axis.plot(
        x, y, color=style.color, ls=style.dashes, marker=style.marker, ms=4.5, lw=1.6, label=label, zorder=3
    )


def _band(axis: Axes, cells: Sequence[tuple[int, Cell]], style: Style) -> None:
    known = [(threads, cell.interval) for threads, cell in cells if cell.interval is not None]
    if known:
        x = [threads for threads, _ in known]
        low, high = ([getattr(interval, end) for _, interval in known] for end in ("low", "high"))
        axis.fill_between(x, low, high, color=style.color, alpha=0.18, lw=0, zorder=1)


def draw_times(axis: Axes, result: CaseResult, figure: Figure, unit: str = "µs") -> None:
    """Medians with their intervals, from zero; the bound below them."""
    group = result.group
    for variant, style in styles(group).items():
        cells = list(result.line(variant, figure.key))
        _line(axis, [(threads, cell.median or 0.0) for threads, cell in cells], style, variant)
        _band(axis, cells, style)
    bounds = [(t, bound) for t in group.threads if (bound := group.bounds(t).get(figure.key)) is not None]
    if bounds and figure.key != CPU:
        axis.plot(*zip(*bounds), color=BOUND, ls="--", lw=1.2, label="bound", zorder=2)
    _threads_axis(axis, group)
    _from_zero(axis)
    _finish(axis, figure.title, unit)


def inline_us(group: Group, figure: str) -> float | None:
    if group.work is None:
        return None
    work = {SYMBOLS: group.work.symbols_us, DECODING: group.work.decoding_us, RX: group.work.rx_us}
    return work.get(figure)


def draw_speed_up(axis: Axes, result: CaseResult, figure: Figure) -> None:
    """Over the same work without a pool. The ideal: all threads and the one that waits, on a core each."""
    group = result.group
    inline = inline_us(group, figure.key)
    if inline is None:
        return
    for variant, style in styles(group).items():
        points = [(threads, inline / cell.median) for threads, cell in result.line(variant, figure.key)
                  if cell.median]  # fmt: skip
        _line(axis, points, style, variant)
    ideal = [min(threads + 1, group.cores(threads)) for threads in group.threads]
    axis.plot(group.threads, ideal, color="#4d9221", ls="-.", lw=1.2, label="ideal: computing threads")
    bounds = [(t, inline / bound) for t in group.threads if (bound := group.bounds(t).get(figure.key))]
    if bounds:
        axis.plot(*zip(*bounds), color=BOUND, ls="--", lw=1.2, label="bound", zorder=2)
    _threads_axis(axis, group)
    _from_zero(axis)
    _finish(axis, f"{figure.title}, speed-up over inline", "times as fast")


def _box(axis: Axes, values: Any, x: float, width: float, color: Any) -> None:
    look = {"color": color, "lw": 1}
    axis.boxplot(
        [values], positions=[x], widths=[width], manage_ticks=False, showfliers=False, boxprops=look,
        whiskerprops=look, capprops=look, medianprops=look,
    )  # fmt: skip


def draw_runs(axis: Axes, result: CaseResult, figure: Figure) -> None:
    """Each run as a point on its box, as a share of the old pool's median in that row (without an old pool:
    of the row's own), so that all numbers of threads fit one scale."""
    group = result.group
    look = styles(group)
    width = 0.84 / max(1, len(look))
    size = 4 if len(look) < 6 else 2.6
    baseline = group.baseline
    for place, threads in enumerate(group.threads):
        runs = {variant: group.values(variant, threads, figure.key).to_numpy() for variant in look}
        together = [value for values in runs.values() for value in values]
        old = list(runs[baseline]) if baseline is not None else []
        if not together:
            continue
        unit = float(np.median(old or together))
        if place % 2:
            axis.axvspan(place - 0.5, place + 0.5, color="#888888", alpha=0.08, lw=0, zorder=0)
        for index, (variant, values) in enumerate(runs.items()):
            if len(values) == 0 or unit <= 0:
                continue
            x = place - 0.42 + (index + 0.5) * width
            color = look[variant].color
            if len(values) >= 4:
                _box(axis, values / unit, x, 0.8 * width, color)
            spots = [x + width * 0.22 * ((2 * i + 1) / len(values) - 1) for i in range(len(values))]
            axis.plot(spots, values / unit, look[variant].marker, color=color, ms=size, alpha=0.6, mew=0)
    axis.axhline(1, color="#888888", lw=0.8, zorder=0)
    axis.set_xticks(range(len(group.threads)), [str(threads) for threads in group.threads])
    axis.set_xlim(-0.6, len(group.threads) - 0.4)
    axis.set_xlabel("threads")
    of = f"median of {baseline}" if baseline is not None else "median of the row"
    _finish(axis, f"{figure.title}, every run", f"÷ {of}")


def _legend(canvas: Canvas) -> None:
    handles: dict[str, Any] = {}
    for axis in canvas.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    canvas.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncol=min(len(handles), 6), fontsize=9,
        frameon=False, handlelength=3,
    )  # fmt: skip


def case_figure(result: CaseResult) -> Canvas | None:
    """None: no run gave a figure."""
    main = main_figure(result)
    if main is None:
        return None
    with plt.rc_context({"text.parse_math": False}):  # a $ in a name is a $
        return _draw_case(result, main)


def _draw_case(result: CaseResult, main: Figure) -> Canvas:
    columns = max(2, len(result.figures))
    speed = inline_us(result.group, main.key) is not None
    rows = 3 if speed else 2
    canvas = plt.figure(figsize=(4.3 * columns, 3.2 * rows + 0.7), layout="constrained")
    grid = canvas.add_gridspec(rows, columns)
    for index, figure in enumerate(result.figures):
        draw_times(canvas.add_subplot(grid[0, index]), result, figure)
        if inline_us(result.group, figure.key) is not None and speed:
            draw_speed_up(canvas.add_subplot(grid[1, index]), result, figure)
    cost = [figure for figure in result.costs if figure.key == CPU]
    runs_wide = columns - 1 if cost else columns
    draw_runs(canvas.add_subplot(grid[-1, :runs_wide]), result, main)
    if cost:
        draw_times(canvas.add_subplot(grid[-1, -1]), result, cost[0], "s a run")
    _legend(canvas)
    canvas.suptitle(f"{result.group.key.name}\n{result.group.host.label}", fontsize=11)
    return canvas


def draw_all(results: Sequence[CaseResult], out: Path) -> dict[int, Path]:
    """PNG and SVG of every case. @return the PNG, by the case's place in the list; the SVG lies beside it"""
    paths: dict[int, Path] = {}
    taken: set[str] = set()
    for index, result in enumerate(results):
        canvas = case_figure(result)
        if canvas is None:
            continue
        key = result.group.key
        name = file_name(f"{result.group.host.label} {key.scenario} {key.case}{key.configuration}")
        if name.lower() in taken:
            name = f"{name}-{index}"
        taken.add(name.lower())
        paths[index] = out / f"{name}.png"
        canvas.savefig(paths[index], dpi=DPI)
        with plt.rc_context(SVG):
            canvas.savefig(paths[index].with_suffix(".svg"), metadata={"Date": None})
        plt.close(canvas)
    return paths
