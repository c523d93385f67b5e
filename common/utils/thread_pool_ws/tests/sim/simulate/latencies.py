# SPDX-License-Identifier: BSD-3-Clause
"""Core-to-core latencies: published ones beside those of a ping-pong on the simulated machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from simulate.machine import Machine, find_machine
from simulate.program import Job, run_jobs
from simulate.published import LATENCIES, Latency
from simulate.table import print_table

LIMIT_S = 120.0
NEAR = 0.10  # as validate has it
HEADS = ("measured on", "machine file", "it is", "pair", "how", "published", "pairs' range", "sim", "error %")
TITLE = "Core-to-core latency, ns: published / SIMULATED (compare-and-swap, or store and load, in turns)"

Simulated = dict[tuple[str, str], dict[str, Any]]  # by machine file and distance


def pair_of(machine: Machine, distance: str) -> tuple[Machine, int] | None:
    """The other CPU of a pair with CPU 0, and the machine that has it: the file's, or its [wider]."""
    for one in (machine, machine.wider):
        if one is None:
            continue
        sizes = {"own": 1, "smt": one.smt, "llc": one.llc_cpus, "node": one.node_cpus, "far": one.cpus}
        names = list(sizes)
        nearer = sizes[names[names.index(distance) - 1]]
        if nearer < sizes[distance]:
            return one, nearer
    return None


def jobs_for(latencies: Iterable[Latency]) -> list[Job]:
    wanted = dict.fromkeys((one.machine, one.distance) for one in latencies)
    jobs = []
    for name, distance in wanted:
        pair = pair_of(find_machine(name), distance)
        if pair:
            words = (*pair[0].words, "cpu=0", f"other={pair[1]}")
            jobs.append(Job(words, {"machine": name, "distance": distance}))
    return jobs


def simulate(latencies: Iterable[Latency], at_once: int) -> Simulated:
    found: Simulated = {}
    for result in run_jobs(jobs_for(latencies), "ws_sim_line", at_once, LIMIT_S):
        if "error" in result:
            print(f"simulate: {result['machine']}: {result['error']}", file=sys.stderr)
        else:
            found[result["machine"], result["distance"]] = result
    return found


def error_of(one: Latency, simulated_ns: float) -> float:
    """Relative, of the published figure; where only a range is published, of its nearer end."""
    if one.ns is not None:
        return simulated_ns / one.ns - 1
    assert one.low is not None and one.high is not None
    nearest = min(max(simulated_ns, one.low), one.high)
    return simulated_ns / nearest - 1


def verdict(one: Latency, simulated_ns: float) -> str:
    error = error_of(one, simulated_ns)
    if one.ns is None and error == 0:
        return "in the range"
    if abs(error) <= NEAR:
        return f"within {100 * NEAR:.0f} %"
    if one.high is not None and (one.low or one.ns or 0) <= simulated_ns <= one.high:
        return "in the pairs' range"
    return "no"


def number(ns: float | None) -> str:
    return "-" if ns is None else f"{ns:.1f}"


def row(one: Latency, simulated: Simulated) -> list[str]:
    of_range = f"{number(one.low)} to {number(one.high)}" if one.high is not None else "-"
    cells = [one.cpu, one.machine, one.relation, one.distance, one.how, number(one.ns), of_range]
    result = simulated.get((one.machine, one.distance))
    if result is None:
        return [*cells, "-", "-", "no such pair"]
    ns = float(result[f"{one.how}_ns"])
    return [*cells, number(ns), f"{100 * error_of(one, ns):+.0f}", verdict(one, ns)]


def summary(latencies: Sequence[Latency], simulated: Simulated) -> list[str]:
    """How many rows of each relation are near."""
    lines = []
    for relation in dict.fromkeys(one.relation for one in latencies):
        errors = [
            error_of(one, float(simulated[one.machine, one.distance][f"{one.how}_ns"]))
            for one in latencies
            if one.relation == relation and (one.machine, one.distance) in simulated
        ]
        if errors:
            near = sum(abs(error) <= NEAR for error in errors)
            lines.append(
                f"  {relation}: {near} of {len(errors)} within {100 * NEAR:.0f} %, "
                f"errors {100 * min(errors):+.0f} to {100 * max(errors):+.0f} %"
            )
    return lines


def show(at_once: int, latencies: Sequence[Latency] = LATENCIES) -> None:
    simulated = simulate(latencies, at_once)
    print_table(TITLE, [*HEADS, "verdict"], [row(one, simulated) for one in latencies], left=5)
    for line in summary(latencies, simulated):
        print(line)
