# SPDX-License-Identifier: BSD-3-Clause
"""Distributions as a picture: how many of all are longer than a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import FuncFormatter

from nrbench.drawing import plain_numbers, save
from nrbench.trace.figures import Figures

# Told apart by those who see few colours, too (Okabe and Ito).
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#5B4E9E")


def draw_tails(kinds: Sequence[Figures], path: Path) -> bool:
    """Of the first kinds with more than one phase. @return whether there is any"""
    several = [kind for kind in kinds if kind.summary["count"] > 1][: len(COLORS)]
    if not several:
        return False
    times = pd.concat(
        pd.DataFrame({"µs": np.maximum(ns, 1) / 1e3, "of": of, "kind": name.replace("_", " ")})
        for name, found in ((kind.summary["name"], kind.times) for kind in several)
        for of, ns in found.items()
    )
    look: Any = {"complementary": True, "log_scale": (True, True), "height": 4.2}
    with sns.color_palette(COLORS):
        grid = sns.displot(times, x="µs", hue="kind", col="of", kind="ecdf", **look)
    grid.set_titles("{col_name}").set_ylabels("share that is longer")
    for axis in grid.axes.flat:
        plain_numbers(axis.xaxis)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axis.grid(alpha=0.3)
    save(grid.figure, path, dpi=130)
    return True
