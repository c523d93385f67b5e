# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate time: a workload on a simulated machine, for several numbers of workers."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulate.machine import Machine, MachineError, find_machine
from simulate.program import Job, run_jobs
from simulate.table import print_line

POOLS = ("ws", "mutex-queue", "mutex-per-worker")
CLASSES = ("other", "rr", "rrall")
LIMIT_S = 3600.0
PERIOD_US_MIN = 500.0

# Column: name with unit, key of the program's figures, digits
COLUMNS = (
    ("p50 us", "p50_us", 1),
    ("p99 us", "p99_us", 1),
    ("p50/bound", "p50_per_bound", 3),
    ("p50/whole", "p50_per_whole", 3),
    ("start lag us", "lag_us", 1),
    ("wakes/slot", "wakes", 2),
    ("CPU s/work s", "cpu_per_work", 2),
    ("tasks/s", "tasks_per_s", 0),
    ("ns/task", "ns_per_task", 1),
    ("steals/slot", "steals", 1),
    ("lost/slot", "steals_lost", 1),
)
LABELS = ("machine", "workload", "pool", "class", "workers")


def work_us(workload: str) -> float | None:
    """Work of a slot case, such as 12x6+22x28; None = another workload."""
    total = 0.0
    for phase in workload.split("+"):
        match = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)", phase)
        if not match:
            return None
        total += int(match[1]) * float(match[2])
    return total


def default_period_us(workload: str, cpus: int, workers: int, waiter_helps: bool) -> float:
    """500 µs as in the benchmark; more where the CPUs that take part need longer."""
    work = work_us(workload)
    if not work:
        return 0.0
    return max(PERIOD_US_MIN, 1.4 * work / min(cpus, workers + waiter_helps))


def workload_words(workload: str) -> tuple[str, ...]:
    """12x6+22x28: a slot; fib19: a nested join; empty:1000: a burst of empty tasks; FILE.slots: recorded."""
    if work_us(workload) is not None:
        return (f"slot={workload}",)
    match = re.fullmatch(r"fib(\d+)(?:x(\d+(?:\.\d+)?))?", workload)
    if match:
        return (f"slot=1x{match[2] or 0}", f"nested={match[1]}")
    match = re.fullmatch(r"empty:(\d+)", workload)
    if match:
        return (f"slot={match[1]}x0",)
    raise argparse.ArgumentTypeError(
        f"{workload!r}: expected TASKSxMICROSECONDS[+...], fib<n>[x<us>] or empty:<n>"
    )


def numbers(text: str) -> list[int]:
    """1,2,4-7"""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 1,2,4-7")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def choices(known: Sequence[str]) -> Any:
    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r}: expected {', '.join(known)}")
        return names

    return read


def job(machine: Machine, options: argparse.Namespace, label: dict[str, Any]) -> Job:
    pool, workers, workload = label["pool"], label["workers"], label["workload"]
    period = options.period_us
    if period is None:
        period = default_period_us(workload, machine.cpus, workers, pool == "ws")
    words = [
        *machine.words,
        *workload_words(workload),
        f"pool={pool}",
        f"class={label['class']}",
        f"workers={workers}",
        f"hot={int(options.spin == 'hot')}",
        f"period_us={period:g}",
        f"bursts={options.bursts}",
        f"warm={options.warm}",
        f"seed={options.seed}",
    ]
    environment = {"TPOOL_WS_SPIN": options.spin} if options.spin != "hot" else {}
    return Job(tuple(words), label | {"spin": options.spin, "period_us": period}, environment)


def add_ratios(result: dict[str, Any]) -> dict[str, Any]:
    for key, base in (("p50_per_bound", "bound_us"), ("p50_per_whole", "whole_us")):
        if result.get(base):
            result[key] = result["p50_us"] / result[base]
    if result.get("tasks_per_s"):
        result["ns_per_task"] = 1e9 / result["tasks_per_s"]
    return result


def cell(result: dict[str, Any], key: str, digits: int) -> str:
    return f"{result[key]:.{digits}f}" if key in result else "-"


def show(machines: Sequence[Machine], results: Any, out: Path | None) -> int:
    widths = [max(len(label), 16 if label == "pool" else 12) for label in LABELS] + [
        len(c[0]) + 1 for c in COLUMNS
    ]
    print("SIMULATED makespan of slots (first push to the return of the last join), by machine file:")
    for machine in machines:
        print(f"  {machine.name}: {machine.title}")
    print_line([*LABELS, *(column[0] for column in COLUMNS)], widths, 4)
    failed = 0
    file = out.open("a", encoding="utf-8") if out else None
    for result in results:
        label = [str(result[key]) for key in LABELS]
        if "error" in result:
            failed += 1
            print("  ".join([*label, result["error"]]), flush=True)
            continue
        add_ratios(result)
        print_line([*label, *(cell(result, key, digits) for _, key, digits in COLUMNS)], widths, 4)
        if file:
            file.write(json.dumps(result) + "\n")
            file.flush()
    return 1 if failed else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate time", description=__doc__)
    add = parser.add_argument
    add(
        "--machine",
        action="append",
        required=True,
        help="machine file, or the name of a shipped one; repeatable",
    )
    add("--workload", action="append", required=True, help="12x6+22x28, fib19, empty:1000; repeatable")
    add("--pool", type=choices(POOLS), default=["ws"], help=f"one or more of {','.join(POOLS)}")
    add("--workers", type=numbers, help="such as 1,2,4-7; default: one less than the machine's CPUs")
    add("--class", type=choices(CLASSES), dest="classes", default=["other"], help=f"of {','.join(CLASSES)}")
    add(
        "--spin", choices=("auto", "off", "hot"), default="auto", help="pre-wake, or workers that never sleep"
    )
    add(
        "--period-us",
        type=float,
        help="0: no pause. Default: 500, or 1.4 x the work on the CPUs that take part",
    )
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
        jobs = [
            job(machine, options, dict(zip(LABELS, (machine.name, workload, pool, klass, workers))))
            for machine in machines
            for workload in options.workload
            for pool in options.pool
            for klass in options.classes
            for workers in options.workers or [max(1, machine.cpus - 1)]
        ]
    except (MachineError, argparse.ArgumentTypeError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    return show(machines, run_jobs(jobs, "ws_sim_time", options.jobs, LIMIT_S), options.out)
