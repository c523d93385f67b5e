# SPDX-License-Identifier: BSD-3-Clause
"""The least time of a slot, with the moves of cache lines, from about 16 CPUs on.

A producer that has just been woken pushes n equal tasks of d, one after the other. A push takes p. The
task's line moves to the CPU that runs the task, which takes t. Before its next task a CPU looks at the clock
and gets a line, which takes o = t + a look. List scheduling gives the ends of the tasks.

B1  The last end moves to the producer, which takes t.
B2  Each CPU's last end passes one word, one after the other, which takes t each. Earlier ends of a CPU can be
    counted with its last one.
"""

from __future__ import annotations

import functools
import heapq
from dataclasses import dataclass
from typing import NamedTuple

from simulate.machine import Machine, MachineError, find_machine
from simulate.workload import WorkloadError, phases

PUSH_US = 0.015  # the cheapest push that a simulation has shown
COLD_US = 0.5  # from the begin of a slot to the first push of a thread that has just been woken


class Bounds(NamedTuple):
    dealt_us: float  # B1
    passed_us: float  # B2


@dataclass(frozen=True)
class Costs:
    transfer_us: float  # t: of a line between two CPUs of a node
    look_us: float  # at the clock

    @property
    def next_us(self) -> float:
        return self.transfer_us + self.look_us


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
        last[cpu] = max(free_us, visible_us) + task_us + costs.next_us
        heapq.heapreplace(free, (last[cpu], cpu))
    return sorted(last.values())


def burst_bounds(count: int, task_us: float, cpus: int, costs: Costs, begin_us: float = COLD_US) -> Bounds:
    ends_us = last_ends_us(count, task_us, cpus, costs, begin_us)
    word_us = 0.0
    for end_us in ends_us:
        word_us = max(word_us, end_us) + costs.transfer_us
    return Bounds(ends_us[-1] + costs.transfer_us, word_us + costs.transfer_us)


@functools.cache
def slot_bounds(machine: str, workload: str, cpus: int) -> Bounds | None:
    """Of a slot of equal tasks from one producer. None: another workload, an unknown machine, or one CPU."""
    try:
        costs, bursts = costs_of(find_machine(machine)), phases(workload)
    except (MachineError, WorkloadError):
        return None
    if cpus < 2 or not bursts:
        return None
    found = [
        burst_bounds(count, task_us, cpus, costs, 0.0 if i else COLD_US)
        for i, (count, task_us) in enumerate(bursts)
    ]
    return Bounds(sum(one.dealt_us for one in found), sum(one.passed_us for one in found))
