# SPDX-License-Identifier: BSD-3-Clause
"""Maps as pictures: BLER and time over SNR and MCS as colours, and as curves with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.judge import Interval
from nrbench.sweep.maps import Figures, Map
from nrbench.sweep.plots import draw_each

CURVES_MAX = 8  # MCSs with a curve
Value = Callable[[Figures], tuple[float, Interval | None] | None]


def _rate(figures: Figures) -> tuple[float, Interval | None] | None:
    return figures.error_rate, figures.interval


def _draw_colours(axis: Axes, one: Map, layers: int, value: Value, title: str, colours: str) -> None:
    """A square a point; white: no run."""
    snrs, rows = one.axis(2), one.axis(1)
    grid = np.full((len(rows), len(snrs)), np.nan)
    for (of, mcs, snr), figures in one.points.items():
        found = value(figures)
        if of == layers and found is not None:
            grid[rows.index(mcs), snrs.index(snr)] = found[0]
    image = axis.imshow(grid, origin="lower", aspect="auto", cmap=colours)
    axis.figure.colorbar(image, ax=axis)
    axis.set_xticks(range(len(snrs)), [f"{snr:g}" for snr in snrs], fontsize=8)
    axis.set_yticks(range(len(rows)), [f"{mcs:g}" for mcs in rows], fontsize=8)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel("SNR, dB")
    axis.set_ylabel(f"MCS, {layers} layer{'s' if layers != 1 else ''}")


def _draw_curves(axis: Axes, one: Map, layers: int, value: Value, title: str) -> None:
    chosen = one.axis(1)
    chosen = chosen[:: -(-len(chosen) // CURVES_MAX)]
    colours: Any = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(chosen)))
    for mcs, colour in zip(chosen, colours):
        points = [
            (snr, value(figures)) for (of, m, snr), figures in one.points.items() if (of, m) == (layers, mcs)
        ]
        there = sorted((snr, *found) for snr, found in points if found is not None)
        if not there:
            continue
        snrs = [snr for snr, _, _ in there]
        axis.plot(
            snrs, [figure for _, figure, _ in there], "o-", ms=3, lw=1.2, color=colour, label=f"MCS {mcs:g}"
        )
        bands = [(snr, *interval) for snr, _, interval in there if interval is not None]
        if bands:
            x, low, high = zip(*bands)
            axis.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel("SNR, dB")
    axis.set_ylim(bottom=0)
    plain_numbers(axis.yaxis)
    axis.grid(alpha=0.25)


def map_figure(one: Map) -> Canvas:
    def time(figures: Figures) -> tuple[float, Interval | None] | None:
        return figures.times.get(one.ours)

    rows = [int(layers) for layers in one.axis(0)]
    canvas = plt.figure(figsize=(17, 3.3 * len(rows) + 1), layout="constrained")
    for axes, layers in zip(canvas.subplots(len(rows), 4, squeeze=False), rows):
        _draw_colours(axes[0], one, layers, _rate, "BLER", "magma_r")
        _draw_curves(axes[1], one, layers, _rate, "BLER, 95 % intervals")
        what = f"whole RX, µs, {one.ours}"
        _draw_colours(axes[2], one, layers, time, what, "viridis")
        _draw_curves(axes[3], one, layers, time, f"{what}, 95 % intervals")
    legend(canvas, 8, fontsize=9)
    canvas.suptitle(f"{one.name}, class {one.of}, {one.threads} threads", fontsize=11)
    return canvas


def draw_maps(found: Sequence[Map], out: Path) -> dict[int, Path]:
    """As plots.draw_each()."""
    return draw_each(found, map_figure, lambda one: f"map {one.name} class {one.of}", out)
