# SPDX-License-Identifier: BSD-3-Clause
"""What all plots share. Import matplotlib and seaborn by this module: there may be no display, and the
user's settings do not count."""

import base64
import os
from pathlib import Path
from typing import Any

os.environ |= {"MPLBACKEND": "Agg", "MATPLOTLIBRC": os.devnull}
import matplotlib  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
import seaborn as sns  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

matplotlib.rcdefaults()  # a file matplotlibrc in the current folder is read all the same
__all__ = ["Figure", "LogLocator", "plain_numbers", "plt", "save", "sns"]


def plain_numbers(axis: Any) -> None:
    """Of an XAxis or YAxis: no powers of ten, and no numbers at minor ticks."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, png: Path) -> str:
    """@return the picture for a page"""
    figure.savefig(png, dpi=110)
    plt.close(figure)
    return f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"
