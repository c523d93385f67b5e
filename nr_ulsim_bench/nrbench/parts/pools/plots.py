# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from nrbench.backends import ALONE, BACKENDS, CLASSES, FACADES, OWN
from nrbench.drawing import legend, plain_numbers, plt, save
from nrbench.parts.pools.table import CLASS_TEXT, START, cases_of, pool_order, pool_rows
from nrbench.parts.pools.verdict import CPU_PER_WORK_MAX
from nrbench.stats import Key, Summaries, select

RATIO_MAX = 4.0
DPI = 130
_PALETTE = [c for i, c in enumerate(matplotlib.color_sequences["tab20"]) if i not in (6, 7)]  # without reds
_RIVALS = [backend.name for backend in BACKENDS if backend.name not in (OWN, ALONE, *FACADES)]


def color_of(backend: str) -> Any:
    """The own pool red, its other interfaces pale, no pool black, each rival its own colour in all plots."""
    if backend in FACADES:
        return "#ff9896"
    if backend in (OWN, ALONE):
        return "#d62728" if backend == OWN else "black"
    return _PALETTE[_RIVALS.index(backend) % len(_PALETTE)]


def _look(key: Key, size: float, own_size: float) -> dict[str, Any]:
    """Hollow = hot."""
    hot, own = key.mode == "hot", key.backend == OWN
    color = color_of(key.backend)
    return {
        "color": color,
        "marker": "*" if own else "x" if key.backend == ALONE else "^" if hot else "o",
        "markerfacecolor": "none" if hot else color,
        "markersize": own_size if own else size,
    }


def _name(key: Key) -> str:
    """Whatever its number of workers."""
    return f"{key.backend}{' hot' if key.mode == 'hot' else ''}"


def _fair_rows(summaries: Summaries, cores: int, helps: dict[str, bool]) -> list[Key]:
    """One row for each pool and mode: as many computing threads as cores, or the nearest measured."""
    best: dict[str, Key] = {}
    for key in pool_rows(summaries):
        fair = cores - 1 if helps.get(key.backend) else cores
        have = best.setdefault(_name(key), key)
        if abs(key.workers - fair) < abs(have.workers - fair):
            best[_name(key)] = key
    return list(best.values())


def _by_class(summaries: Summaries) -> dict[str, Summaries]:
    found = {sched_class: select(summaries, sched_class=sched_class) for sched_class in CLASSES}
    return {sched_class: of_class for sched_class, of_class in found.items() if of_class}


def _ratio_axis(axis: Axes) -> None:
    axis.set_yscale("log")
    axis.set_ylim(0.97, RATIO_MAX)
    axis.yaxis.set_major_locator(FixedLocator([1, 1.1, 1.25, 1.5, 2, 3, 4]))
    plain_numbers(axis.yaxis)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    axis.axhline(1, color="black", linewidth=0.8)


def _point(axis: Axes, row: Key, x: float, low: float, high: float) -> None:
    """A mark at the first value, a line up to the second; cut where they are too large."""
    ends = [min(low, RATIO_MAX), min(high, RATIO_MAX)]
    axis.plot([x, x], ends, color=color_of(row.backend), linewidth=1.6, alpha=0.6)
    axis.plot(x, ends[0], linestyle="none", label=row.pool(), **_look(row, 5, 9))
    if low > RATIO_MAX:
        place: Any = {"textcoords": "offset points", "xytext": (0, -6), "ha": "center", "va": "top"}
        axis.annotate(f"{low:.0f}", (x, RATIO_MAX), fontsize=6, **place)


def _slot_points(axis: Axes, of_class: Summaries, rows: list[Key], cases: list[str], prefix: str) -> None:
    """For each case a group of pools, side by side."""
    for case_index, case in enumerate(cases):
        for row_index, row in enumerate(rows):
            summary = of_class.get(row._replace(case=case))
            if summary:
                x = case_index + (row_index + 0.5) / len(rows) * 0.86 - 0.43
                _point(axis, row, x, summary[f"{prefix}_p50"], summary[f"{prefix}_p99"])
        axis.axvline(case_index + 0.5, color="grey", linewidth=0.5, alpha=0.5)
    axis.set_xticks(range(len(cases)), cases)
    axis.set_xlim(-0.5, len(cases) - 0.5)
    axis.set_ylabel("makespan / bound")
    _ratio_axis(axis)


def draw_slots(
    summaries: Summaries, cores: int, helps: dict[str, bool], out: Path, prefix: str
) -> Iterator[str]:
    """@param prefix  of the fields: ratio in the steady state, start_ratio at a pool's start"""
    chosen = select(summaries, bench="slot", hog=False)
    chosen = {key: s for key, s in chosen.items() if f"{prefix}_p50" in s.medians}
    classes = _by_class(chosen)
    if not classes:
        return
    figure, axes = plt.subplots(
        len(classes), 1, figsize=(13, 3.6 * len(classes)), squeeze=False, layout="constrained"
    )
    for axis, (sched_class, of_class) in zip(axes[:, 0], classes.items()):
        rows = _fair_rows(of_class, cores, helps)
        _slot_points(axis, of_class, rows, cases_of(chosen), prefix)
        axis.set_title(CLASS_TEXT[sched_class], fontsize=10)
    figure.suptitle(
        f"Slots, {'steady state' if prefix == 'ratio' else START}: median makespan (mark) and p99 (end of "
        f"line), {cores} computing threads, cut at {RATIO_MAX:g}",
        fontsize=11,
    )
    legend(figure, 6, fontsize=8)
    yield save(figure, out / ("slot_ratio.png" if prefix == "ratio" else "slot_start.png"), DPI)


def _cost_points(axis: Axes, of_case: Summaries) -> None:
    for key, summary in sorted(of_case.items(), key=lambda item: pool_order(item[0])):
        if key.backend != OWN or key.workers <= 2:
            ratio = min(summary["ratio_p50"], RATIO_MAX)
            look = _look(key, 6, 11)
            axis.plot(summary.cpu_per_work, ratio, linestyle="none", label=_name(key), alpha=0.85, **look)
    axis.axvline(CPU_PER_WORK_MAX, color="grey", linewidth=0.8, linestyle=":")
    axis.set_xscale("log", base=2)
    plain_numbers(axis.xaxis)
    _ratio_axis(axis)


def draw_cost(summaries: Summaries, out: Path) -> Iterator[str]:
    """Latency against CPU time: the corner at the lower left is where a pool wants to be."""
    chosen = select(summaries, bench="slot", hog=False)
    cases, classes = cases_of(chosen), _by_class(chosen)
    if not classes:
        return
    size, shape = (2.6 * len(cases), 3.0 * len(classes)), (len(classes), len(cases))
    look: Any = {"sharex": "col", "sharey": True, "squeeze": False, "layout": "constrained"}
    figure, axes = plt.subplots(*shape, figsize=size, **look)
    for row, (sched_class, of_class) in zip(axes, classes.items()):
        for axis, case in zip(row, cases):
            _cost_points(axis, select(of_class, case=case))
        row[0].set_ylabel(f"{sched_class}: makespan p50 / bound")
    for axis, case in zip(axes[0], cases):
        axis.set_title(case, fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("CPU time / work")
    figure.suptitle(
        "Latency against CPU time in the steady state, all worker counts up to 2; dotted: 2.5 x the work",
        fontsize=11,
    )
    legend(figure, 8, fontsize=8)
    yield save(figure, out / "slot_cost.png", DPI)


def draw_all(host: dict[str, Any], summaries: Summaries, out: Path) -> list[str]:
    """@return names of the files written"""
    cores = host["cores"]
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    return [
        *draw_slots(summaries, cores, helps, out, "ratio"),
        *draw_slots(summaries, cores, helps, out, "start_ratio"),
        *draw_cost(summaries, out),
    ]
