# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate validate: slots that ci/bench measured beside the same, simulated on this machine's file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from simulate.machine import Machine, MachineError, find_machine
from simulate.program import Job, run_jobs
from simulate.table import print_line
from simulate.timing import CLASSES, POOLS, spin_environment
from simulate.workload import WorkloadError, benchmark_period_us, workload_words

LIMIT_S = 600.0
P50_ERROR_MAX = 0.10
P99_ERROR_MAX = 0.20
HEADS = ("pool", "mode", "class", "case", "workers", "p50 us", "sim", "error %", "p99 us", "sim", "error %")
MORE_HEADS = ("start lag us", "sim", "CPU s/work s", "sim")
WIDTHS = (16, 7, 5, 10, 7, 9, 9, 7, 9, 9, 7, 12, 7, 12, 7)
SETTING = ("backend", "mode", "class", "case", "workers")


@dataclass(frozen=True)
class Measured:
    """One setting: the rounds' medians."""

    setting: tuple[Any, ...]
    first: dict[str, Any]  # row of the first round
    p50_us: float
    p99_us: float
    start_lag_us: float | None
    cpu_per_work: float

    @property
    def label(self) -> dict[str, Any]:
        return dict(zip(SETTING, self.setting))


def read_rows(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The host's line, and the slot rows of pools that can be simulated."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    none: dict[str, Any] = {}
    host = next((line for line in lines if line.get("bench") == "host"), none)
    rows = [
        line
        for line in lines
        if line.get("bench") == "slot"
        and line.get("backend") in POOLS
        and not line.get("hog")
        and "makespan_p50_us" in line
    ]
    return host, rows


def middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def by_setting(rows: Sequence[dict[str, Any]]) -> list[Measured]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in SETTING), []).append(row)
    return [
        Measured(
            setting,
            group[0],
            median(row["makespan_p50_us"] for row in group),
            median(row["makespan_p99_us"] for row in group),
            middle(row.get("start_lag_us") for row in group),
            median(row["cpu_s"] / row["work_s"] for row in group),
        )
        for setting, group in sorted(
            groups.items(), key=lambda item: (item[0][0] != "ws", *map(str, item[0]))
        )
    ]


def jobs_for(machine: Machine, one: Measured, cores: int, runs: int) -> list[Job]:
    row = one.first
    words = [
        *machine.words,
        *workload_words(row["case"]),
        f"pool={row['backend']}",
        f"class={row['class']}",
        f"workers={row['workers']}",
        f"hot={int(row['mode'] == 'hot')}",
        f"period_us={benchmark_period_us(row['case'], cores):g}",
        f"bursts={row['slots']}",
        f"warm={row['start_slots'] + row['warm_slots']}",
    ]
    environment = spin_environment("hot" if row["mode"] == "hot" else "auto")
    return [
        Job((*words, f"seed={seed}"), {"setting": one.setting}, environment) for seed in range(1, runs + 1)
    ]


def error_of(simulated: float, measured: float) -> float:
    return simulated / measured - 1


def text_of(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def print_row(one: Measured, results: Sequence[dict[str, Any]]) -> tuple[float, float]:
    p50_us, p99_us = (median(result[key] for result in results) for key in ("p50_us", "p99_us"))
    errors = error_of(p50_us, one.p50_us), error_of(p99_us, one.p99_us)
    lag_us = middle(result.get("start_lag_us") for result in results)
    cells = [*map(str, one.setting)]
    cells += [f"{one.p50_us:.1f}", f"{p50_us:.1f}", f"{100 * errors[0]:+.0f}"]
    cells += [f"{one.p99_us:.1f}", f"{p99_us:.1f}", f"{100 * errors[1]:+.0f}"]
    cells += [text_of(one.start_lag_us, 1), text_of(lag_us, 1)]
    cells += [text_of(one.cpu_per_work, 2), text_of(median(r["cpu_per_work"] for r in results), 2)]
    print_line(cells, WIDTHS, 4)
    return errors


def print_verdict(name: str, errors: Sequence[tuple[float, float]]) -> None:
    if not errors:
        return
    near50 = sum(abs(p50) <= P50_ERROR_MAX for p50, _ in errors)
    near99 = sum(abs(p99) <= P99_ERROR_MAX for _, p99 in errors)
    p50 = median(abs(p50) for p50, _ in errors)
    p99 = median(abs(p99) for _, p99 in errors)
    print(
        f"{name}: {len(errors)} rows; p50 within 10 %: {near50}, p99 within 20 %: {near99}; "
        f"median error: p50 {100 * p50:.1f} %, p99 {100 * p99:.1f} %"
    )


def compare(machine: Machine, settings: Sequence[Measured], cores: int, options: argparse.Namespace) -> int:
    print(f"Measured slots, and SIMULATED ones (columns sim) on {machine.name}: {machine.title}")
    print_line([*HEADS, *MORE_HEADS], WIDTHS, 4)
    jobs = [job for one in settings for job in jobs_for(machine, one, cores, options.runs)]
    results = run_jobs(jobs, "ws_sim_time", options.jobs, LIMIT_S)
    errors: dict[str, list[tuple[float, float]]] = {}
    failed = 0
    for one in settings:
        own = [next(results) for _ in range(options.runs)]
        bad = [result["error"] for result in own if "error" in result]
        if bad:
            failed += 1
            print("  ".join([*map(str, one.setting), bad[0]]))
            continue
        errors.setdefault(one.label["backend"], []).append(print_row(one, own))
    for pool, many in errors.items():
        print_verdict(pool, many)
    print_verdict("all", [pair for many in errors.values() for pair in many])
    return 1 if failed else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate validate", description=__doc__)
    add = parser.add_argument
    add("--results", type=Path, default=Path("out/results.ndjson"), help="of ci/bench; default: %(default)s")
    add(
        "--machine",
        default="vm-2-amd",
        help="machine file of the machine that was measured; default: %(default)s",
    )
    add("--runs", type=int, default=5, help="simulations of each setting; the median counts")
    add("--pool", choices=POOLS, help="this pool only")
    add("--class", choices=CLASSES, dest="klass", help="this class only")
    add("--case", help="this case only")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="simulations at once")
    return parser.parse_args(arguments)


def is_wanted(row: dict[str, Any], options: argparse.Namespace) -> bool:
    wanted = {"backend": options.pool, "class": options.klass, "case": options.case}
    return all(value is None or row[key] == value for key, value in wanted.items())


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        host, rows = read_rows(options.results)
        machine = find_machine(options.machine)
        settings = by_setting([row for row in rows if is_wanted(row, options)])
        return compare(machine, settings, host.get("cores", machine.cpus), options)
    except (MachineError, WorkloadError, OSError, json.JSONDecodeError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
