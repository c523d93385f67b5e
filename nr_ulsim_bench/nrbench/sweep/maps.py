# SPDX-License-Identifier: BSD-3-Clause
"""Block error rate and time over SNR, MCS and layers: which runs are points of a map, and the figures of each
point with their intervals."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import RESAMPLES, Array, Interval, pooled_quantiles, resampled_log_medians
from nrbench.sweep.classes import class_of, letters
from nrbench.sweep.figures import RX
from nrbench.sweep.frame import OLD_POOL, OUR_POOL, cores_of
from nrbench.sweep.record import INLINE, Run

SNRS_MIN = 2  # fewer are no map
Z = 1.959964  # of a normal distribution, 95 %
OPTION = re.compile(r"-([A-Za-z])(-?\d+(?:\.\d+)?)")
OF_POINT = "smWyznC"  # options in which points differ; antennas only as far as layers do
COLUMNS = (
    "class", "family", "host", "scenario", "case", "variant", "threads", "fits", "layers", "mcs", "snr",
    "errors", "slots", RX,
)  # fmt: skip
POINT = ["layers", "mcs", "snr"]


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


def map_rows(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run that is a point of a map. The time is NaN where the run gave no result."""
    rows = []
    names = letters(run.host for run in runs)
    for run in runs:
        point = point_of(run.options) if run.kind == "nr_ulsim" and run.pool != INLINE else None
        if point is None or run.errors is None:
            continue
        time_us = run.figures.get(RX, math.nan) if run.status == "ok" else math.nan
        what = (
            names[class_of(run.host)],
            f"{run.scenario} {point.family}",
            run.host.id,
            run.scenario,
            run.case,
        )
        where = run.variant, run.threads, run.threads <= cores_of(run)
        rows.append((*what, *where, point.layers, point.mcs, point.snr_db, run.errors, point.slots, time_us))
    frame: pd.DataFrame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame


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
    resamples: int = RESAMPLES

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
        timed = self.rows[(self.rows["threads"] == self.threads) & self.rows[RX].notna()]
        times: dict[Any, dict[str, Time]] = {}
        for key, part in timed.groupby([*POINT, "variant"], observed=True):
            *point, variant = key if isinstance(key, tuple) else (key,)
            times.setdefault(tuple(point), {})[str(variant)] = _time(part, self.resamples)
        found = {}
        for key, row in zip(sums.index, sums.to_numpy()):
            layers, mcs, snr = key
            found[int(layers), int(mcs), float(snr)] = Figures(int(row[0]), int(row[1]), times.get(key, {}))
        return found

    def axis(self, place: int) -> list[float]:
        """The values of the points' layers (0), MCS (1) or SNR (2)."""
        return sorted({float(point[place]) for point in self.points})


def _time(part: pd.DataFrame, resamples: int) -> Time:
    values = [host[RX].to_numpy() for _, host in part.groupby("host", observed=True)]
    logs: list[Array] = [resampled_log_medians(one, resamples) for one in values]
    median = math.exp(float(np.mean([math.log(max(float(np.median(one)), 1e-9)) for one in values])))
    return Time(median, pooled_quantiles([logs], min(map(len, values))))


def maps(rows: pd.DataFrame, resamples: int = RESAMPLES) -> list[Map]:
    """One a class and family with several SNRs, at the most threads that do not exceed the cores. Empty where
    the runs are no map."""
    found = []
    for key, part in rows.groupby(["class", "family"], sort=False, observed=True) if len(rows) else ():
        of, family = map(str, key if isinstance(key, tuple) else (key, ""))
        if part.groupby(["layers", "mcs"])["snr"].nunique().max() < SNRS_MIN:
            continue
        fitting = part.loc[part["fits"], "threads"]
        threads = int(fitting.max()) if len(fitting) else int(part["threads"].min())
        found.append(Map(of, family, threads, part, resamples))
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
