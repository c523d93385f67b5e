# SPDX-License-Identifier: BSD-3-Clause
"""A plot is data: points in a long table, and which of their figures are axes, colours and panels."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from nrbench.backends import ALONE, FACADES, OWN


@dataclass(frozen=True)
class Plot:
    name: str  # of its file
    title: str
    points: Sequence[Mapping[str, Any]]
    kind: str  # of seaborn: line or scatter, ecdf, or one of categories
    axes: tuple[str, str]  # names of figures; the second is empty where seaborn counts
    more: Mapping[str, Any] = field(default_factory=dict)  # for seaborn: hue, style, row, col and others
    log: str = ""  # axes with a logarithmic scale
    lines: tuple[float, ...] = ()  # across all panels

    @property
    def file(self) -> str:
        return f"{self.name}.png"


def colors_of(pools: Sequence[str]) -> dict[str, Any]:
    """The own pool red, its modes and other interfaces pale, no pool black, rivals in other colours."""
    from nrbench.drawing import sns

    fixed: dict[str, Any] = {OWN: "#d62728", ALONE: "black", "no pool": "black"}
    others = [pool for pool in pools if pool not in fixed]
    pale = dict.fromkeys((pool for pool in others if pool.split()[0] in (OWN, *FACADES)), "#ff9896")
    rivals = [pool for pool in others if pool not in pale]
    return fixed | pale | dict(zip(rivals, sns.color_palette("husl", len(rivals))))


def draw(plot: Plot, out: Path) -> str:
    """@return the picture for a page"""
    import pandas as pd  # these load for a second

    from nrbench.drawing import LogLocator, plain_numbers, save, sns

    x, y = plot.axes
    of_kind: dict[str, Any] = {"line": sns.relplot, "scatter": sns.relplot, "ecdf": sns.displot}
    function = of_kind.get(plot.kind, sns.catplot)
    given = {"x": x, **({"y": y} if y else {}), "kind": plot.kind, "height": 3.2} | dict(plot.more)
    grid = function(data=pd.DataFrame(list(plot.points)), **given)
    for axis in grid.axes.flat:
        axis.grid(alpha=0.3)
        for name, scale in (("x", axis.set_xscale), ("y", axis.set_yscale)):
            if name in plot.log:
                scale("log")
                of_axis = axis.xaxis if name == "x" else axis.yaxis
                of_axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                plain_numbers(of_axis)
        for value in plot.lines:
            axis.axhline(value, color="0.4", linewidth=0.8, linestyle="--")
    grid.figure.suptitle(plot.title, fontsize=10)
    grid.tight_layout()
    return save(grid.figure, out / plot.file)
