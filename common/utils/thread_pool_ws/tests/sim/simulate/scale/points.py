# SPDX-License-Identifier: BSD-3-Clause
"""Points of a curve: the runs of one setting together, and what they are compared with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from simulate.scale.bounds import listed_us, median_us, shared_us, slot_bounds
from simulate.scale.plan import Curve

POINT = "scale-point"
MEDIANS = (
    *("p50_us", "p99_us", "start_lag_us", "full_us", "wakes", "steals", "steals_lost"),
    *("cpu_per_work", "ns_per_task"),
)


@dataclass(frozen=True)
class Point:
    """The medians of the runs, and the times of the fastest and of the slowest run."""

    cpus: int
    smt: int
    low: float
    high: float
    figures: dict[str, float]

    def get(self, key: str) -> float | None:
        """A figure, or of two: "time/whole_us", "time-whole_us". None: the workload has none."""
        name, sign, under = re.split("([/-]|$)", key, maxsplit=1)
        value, base = self.figures.get(name), self.figures.get(under)
        if not sign or value is None:
            return value
        return None if base is None else value / base if sign == "/" else value - base

    @property
    def time(self) -> float:
        """What a curve shows: us a slot or a burst of nested tasks, ns an empty task."""
        return self.figures["time"]

    @property
    def judged(self) -> bool:
        """With SMT a task takes longer by itself, so there are no whole tasks to compare with."""
        return self.smt == 1


Curves = dict[Curve, list[Point]]


def is_empty(workload: str) -> bool:
    return workload.startswith("empty")


def point_of(curve: Curve, runs: list[dict[str, Any]]) -> Point:
    cpus, smt = runs[0]["cpus"], runs[0]["smt"]
    cores = cpus // smt  # with SMT: the bounds of the cores
    times = [run["ns_per_task" if is_empty(curve.workload) else "p50_us"] for run in runs]
    figures = {key: median(run[key] for run in runs) for key in MEDIANS if all(key in run for run in runs)}
    of = (curve.workload, cores, curve.producers)
    bounds = {"whole_us": median_us(listed_us, *of), "bound_us": median_us(shared_us, *of)}
    figures |= {"time": median(times)} | {key: us for key, us in bounds.items() if us is not None}
    if curve.producers == 1:
        figures |= slot_bounds(curve.machine, curve.workload, cores)
    return Point(cpus, smt, min(times), max(times), figures)


def curves_of(lines: Iterable[dict[str, Any]]) -> Curves:
    """In the order of the lines; each curve's points by CPUs. Runs that failed are left out."""
    groups: dict[Curve, dict[int, list[dict[str, Any]]]] = {}
    for line in lines:
        if line.get("bench") == "scale" and "error" not in line:
            curve = Curve(line["machine"], line["workload"], line["producers"], line["pool"])
            groups.setdefault(curve, {}).setdefault(line["cpus"], []).append(line)
    return {
        curve: [point_of(curve, runs) for _, runs in sorted(by_cpus.items())]
        for curve, by_cpus in groups.items()
    }


def point_lines(curves: Curves) -> Iterator[dict[str, Any]]:
    """What a plot shows, one line a point."""
    for curve, points in curves.items():
        for point in points:
            line = {"bench": POINT, "simulated": True, **curve._asdict(), "whole_us": None, "bound_us": None}
            size = {"cpus": point.cpus, "smt": point.smt, "low": point.low, "high": point.high}
            yield line | size | point.figures
