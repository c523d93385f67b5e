# SPDX-License-Identifier: BSD-3-Clause
"""Runs the demos, writes their answers, and reports on them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Callable, Iterator

from nrbench import host
from nrbench.answers import ask, require, say_written, write_report
from nrbench.demos import plan
from nrbench.demos.plan import Options
from nrbench.demos.server import quotes
from nrbench.demos.table import report
from nrbench.driver import quiet_environment
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.progress import say
from nrbench.stats import Line, read_lines

RESULTS, REPORT = "demos.ndjson", "demos.txt"
LIMIT_S = 120
FULL_LIMIT_S = 7200
SUDOKU_ROW = re.compile(r"^(quiet|noisy)\s+(\d+)\s+(\d+)\s", re.MULTILINE)


def program(folder: Path, name: str) -> Path:
    """Each demo is built in a folder of its name."""
    return folder / name / name


def quicksort(folder: Path, options: Options) -> Iterator[Line]:
    limit_s = FULL_LIMIT_S if options.full else LIMIT_S
    for buffer in plan.BUFFERS:
        for threads in options.sort_threads:
            say(f"demos: quicksort of {options.count} numbers, {threads} threads, buffer of {buffer}")
            words = plan.sort_words(options, threads, buffer)
            yield from ask(program(folder, "quicksort"), words, limit_s)


def ticker(folder: Path, source: Path, options: Options) -> Iterator[Line]:
    """The delays alternate, so that what the machine does for longer than a round hits both."""
    for number in range(options.ticker_rounds):
        for delay_ms in plan.DELAYS_MS:
            say(f"demos: stock ticker, {delay_ms} ms, round {number + 1} of {options.ticker_rounds}")
            with quotes(source / "stock_ticker" / "server.py", delay_ms) as port:
                for answer in ask(program(folder, "stock_ticker"), plan.ticker_words(port), LIMIT_S):
                    yield {"delay_ms": delay_ms, "round": number, **answer}


def sudoku(folder: Path, options: Options) -> Iterator[Line]:
    for repeat in plan.SUDOKU_REPEATS[: 1 if options.quick else None]:
        say(f"demos: Sudoku validator, {repeat} times a task")
        command = [str(program(folder, "sudoku_validator")), *plan.sudoku_words(repeat)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT_S, env=quiet_environment()
            )
        except subprocess.TimeoutExpired:
            yield {"repeat": repeat, "error": f"no answer within {LIMIT_S} s"}
            continue
        rows = SUDOKU_ROW.findall(done.stdout)
        if not rows:
            yield {"repeat": repeat, "error": f"no times: {(done.stderr or done.stdout).strip()[-200:]}"}
        for kind, one, several in rows:
            yield {"repeat": repeat, "kind": kind, "one_ns": int(one), "several_ns": int(several)}


def run(folder: Path, source: Path, options: Options, out: Path) -> None:
    """@param folder  where the demos were built. @param source  examples/"""
    demos: dict[str, Callable[[], Iterator[Line]]] = {
        "quicksort": lambda: quicksort(folder, options),
        "stock_ticker": lambda: ticker(folder, source, options),
        "sudoku_validator": lambda: sudoku(folder, options),
    }
    for name in demos:
        require(program(folder, name))
    about: dict[str, Any] = host.facts() | {
        "seed": options.seed,
        "rounds": options.rounds or "as each demo needs",
        "quick": options.quick,
        "full": options.full,
    }
    out.mkdir(parents=True, exist_ok=True)
    with open(out / RESULTS, "w") as results:
        results.write(json.dumps(about) + "\n")
        for name, take in demos.items():
            for line in take():
                results.write(json.dumps({"bench": "demos", "demo": name, **line}) + "\n")
                results.flush()
    report_again(out)


def report_again(out: Path) -> None:
    lines = read_lines(out / RESULTS)
    write_report(out / REPORT, report(lines))
    with matplotlib_apart():
        from nrbench.demos.plot import draw_all  # loads for a second

        say_written(out, [RESULTS, REPORT, *draw_all(lines, out)])
