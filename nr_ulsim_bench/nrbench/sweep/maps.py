# SPDX-License-Identifier: BSD-3-Clause
"""Block error rate and time over SNR, MCS and layers: which runs are points of a map, and the figures of each
point with their intervals."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.judge import pooled_quantiles
from nrbench.render import Column, Table, plain_columns
from nrbench.sweep.cells import OLD_POOL, OUR_POOL, cores_of
from nrbench.sweep.figures import RX
from nrbench.sweep.hosts import class_of, letters
from nrbench.sweep.plots import draw_each
from nrbench.sweep.record import INLINE
from nrbench.sweep.runs import Runs
from nrbench.sweep.tables import NOTHING, number
from nrbench.table import LogMedian, log_medians

SNRS_MIN = 2  # fewer are no map
Z = 1.959964  # of a normal distribution, 95 %
OPTION = re.compile(r"-([A-Za-z])(-?\d+(?:\.\d+)?)")
OF_POINT = "smWyznC"  # options in which points differ; antennas only as far as layers do
COLUMNS = (
    "class", "family", "host", "scenario", "case", "variant", "threads", "fits", "layers", "mcs", "snr",
    "errors", "slots", RX,
)  # fmt: skip
POINT = ["layers", "mcs", "snr"]
RATE, TIME = ("bler", "bler_low", "bler_high"), (RX, "rx_low_us", "rx_high_us")
CURVES_MAX = 8  # MCSs with a curve
ROWS_MAX = 500  # of points; more are in maps.csv only
NOTE = (
    "BLER: share of the slots that were not decoded in their first round, of all pools together, with a 95 % "
    "interval by Wilson's formula, which takes slots as independent. Times: median of the whole RX, µs, with "
    "a 95 % interval."
)


class Point(NamedTuple):
    family: str  # the options that all points of a map share
    snr_db: float
    mcs: int
    layers: int
    slots: int  # of a run


def point_of(options: Sequence[str]) -> Point | None:
    """None: the options do not fix SNR and MCS. A search for the SNR (-S above -s) is no point: it ends where
    slots are decoded."""
    values = {found[1]: found[2] for word in options if (found := OPTION.fullmatch(word))}
    if not {"s", "S", "m", "n"} <= values.keys() or float(values["s"]) != float(values["S"]):
        return None
    shared = [word for word in options if not (word[:2] == "-S" or word[1:2] in OF_POINT)]
    mcs, layers, slots, sending, receiving = (int(values.get(letter, "1")) for letter in "mWnyz")
    more = (("TX", sending - layers), ("RX", receiving - layers))
    shared += [f"({count:+d} {side} antennas)" for side, count in more if count]
    return Point(" ".join(shared), float(values["s"]), mcs, layers, slots)


def map_rows(runs: Runs) -> pd.DataFrame:
    """A row a run that is a point of a map. The time is NaN where the run gave no result."""
    names = letters(run.host for run in runs.settings)
    points = {}
    for place, run in enumerate(runs.settings):
        point = point_of(run.options) if run.kind == "nr_ulsim" and run.pool != INLINE else None
        if point is not None:
            what = names[class_of(run.host)], f"{run.scenario} {point.family}", run.host.id
            where = run.variant, run.threads, run.threads <= cores_of(run)
            of_point = point.layers, point.mcs, point.snr_db, point.slots
            points[place] = (*what, run.scenario, run.case, *where, *of_point)
    of_setting = [name for name in COLUMNS if name not in ("errors", RX)]
    about = pd.DataFrame(list(points.values()), columns=of_setting, index=list(points))
    words = ("class", "family", "host", "scenario", "case", "variant")
    about = about.astype(dict.fromkeys(words, "category"))
    rows = runs.frame[runs.frame["setting"].isin(about.index) & runs.frame["errors"].notna()]
    joined: pd.DataFrame = about.loc[rows["setting"]].reset_index(drop=True)
    joined["errors"] = rows["errors"].to_numpy()
    rx = rows[RX] if RX in rows else pd.Series(math.nan, index=rows.index)
    joined[RX] = rx.where(rows["status"] == "ok").to_numpy()
    return joined


def with_rates(points: pd.DataFrame) -> pd.DataFrame:
    """With the share of errors, and its interval by Wilson's formula: 95 %, each slot for itself."""
    share, z2 = points["errors"] / points["slots"], Z * Z / points["slots"]
    half = Z * np.sqrt(share * (1 - share) / points["slots"] + z2 / (4 * points["slots"]))
    low, high = ((share + z2 / 2 + end) / (1 + z2) for end in (-half, half))
    found: pd.DataFrame = points.assign(bler=share, bler_low=low.clip(lower=0), bler_high=high.clip(upper=1))
    return found


@dataclass(frozen=True)
class Map:
    """Of a class of hosts; times are of one number of threads, error rates of all runs."""

    of: str  # the class
    family: str
    threads: int
    rows: pd.DataFrame

    @property
    def name(self) -> str:
        return self.family.split(" ")[0]

    @cached_property
    def cases(self) -> set[tuple[str, str]]:
        """Scenario and case of each point."""
        return set(zip(self.rows["scenario"], self.rows["case"]))

    @cached_property
    def variants(self) -> list[str]:
        """The old one first."""
        there = self.rows.loc[self.rows["threads"] == self.threads, "variant"].unique()
        return sorted(map(str, there), key=lambda name: (name != OLD_POOL["nr_ulsim"], name))

    @cached_property
    def ours(self) -> str:
        """The variant whose times are drawn: the last of ours, else the last."""
        own = [name for name in self.variants if name.startswith(OUR_POOL["nr_ulsim"])]
        return (own or self.variants)[-1]

    @cached_property
    def points(self) -> pd.DataFrame:
        """A row each: layers, MCS and SNR, errors and slots, their share."""
        sums: Any = self.rows.groupby(POINT)[["slots", "errors"]].sum()
        return with_rates(sums.astype(int).reset_index())

    @cached_property
    def times(self) -> pd.DataFrame:
        """A row a point and variant: median, of several hosts the geometric mean of theirs; its interval."""
        timed = self.rows[(self.rows["threads"] == self.threads) & self.rows[RX].notna()]
        of_hosts = timed.groupby([*POINT, "variant", "host"], observed=True)
        long = pd.DataFrame({"group": of_hosts.ngroup(), "value": timed[RX]})
        hosts: dict[tuple[Any, ...], list[LogMedian]] = defaultdict(list)
        for key, found in zip(of_hosts.size().index, log_medians(long)):
            hosts[key[:-1]].append(found)
        rows = []
        for key, each in hosts.items():
            interval = pooled_quantiles([[one.drawn for one in each]], min(one.n for one in each))
            median_us = math.exp(fmean(one.value for one in each))
            rows.append((*key, median_us, *(interval or (math.nan, math.nan))))
        made: pd.DataFrame = pd.DataFrame(rows, columns=[*POINT, "variant", *TIME])
        return made

    def with_times(self, variant: str) -> pd.DataFrame:
        """The points, each with the times of a variant, if it has any."""
        times = self.times[self.times["variant"] == variant]
        found: pd.DataFrame = self.points.merge(times, how="left", on=POINT)
        return found


def maps(rows: pd.DataFrame) -> list[Map]:
    """One a class and family with several SNRs, at the most threads that do not exceed the cores. Empty where
    the runs are no map."""
    found = []
    for key, part in rows.groupby(["class", "family"], sort=False, observed=True) if len(rows) else ():
        of, family = map(str, key if isinstance(key, tuple) else (key, ""))
        if part.groupby(["layers", "mcs"])["snr"].nunique().max() < SNRS_MIN:
            continue
        fitting = part.loc[part["fits"], "threads"]
        threads = int(fitting.max()) if len(fitting) else int(part["threads"].min())
        found.append(Map(of, family, threads, part))
    return found


def map_csv(found: Sequence[Map], path: Path) -> None:
    """A row a class, point and variant."""
    every = [
        one.points.merge(one.times, how="left", on=POINT).assign(
            **{"class": one.of, "family": one.family, "threads": one.threads}
        )
        for one in found
    ]
    names = ["class", "family", *POINT, "slots", "errors", *RATE, "threads", "variant", *TIME]
    pd.concat(every)[names].rename(columns={"snr": "snr_db"}).to_csv(path, index=False, float_format="%.6g")


def layers_text(count: Any) -> str:
    return f"{count:g} layer{'s' if count != 1 else ''}"


def _grid(points: pd.DataFrame, value: str, text: Callable[[float], str]) -> list[list[str]]:
    """A row an MCS, a column an SNR."""
    grid = points.pivot(index="mcs", columns="snr", values=value)
    return [[str(mcs), *("" if pd.isna(one) else text(one) for one in row)] for mcs, row in
            zip(grid.index, grid.to_numpy())]  # fmt: skip


def _grids(one: Map, of: str) -> Iterator[Table]:
    """One for each number of layers."""
    points = one.with_times(one.ours)
    for layers, there in points.groupby("layers"):
        heads = [Column("", "MCS"), *(Column("SNR, dB", f"{snr:g}") for snr in sorted(there["snr"].unique()))]
        where = f"{of}, {layers_text(layers)}"
        yield Table(f"BLER: {where}", heads, _grid(there, "bler", "{:.3f}".format), [])
        title = f"Whole RX of {one.ours}, µs, {one.threads} threads: {where}"
        yield Table(title, heads, _grid(there, RX, number), [])


def _all_points(one: Map, of: str) -> Table:
    heads = plain_columns("layers", "MCS", "SNR, dB", "slots", "BLER", "95 % interval")
    heads += [Column(variant, name) for variant in one.variants for name in ("median", "interval")]
    rows = [
        [str(p.layers), str(p.mcs), f"{p.snr:g}", str(p.slots), f"{p.bler:.3f}",
         f"[{p.bler_low:.3f}, {p.bler_high:.3f}]"] for p in one.points.itertuples()
    ]  # fmt: skip
    for variant in one.variants:
        for row, (us, low, high) in zip(rows, one.with_times(variant)[[*TIME]].to_numpy()):
            row.append(NOTHING if math.isnan(us) else number(us))
            row.append(NOTHING if math.isnan(low) else f"[{low:.0f}, {high:.0f}]")
    return Table(f"All points: {of}, {one.threads} threads", heads, rows, [NOTE])


def map_tables(one: Map, short: bool = False) -> Iterator[Table]:
    """@param short  for a terminal: the grids only"""
    of = f"{one.name}, class {one.of}"
    yield from _grids(one, of)
    if not short and len(one.points) <= ROWS_MAX:
        yield _all_points(one, of)


def _draw_panel(axis: Any, rows: pd.DataFrame, value: str, title: str, colours: str) -> None:
    """Colours: a square a point; white: no run."""
    grid = rows.pivot_table(index="mcs", columns="snr", values=value)
    squares = axis.pcolormesh(grid.columns, grid.index, grid, cmap=colours, shading="nearest")
    axis.figure.colorbar(squares, ax=axis)
    axis.locator_params(axis="y", integer=True)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set(xlabel="SNR, dB", ylabel="MCS")


def _draw_curves(axis: Any, rows: pd.DataFrame, names: Sequence[str], title: str) -> None:
    """A curve an MCS, with its interval."""
    value, low, high = names
    chosen = sorted(rows["mcs"].unique())
    for mcs, colour in zip(
        chosen[:: -(-len(chosen) // CURVES_MAX)], sns.color_palette("viridis", CURVES_MAX)
    ):
        of = rows[(rows["mcs"] == mcs) & rows[value].notna()].sort_values("snr")
        axis.plot(of["snr"], of[value], "o-", ms=3, lw=1.2, color=colour, label=f"MCS {mcs:g}")
        axis.fill_between(of["snr"], of[low], of[high], color=colour, alpha=0.2, lw=0)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set(xlabel="SNR, dB", ylim=(0, None))
    plain_numbers(axis.yaxis)
    axis.grid(alpha=0.25)


def map_figure(one: Map) -> Canvas:
    points = one.with_times(one.ours)
    canvas = plt.figure(figsize=(17, 3.3 * points["layers"].nunique() + 1), layout="constrained")
    axes = canvas.subplots(points["layers"].nunique(), 4, squeeze=False)
    for row, (layers, of) in zip(axes, points.groupby("layers")):
        what = f"whole RX, µs, {one.ours}"
        _draw_panel(row[0], of, "bler", f"BLER, {layers_text(layers)}", "magma_r")
        _draw_curves(row[1], of, RATE, "BLER, 95 % intervals")
        _draw_panel(row[2], of, RX, what, "viridis")
        _draw_curves(row[3], of, TIME, f"{what}, 95 % intervals")
    legend(canvas, 8, fontsize=9)
    canvas.suptitle(f"{one.name}, class {one.of}, {one.threads} threads", fontsize=11)
    return canvas


def draw_maps(found: Sequence[Map], out: Path) -> dict[int, Path]:
    """As plots.draw_each()."""
    return draw_each(found, map_figure, lambda one: f"map {one.name} class {one.of}", out)
