# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/ whose claims are figures: quicksort, the stock ticker, the Sudoku validator."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from nrbench.driver import BenchError, ask, run, there
from nrbench.engine import Ask, Part, Plan, Request, Step
from nrbench.judge import Ratio, round_ratio
from nrbench.places import EXAMPLES
from nrbench.render import busy_lines, failure_lines, host_line, layout
from nrbench.stats import Line, Results

SORT, TICKER, SUDOKU = "quicksort", "stock_ticker", "sudoku_validator"
OWN_SORT = "tpool"
RIVAL_SORTS = ("one thread", "qsort", "parallel_sort")
BUFFERS = (50, 1)
COUNT, QUICK_COUNT, FULL_COUNT = 10_000_000, 1_000_000, 999_999_999
DELAYS_MS = (20, 2)
SUDOKU_REPEATS = (200, 3000)
SUDOKU_THREADS = 11
SUDOKU_ROW = re.compile(r"^(quiet|noisy)\s+(\d+)\s+(\d+)\s", re.MULTILINE)
PAYS_MIN = 0.1  # of a thread more: share of a thread's own throughput that it must add
ABOUT_S, FULL_SORT_S = 10.0, 720.0  # of a step


def sort_steps(request: Request) -> Iterator[Step]:
    """Twice as many threads as cores show what threads beyond the cores cost."""
    quick_or_full = request.quick or request.full
    threads = sorted({1, 2, request.cores} | (set() if quick_or_full else {4, 2 * request.cores}))
    count = FULL_COUNT if request.full else request.usual(COUNT, QUICK_COUNT)
    rounds = request.rounds or (1 if request.full else request.usual(5, 2))
    given = ["--json", "--compare", f"--count={count}", f"--rounds={rounds}", f"--seed={request.seed}"]
    for buffer, number in ((buffer, number) for buffer in BUFFERS for number in threads):
        text = f"quicksort of {count} numbers, {number} threads, buffer of {buffer}"
        seconds = FULL_SORT_S if request.full else ABOUT_S
        yield Step(
            {"bench": "demos", "demo": SORT},
            [*given, f"--threads={number}", f"--buffer={buffer}"],
            seconds,
            text,
        )


def ticker_steps(request: Request) -> Iterator[Step]:
    """The delays alternate, so that what the machine does for longer than a round hits both."""
    count = request.round_count(5, 1)
    for number, delay_ms in ((number, delay_ms) for number in range(count) for delay_ms in DELAYS_MS):
        labels: Line = {"bench": "demos", "demo": TICKER, "delay_ms": delay_ms, "round": number}
        text = f"stock ticker, {delay_ms} ms, round {number + 1} of {count}"
        yield Step(labels, ["--json", "--sweep"], ABOUT_S, text)


def sudoku_steps(request: Request) -> Iterator[Step]:
    for repeat in SUDOKU_REPEATS[: 1 if request.quick else None]:
        given = ["--time", f"--repeat={repeat}", f"--threads={SUDOKU_THREADS}"]
        labels = {"bench": "demos", "demo": SUDOKU, "repeat": repeat}
        yield Step(labels, given, ABOUT_S, f"Sudoku validator, {repeat} times a task")


@contextmanager
def quotes(program: Path, delay_ms: float) -> Iterator[int]:
    """The stock ticker's server. @return its port. It ends with its standard input."""
    command = [sys.executable, "-B", str(program), f"--delay-ms={delay_ms}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        word, _, port = server.stdout.readline().partition(" ")
        if word != "port" or not port.strip().isdigit():
            server.kill()
            raise BenchError(f"{program}: printed {word!r} instead of its port")
        try:
            yield int(port)
        finally:
            server.stdin.close()


def ask_sudoku(program: Path, step: Step) -> list[Line]:
    done = run(program, step.words, step.limit_s)
    if isinstance(done, str):
        return [{"error": done}]
    rows = SUDOKU_ROW.findall(done.stdout)
    found: list[Line] = [
        {"kind": kind, "one_ns": int(one), "several_ns": int(many)} for kind, one, many in rows
    ]
    return found or [{"error": f"no times: {(done.stderr or done.stdout).strip()[-200:]}"}]


def asks(folder: Path, source: Path) -> Ask:
    """Each demo was built in a folder of its name. @param source  examples/"""
    programs = {name: there(folder / name / name) for name in (SORT, TICKER, SUDOKU)}

    def take(step: Step) -> list[Line]:
        demo = step.labels["demo"]
        if demo == SUDOKU:
            return ask_sudoku(programs[demo], step)
        if demo == SORT:
            return ask(programs[demo], step.words, step.limit_s)
        with quotes(source / "stock_ticker" / "server.py", step.labels["delay_ms"]) as port:
            return ask(programs[demo], [*step.words, f"--port={port}"], step.limit_s)

    return take


def plan(request: Request) -> Plan:
    steps = [*sort_steps(request), *ticker_steps(request), *sudoku_steps(request)]
    about = {"rounds": request.rounds or "as each demo needs", "full": request.full}
    return Plan(steps, asks(request.program.parents[1] / "demos", EXAMPLES), about)


def sort_ratio(line: Line, rival: str) -> Ratio | None:
    """Time of another sort ÷ time of the one on tpool, median of the rounds."""
    times = {name: dict(enumerate(taken["wall_s"])) for name, taken in line["contestants"].items()}
    return round_ratio(times[rival], times[OWN_SORT]) if rival in times else None


def _sort_row(line: Line) -> list[str]:
    own = line["contestants"][OWN_SORT]
    ratios = (str(sort_ratio(line, rival) or "n/a") for rival in RIVAL_SORTS)
    times = (f"{statistics.median(own[name]):.3f}" for name in ("wall_s", "cpu_s"))
    return [f"{line['threads']}, buffer {line['buffer']}", *times, *ratios]


def sort_table(found: list[Line]) -> Iterator[str]:
    yield (
        f"\nQuicksort of {found[0]['n']:,} numbers by recursion on tpool, medians of {found[0]['rounds']} "
        "rounds; time of another sort / time on tpool [95 %]. The source: 43.4 s / 14.5 s = 2.99 on 6 cores\n"
    )
    yield from layout([["threads", "wall s", "CPU s", *RIVAL_SORTS], *map(_sort_row, found)])


def ticker_points(found: list[Line]) -> dict[int, dict[int, list[float]]]:
    """By delay, the longest first, and by threads: symbols per second in each round."""
    points: dict[int, dict[int, list[float]]] = {}
    for line in sorted(found, key=lambda line: (-line["delay_ms"], line["threads"])):
        points.setdefault(line["delay_ms"], {}).setdefault(line["threads"], []).append(line["symbols_per_s"])
    return points


def stops_paying(medians: dict[int, float]) -> int | None:
    """The number of threads after which each further one adds less than a tenth of what one thread brings, on
    average. None: the sweep ends before."""
    last = max(medians)
    for threads in sorted(medians)[:-1]:
        gain = (medians[last] - medians[threads]) / (last - threads)
        if gain < PAYS_MIN * medians[min(medians)]:
            return threads
    return None


def ticker_table(found: list[Line]) -> Iterator[str]:
    threads = sorted({line["threads"] for line in found})
    rows = [["threads", *map(str, threads), "stops paying at"]]
    for delay_ms, of_delay in ticker_points(found).items():
        medians = {number: statistics.median(values) for number, values in of_delay.items()}
        cells = (f"{medians[number]:.0f}" if number in medians else "" for number in threads)
        end = stops_paying(medians)
        rows.append(
            [f"server's delay {delay_ms} ms", *cells, f"{end} threads" if end else "beyond the sweep"]
        )
    yield "\nStock ticker: symbols per second against threads, medians of the rounds\n"
    yield from layout(rows)
    if failed := sum(line["errors"] for line in found):
        yield f"{failed} requests failed: the figures count them"


def sudoku_table(found: list[Line]) -> Iterator[str]:
    rows = [["", "1 thread", "11 threads", "11 / 1"]]
    for line in found:
        name = f"{line['kind']}, each task {line['repeat']} times"
        one, several = line["one_ns"], line["several_ns"]
        rows.append([name, str(one), str(several), f"{several / one:.2f}"])
    yield "\nSudoku validator: ns a validation by 11 tasks, medians of 15 interleaved rounds\n"
    yield from layout(rows)


def report(results: Results) -> Iterator[str]:
    yield from [host_line(results.host), *busy_lines(results.host)]
    for demo, table in ((SORT, sort_table), (TICKER, ticker_table), (SUDOKU, sudoku_table)):
        if found := results.only(demo=demo).lines:
            yield from table(found)
    if results.failed:
        yield from ["", *failure_lines(results, "demo")]


def draw_ticker(found: list[Line], path: Path) -> str:
    from nrbench.drawing import plt, save  # loads for a second

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for place, (delay_ms, of_delay) in enumerate(ticker_points(found).items()):
        threads, rounds = list(of_delay), list(of_delay.values())
        values = [statistics.median(of_round) for of_round in rounds]
        (line,) = axis.plot(threads, values, marker="o", label=f"server's delay {delay_ms} ms")
        look: Any = {"color": line.get_color()}
        axis.fill_between(threads, list(map(min, rounds)), list(map(max, rounds)), alpha=0.2, **look)
        ideal = [values[0] * number / threads[0] for number in threads]
        label = None if place else "one thread's throughput times threads"
        axis.plot(threads, ideal, linestyle=":", label=label, **look)
    axis.set(xlabel="threads", ylabel="symbols per second; band: all rounds", yscale="log")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    return save(figure, path, dpi=130)


def draw_sort(found: list[Line], path: Path) -> str:
    from nrbench.drawing import plt, save  # loads for a second

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    by_buffer: dict[int, list[Line]] = {}
    for line in found:
        by_buffer.setdefault(line["buffer"], []).append(line)

    def curve(lines: list[Line], sort: str, label: str, **look: Any) -> None:
        medians = [statistics.median(line["contestants"][sort]["wall_s"]) for line in lines]
        axis.plot([line["threads"] for line in lines], medians, label=label, **look)

    for buffer, lines in by_buffer.items():
        curve(lines, OWN_SORT, f"tpool, buffer {buffer}", marker="o")
    first = next(iter(by_buffer.values()))
    for sort in (name for name in first[0]["contestants"] if name != OWN_SORT):
        curve(first, sort, sort, marker="x", linestyle="--")
    axis.set(xlabel="threads of the pool", ylabel=f"s to sort {found[0]['n']:,} numbers", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    return save(figure, path, dpi=130)


def draw(results: Results, out: Path) -> Iterator[str]:
    """Throughput of the stock ticker, and time of the quicksorts, against threads."""
    for demo, name, curves in ((TICKER, "ticker", draw_ticker), (SORT, "quicksort", draw_sort)):
        if found := results.only(demo=demo).lines:
            yield curves(found, out / f"demos-{name}.png")


PART = Part("demos", report, plan, draw=draw)
