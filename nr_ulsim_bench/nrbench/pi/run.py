# SPDX-License-Identifier: BSD-3-Clause
"""Asks ws-pi for each run, writes the answers, and reports on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Sequence

from nrbench import host
from nrbench.answers import ask, require, say_written, write_report
from nrbench.backends import BACKENDS, OWN
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.pi import plan
from nrbench.pi.judge import collect
from nrbench.pi.plan import Options
from nrbench.pi.table import report
from nrbench.progress import Progress, say
from nrbench.stats import read_lines

NAME = "ws-pi"
RESULTS, REPORT, PLOT = "pi.ndjson", "pi.txt", "pi.png"


def missing(program: Path, options: Options) -> dict[str, str]:
    """Why a library does not take part."""
    install = {backend.name: backend.install for backend in BACKENDS}
    rivals = (name for name in options.names if name in plan.RIVALS)
    there = {name: program.with_name(f"libpi_{name}.so").is_file() for name in rivals}
    return {name: f"not built; get it: {install[name]}" for name, built in there.items() if not built}


def measure(program: Path, options: Options, names: Sequence[str], out: IO[str]) -> None:
    rounds = plan.make_rounds(options, list(names))
    count = len(rounds) * len(names)
    with Progress(count, count * options.seconds) as progress:
        for number, order in enumerate(rounds):
            for name in order:
                for answer in ask(program, plan.words(options, name), 30 + 10 * options.seconds):
                    labels = {"bench": "pi", "how": name, "round": number}
                    out.write(json.dumps(labels | answer) + "\n")
                progress.step(options.seconds, f"pi {name}")
    if progress.interrupted:
        say(f"interrupted: {progress.done} of {progress.count} runs taken")


def run(program: Path, options: Options, out: Path) -> None:
    require(program)
    without = missing(program, options)
    names = [name for name in options.names if name not in without]
    assert OWN in names
    seconds = options.round_count * len(names) * options.seconds
    say(f"pi: {options.round_count} runs of {', '.join(names)}, about {seconds / 60:.1f} minutes")
    about = host.facts() | {
        "seed": options.seed,
        "rounds": options.round_count,
        "quick": options.quick,
        "intervals": options.intervals,
        "warm": plan.WARM,
        "missing": without,
    }
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(about) + "\n")
        measure(program, options, names, results)
    report_again(out)


def report_again(out: Path) -> None:
    results = collect(read_lines(out / RESULTS))
    write_report(out / REPORT, report(results))
    with matplotlib_apart():
        from nrbench.pi.plot import draw_times  # loads for a second

        say_written(out, [RESULTS, REPORT, *draw_times(results, out / PLOT)])
