# SPDX-License-Identifier: BSD-3-Clause
"""A case, and hosts side by side, as pictures: rows of a long table (panel, threads, variant, value, low,
high), a panel each of a grid."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, TypeVar

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.sweep.cells import CPU_TIME, Case
from nrbench.sweep.hosts import ALL, Hosts, threads_text

OURS = ("#d62728", "#f28e7f", "#8c1d18", "#d6277f", "#a65628", "#f4a3a0")  # reds
REDS = (2, 3, 6, 7)  # of the palette; they are ours
PALETTE: Any = plt.get_cmap("tab20")
OTHERS = [PALETTE(index) for index in range(20) if index not in REDS]
BOUND, PARALLEL, IDEAL = "bound", "parallel bound", "ideal: computing threads"
LINES: Any = {
    BOUND: {"color": "#1f3b73", "ls": "--", "lw": 1.2},
    PARALLEL: {"color": "#1f3b73", "ls": ":", "lw": 1.2, "marker": "_", "ms": 9},
    IDEAL: {"color": "#4d9221", "ls": "-.", "lw": 1.2},
}
MARKERS = "oDs^vPX<>*hp"
GREY = "#888888"
EVERY_RUN = "every run"
# Small, and the same file for the same runs; a $ in a name is a $.
SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "nrbench", "text.parse_math": False}
NO_INTERVAL = (math.nan, math.nan)
DPI, WRAP, PANELS_MAX, LABEL_MAX = 110, 3, 6, 40
CASE_NOTE = (
    "Medians with their 95 % intervals as bands; narrow ones do not show. Dotted vertical line: the number "
    "of cores. Speed-up: over inline runs, in which one thread runs all tasks. Ideal: one for each thread "
    "that can compute, the one that waits included, and no more than cores. Every run: as a share of the old "
    "pool's median at that number of threads."
)
HOSTS_NOTE = "Ratios with their 95 % intervals. Diamonds: the hosts of a class, pooled."
T = TypeVar("T")


def looks(case: Case) -> dict[str, tuple[Any, str]]:
    """Of each variant colour and marker: ours in reds, the old one black; no two differ by colour alone."""
    reds, rest = iter(OURS * len(case.ours)), iter(OTHERS * len(case.variants))
    colours = [next(reds) if v in case.ours else "#000000" if v == case.baseline else next(rest)
               for v in case.variants]  # fmt: skip
    return {v: (c, MARKERS[i % len(MARKERS)]) for i, (v, c) in enumerate(zip(case.variants, colours))}


def file_name(text: str) -> str:
    """Letters, digits, dot, hyphen and underscore only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:120] or "case"


def _rows(case: Case) -> Iterator[tuple[str, int, str, float, float, float]]:
    """Panel, threads, variant or line, value, ends of its interval."""
    for figure in (*case.figures, *(f for f in case.costs if f == CPU_TIME)):
        times = f"{figure.title}, {'s a run' if figure == CPU_TIME else 'µs'}"
        speed, work = f"{figure.title}, times as fast as inline", case.work.get(figure.key)
        for variant in case.variants:
            for threads, cell in case.line(variant, figure.key):
                low, high = cell.interval or NO_INTERVAL
                yield times, threads, variant, cell.median or 0.0, low, high
                if work and cell.median:
                    yield speed, threads, variant, work / cell.median, *NO_INTERVAL
                for name, bound in ((BOUND, cell.bound), (PARALLEL, cell.parallel_bound)):
                    if bound:
                        yield times, threads, name, bound, *NO_INTERVAL
        for threads in case.threads if work else ():
            yield speed, threads, IDEAL, float(min(threads + 1, case.cores(threads))), *NO_INTERVAL
    for threads in case.threads if case.main else ():
        values = {v: case.values(v, threads, str(case.main and case.main.key)) for v in case.variants}
        median = values.get(str(case.baseline), pd.concat(values.values())).median() or 1.0
        for variant, of in values.items():
            yield from ((EVERY_RUN, threads, variant, value / median, *NO_INTERVAL) for value in of)


def _draw_lines(axis: Any, case: Case, rows: pd.DataFrame) -> None:
    for variant, (colour, marker) in looks(case).items():
        of = rows[rows["variant"] == variant].sort_values("threads")
        look: Any = {"color": colour, "marker": marker, "ms": 4.5, "lw": 1.6, "zorder": 3}
        axis.plot(of["threads"], of["value"], label=variant, **look)
        axis.fill_between(of["threads"], of["low"], of["high"], color=colour, alpha=0.18, lw=0, zorder=1)
    for name, look in LINES.items():
        of = rows[rows["variant"] == name].drop_duplicates("threads").sort_values("threads")
        if len(of):
            axis.plot(of["threads"], of["value"], label=name, zorder=2, **look)
    axis.set_xscale("log", base=2)
    axis.set_xticks(case.threads, [str(threads) for threads in case.threads])
    axis.minorticks_off()
    if min(case.threads) < case.cores() < max(case.threads):
        axis.axvline(case.cores(), color=GREY, lw=1, ls=":", zorder=0)
    axis.set_ylim(bottom=0)


def _draw_runs(axis: Any, case: Case, rows: pd.DataFrame) -> None:
    palette = {variant: colour for variant, (colour, _) in looks(case).items()}
    sns.stripplot(
        rows, x="threads", y="value", hue="variant", hue_order=case.variants, palette=palette, dodge=True,
        jitter=False, alpha=0.6, size=4, legend=False, ax=axis,
    )  # fmt: skip
    axis.axhline(1, color=GREY, lw=0.8, zorder=0)


def case_figure(case: Case) -> Canvas | None:
    """None: no run gave a figure."""
    names = ["panel", "threads", "variant", "value", "low", "high"]
    rows = pd.DataFrame(_rows(case), columns=names)
    if case.main is None:
        return None
    apart: Any = {"sharey": False, "sharex": False}
    grid = sns.FacetGrid(rows, col="panel", col_wrap=WRAP, height=3.2, aspect=1.35, **apart)
    grid.set_titles("")
    for axis, (panel, of) in zip(grid.axes.flat, rows.groupby("panel", sort=False)):
        (_draw_runs if panel == EVERY_RUN else _draw_lines)(axis, case, of)
        title = f"{case.main.title}, {EVERY_RUN}, ÷ median of {case.baseline or 'the row'}"
        axis.set_title(title if panel == EVERY_RUN else panel, fontsize=10, loc="left")
        axis.set(xlabel="threads", ylabel="")
        plain_numbers(axis.yaxis)
        axis.grid(alpha=0.25)
    return finish(grid, f"{case.key.name}\n{case.host.label}")


def finish(grid: Any, title: str, names: Sequence[str] = ()) -> Canvas:
    """With one legend. @param names  of the first panel's lines, where they have none"""
    for line, name in zip(grid.axes.flat[0].get_lines(), names):
        line.set_label(name)
    figure: Canvas = grid.figure
    figure.suptitle(title, fontsize=11)
    legend(figure, 6, "lower center", fontsize=9)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _host_rows(hosts: Hosts, column: str) -> Iterator[tuple[str, str, str, float, float, float, bool]]:
    """Panel, line, variant, ratio, ends of its interval, whether it is pooled; a class behind its hosts."""
    for threads, variant in hosts.rows:
        for name in hosts.names_of_rows:
            ratios = [
                (f"{name}  {case.host.label}"[:LABEL_MAX], cell.ratio, False)
                for case in hosts.classes.get(name, ())
                if (cell := case.get(threads, variant, column))
            ]
            found = hosts.pooled(name, (threads, variant), column)
            if found and (name == ALL or len(ratios) > 1):
                ratios.append(("all classes" if name == ALL else f"{name}  pooled", found.ratio, True))
            for label, ratio, is_pooled in ratios:
                if ratio:
                    low, high = ratio.interval or (ratio.value, ratio.value)
                    yield threads_text(threads), label, variant, ratio.value, low, high, is_pooled


def hosts_figure(hosts: Hosts) -> Canvas | None:
    """None: there is nothing to compare."""
    rows = pd.DataFrame(
        _host_rows(hosts, hosts.main.key) if hosts.main and hosts.baseline else (),
        columns=["panel", "line", "variant", "value", "low", "high", "pooled"],
    )
    if not len(rows):
        return None
    panels, labels = list(rows["panel"].unique())[-PANELS_MAX:], list(rows["line"].unique())
    rows = rows[rows["panel"].isin(panels)]
    look = {v: one for case in reversed(hosts.cases) for v, one in looks(case).items()}
    grid = sns.FacetGrid(rows, col="panel", height=max(2.5, 0.28 * len(labels) + 1.6), aspect=0.9)
    grid.set_titles("")
    for axis, (panel, of) in zip(grid.axes.flat, rows.groupby("panel", sort=False)):
        for place, (variant, those) in enumerate(of.groupby("variant", sort=False)):
            colour, marker = look[str(variant)]
            for one in those.itertuples():
                spread = [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]
                look_of: Any = {"fmt": "D", "ms": 7} if one.pooled else {"fmt": marker, "ms": 4}
                y = labels.index(one.line) + 0.2 * place - 0.1
                axis.errorbar(one.value, y, xerr=spread, color=colour, lw=1.2, label=variant, **look_of)
        axis.axvline(1, color=GREY, lw=1, ls=":")
        axis.set_yticks(range(len(labels)), labels, fontsize=8)
        axis.set_ylim(len(labels) - 0.5, -0.5)
        axis.set_title(panel, fontsize=10, loc="left")
        axis.set(xlabel=f"÷ {hosts.baseline}", ylabel="")
        plain_numbers(axis.xaxis)
        axis.grid(axis="x", alpha=0.25)
    return finish(grid, f"{hosts.name}: {hosts.main.title if hosts.main else ''}, hosts side by side")


def save_both(canvas: Canvas, png: Path) -> Path:
    """As PNG, and beside it as SVG."""
    canvas.savefig(png, dpi=DPI)
    canvas.set_layout_engine("none")  # it is laid out
    canvas.savefig(png.with_suffix(".svg"), metadata={"Date": None})
    plt.close(canvas)
    return png


def draw_each(
    things: Sequence[T], draw: Callable[[T], Canvas | None], name_of: Callable[[T], str], out: Path
) -> dict[int, Path]:
    """PNG and SVG of every thing that has a picture. @return the PNG, by the thing's place in the list; the
    SVG lies beside it"""
    paths: dict[int, Path] = {}
    for index, thing in enumerate(things):
        with plt.rc_context(SVG):
            canvas, name = draw(thing), file_name(name_of(thing))
            if canvas is None:
                continue
            if name.lower() in {path.stem.lower() for path in paths.values()}:
                name = f"{name}-{index}"
            paths[index] = save_both(canvas, out / f"{name}.png")
    return paths


def draw_cases(cases: Sequence[Case], out: Path) -> dict[int, Path]:
    """As draw_each()."""
    return draw_each(
        cases,
        case_figure,
        lambda c: f"{c.host.label} {c.key.scenario} {c.key.case}{c.key.configuration}",
        out,
    )


def draw_hosts(several: Sequence[Hosts], out: Path) -> dict[int, Path]:
    return draw_each(several, hosts_figure, lambda hosts: f"hosts {hosts.name}", out)
