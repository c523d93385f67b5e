# SPDX-License-Identifier: BSD-3-Clause
"""Asks ws-scan for each round, writes the answers, and reports on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

from nrbench import host
from nrbench.answers import ask, require, say_written, write_report
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import Progress, say
from nrbench.scan import plan
from nrbench.scan.judge import collect
from nrbench.scan.plan import Options
from nrbench.scan.table import report
from nrbench.stats import Line, read_lines
from nrbench.system import System

NAME = "ws-scan"
RESULTS, REPORT, PLOT = "scan.ndjson", "scan.txt", "scan.png"


def facts(options: Options, system: System) -> Line:
    """Of the machine and of the table."""
    size, note = plan.table_bytes(system, options.quick)
    return host.facts() | {
        "seed": options.seed,
        "rounds": options.round_count,
        "quick": options.quick,
        "bytes": size,
        "block_bytes": plan.BLOCK_BYTES,
        "passes": plan.PASSES,
        "last_level_bytes": plan.last_level_bytes(system),
        "note": note,
    }


def measure(program: Path, options: Options, size: int, out: IO[str]) -> None:
    seconds = plan.round_seconds(size)
    with Progress(options.round_count, options.round_count * seconds) as progress:
        for number in range(options.round_count):
            for answer in ask(program, plan.words(options, number, size), 60 + 10 * seconds):
                out.write(json.dumps({"bench": "scan", "round": number, **answer}) + "\n")
            progress.step(seconds, f"scan round {number}")
    if progress.interrupted:
        say(f"interrupted: {progress.done} of {progress.count} rounds taken")


def run(program: Path, options: Options, out: Path) -> None:
    require(program)
    about = facts(options, host.REAL)
    seconds = options.round_count * plan.round_seconds(about["bytes"])
    say(f"scan: {options.round_count} rounds, about {seconds / 60:.1f} minutes")
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(about) + "\n")
        measure(program, options, about["bytes"], results)
    report_again(out)


def report_again(out: Path) -> None:
    results = collect(read_lines(out / RESULTS))
    write_report(out / REPORT, report(results))
    with matplotlib_apart():
        from nrbench.scan.plot import draw_scans  # loads for a second

        say_written(out, [RESULTS, REPORT, *draw_scans(results, out / PLOT)])
