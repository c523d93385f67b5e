# SPDX-License-Identifier: BSD-3-Clause
"""Asks ws-prewake for each case of the plan, writes the answers, and reports on them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import IO, Any, Sequence

from nrbench import host
from nrbench.answers import require, say_written, write_report
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.prewake.judge import collect
from nrbench.prewake.plan import Case, Options, make_plan
from nrbench.prewake.table import report
from nrbench.progress import Progress, say
from nrbench.stats import read_lines

RESULTS, REPORT, PLOT = "prewake.ndjson", "prewake.txt", "prewake.png"


def ask(program: Path, words: Sequence[str], limit_s: float) -> list[dict[str, Any]]:
    """@return one answer a mode, or one with the reason why there is none"""
    try:
        done = subprocess.run([str(program), *words], capture_output=True, text=True, timeout=limit_s)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return answers or [{"error": f"no answer: {done.stderr.strip()[-200:]}"}]
    except subprocess.TimeoutExpired:
        return [{"error": f"no answer within {limit_s:.0f} s"}]
    except json.JSONDecodeError as error:
        return [{"error": f"an answer that is not JSON: {error}"}]


def measure(program: Path, cases: Sequence[Case], out: IO[str]) -> None:
    with Progress(len(cases), sum(case.seconds for case in cases)) as progress:
        for case in cases:
            answers = ask(program, case.words, 60 + 4 * case.seconds)
            if "killed" in answers[0].get("error", ""):  # once more: a host may have stopped the machine
                answers = ask(program, case.words, 60 + 4 * case.seconds)
            for answer in answers:
                out.write(json.dumps({**case.labels(), **answer}) + "\n")
            progress.step(case.seconds, f"prewake {case.kind} {case.env} {case.scenario}")
    if progress.interrupted:
        say(f"interrupted: {progress.done} of {progress.count} cases taken")


def run(program: Path, options: Options, out: Path) -> None:
    require(program)
    cases = make_plan(options)
    say(f"prewake: {len(cases)} cases, about {sum(case.seconds for case in cases) / 60:.1f} minutes")
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(host.facts() | {"seed": options.seed, "quick": options.quick}) + "\n")
        measure(program, cases, results)
    report_again(out)


def report_again(out: Path) -> None:
    results = collect(read_lines(out / RESULTS))
    write_report(out / REPORT, report(results))
    with matplotlib_apart():
        from nrbench.prewake.plot import draw_environments  # loads for a second

        say_written(out, [RESULTS, REPORT, *draw_environments(results, out / PLOT)])
