# SPDX-License-Identifier: BSD-3-Clause
"""Nested fib: published ns a call and core beside those of the simulated pool."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from simulate.machine import Machine
from simulate.program import Job, run_jobs
from simulate.published import FIB_N, FIB_THREADS, FIB_US
from simulate.table import print_table
from simulate.workload import workload_words

LIMIT_S = 1800.0
SIZES = (27, 30, 33)
ALONE = 27  # with one thread, and with two: what a call takes before threads wait for each other
BURSTS, WARM = 1, 1
HEADS = ("runtime", "CPU", "threads", "fib", "calls", "us", "ns a call and core")
TITLE = "Nested fib, wall time x threads / calls: published, and SIMULATED on"
PUBLISHED_CPU = "EPYC 7742"


def calls(n: int) -> int:
    """Of fib(n) with fib(0) and fib(1) as leaves: fib(n) is 1 + fib(n - 1) + fib(n - 2) calls."""
    before, now = 1, 1
    for _ in range(n - 1):
        before, now = now, 1 + before + now
    return now


def ns_per_call(us: float, threads: int, n: int) -> float:
    return 1e3 * us * threads / calls(n)


def job(machine: Machine, n: int, threads: int) -> Job:
    """All threads but the producer's are workers."""
    has = machine if threads == machine.cpus else machine.with_cpus(threads)
    words = [*has.words, *workload_words(f"fib{n}"), "pool=ws", f"workers={threads - 1}"]
    words += ["period_us=0", f"bursts={BURSTS}", f"warm={WARM}"]
    return Job(tuple(words), {"n": n, "threads": threads})


def row(runtime: str, cpu: str, threads: int, n: int, us: float) -> list[str]:
    figure = f"{ns_per_call(us, threads, n):.1f}"
    return [runtime, cpu, str(threads), str(n), str(calls(n)), f"{us:.0f}", figure]


def rows(results: Iterable[dict[str, Any]], machine: Machine) -> list[list[str]]:
    found = [row(name, PUBLISHED_CPU, FIB_THREADS, FIB_N, us) for name, us in FIB_US.items()]
    for result in results:
        if "error" in result:
            print(f"simulate: fib{result['n']}: {result['error']}", file=sys.stderr)
        else:
            found.append(row("ws", machine.name, result["threads"], result["n"], result["p50_us"]))
    return found


def show(machine: Machine, at_once: int, sizes: Sequence[int] = SIZES) -> None:
    runs = [(ALONE, 1), (ALONE, 2), *((n, machine.cpus) for n in sizes)]
    jobs = [job(machine, n, threads) for n, threads in runs]
    results = run_jobs(jobs, "ws_sim_time", at_once, LIMIT_S)
    print_table(f"{TITLE} {machine.name}", HEADS, rows(results, machine), left=2)
    print("  Another n, another generation of CPU. Simulated code between atomic operations takes no time.")
