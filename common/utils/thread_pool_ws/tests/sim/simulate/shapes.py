# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate shapes: curves over the number of workers that others have published, simulated.

The slides that introduced this kind of pool to OAI (273 PRB, one user: 12 symbols, then 22 segments): with
one mutexed queue the slot takes longer again beyond 16 threads. oneTBB (one producer, empty tasks): from
55.7 ns a task with one worker to 660 ns with 64.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from simulate.machine import Machine, MachineError, find_machine
from simulate.program import Job, run_jobs
from simulate.table import print_table
from simulate.timing import POOLS
from simulate.workload import default_period_us, workload_words

LIMIT_S = 1800.0
SLIDES_CASE = "12x6+22x28"
SLIDES_WORKERS = (1, 2, 4, 8, 12, 16, 20, 24)
EMPTY_TASKS = 10000
EMPTY_WORKERS = (1, 2, 4, 8, 16, 32, 48, 64)
ONETBB_NS = {1: 55.7, 64: 660.0}
RISE = 1.01  # a curve turns up when its end lies this much above its lowest point

Curves = dict[str, dict[int, dict[str, Any]]]


def job(machine: Machine, workload: str, pool: str, workers: int, slots: tuple[int, int]) -> Job:
    threads = min(machine.cpus, workers + (pool == "ws"))
    words = [
        *machine.words,
        *workload_words(workload),
        f"pool={pool}",
        f"workers={workers}",
        f"period_us={default_period_us(workload, threads, 1):g}",
        f"bursts={slots[0]}",
        f"warm={slots[1]}",
    ]
    return Job(tuple(words), {"pool": pool, "workers": workers})


def curves(
    machine: Machine, workload: str, workers: Sequence[int], slots: tuple[int, int], at_once: int
) -> Curves:
    jobs = [job(machine, workload, pool, count, slots) for pool in POOLS for count in workers]
    found: Curves = {pool: {} for pool in POOLS}
    for result in run_jobs(jobs, "ws_sim_time", at_once, LIMIT_S):
        if "error" in result:
            print(
                f"simulate: {result['pool']}, {result['workers']} workers: {result['error']}", file=sys.stderr
            )
        else:
            found[result["pool"]][result["workers"]] = result
    return found


def verdict(values: dict[int, float]) -> str:
    """Where a curve is lowest, and whether it rises from there."""
    lowest = min(values, key=lambda workers: values[workers])
    last = max(values)
    rise = values[last] / values[lowest]
    if lowest == last or rise < RISE:
        return "does not turn up"
    return f"turns up after {lowest}: {100 * (rise - 1):.0f} % more at {last}"


def show(title: str, table: dict[str, dict[int, float]], workers: Sequence[int]) -> None:
    rows = [
        [name, *(f"{values[count]:.1f}" if count in values else "-" for count in workers)]
        for name, values in table.items()
    ]
    print_table(title, ["workers", *map(str, workers)], rows)
    for pool in POOLS:
        if table.get(pool):
            print(f"  {pool}: {verdict(table[pool])}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate shapes", description=__doc__)
    add = parser.add_argument
    add("--machine", default="xeon-2x28", help="for the slides' case; default: %(default)s")
    add("--wide", default="epyc-64", help="for the empty tasks; default: %(default)s")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="simulations at once")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        machine, wide = find_machine(options.machine), find_machine(options.wide)
    except MachineError as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    slides = curves(machine, SLIDES_CASE, SLIDES_WORKERS, (200, 200), options.jobs)
    p50 = {pool: {count: one["p50_us"] for count, one in many.items()} for pool, many in slides.items()}
    show(f"SIMULATED p50 of {SLIDES_CASE}, us, on {machine.name}", p50, SLIDES_WORKERS)
    empty = curves(wide, f"empty:{EMPTY_TASKS}", EMPTY_WORKERS, (5, 2), options.jobs)
    ns = {
        pool: {count: 1e9 / one["tasks_per_s"] for count, one in many.items()} for pool, many in empty.items()
    }
    title = f"SIMULATED ns a task, one producer, bursts of {EMPTY_TASKS} empty tasks, on {wide.name}"
    show(title, ns | {"oneTBB, published": ONETBB_NS}, EMPTY_WORKERS)
    return 0
