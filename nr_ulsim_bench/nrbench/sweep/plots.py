# SPDX-License-Identifier: BSD-3-Clause
"""A case as lines over numbers of threads; hosts as squares with colours."""

import re
from typing import Any, Iterator

import pandas as pd

from nrbench.drawing import Figure, legend, plain_numbers, plt, sns
from nrbench.sweep.cells import BOUNDS, Cells
from nrbench.sweep.figures import CPU, TITLES
from nrbench.sweep.tables import compared
from nrbench.table import Frame

OURS = ("#d62728", "#f28e7f", "#8c1d18", "#d6277f", "#a65628", "#f4a3a0")  # reds
GREY = "#888888"
CASE_NOTE = "Lines: medians. Bands: from the least to the greatest run. Dotted vertical line: cores."


def file_name(text: str) -> str:
    """Letters, digits, dot, hyphen and underscore only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:120] or "case"


def _points(cells: Cells, of: Frame) -> Iterator[Frame]:
    """A row a run, and a row a bound."""
    for figure in compared(of):
        panel = f"{TITLES[figure]}, {'s a run' if figure == CPU else 'µs'}"
        rows = of[of["figure"] == figure]
        runs = cells.long(figure, rows["row"]).merge(rows[["row", "variant", "threads"]], on="row")
        yield runs.assign(panel=panel)
        for name in BOUNDS:
            there = rows.loc[rows[name].notna(), ["threads", name]].drop_duplicates()
            yield there.rename(columns={name: "value"}).assign(variant=name.replace("_", " "), panel=panel)


def _palette(of: Frame) -> dict[str, Any]:
    """Ours in reds, the old one black, bounds grey."""
    others = iter(sns.color_palette("tab10", of["variant"].nunique()))
    ours = list(of.loc[of["ours"], "variant"].unique())
    known = dict(zip(ours, OURS * len(ours))) | {of["baseline"].iloc[0]: "black"}
    found = {variant: known.get(variant) or next(others) for variant in of["variant"].unique()}
    return found | {"bound": GREY, "parallel bound": "#bbbbbb"}


def case_figure(cells: Cells, of: Frame) -> Any:
    rows = pd.concat(_points(cells, of), ignore_index=True)
    palette = {name: colour for name, colour in _palette(of).items() if (rows["variant"] == name).any()}
    grid = sns.relplot(
        rows, x="threads", y="value", hue="variant", style="variant", hue_order=palette, style_order=palette,
        palette=palette, markers=True, dashes=False, estimator="median", errorbar=("pi", 100), kind="line",
        col="panel", col_wrap=2, height=3.2, aspect=1.5, facet_kws={"sharey": False}, legend=False,
    )  # fmt: skip
    grid.set_titles("").set_axis_labels("threads", "")
    grid.set(xscale="log", xticks=sorted(of["threads"].unique()), ylim=(0, None))
    for panel, axis in grid.axes_dict.items():
        axis.set_title(panel, fontsize=10, loc="left")
        axis.axvline(of["cores"].max(), color=GREY, lw=1, ls=":")
        axis.grid(alpha=0.25)
        plain_numbers(axis.xaxis)
        plain_numbers(axis.yaxis)
    for line, name in zip(grid.axes.flat[0].get_lines(), palette):
        line.set_label(name)
    first, figure = of.iloc[0], grid.figure
    figure.suptitle(f"{first['scenario']} / {first['case']}\n{first['host_label']}", fontsize=11)
    legend(figure, 6)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def squares(grid: Frame, title: str) -> Figure:
    """A row a host, a colour a ratio. White: no run."""
    canvas, axis = plt.subplots(figsize=(5.5, 0.25 * len(grid) + 1.5), layout="tight")
    sns.heatmap(grid, center=1, cmap="coolwarm", ax=axis)
    axis.set(xlabel="", ylabel="")
    axis.set_title(title, fontsize=11)
    return canvas
