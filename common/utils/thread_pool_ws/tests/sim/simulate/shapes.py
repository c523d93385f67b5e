# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate shapes: what others have published beside the same, simulated.

slides: the slides that introduced this kind of pool to OAI (273 PRB, one user: 12 symbols, then 22 segments).
With one mutexed queue the slot takes longer again beyond 16 threads. empty: oneTBB, one producer, empty
tasks: from 55.7 ns a task with one thread to 660 ns with 64. latencies: a cache line from core to core.
nested: fib with 64 threads.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from simulate import latencies, nested
from simulate.machine import Machine, MachineError, find_machine
from simulate.program import Job, run_jobs
from simulate.published import ONETBB_NS
from simulate.table import print_table
from simulate.timing import POOLS, numbers, some_of
from simulate.workload import default_period_us, workload_words

LIMIT_S = 1800.0
SLIDES_CASE = "12x6+22x28"
SLIDES_WORKERS = (1, 2, 4, 8, 12, 16, 20, 24)
EMPTY_TASKS = 10000
EMPTY_WORKERS = tuple(next(iter(ONETBB_NS.values())))
TABLES = ("slides", "empty", "latencies", "nested")
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


def growth(values: dict[int, float]) -> float:
    """How many times as long the most workers take as the fewest."""
    return values[max(values)] / values[min(values)]


def show(title: str, table: dict[str, dict[int, float]], workers: Sequence[int]) -> None:
    rows = [
        [name, *(f"{values[count]:.1f}" if count in values else "-" for count in workers)]
        for name, values in table.items()
    ]
    print_table(title, ["workers", *map(str, workers)], rows)
    for name, values in table.items():
        if values:
            print(f"  {name}: {verdict(values)}; the last is {growth(values):.2f} times the first")


def show_slides(machine: Machine, at_once: int) -> None:
    slides = curves(machine, SLIDES_CASE, SLIDES_WORKERS, (200, 200), at_once)
    p50 = {pool: {count: one["p50_us"] for count, one in many.items()} for pool, many in slides.items()}
    show(f"SIMULATED p50 of {SLIDES_CASE}, us, on {machine.name}", p50, SLIDES_WORKERS)


def show_empty(machine: Machine, at_once: int) -> None:
    empty = curves(machine, f"empty:{EMPTY_TASKS}", EMPTY_WORKERS, (5, 2), at_once)
    ns = {
        pool: {count: 1e9 / one["tasks_per_s"] for count, one in many.items()} for pool, many in empty.items()
    }
    title = f"SIMULATED ns a task, one producer, bursts of {EMPTY_TASKS} empty tasks, on {machine.name}"
    show(f"{title}; oneTBB is published, not simulated", ns | ONETBB_NS, EMPTY_WORKERS)
    print("  oneTBB counts the producer among its threads; the others have it besides. Compare the shapes.")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate shapes", description=__doc__)
    add = parser.add_argument
    add("--machine", default="xeon-2x28", help="for the slides' case; default: %(default)s")
    add("--wide", default="epyc-64", help="for empty tasks and nested fib; default: %(default)s")
    add("--only", type=some_of(TABLES), default=TABLES, help=f"of {','.join(TABLES)}; default: all")
    add("--fib", type=numbers, default=nested.SIZES, help="sizes for nested fib; default: 27,30,33")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="simulations at once")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        machine, wide = find_machine(options.machine), find_machine(options.wide)
    except MachineError as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    if "slides" in options.only:
        show_slides(machine, options.jobs)
    if "empty" in options.only:
        show_empty(wide, options.jobs)
    if "latencies" in options.only:
        latencies.show(options.jobs)
    if "nested" in options.only:
        nested.show(wide, options.jobs, options.fib)
    return 0
