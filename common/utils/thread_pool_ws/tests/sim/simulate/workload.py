# SPDX-License-Identifier: BSD-3-Clause
"""Workloads by name: what ws_sim_time is told, how much work it is, how often it comes."""

import re
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[6] / "nr_ulsim_bench" / "data"
PERIOD_US_MIN = 500.0
KNOWN = "TASKSxMICROSECONDS[+...], fib<n>[x<us>], empty:<n> or <file>.slots"


class WorkloadError(ValueError):
    """Names the workload."""


def recorded_file(name: str) -> Path:
    """A file, or the name of one that the benchmark replays."""
    for path in (Path(name), RECORDED / name):
        if path.is_file():
            return path
    raise WorkloadError(f"{name}: no such file, neither here nor in nr_ulsim_bench/data")


def recorded_slots(name: str) -> list[list[tuple[float, list[float]]]]:
    """Of each slot its phases: the serial work before the tasks, then the tasks, in us."""
    slots: dict[str, list[tuple[float, list[float]]]] = {}
    for line in recorded_file(name).read_text(encoding="utf-8").splitlines():
        fields = re.split(r"[,\s]+", line.strip())
        if not line.startswith("#") and len(fields) >= 4:
            tasks = [int(field) / 1e3 for field in fields[4:]]
            slots.setdefault(fields[0], []).append((int(fields[2]) / 1e3, tasks))
    return list(slots.values())


def phases(workload: str) -> list[tuple[int, float]]:
    """12x6+22x28; nothing when it is another workload."""
    found = []
    for phase in workload.split("+"):
        match = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)", phase)
        if not match:
            return []
        found.append((int(match[1]), float(match[2])))
    return found


def work_us(workload: str) -> float:
    """Of a slot, of a file the longest; 0 = bursts that follow each other at once."""
    if workload.endswith(".slots"):
        slots = recorded_slots(workload)
        return max(sum(serial + sum(tasks) for serial, tasks in slot) for slot in slots)
    return sum(tasks * us for tasks, us in phases(workload))


def default_period_us(workload: str, threads: int, producers: int) -> float:
    """500 µs as in the benchmark; more where so many threads need longer."""
    work = work_us(workload) * producers
    return max(PERIOD_US_MIN, 1.4 * work / threads) if work else 0.0


def workload_words(workload: str) -> tuple[str, ...]:
    """12x6+22x28: a slot; fib19: nested joins; empty:1000: a burst of empty tasks; x.slots: recorded."""
    if phases(workload):
        return (f"slot={workload}",)
    if workload.endswith(".slots"):
        return (f"file={recorded_file(workload)}",)
    match = re.fullmatch(r"fib(\d+)(?:x(\d+(?:\.\d+)?))?", workload)
    if match:
        return (f"slot=1x{match[2] or 0}", f"nested={match[1]}")
    match = re.fullmatch(r"empty:(\d+)", workload)
    if match:
        return (f"slot={match[1]}x0",)
    raise WorkloadError(f"{workload!r}: expected {KNOWN}")
