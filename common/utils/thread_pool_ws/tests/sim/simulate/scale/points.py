# SPDX-License-Identifier: BSD-3-Clause
"""Points of a curve: the runs of one setting together, and what they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from simulate.scale.bounds import Bounds, slot_bounds
from simulate.scale.plan import Curve
from simulate.scale.whole import bound_us, whole_us

POINT = "scale-point"
KEYS = (
    "p50_us",
    "p99_us",
    "start_lag_us",
    "full_us",
    "wakes",
    "steals",
    "steals_lost",
    "cpu_per_work",
    "ns_per_task",
)


@dataclass(frozen=True)
class Point:
    """Medians of the runs; None: the workload has no such figure."""

    cpus: int
    smt: int
    low: float  # the time of the fastest run, and of the slowest
    high: float
    figures: dict[str, float]
    whole_us: float | None = None
    bound_us: float | None = None
    bounds: Bounds | None = None  # one producer and equal tasks only

    def get(self, key: str) -> float | None:
        return self.figures.get(key)

    @property
    def time(self) -> float:
        """What a curve shows: us a slot or a burst of nested tasks, ns an empty task."""
        return self.figures["time"]

    @property
    def per_whole(self) -> float | None:
        return self.time / self.whole_us if self.whole_us else None

    @property
    def per_bound(self) -> float | None:
        return self.time / self.bound_us if self.bound_us else None

    @property
    def per_dealt(self) -> float | None:
        return self.time / self.bounds.dealt_us if self.bounds else None

    @property
    def per_passed(self) -> float | None:
        return self.time / self.bounds.passed_us if self.bounds else None

    @property
    def judged(self) -> bool:
        """With SMT a task takes longer by itself, so there are no whole tasks to compare with."""
        return self.smt == 1


Curves = dict[Curve, list[Point]]


def is_empty(workload: str) -> bool:
    return workload.startswith("empty")


def curve_of(line: dict[str, Any]) -> Curve:
    return Curve(line["machine"], line["workload"], line["producers"], line["pool"])


def point_of(curve: Curve, runs: list[dict[str, Any]]) -> Point:
    first = runs[0]
    cpus, smt = first["cpus"], first["smt"]
    time = "ns_per_task" if is_empty(curve.workload) else "p50_us"
    figures = {key: median(run[key] for run in runs) for key in KEYS if all(key in run for run in runs)}
    figures["time"] = figures[time]
    times = [run[time] for run in runs]
    of = (curve.workload, cpus // smt, curve.producers)  # with SMT: those of the cores
    bounds = slot_bounds(curve.machine, *of[:2]) if curve.producers == 1 else None
    return Point(cpus, smt, min(times), max(times), figures, whole_us(*of), bound_us(*of), bounds)


def curves_of(lines: Iterable[dict[str, Any]]) -> Curves:
    """In the order of the lines; each curve's points by CPUs. Runs that failed are left out."""
    groups: dict[Curve, dict[int, list[dict[str, Any]]]] = {}
    for line in lines:
        if line.get("bench") == "scale" and "error" not in line:
            groups.setdefault(curve_of(line), {}).setdefault(line["cpus"], []).append(line)
    return {
        curve: [point_of(curve, runs) for _, runs in sorted(by_cpus.items())]
        for curve, by_cpus in groups.items()
    }


def point_lines(curves: Curves) -> Iterator[dict[str, Any]]:
    """What a plot shows, one line a point."""
    for curve, points in curves.items():
        for point in points:
            yield {
                "bench": POINT,
                "simulated": True,
                **asdict(curve),
                "cpus": point.cpus,
                "smt": point.smt,
                **point.figures,
                "low": point.low,
                "high": point.high,
                "whole_us": point.whole_us,
                "bound_us": point.bound_us,
                **(point.bounds._asdict() if point.bounds else {}),
            }
