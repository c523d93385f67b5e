# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate time: a workload on a simulated machine, for several numbers of workers."""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from simulate.machine import Machine, MachineError, find_machine
from simulate.program import Job, print_line, run_jobs
from simulate.workload import KNOWN, WorkloadError, default_period_us, workload_words

POOLS = ("ws", "mutex-queue", "mutex-per-worker")
NAMED = ("pool", "class", "workers", "producers", "seed", "arrivals", "varied")
ARRIVALS = ("regular", "exponential", "onoff", "first")
CLASSES = ("other", "rr", "rrall")
LIMIT_S = 3600.0

# Column: name with unit, key of the figures, digits
COLUMNS = (
    ("p50 us", "p50_us", 1),
    ("p99 us", "p99_us", 1),
    ("p50/bound", "p50_per_bound", 3),
    ("p50/whole", "p50_per_whole", 3),
    ("start lag us", "start_lag_us", 1),
    ("all busy us", "full_us", 1),
    ("wakes/slot", "wakes", 2),
    ("CPU s/work s", "cpu_per_work", 2),
    ("tasks/s", "tasks_per_s", 0),
    ("ns/task", "ns_per_task", 1),
    ("steals/slot", "steals", 1),
    ("lost/slot", "steals_lost", 1),
)
LABELS = ("machine", "workload", "pool", "class", "workers")
TITLE = """SIMULATED slots. p50, p99: makespan, from the first push to the return of the last join; bound: the
work on all CPUs; whole: in whole tasks on a CPU for each thread that runs tasks; start lag: from the first
push to the first task that starts on a worker; all busy: until as many tasks run as can at once."""


def numbers(text: str) -> list[int]:
    """1,2,4-7"""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 1,2,4-7")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r}: expected {', '.join(known)}")
        return names

    return read


def burst_job(
    machine: Machine, label: dict[str, Any], period_us: float, spin: str = "auto", **more: object
) -> Job:
    """The label has the setting: workload, and of NAMED what is not as usual."""
    settings = {key: label[key] for key in NAMED if key in label}
    words = [f"{key}={value}" for key, value in (settings | more).items()]
    words += [*machine.words, *workload_words(label["workload"]), f"period_us={period_us:g}"]
    return Job(tuple(words), label, {"TPOOL_WS_SPIN": spin})


def job(machine: Machine, options: argparse.Namespace, label: dict[str, Any]) -> Job:
    period_us = options.period_us
    if period_us is None:
        threads = label["workers"] + (options.producers if label["pool"] == "ws" else 0)
        period_us = default_period_us(label["workload"], min(machine.cpus, threads), options.producers)
    more = {key: getattr(options, key) for key in ("spin", "producers", "arrivals")}
    more |= {"varied": int(options.sizes == "varied"), "period_us": period_us}
    numbers = {key: getattr(options, key) for key in ("bursts", "warm", "seed")}
    return burst_job(machine, label | more, period_us, options.spin, **numbers)


def add_swaps(result: dict[str, Any]) -> None:
    """Compare-and-swaps by function: an inline function is in the program several times."""
    swaps: dict[str, list[float]] = {}
    for key, (tries, lost) in result.get("swaps", {}).items():
        sums = swaps.setdefault(key.split()[0], [0.0, 0.0])
        sums[0] += tries
        sums[1] += lost
    result["swaps"] = swaps
    steals = [counts for name, counts in swaps.items() if "steal" in name]
    if steals:
        result["steals_lost"] = sum(lost for _, lost in steals)
        result["steals"] = sum(tries for tries, _ in steals) - result["steals_lost"]


def add_ratios(result: dict[str, Any]) -> None:
    for key, base in (("p50_per_bound", "bound_us"), ("p50_per_whole", "whole_us")):
        if result.get(base):
            result[key] = result["p50_us"] / result[base]
    if result.get("tasks_per_s"):
        result["ns_per_task"] = 1e9 / result["tasks_per_s"]


def cell(result: dict[str, Any], key: str, digits: int) -> str:
    return f"{result[key]:.{digits}f}" if key in result else "-"


def print_head(machines: Sequence[Machine], widths: Sequence[int]) -> None:
    print(TITLE)
    for machine in machines:
        print(f"  {machine.name}: {machine.title}")
    print_line([*LABELS, *(column[0] for column in COLUMNS)], widths, 4)


def widths_for(labels: Iterable[dict[str, Any]]) -> list[int]:
    all_labels = list(labels)
    left = [max(len(name), *(len(str(label[name])) for label in all_labels)) for name in LABELS]
    return left + [len(name) for name, _, _ in COLUMNS]


def show(machines: Sequence[Machine], jobs: Sequence[Job], at_once: int, out: Path | None) -> int:
    widths = widths_for(one.label for one in jobs)
    print_head(machines, widths)
    failed = 0
    for result in run_jobs(jobs, "ws_sim_time", at_once, LIMIT_S):
        label = [str(result[key]) for key in LABELS]
        if "error" in result:
            failed += 1
            print("  ".join([*label, result["error"]]), flush=True)
            continue
        add_swaps(result)
        add_ratios(result)
        print_line([*label, *(cell(result, key, digits) for _, key, digits in COLUMNS)], widths, 4)
        if out:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
    return 1 if failed else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate time", description=__doc__)
    add = parser.add_argument
    add("--machine", action="append", required=True, help="machine file, or a shipped one's name; repeatable")
    add("--cpus", type=int, help="of each machine; default: all that it has")
    add("--workload", action="append", required=True, help=f"{KNOWN}; repeatable")
    add("--pool", type=some_of(POOLS), default=["ws"], help=f"of {','.join(POOLS)}")
    add("--workers", type=numbers, help="such as 1,2,4-7; default: one less than the machine's CPUs")
    add("--class", type=some_of(CLASSES), dest="classes", default=["other"], help=f"of {','.join(CLASSES)}")
    add("--producers", type=int, default=1, help="threads with slots of their own; ws pool only")
    spins = ("auto", "off", "hot")
    add("--spin", choices=spins, default="auto", help="pre-wake, or workers that never sleep")
    add("--period-us", type=float, help="0: no pause. Default: 500, or 1.4 x the work per thread")
    rhythms = "exponential gaps, trains with silences between, or each slot after half a period to 1.5"
    add("--arrivals", choices=ARRIVALS, default="regular", help=rhythms)
    add("--sizes", choices=("all", "varied"), default="all", help="varied: a quarter of the tasks to all")
    add("--bursts", type=int, default=400, help="slots that are measured")
    add("--warm", type=int, default=800, help="slots before those")
    add("--seed", type=int, default=1)
    add("--jobs", type=int, default=os.cpu_count() or 1, help="simulations at once")
    add("--out", type=Path, help="append the figures to this file, one JSON object a line")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        machines = [find_machine(name) for name in options.machine]
        if options.cpus:
            machines = [machine.with_cpus(options.cpus) for machine in machines]
        jobs = [
            job(machine, options, dict(zip(LABELS, (machine.name, workload, pool, klass, workers))))
            for machine in machines
            for workload in options.workload
            for pool in options.pool
            for klass in options.classes
            for workers in options.workers or [max(1, machine.cpus - 1)]
        ]
    except (MachineError, WorkloadError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    return show(machines, jobs, options.jobs, options.out)
