# SPDX-License-Identifier: BSD-3-Clause
"""The tail of the times of slots: p99.9, and the share that takes at least so long (CCDF), with a picture."""

from pathlib import Path
from typing import Any, Sequence

import numpy as np

POINTS = 40  # of a curve, in each power of ten of its share
NOTE = "The share of slots that take at least so long. Dotted: the limit above which a slot is late."


def tail_of(times_ns: Any) -> dict[str, Any]:
    us = np.sort(np.maximum(times_ns, 0)) / 1e3
    count = len(us)
    if not count:
        return {"p999_us": None, "ccdf": []}
    points = round(POINTS * (1 + np.log10(count)))
    ranks = np.unique(np.geomspace(1, count, points).round().astype(int))[::-1]  # so many take as long
    p999_us = float(np.quantile(us, 0.999, method="inverted_cdf"))
    return {"p999_us": p999_us, "ccdf": [[float(us[count - rank]), rank / count] for rank in ranks]}


def picture(rows: Sequence[dict[str, Any]], folder: Path) -> str:
    """@return for the page"""
    from nrbench.drawing import legend, plain_numbers, plt, save  # loads for a second

    figure, axis = plt.subplots(figsize=(7, 4))
    for row in (row for row in rows if row["ccdf"]):
        (line,) = axis.step(*zip(*row["ccdf"]), where="pre", label=row["name"])
        axis.axvline(row["limit_us"], color=line.get_color(), linewidth=0.8, linestyle=":")
    axis.set(xscale="log", yscale="log", xlabel="µs", ylabel="share")
    axis.grid(alpha=0.3)
    for of in (axis.xaxis, axis.yaxis):
        plain_numbers(of)
    legend(figure, 3)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return save(figure, folder / "slots.png")
