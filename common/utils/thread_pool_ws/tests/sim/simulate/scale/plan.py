# SPDX-License-Identifier: BSD-3-Clause
"""Which workloads run on how many CPUs of which machine, and with which pool."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simulate.machine import Machine
from simulate.program import Job
from simulate.timing import POOLS, burst_job
from simulate.workload import default_period_us

MACHINES = ("xeon-2x28", "epyc-64", "grace-72")
CPUS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)

# The benchmark's slot cases (nrbench/cases.py), then more of a task length that is often decoded
SLOTS = (
    "38x0.5",
    "12x6",
    "4x20",
    "22x28",
    "12x6+22x28",
    "50x5",
    "13x97.5",
    "100x100",
    "50x28",
    "100x28",
    "100x5",
)
RECORDED = ("v2.3.0_prb273_mcs25_l1.slots", "v2.3.0_prb106_mcs9_l1.slots")
EMPTY = "empty:10000"
NESTED = "fib19"
SEVERAL = ("22x28", "12x6+22x28")  # of several producers at once, ws only
PRODUCERS = 4


@dataclass(frozen=True)
class Choice:
    workloads: Sequence[str]
    pools: Sequence[str]
    cpus: Sequence[int]
    producers: Sequence[int]  # more than one: only workloads of SEVERAL, only ws
    runs: int  # lives of a pool
    bursts: dict[str, tuple[int, int]]  # of slots, empty and fib: measured, and before those


FULL = Choice(
    (*SLOTS, *RECORDED, EMPTY, NESTED),
    *(POOLS, CPUS, (1, PRODUCERS), 3),
    {"slot": (100, 400), "empty": (3, 2), "fib": (20, 10)},
)
QUICK = Choice(
    ("12x6", "22x28", "100x28", EMPTY),
    *(POOLS, (1, 8, 32, 64), (1,), 1),
    {"slot": (50, 200), "empty": (3, 1), "fib": (10, 4)},
)


class Curve(NamedTuple):
    """One line of a plot: a workload against CPUs."""

    machine: str
    workload: str
    producers: int
    pool: str


def cpu_series(machine: Machine, wanted: Sequence[int] = CPUS) -> list[int]:
    """
    The wanted numbers as far as the machine goes. By default also a full node, and all CPUs.

    Where [wider] means SMT, only all of its CPUs: threads of some of the cores would show nothing new.
    """
    all_of_them = tuple(wanted) == CPUS
    series = {count for count in wanted if count <= machine.cpus}
    if all_of_them:
        series |= {machine.node_cpus, machine.cpus}
    if machine.wider:
        steps = wanted if machine.wider.smt == machine.smt else []
        series |= {count for count in steps if machine.cpus < count <= machine.wider.cpus}
        series |= {machine.wider.cpus} if all_of_them or machine.wider.cpus in wanted else set()
    return sorted(series)


def workers_of(pool: str, cpus: int, producers: int) -> int:
    """As many threads as CPUs run tasks: a producer of ws helps while it joins, one of the others sleeps."""
    return max(0, cpus - producers) if pool == "ws" else cpus


def curves(machine: Machine, choice: Choice) -> Iterator[Curve]:
    for workload in choice.workloads:
        for pool in choice.pools:
            if pool == "ws" or not workload.startswith("fib"):  # the others cannot wait inside a task
                yield Curve(machine.name, workload, 1, pool)
        if workload in SEVERAL and "ws" in choice.pools:
            for count in choice.producers:
                if count > 1:
                    yield Curve(machine.name, workload, count, "ws")


def job(machine: Machine, curve: Curve, cpus: int, seed: int, choice: Choice) -> Job:
    kind = next((kind for kind in choice.bursts if curve.workload.startswith(kind)), "slot")
    bursts, warm = choice.bursts[kind]
    has = machine.with_cpus(cpus)
    workers = workers_of(curve.pool, cpus, curve.producers)
    label = {"bench": "scale", **curve._asdict(), "cpus": cpus, "smt": has.smt}
    label |= {"workers": workers, "seed": seed}
    period_us = default_period_us(curve.workload, cpus, curve.producers)
    return burst_job(has, label, period_us, bursts=bursts, warm=warm)


def jobs(machines: Sequence[Machine], choice: Choice) -> list[Job]:
    return [
        job(machine, curve, count, seed, choice)
        for machine in machines
        for curve in curves(machine, choice)
        for count in cpu_series(machine, choice.cpus)
        if count >= curve.producers
        for seed in range(1, choice.runs + 1)
    ]
