# SPDX-License-Identifier: BSD-3-Clause
"""Points of a curve: the runs of one setting together, and what they are compared with: the work on all CPUs,
whole tasks, and two bounds that also count the moves of cache lines, from about 16 CPUs on.

A producer that has just been woken pushes n equal tasks of d, one after the other. A push takes p. The
task's line moves to the CPU that runs the task, which takes t. Before its next task a CPU looks at the clock
and gets a line, which takes o = t + a look. List scheduling gives the ends of the tasks.

B1  The last end moves to the producer, which takes t.
B2  Each CPU's last end passes one word, one after the other, which takes t each. Earlier ends of a CPU can be
    counted with its last one.
"""

import functools
import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from simulate.machine import Machine, MachineError, find_machine
from simulate.scale.plan import Curve
from simulate.workload import WorkloadError, phases, recorded_slots

PUSH_US = 0.015  # the cheapest push that a simulation has shown
COLD_US = 0.5  # from the begin of a slot to the first push of a thread that has just been woken


class Costs(NamedTuple):
    transfer_us: float  # t: of a line between two CPUs of a node
    look_us: float  # at the clock


def costs_of(machine: Machine) -> Costs:
    values = dict(word.split("=", 1) for word in machine.words)
    return Costs(float(values["node_ns"]) / 1000, float(values["clock_ns"]) / 1000)


def last_ends_us(count: int, task_us: float, cpus: int, costs: Costs, begin_us: float) -> list[float]:
    """Of each CPU that runs a task. The producer pushes from begin_us on, then it runs tasks."""
    free = [(0.0, cpu) for cpu in range(cpus - 1)] + [(begin_us + count * PUSH_US, cpus - 1)]
    heapq.heapify(free)
    last = dict[int, float]()
    for number in range(1, count + 1):
        free_us, cpu = free[0]
        visible_us = begin_us + number * PUSH_US + costs.transfer_us
        last[cpu] = max(free_us, visible_us) + task_us + (costs.transfer_us + costs.look_us)
        heapq.heapreplace(free, (last[cpu], cpu))
    return sorted(last.values())


def burst_bounds(
    count: int, task_us: float, cpus: int, costs: Costs, begin_us: float = COLD_US
) -> tuple[float, float]:
    """@return B1 and B2"""
    ends_us = last_ends_us(count, task_us, cpus, costs, begin_us)
    word_us = 0.0
    for end_us in ends_us:
        word_us = max(word_us, end_us) + costs.transfer_us
    return ends_us[-1] + costs.transfer_us, word_us + costs.transfer_us


@functools.cache
def slot_bounds(machine: str, workload: str, cpus: int) -> dict[str, float]:
    """Of a slot of equal tasks from one producer. Empty: another workload, an unknown machine, or one CPU."""
    try:
        costs, bursts = costs_of(find_machine(machine)), phases(workload)
    except (MachineError, WorkloadError):
        return {}
    if cpus < 2 or not bursts:
        return {}
    found = [
        burst_bounds(count, task_us, cpus, costs, 0.0 if i else COLD_US)
        for i, (count, task_us) in enumerate(bursts)
    ]
    return {"dealt_us": sum(dealt for dealt, _ in found), "passed_us": sum(passed for _, passed in found)}


def listed_us(tasks_us: Sequence[float], cpus: int) -> float:
    """The CPU that is free first takes the next task. With equal tasks: ceil(tasks / CPUs) x a task."""
    free_at = [0.0] * min(cpus, len(tasks_us))
    for task_us in tasks_us:
        heapq.heapreplace(free_at, free_at[0] + task_us)
    return max(free_at, default=0.0)


def shared_us(tasks_us: Sequence[float], cpus: int) -> float:
    """The longest task, or the work on all CPUs."""
    return max([sum(tasks_us) / cpus, *tasks_us])


@functools.cache
def median_us(
    phase_us: Callable[[list[float], int], float], workload: str, cpus: int, producers: int
) -> float | None:
    """Of the median slot; several producers as if they all pushed a phase at once."""
    slots = [[(0.0, [us] * count) for count, us in phases(workload)]]
    if workload.endswith(".slots"):
        slots = recorded_slots(workload)
    times = [
        sum(serial + phase_us(tasks * producers, cpus) for serial, tasks in slot) for slot in slots if slot
    ]
    return median(times) if times else None


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
