# SPDX-License-Identifier: BSD-3-Clause
"""A plot is data: points in a long table, and which of their figures are axes, colours and panels."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence


@dataclass(frozen=True)
class Plot:
    name: str  # of its file
    title: str
    points: Sequence[Mapping[str, Any]]
    kind: str  # of seaborn: line or scatter
    axes: tuple[str, str]  # names of figures
    more: Mapping[str, Any] = field(default_factory=dict)  # for seaborn: hue, style, row, col and others
    log: str = ""  # axes with a logarithmic scale

    @property
    def file(self) -> str:
        return f"{self.name}.png"


def draw(plot: Plot, out: Path) -> str:
    """@return the picture for a page"""
    import pandas as pd  # these load for a second

    from nrbench.drawing import LogLocator, plain_numbers, save, sns

    x, y = plot.axes
    given: dict[str, Any] = {"x": x, "y": y, "kind": plot.kind, "height": 3.2} | dict(plot.more)
    grid = sns.relplot(pd.DataFrame(list(plot.points)), **given)
    for axis in grid.axes.flat:
        axis.grid(alpha=0.3)
        for name, scale in (("x", axis.set_xscale), ("y", axis.set_yscale)):
            if name in plot.log:
                scale("log")
                of_axis = axis.xaxis if name == "x" else axis.yaxis
                of_axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                plain_numbers(of_axis)
    grid.figure.suptitle(plot.title, fontsize=10)
    grid.tight_layout()
    return save(grid.figure, out / plot.file)
