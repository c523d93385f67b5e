# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate scale: time against the number of CPUs, for every slot case and three pools."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from simulate.machine import MachineError, find_machine
from simulate.program import Job, run_jobs
from simulate.scale import plan
from simulate.scale.points import POINT, curves_of, point_lines
from simulate.scale.report import report
from simulate.timing import POOLS, add_ratios, add_swaps, numbers, some_of
from simulate.workload import KNOWN, WorkloadError

LIMIT_S = 900.0
TREE = Path(__file__).resolve().parents[7]
Line = dict[str, Any]


def commit() -> str | None:
    ours = f"GIT_CEILING_DIRECTORIES={TREE.parent}"  # in a copy inside another checkout git has no answer
    command = ["env", ours, "git", "-C", str(TREE), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def about(quick: bool, choice: plan.Choice) -> Line:
    slots, warm = choice.bursts["slot"]
    head = {"bench": "scale-about", "simulated": True, "commit": commit(), "quick": quick}
    return head | {"slots": slots, "warm": warm, "runs": choice.runs}


def finished(result: Line) -> Line:
    """The figures of a run, without those that are taken anew from the plan."""
    add_swaps(result)
    add_ratios(result)
    if "steals" in result:  # of all producers together
        result["steals"] /= result["producers"]
        result["steals_lost"] /= result["producers"]
    dropped = ("swaps", "whole_us", "bound_us", "p50_per_whole", "p50_per_bound")
    return {key: value for key, value in result.items() if key not in dropped}


def show_progress(done: int, count: int, began_s: float) -> None:
    if sys.stderr.isatty() or done % 100 == 0 or done == count:
        end = "\r" if sys.stderr.isatty() and done < count else "\n"
        taken = time.monotonic() - began_s
        print(f"simulate: {done} of {count} runs, {taken:.0f} s", end=end, file=sys.stderr, flush=True)


def left(jobs: Sequence[Job], lines: Sequence[Line]) -> list[Job]:
    """Those of which there is no line yet."""
    there = {tuple(line.get(name) for name in job.label) for job in jobs[:1] for line in lines}
    return [job for job in jobs if tuple(job.label.values()) not in there]


def take(jobs: Sequence[Job], at_once: int, out: IO[str] | None, before: Sequence[Line]) -> list[Line]:
    lines, began_s = [*before], time.monotonic()
    write(out, lines)
    jobs = left(jobs, before)
    for result in run_jobs(jobs, "ws_sim_time", at_once, LIMIT_S):
        lines.append(result if "error" in result else finished(result))
        write(out, lines[-1:])
        show_progress(len(lines) - len(before), len(jobs), began_s)
    return lines


def write(out: IO[str] | None, lines: Iterable[Line]) -> None:
    if out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
        out.flush()


def print_report(lines: Sequence[Line]) -> int:
    print("\n".join(report(curves_of(lines))))
    errors = [line for line in lines if "error" in line]
    for line in errors:
        where = f"{line['workload']} on {line['machine']}, {line['pool']}, {line['cpus']} CPUs"
        print(f"simulate: no figures: {where}: {line['error']}", file=sys.stderr)
    return 1 if errors else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate scale", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer workloads and numbers of CPUs, one run each: a minute")
    add("--machine", action="append", help=f"machine file; repeatable; default: {', '.join(plan.MACHINES)}")
    add("--workload", action="append", help=f"{KNOWN}; repeatable; default: all slot cases")
    add("--pool", type=some_of(POOLS), help=f"of {','.join(POOLS)}; default: all")
    add("--cpus", type=numbers, help=f"default: {','.join(map(str, plan.CPUS))}, as far as a file goes")
    add("--producers", type=numbers, help="default: 1,4, quick 1; several: ws, and few workloads, only")
    add("--runs", type=int, help="lives of a pool for each figure; default: 3, quick 1")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="simulations at once")
    add("--out", type=Path, help="write the figures to this file, one JSON object a line")
    add("--resume", action="store_true", help="go on with the interrupted command that wrote --out")
    what = "simulate nothing, report on such a file; repeatable"
    add("--report", type=Path, metavar="FILE", action="append", help=what)
    return parser.parse_args(arguments)


def interrupted(path: Path, head: Line) -> list[Line]:
    """The head, and the runs with a result of an interrupted command that had the same one."""
    there = read([path]) if path.is_file() else []
    return [head, *(line for line in there[1:] if "error" not in line and there[0] == head)]


def simulate(options: argparse.Namespace, out: Path | None) -> list[Line]:
    given = {"workloads": options.workload, "pools": options.pool, "cpus": options.cpus}
    given |= {"producers": options.producers, "runs": options.runs}
    usual = plan.QUICK if options.quick else plan.FULL
    choice = replace(usual, **{key: given[key] for key in given if given[key]})
    jobs = plan.jobs([find_machine(name) for name in options.machine or plan.MACHINES], choice)
    head = about(options.quick, choice)
    before = interrupted(out, head) if out and options.resume else [head]
    with out.open("w", encoding="utf-8") if out else nullcontext() as file:
        lines = take(jobs, options.jobs, file, before)
        write(file, point_lines(curves_of(lines)))
    return lines


def read(paths: Sequence[Path]) -> list[Line]:
    """The runs of such files; their points are taken anew."""
    lines = [json.loads(text) for path in paths for text in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line.get("bench") != POINT]


def figures(options: argparse.Namespace) -> list[Line]:
    """Simulated, or read; with --out also written: the runs, then the points that plots show."""
    if not options.report:
        return simulate(options, options.out)
    lines = read(options.report)
    with options.out.open("w", encoding="utf-8") if options.out else nullcontext() as out:
        write(out, [*lines, *point_lines(curves_of(lines))])
    return lines


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        return print_report(figures(options))
    except (MachineError, WorkloadError, OSError, json.JSONDecodeError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
