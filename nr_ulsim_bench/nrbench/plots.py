# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import matplotlib

matplotlib.use("Agg")  # there may be no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

from nrbench.backends import ALONE, BACKENDS, OWN  # noqa: E402
from nrbench.plan import CLASSES, FIB_CASES, IDLE_CASE, IDLE_US, START_S  # noqa: E402
from nrbench.stats import Key, Summaries, select  # noqa: E402
from nrbench.table import CLASS_TEXT, cases_of, pool_order, pool_rows  # noqa: E402
from nrbench.verdict import CPU_PER_WORK_MAX  # noqa: E402

RATIO_MAX = 4.0
_PALETTE = matplotlib.color_sequences["tab20"]
_RIVALS = [backend.name for backend in BACKENDS if backend.name not in (OWN, ALONE)]


def color_of(backend: str) -> Any:
    """The own pool red, no pool black, each rival its own colour in all plots."""
    if backend == OWN:
        return "#d62728"
    if backend == ALONE:
        return "black"
    palette = [color for color in _PALETTE if color not in (_PALETTE[6], _PALETTE[7])]
    return palette[_RIVALS.index(backend) % len(palette)]


def face_of(key: Key) -> Any:
    """Hollow = hot."""
    return "none" if key.mode == "hot" else color_of(key.backend)


def marker_of(key: Key) -> str:
    return "*" if key.backend == OWN else "x" if key.backend == ALONE else "^" if key.mode == "hot" else "o"


def _fair_rows(summaries: Summaries, cores: int, helps: dict[str, bool]) -> list[Key]:
    """One row for each pool and mode: as many computing threads as cores, or the nearest measured."""
    best: dict[tuple[str, str], Key] = {}
    for key in pool_rows(summaries):
        fair = cores - 1 if helps.get(key.backend) else cores
        have = best.get((key.backend, key.mode))
        if have is None or abs(key.workers - fair) < abs(have.workers - fair):
            best[(key.backend, key.mode)] = key
    return list(best.values())


def _ratio_axis(axis: Axes, top: float = RATIO_MAX) -> None:
    axis.set_yscale("log")
    axis.set_ylim(0.97, top)
    axis.yaxis.set_major_locator(matplotlib.ticker.FixedLocator([1, 1.1, 1.25, 1.5, 2, 3, 4, 6, 10]))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def _save(figure: Any, out: Path, name: str) -> str:
    figure.savefig(out / name, dpi=130, bbox_inches="tight")
    plt.close(figure)
    return name


def _legend(figure: Any, handles: dict[str, Any], columns: int) -> None:
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncol=columns,
        fontsize=8,
        frameon=False,
    )


def _grouped_points(
    axis: Axes,
    rows: list[Key],
    cases: list[str],
    value: Callable[[Key], tuple[float, float] | None],
    handles: dict[str, Any],
) -> None:
    """For each case a group of pools, side by side: a mark at the first value, a line up to the second."""
    for row_index, row in enumerate(rows):
        offset = (row_index + 0.5) / len(rows) * 0.86 - 0.43
        for case_index, case in enumerate(cases):
            pair = value(row._replace(case=case))
            if pair is None:
                continue
            x = case_index + offset
            low, high = (min(v, RATIO_MAX) for v in pair)
            axis.plot([x, x], [low, high], color=color_of(row.backend), linewidth=1.6, alpha=0.6)
            size = 9 if row.backend == OWN else 5
            (handle,) = axis.plot(
                x,
                low,
                marker_of(row),
                color=color_of(row.backend),
                markersize=size,
                markerfacecolor=face_of(row),
            )
            if pair[0] > RATIO_MAX:
                axis.annotate(
                    f"{pair[0]:.0f}",
                    (x, RATIO_MAX),
                    fontsize=6,
                    ha="center",
                    va="top",
                    textcoords="offset points",
                    xytext=(0, -6),
                )
            handles.setdefault(row.pool(), handle)
    _group_axis(axis, cases)


def _group_axis(axis: Axes, cases: list[str]) -> None:
    for boundary in range(len(cases) - 1):
        axis.axvline(boundary + 0.5, color="grey", linewidth=0.5, alpha=0.5)
    axis.set_xticks(range(len(cases)), cases)
    axis.set_xlim(-0.5, len(cases) - 0.5)


# Fields, words for the title, name of the file.
STEADY = ("ratio", "steady state", "slot_ratio.png")
START = ("start_ratio", f"the first {START_S * 1000:.0f} ms of a pool's life", "slot_start.png")


def draw_slots(
    summaries: Summaries, cores: int, helps: dict[str, bool], out: Path, part: tuple[str, str, str]
) -> str | None:
    prefix, words, name = part
    chosen = select(summaries, bench="slot", hog=False)
    chosen = {key: s for key, s in chosen.items() if s.get(f"{prefix}_p50") is not None}
    classes = [c for c in CLASSES if any(key.sched_class == c for key in chosen)]
    if not classes:
        return None
    figure, axes = plt.subplots(
        len(classes), 1, figsize=(13, 3.6 * len(classes)), squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for axis, sched_class in zip(axes[:, 0], classes):
        of_class = select(chosen, sched_class=sched_class)

        def value(key: Key, of_class: Summaries = of_class) -> tuple[float, float] | None:
            summary = of_class.get(key)
            return (summary[f"{prefix}_p50"], summary[f"{prefix}_p99"]) if summary else None

        _grouped_points(axis, _fair_rows(of_class, cores, helps), cases_of(chosen), value, handles)
        _ratio_axis(axis)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(CLASS_TEXT[sched_class], fontsize=10)
        axis.set_ylabel("makespan / bound")
    figure.suptitle(
        f"Slots, {words}: median makespan (mark) and p99 (end of line), {cores} computing threads, "
        f"cut at {RATIO_MAX:g}",
        fontsize=11,
    )
    _legend(figure, handles, 6)
    return _save(figure, out, name)


def _cost_points(axis: Axes, of_case: Summaries, handles: dict[str, Any]) -> None:
    for key, summary in sorted(of_case.items(), key=lambda item: pool_order(item[0])):
        if key.backend == OWN and key.workers > 2:
            continue
        (handle,) = axis.plot(
            summary.cpu_per_work,
            min(summary["ratio_p50"], RATIO_MAX),
            marker_of(key),
            color=color_of(key.backend),
            markerfacecolor=face_of(key),
            markersize=11 if key.backend == OWN else 6,
            alpha=0.85,
        )
        handles.setdefault(f"{key.backend}{' hot' if key.mode == 'hot' else ''}", handle)
    axis.axvline(CPU_PER_WORK_MAX, color="grey", linewidth=0.8, linestyle=":")
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _ratio_axis(axis)


def draw_cost(summaries: Summaries, out: Path) -> str | None:
    """Latency against CPU time: the corner at the lower left is where a pool wants to be."""
    chosen = select(summaries, bench="slot", hog=False)
    cases = cases_of(chosen)
    classes = [c for c in CLASSES if any(key.sched_class == c for key in chosen)]
    if not classes:
        return None
    figure, axes = plt.subplots(
        len(classes),
        len(cases),
        figsize=(2.6 * len(cases), 3.0 * len(classes)),
        squeeze=False,
        sharex="col",
        sharey=True,
        layout="constrained",
    )
    handles: dict[str, Any] = {}
    for row, sched_class in zip(axes, classes):
        for axis, case in zip(row, cases):
            _cost_points(axis, select(chosen, sched_class=sched_class, case=case), handles)
            if axis in axes[0]:
                axis.set_title(case, fontsize=10)
            if axis in axes[-1]:
                axis.set_xlabel("CPU time / work")
        row[0].set_ylabel(f"{sched_class}: makespan p50 / bound")
    figure.suptitle(
        "Latency against CPU time in the steady state, all worker counts up to 2; dotted: 2.5 x the work",
        fontsize=11,
    )
    _legend(figure, handles, 8)
    return _save(figure, out, "slot_cost.png")


def draw_coliseum(summaries: Summaries, cores: int, helps: dict[str, bool], out: Path) -> str | None:
    chosen = select(summaries, bench="coliseum", sched_class="other")
    if not chosen:
        return None
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6), width_ratios=[3, 1.6], layout="constrained")
    handles: dict[str, Any] = {}
    rows = _fair_rows(chosen, cores, helps)

    def value(key: Key) -> tuple[float, float] | None:
        summary = chosen.get(key)
        if summary is None:
            return None
        ratio = summary["wall_s"] / summary["ideal_s"]
        return ratio, ratio

    _grouped_points(left, rows, [*FIB_CASES, "nested"], value, handles)
    _ratio_axis(left)
    left.axhline(1, color="black", linewidth=0.8)
    left.set_ylabel("wall time / (work / cores)")
    left.set_title(f"all threads in the normal class, {cores} computing threads", fontsize=10)
    empty = sorted(
        ((chosen[row._replace(case="empty")], row) for row in rows if row._replace(case="empty") in chosen),
        key=lambda item: item[0]["ns_per_task"],
        reverse=True,
    )
    for index, (summary, row) in enumerate(empty):
        right.barh(
            index, summary["ns_per_task"], color=color_of(row.backend), alpha=0.5 if row.mode == "hot" else 1
        )
        inline = 100 * summary["inline_tasks"] / summary["tasks"]
        note = f" {summary['ns_per_task']:.0f}" + (
            f" ({inline:.0f} % inside the push)" if inline >= 1 else ""
        )
        right.text(summary["ns_per_task"], index, note, va="center", fontsize=7)
    right.set_yticks(range(len(empty)), [row.pool() for _, row in empty], fontsize=8)
    right.set_xlabel("ns an empty task")
    right.margins(x=0.35)
    _legend(figure, handles, 8)
    return _save(figure, out, "coliseum.png")


def draw_wake(summaries: Summaries, out: Path) -> str | None:
    chosen = {key: s for key, s in select(summaries, bench="wake").items() if key.case != IDLE_CASE}
    classes = [c for c in CLASSES if any(key.sched_class == c for key in chosen)]
    if not classes:
        return None
    figure, axes = plt.subplots(
        1, len(classes), figsize=(4.8 * len(classes), 4.4), squeeze=False, sharey=True, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for axis, sched_class in zip(axes[0], classes):
        of_class = select(chosen, sched_class=sched_class)
        for row in pool_rows(of_class):
            points = [
                (us, of_class[row._replace(case=f"idle{us}us")])
                for us in IDLE_US
                if row._replace(case=f"idle{us}us") in of_class
            ]
            (handle,) = axis.plot(
                [us / 1000 for us, _ in points],
                [s["p50_us"] for _, s in points],
                marker_of(row),
                linestyle="--" if row.mode == "hot" else "-",
                color=color_of(row.backend),
                linewidth=2.2 if row.backend == OWN else 1.1,
                markersize=8 if row.backend == OWN else 4,
            )
            handles.setdefault(f"{row.backend}{' hot' if row.mode == 'hot' else ''}", handle)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks([us / 1000 for us in IDLE_US], [f"{us / 1000:g}" for us in IDLE_US])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.grid(alpha=0.3, which="both")
        axis.set_title(CLASS_TEXT[sched_class], fontsize=10)
        axis.set_xlabel("idle before, ms")
    axes[0][0].set_ylabel("push to start of the task, p50, us")
    _legend(figure, handles, 8)
    return _save(figure, out, "wake.png")


def draw_all(host: dict[str, Any], summaries: Summaries, out: Path) -> list[str]:
    """@return names of the files written"""
    cores = host["cores"]
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    names = [
        draw_slots(summaries, cores, helps, out, STEADY),
        draw_slots(summaries, cores, helps, out, START),
        draw_cost(summaries, out),
        draw_coliseum(summaries, cores, helps, out),
        draw_wake(summaries, out),
    ]
    return [name for name in names if name]
