# SPDX-License-Identifier: BSD-3-Clause
"""Asks ws-prewake for each case of the plan, writes the answers, and reports on them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Sequence

from nrbench import host
from nrbench.driver import BenchError
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.prewake.judge import Results, collect
from nrbench.prewake.plan import Case, Options, make_plan
from nrbench.prewake.table import report
from nrbench.progress import Progress
from nrbench.stats import read_lines

RESULTS, REPORT, PLOT = "prewake.ndjson", "prewake.txt", "prewake.png"


def ask(program: Path, words: Sequence[str], limit_s: float) -> list[dict[str, Any]]:
    """@return one answer a mode, or one that says why there is none"""
    try:
        done = subprocess.run([str(program), *words], capture_output=True, text=True, timeout=limit_s)
        return [json.loads(line) for line in done.stdout.splitlines()] or [
            {"error": f"no answer: {done.stderr.strip()[-200:]}"}
        ]
    except subprocess.TimeoutExpired:
        return [{"error": f"no answer within {limit_s:.0f} s"}]
    except json.JSONDecodeError as error:
        return [{"error": f"an answer that is not JSON: {error}"}]


def measure(program: Path, cases: Sequence[Case], out: IO[str]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    progress = Progress(len(cases), sum(case.seconds for case in cases))
    try:
        for case in cases:
            answers = ask(program, case.words, 60 + 4 * case.seconds)
            if "killed" in answers[0].get("error", ""):  # once more: a host may have stopped the machine
                answers = ask(program, case.words, 60 + 4 * case.seconds)
            for answer in answers:
                lines.append({**case.labels(), **answer})
                out.write(json.dumps(lines[-1]) + "\n")
            progress.step(case.seconds, f"prewake {case.kind} {case.env} {case.scenario}")
    except KeyboardInterrupt:
        print(f"\nnrbench: interrupted: {progress.done} of {progress.count} cases taken", file=sys.stderr)
    finally:
        progress.finish()
    return lines


def run(program: Path, options: Options, out: Path) -> None:
    if not program.is_file():
        raise BenchError(f"{program}: no such file; it is built with the pool")
    cases = make_plan(options)
    seconds = sum(case.seconds for case in cases)
    print(f"nrbench: prewake: {len(cases)} cases, about {seconds / 60:.1f} minutes", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(host.facts() | {"seed": options.seed, "quick": options.quick}) + "\n")
        lines = measure(program, cases, results)
    report_results(collect(lines), out)


def report_again(out: Path) -> None:
    report_results(collect(read_lines(out / RESULTS)), out)


def report_results(results: Results, out: Path) -> None:
    text = "\n".join(report(results))
    print(text)
    (out / REPORT).write_text(text + "\n")
    print(f"\nwritten to {out}/: {' '.join([RESULTS, REPORT, *draw(results, out)])}")


def draw(results: Results, out: Path) -> list[str]:
    with matplotlib_apart():
        try:
            from nrbench.prewake.plot import draw_environments  # loads for a second
        except ModuleNotFoundError as error:
            print(f"\nnrbench: no plot: the Python package {error.name} is missing", file=sys.stderr)
            return []
        return draw_environments(results, out / PLOT)
