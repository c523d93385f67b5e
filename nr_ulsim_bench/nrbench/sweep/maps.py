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
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.judge import Interval, pooled_quantiles
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


def rate_interval(errors: int, slots: int) -> Interval:
    """Of a share, by Wilson's formula: 95 %, each slot for itself."""
    share, z2 = errors / slots, Z * Z / slots
    middle, half = share + z2 / 2, Z * math.sqrt(share * (1 - share) / slots + z2 / (4 * slots))
    return Interval(max(0.0, (middle - half) / (1 + z2)), min(1.0, (middle + half) / (1 + z2)))


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


class Time(NamedTuple):
    median_us: float  # of several hosts: the geometric mean of theirs
    interval: Interval | None


class Figures(NamedTuple):
    """Of a point."""

    errors: int
    slots: int
    times: Mapping[str, Time]  # by variant

    @property
    def error_rate(self) -> float:
        return self.errors / self.slots

    @property
    def interval(self) -> Interval:
        return rate_interval(self.errors, self.slots)


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
    def points(self) -> dict[tuple[int, int, float], Figures]:
        """By layers, MCS and SNR."""
        sums = self.rows.groupby(POINT)[["errors", "slots"]].sum()
        times = self._times()
        return {
            (int(layers), int(mcs), float(snr)): Figures(int(errors), int(slots), times[layers, mcs, snr])
            for (layers, mcs, snr), (errors, slots) in zip(sums.index, sums.to_numpy())
        }

    def _times(self) -> dict[tuple[Any, ...], dict[str, Time]]:
        """By point, then by variant; hosts together."""
        timed = self.rows[(self.rows["threads"] == self.threads) & self.rows[RX].notna()]
        of_hosts = timed.groupby([*POINT, "variant", "host"], observed=True)
        long = pd.DataFrame({"group": of_hosts.ngroup(), "value": timed[RX]})
        hosts: dict[tuple[Any, ...], list[LogMedian]] = defaultdict(list)
        for key, found in zip(of_hosts.size().index, log_medians(long)):
            hosts[key[:-1]].append(found)
        times: dict[tuple[Any, ...], dict[str, Time]] = defaultdict(dict)
        for (*point, variant), each in hosts.items():
            interval = pooled_quantiles([[one.drawn for one in each]], min(one.n for one in each))
            median_us = math.exp(fmean(one.value for one in each))
            times[tuple(point)][str(variant)] = Time(median_us, interval)
        return times

    def axis(self, place: int) -> list[float]:
        """The values of the points' layers (0), MCS (1) or SNR (2)."""
        return sorted({float(point[place]) for point in self.points})


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
    rows = []
    for one in found:
        for (layers, mcs, snr), figures in one.points.items():
            low, high = figures.interval
            point = {
                "class": one.of, "family": one.family, "layers": layers, "mcs": mcs, "snr_db": snr,
                "slots": figures.slots, "errors": figures.errors, "bler": figures.error_rate,
                "bler_low": low, "bler_high": high, "threads": one.threads,
            }  # fmt: skip
            for variant, (median_us, interval) in (figures.times or {"": Time(math.nan, None)}).items():
                of_time = dict(zip(("rx_low_us", "rx_high_us"), interval or ()))
                rows.append({**point, "variant": variant, RX: median_us, **of_time})
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


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


def _draw_panel(axis: Any, rows: pd.DataFrame, value: str, title: str, colours: str) -> None:
    """Colours: a square a point; white: no run."""
    grid = rows.pivot_table(index="mcs", columns="snr", values=value)
    squares = axis.pcolormesh(grid.columns, grid.index, grid, cmap=colours, shading="nearest")
    axis.figure.colorbar(squares, ax=axis)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set(xlabel="SNR, dB", ylabel="MCS")


def _draw_curves(axis: Any, rows: pd.DataFrame, value: str, title: str) -> None:
    """A curve an MCS, with its interval."""
    chosen = sorted(rows["mcs"].unique())
    for mcs, colour in zip(
        chosen[:: -(-len(chosen) // CURVES_MAX)], sns.color_palette("viridis", CURVES_MAX)
    ):
        of = rows[(rows["mcs"] == mcs) & rows[value].notna()].sort_values("snr")
        axis.plot(of["snr"], of[value], "o-", ms=3, lw=1.2, color=colour, label=f"MCS {mcs:g}")
        axis.fill_between(of["snr"], of[f"{value}_low"], of[f"{value}_high"], color=colour, alpha=0.2, lw=0)
    axis.set_title(title, fontsize=10, loc="left")
    axis.set(xlabel="SNR, dB", ylim=(0, None))
    plain_numbers(axis.yaxis)
    axis.grid(alpha=0.25)


def map_figure(one: Map) -> Canvas:
    rows = []
    for (layers, mcs, snr), figures in one.points.items():
        time = figures.times.get(one.ours, Time(math.nan, None))
        rows.append((layers, mcs, snr, figures.error_rate, *figures.interval, time.median_us,
                     *(time.interval or (math.nan, math.nan))))  # fmt: skip
    names = ["layers", "mcs", "snr", "rate", "rate_low", "rate_high", "time", "time_low", "time_high"]
    points = pd.DataFrame(rows, columns=names)
    canvas = plt.figure(figsize=(17, 3.3 * points["layers"].nunique() + 1), layout="constrained")
    axes = canvas.subplots(points["layers"].nunique(), 4, squeeze=False)
    for row, (layers, of) in zip(axes, points.groupby("layers")):
        where, what = f"{layers} layer{'s' if layers != 1 else ''}", f"whole RX, µs, {one.ours}"
        _draw_panel(row[0], of, "rate", f"BLER, {where}", "magma_r")
        _draw_curves(row[1], of, "rate", "BLER, 95 % intervals")
        _draw_panel(row[2], of, "time", what, "viridis")
        _draw_curves(row[3], of, "time", f"{what}, 95 % intervals")
    legend(canvas, 8, fontsize=9)
    canvas.suptitle(f"{one.name}, class {one.of}, {one.threads} threads", fontsize=11)
    return canvas


def draw_maps(found: Sequence[Map], out: Path) -> dict[int, Path]:
    """As plots.draw_each()."""
    return draw_each(found, map_figure, lambda one: f"map {one.name} class {one.of}", out)
