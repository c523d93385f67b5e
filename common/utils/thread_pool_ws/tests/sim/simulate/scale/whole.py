# SPDX-License-Identifier: BSD-3-Clause
"""The two times that a slot is compared with: the bound, and whole tasks."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Sequence
from statistics import median

from simulate.workload import phases, recorded_slots


def listed_us(tasks_us: Sequence[float], cpus: int) -> float:
    """The CPU that is free first takes the next task. With equal tasks: ceil(tasks / CPUs) x a task."""
    free_at = [0.0] * min(cpus, len(tasks_us))
    for task_us in tasks_us:
        heapq.heapreplace(free_at, free_at[0] + task_us)
    return max(free_at, default=0.0)


def _slots(workload: str) -> list[list[tuple[float, list[float]]]]:
    """Of each slot its phases: serial work, then tasks, in us."""
    if workload.endswith(".slots"):
        return recorded_slots(workload)
    return [[(0.0, [us] * count) for count, us in phases(workload)]]


@functools.cache
def whole_us(workload: str, cpus: int, producers: int) -> float | None:
    """In whole tasks, of the median slot; with several producers as if they all pushed a phase at once."""
    times = [
        sum(serial + listed_us(tasks * producers, cpus) for serial, tasks in slot)
        for slot in _slots(workload)
        if slot
    ]
    return median(times) if times else None


@functools.cache
def bound_us(workload: str, cpus: int, producers: int) -> float | None:
    """The longest task, or the work on all CPUs."""
    times = [
        sum(serial + max([sum(tasks) * producers / cpus, *tasks]) for serial, tasks in slot)
        for slot in _slots(workload)
        if slot
    ]
    return median(times) if times else None
