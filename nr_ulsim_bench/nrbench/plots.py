# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Iterator

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from nrbench.backends import ALONE, BACKENDS, OWN
from nrbench.drawing import legend, plain_numbers, plt, save
from nrbench.plan import CLASSES, FIB_CASES, IDLE_CASE, IDLE_US
from nrbench.stats import Key, Summaries, select
from nrbench.table import CLASS_TEXT, START, cases_of, pool_order, pool_rows
from nrbench.verdict import CPU_PER_WORK_MAX

RATIO_MAX = 4.0
DPI = 130
_PALETTE = [c for i, c in enumerate(matplotlib.color_sequences["tab20"]) if i not in (6, 7)]  # without reds
_RIVALS = [backend.name for backend in BACKENDS if backend.name not in (OWN, ALONE)]


def color_of(backend: str) -> Any:
    """The own pool red, no pool black, each rival its own colour in all plots."""
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


def _grouped_points(
    axis: Axes, rows: list[Key], cases: list[str], value: Callable[[Key], tuple[float, float] | None]
) -> None:
    """For each case a group of pools, side by side."""
    for row_index, row in enumerate(rows):
        offset = (row_index + 0.5) / len(rows) * 0.86 - 0.43
        for case_index, case in enumerate(cases):
            pair = value(row._replace(case=case))
            if pair:
                _point(axis, row, case_index + offset, *pair)
    for boundary in range(len(cases) - 1):
        axis.axvline(boundary + 0.5, color="grey", linewidth=0.5, alpha=0.5)
    axis.set_xticks(range(len(cases)), cases)
    axis.set_xlim(-0.5, len(cases) - 0.5)
    _ratio_axis(axis)


def _panels(rows: int, columns: int, width: float, height: float, **more: Any) -> tuple[Any, Any]:
    size = (width * columns, height * rows)
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **more)


def draw_slots(
    summaries: Summaries, cores: int, helps: dict[str, bool], out: Path, prefix: str
) -> Iterator[str]:
    """@param prefix  of the fields: ratio in the steady state, start_ratio at a pool's start"""
    chosen = select(summaries, bench="slot", hog=False)
    chosen = {key: s for key, s in chosen.items() if f"{prefix}_p50" in s.medians}
    classes = _by_class(chosen)
    if not classes:
        return
    figure, axes = _panels(len(classes), 1, 13, 3.6)
    for axis, (sched_class, of_class) in zip(axes[:, 0], classes.items()):

        def value(key: Key, of_class: Summaries = of_class) -> tuple[float, float] | None:
            summary = of_class.get(key)
            return (summary[f"{prefix}_p50"], summary[f"{prefix}_p99"]) if summary else None

        _grouped_points(axis, _fair_rows(of_class, cores, helps), cases_of(chosen), value)
        axis.set_title(CLASS_TEXT[sched_class], fontsize=10)
        axis.set_ylabel("makespan / bound")
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
    figure, axes = _panels(len(classes), len(cases), 2.6, 3.0, sharex="col", sharey=True)
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


def _empty_bars(axis: Axes, rows: list[Key], chosen: Summaries) -> None:
    """Nanoseconds an empty task, the slowest pool at the bottom."""
    empty = [(row, chosen[key]) for row in rows if (key := row._replace(case="empty")) in chosen]
    empty.sort(key=lambda item: item[1]["ns_per_task"], reverse=True)
    for index, (row, summary) in enumerate(empty):
        ns, inline = summary["ns_per_task"], 100 * summary["inline_tasks"] / summary["tasks"]
        axis.barh(index, ns, color=color_of(row.backend), alpha=0.5 if row.mode == "hot" else 1)
        note = f" ({inline:.0f} % inside the push)" if inline >= 1 else ""
        axis.text(ns, index, f" {ns:.0f}{note}", va="center", fontsize=7)
    axis.set_yticks(range(len(empty)), [row.pool() for row, _ in empty], fontsize=8)
    axis.set_xlabel("ns an empty task")
    axis.margins(x=0.35)


def draw_coliseum(summaries: Summaries, cores: int, helps: dict[str, bool], out: Path) -> Iterator[str]:
    chosen = select(summaries, bench="coliseum", sched_class="other")
    if not chosen:
        return

    def value(key: Key) -> tuple[float, float] | None:
        summary = chosen.get(key)
        ratio = summary["wall_s"] / summary["ideal_s"] if summary else 0.0
        return (ratio, ratio) if summary else None

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6), width_ratios=[3, 1.6], layout="constrained")
    rows = _fair_rows(chosen, cores, helps)
    _grouped_points(left, rows, [*FIB_CASES, "nested"], value)
    left.set_ylabel("wall time / (work / cores)")
    left.set_title(f"all threads in the normal class, {cores} computing threads", fontsize=10)
    _empty_bars(right, rows, chosen)
    legend(figure, 8, fontsize=8)
    yield save(figure, out / "coliseum.png", DPI)


def _wake_lines(axis: Axes, of_class: Summaries) -> None:
    for row in pool_rows(of_class):
        keys = {us: row._replace(case=f"idle{us}us") for us in IDLE_US}
        points = [(us / 1000, of_class[key]["p50_us"]) for us, key in keys.items() if key in of_class]
        width = 2.2 if row.backend == OWN else 1.1
        dashes = "--" if row.mode == "hot" else "-"
        look = _look(row, 4, 8) | {"markerfacecolor": color_of(row.backend)}
        axis.plot(*zip(*points), linestyle=dashes, linewidth=width, label=_name(row), **look)


def draw_wake(summaries: Summaries, out: Path) -> Iterator[str]:
    wakes = {key: s for key, s in select(summaries, bench="wake").items() if key.case != IDLE_CASE}
    classes = _by_class(wakes)
    if not classes:
        return
    figure, axes = _panels(1, len(classes), 4.8, 4.4, sharey=True)
    for axis, (sched_class, of_class) in zip(axes[0], classes.items()):
        _wake_lines(axis, of_class)
        axis.set_xscale("log")
        axis.set_yscale("log")
        plain_numbers(axis.yaxis)
        plain_numbers(axis.xaxis)
        axis.set_xticks([us / 1000 for us in IDLE_US], [f"{us / 1000:g}" for us in IDLE_US])
        axis.grid(alpha=0.3, which="both")
        axis.set_title(CLASS_TEXT[sched_class], fontsize=10)
        axis.set_xlabel("idle before, ms")
    axes[0][0].set_ylabel("push to start of the task, p50, us")
    legend(figure, 8, fontsize=8)
    yield save(figure, out / "wake.png", DPI)


def draw_all(host: dict[str, Any], summaries: Summaries, out: Path) -> list[str]:
    """@return names of the files written"""
    cores = host["cores"]
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    return [
        *draw_slots(summaries, cores, helps, out, "ratio"),
        *draw_slots(summaries, cores, helps, out, "start_ratio"),
        *draw_cost(summaries, out),
        *draw_coliseum(summaries, cores, helps, out),
        *draw_wake(summaries, out),
    ]
