# SPDX-License-Identifier: BSD-3-Clause
"""Cases that differ in SNR, MCS and layers only: block error rate, time and ratio of each, an MCS a row and
an SNR a column."""

from __future__ import annotations

from typing import Iterator, NamedTuple

import numpy as np

from nrbench.render import Column, Table
from nrbench.sweep.figures import RX
from nrbench.sweep.tables import chosen_threads, number, threads_text
from nrbench.table import Frame

POINT = ["layers", "mcs", "snr_db"]


class Map(NamedTuple):
    name: str
    values: int  # of each number of layers, a grid a value
    grids: list[tuple[str, Frame]]  # by what they show


def maps(cells: Frame) -> Iterator[Map]:
    """Of all hosts: their geometric means. Times are of the last of our variants, at chosen_threads()."""
    of_points = cells[cells["map"].notna() & (cells["figure"] == RX)]
    for family, of in of_points.groupby("map", sort=False):
        threads = chosen_threads(of)
        timed = of[of["threads"] == threads].sort_values(["ours", "rank"])
        variant = timed["variant"].iloc[-1]
        timed = timed[timed["variant"] == variant]
        logs = np.log(timed.set_index(POINT)[["median", "ratio"]].astype(float))
        values = np.exp(logs.groupby(POINT).mean()).dropna(axis=1, how="all")
        sums = of.groupby(POINT)[["errors", "slots"]].sum()
        values.insert(0, "bler", sums["errors"] / sums["slots"])
        titles = {"bler": "BLER", "median": f"Whole RX of {variant}, µs, {threads_text(threads)}",
                  "ratio": f"{variant} ÷ old, {threads_text(threads)}"}  # fmt: skip
        grids = []
        for layers, of_layers in values.groupby("layers"):
            count = f"{layers:g} layer{'s' if layers != 1 else ''}"
            wide = of_layers.droplevel("layers").unstack("snr_db").rename_axis("MCS")
            grids += [
                (f"{titles[name]}: {count}", wide[name].rename_axis(columns="SNR, dB")) for name in values
            ]
        hosts = of["host_label"].unique()
        yield Map(
            f"{family}, {hosts[0] if len(hosts) == 1 else f'{len(hosts)} hosts'}", len(values.columns), grids
        )


def map_tables(one: Map) -> Iterator[Table]:
    for name, grid in one.grids:
        heads = [Column("", "MCS"), *(Column("SNR, dB", f"{snr:g}") for snr in grid.columns)]
        text = number if "µs" in name else "{:.3f}".format
        rows = [[f"{mcs:g}", *map(text, values)] for mcs, values in zip(grid.index, grid.to_numpy())]
        yield Table(name, heads, rows, [])
