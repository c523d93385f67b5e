# SPDX-License-Identifier: BSD-3-Clause
"""Asks ws-latch for each run, writes the answers, and reports on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Sequence

from nrbench import host
from nrbench.answers import ask, say_written, write_report
from nrbench.driver import BenchError
from nrbench.latch import plan
from nrbench.latch.judge import collect
from nrbench.latch.plan import BOOST, Options, Run
from nrbench.latch.table import report
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import Progress, say
from nrbench.stats import Line, read_lines

NAME = "ws-latch"
RESULTS, REPORT, PLOT = "latch.ndjson", "latch.txt", "latch.png"


def require(program: Path) -> None:
    if not program.is_file():
        raise BenchError(f"{program}: not built: fibers need Boost.Context (Debian: libboost-context-dev)")


def missing(program: Path) -> dict[str, str]:
    """Why a library does not take part."""
    there = program.with_name("liblatch_boost.so").is_file()
    return {} if there else {BOOST: "not built; get it: Debian libboost-fiber-dev"}


def labels(run: Run, number: int) -> Line:
    line: Line = {"bench": "latch", "how": run.how, "round": number}
    if run.level:
        line |= {"level": run.level._asdict(), "a_worker": run.a_worker}
    return line


def measure(program: Path, options: Options, rounds: Sequence[Sequence[Run]], out: IO[str]) -> None:
    planned_s = sum(options.seconds(run) for runs in rounds for run in runs)
    with Progress(sum(map(len, rounds)), planned_s) as progress:
        for number, runs in enumerate(rounds):
            for run in runs:
                seconds = options.seconds(run)
                for answer in ask(program, plan.words(options, run), 60 + 10 * seconds):
                    out.write(json.dumps(labels(run, number) | answer) + "\n")
                progress.step(seconds, f"latch {run.how} {run.level.name if run.level else ''}".rstrip())
    if progress.interrupted:
        say(f"interrupted: {progress.done} of {progress.count} runs taken")


def run(program: Path, options: Options, out: Path) -> None:
    require(program)
    without = missing(program)
    rounds = plan.make_rounds(options, without)
    seconds = sum(options.seconds(one) for runs in rounds for one in runs)
    say(f"latch: {len(rounds)} rounds, about {seconds / 60:.1f} minutes")
    about = host.facts() | {
        "seed": options.seed,
        "rounds": options.round_count,
        "quick": options.quick,
        "blocks": plan.BLOCKS,
        "block_bytes": plan.BLOCK_BYTES,
        "missing": without,
    }
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(about) + "\n")
        measure(program, options, rounds, results)
    report_again(out)


def report_again(out: Path) -> None:
    results = collect(read_lines(out / RESULTS))
    write_report(out / REPORT, report(results))
    with matplotlib_apart():
        from nrbench.latch.plot import draw_ratios  # loads for a second

        say_written(out, [RESULTS, REPORT, *draw_ratios(results, out / PLOT)])
