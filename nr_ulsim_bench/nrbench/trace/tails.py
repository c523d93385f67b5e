# SPDX-License-Identifier: BSD-3-Clause
"""Distributions as a picture: how many of all are longer than a time."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter

from nrbench.drawing import legend, plain_numbers, plt, save
from nrbench.trace.figures import Figures

PANELS = {"durations": "duration of a phase", "lags": "start lag of a task", "wakes": "wake latency"}
# Told apart by those who see few colours, too (Okabe and Ito).
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#5B4E9E")


def draw_tails(kinds: Sequence[Figures], path: Path) -> bool:
    """Of the first kinds with more than one phase. @return whether there is any"""
    curves = list(zip([kind for kind in kinds if len(kind.durations) > 1], COLORS))
    if not curves:
        return False
    figure, axes = plt.subplots(1, len(PANELS), figsize=(14, 4.2), layout="constrained")
    for axis, (panel, title) in zip(axes, PANELS.items()):
        axis.set(xscale="log", yscale="log", xlabel="µs")
        axis.set_title(title, fontsize=10, loc="left")
        for kind, color in curves:
            if len(times := getattr(kind, panel)):
                us = np.maximum(times, 1) / 1e3
                axis.ecdf(us, complementary=True, color=color, label=kind.name.replace("_", " "))
        plain_numbers(axis.xaxis)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share that is longer")
    legend(figure, min(len(curves), 4), fontsize=8)
    save(figure, path, dpi=130)
    return True
