# SPDX-License-Identifier: BSD-3-Clause
"""Maps as tables: a grid of each number of layers, and all points with their intervals."""

from __future__ import annotations

from typing import Iterator

from nrbench.judge import Interval
from nrbench.render import Column, Table, plain_columns
from nrbench.sweep.maps import Figures, Map
from nrbench.sweep.table import NOTHING, number

ROWS_MAX = 500  # of points; more are in maps.csv only
NOTE = (
    "BLER: share of the slots that were not decoded in their first round, of all pools together, with a 95 % "
    "interval by Wilson's formula, which takes slots as independent. Times: median of the whole RX, µs, with "
    "a 95 % interval."
)


def rate_text(figures: Figures | None) -> str:
    return "" if figures is None else f"{figures.error_rate:.3f}"


def _interval(interval: Interval | None, digits: int) -> str:
    return NOTHING if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def _time_text(one: Map, figures: Figures | None) -> str:
    time = figures.times.get(one.ours) if figures else None
    return "" if time is None else number(time.median_us)


def _grids(one: Map, of: str) -> Iterator[Table]:
    """A row an MCS, a column an SNR; one for each number of layers."""
    snrs = one.axis(2)
    for layers in one.axis(0):
        there = [key for key in one.points if key[0] == layers]
        rates, times = [], []
        for mcs in sorted({key[1] for key in there}):
            row = [one.points.get((int(layers), mcs, snr)) for snr in snrs]
            rates.append([str(mcs), *map(rate_text, row)])
            times.append([str(mcs), *(_time_text(one, figures) for figures in row)])
        heads = [Column("", "MCS"), *(Column("SNR, dB", f"{snr:g}") for snr in snrs)]
        where = f"{of}, {layers:g} layer{'s' if layers != 1 else ''}"
        yield Table(f"BLER: {where}", heads, rates, [])
        yield Table(f"Whole RX of {one.ours}, µs, {one.threads} threads: {where}", heads, times, [])


def _all_points(one: Map, of: str) -> Table:
    heads = plain_columns("layers", "MCS", "SNR, dB", "slots", "BLER", "95 % interval")
    heads += [Column(variant, name) for variant in one.variants for name in ("median", "interval")]
    rows = []
    for (layers, mcs, snr), figures in one.points.items():
        row = [str(layers), str(mcs), f"{snr:g}", str(figures.slots), rate_text(figures)]
        row.append(_interval(figures.interval, 3))
        for variant in one.variants:
            time = figures.times.get(variant)
            row += [number(time.median_us), _interval(time.interval, 0)] if time else [NOTHING, NOTHING]
        rows.append(row)
    return Table(f"All points: {of}, {one.threads} threads", heads, rows, [NOTE])


def map_tables(one: Map, short: bool = False) -> Iterator[Table]:
    """@param short  for a terminal: the grids only"""
    of = f"{one.name}, class {one.of}"
    yield from _grids(one, of)
    if not short and len(one.points) <= ROWS_MAX:
        yield _all_points(one, of)
