# SPDX-License-Identifier: BSD-3-Clause
"""What all plots share. Import matplotlib by this module: there may be no display."""

from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

__all__ = ["legend", "plain_numbers", "plt"]


def plain_numbers(axis: Any) -> None:
    """Of an XAxis or YAxis: no powers of ten, and no numbers at minor ticks."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, columns: int) -> None:
    """One for all panels, below them, each label once."""
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    place: Any = {"loc": "lower center", "ncol": columns, "frameon": False, "fontsize": 9}
    figure.legend(handles.values(), handles.keys(), **place)
