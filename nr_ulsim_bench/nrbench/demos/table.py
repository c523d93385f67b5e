# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the demos as text, each with the claim that it is about."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any, Iterable, Iterator, Sequence

from nrbench.claims import Ratio, round_ratio
from nrbench.stats import Line
from nrbench.table import busy_lines, host_line, layout

OWN_SORT = "tpool"
RIVAL_SORTS = ("one thread", "qsort", "parallel_sort")
PAYS_MIN = 0.1  # of a thread more: share of a thread's own throughput that it must add


def of(lines: Iterable[Line], demo: str) -> list[Line]:
    return [line for line in lines if line.get("demo") == demo and "error" not in line]


def sort_ratio(line: Line, rival: str) -> Ratio | None:
    """Time of another sort ÷ time of the one on tpool, median of the rounds."""
    times = {name: dict(enumerate(taken["wall_s"])) for name, taken in line["contestants"].items()}
    return round_ratio(times[rival], times[OWN_SORT]) if rival in times else None


def _sort_row(line: Line) -> list[str]:
    own = line["contestants"][OWN_SORT]
    ratios = (sort_ratio(line, rival) for rival in RIVAL_SORTS)
    times = (f"{statistics.median(own[name]):.3f}" for name in ("wall_s", "cpu_s"))
    return [f"{line['threads']}, buffer {line['buffer']}", *times, *(str(r) if r else "n/a" for r in ratios)]


def sort_table(lines: Sequence[Line]) -> Iterator[str]:
    found = of(lines, "quicksort")
    if not found:
        return
    rounds = found[0]["rounds"]
    yield (
        f"\nQuicksort of {found[0]['n']:,} numbers by recursion on tpool, medians of {rounds} rounds; time "
        "of another sort / time on tpool [95 %]. The source: 43.4 s / 14.5 s = 2.99 on 6 cores\n"
    )
    head = ["threads", "wall s", "CPU s", *RIVAL_SORTS]
    yield from layout([head, *(_sort_row(line) for line in found)])


def ticker_points(lines: Sequence[Line]) -> dict[int, dict[int, list[float]]]:
    """By delay and threads: symbols per second in each round."""
    points: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in of(lines, "stock_ticker"):
        points[line["delay_ms"]][line["threads"]].append(line["symbols_per_s"])
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


def ticker_table(lines: Sequence[Line]) -> Iterator[str]:
    points = ticker_points(lines)
    if not points:
        return
    yield "\nStock ticker: symbols per second against threads, medians of the rounds\n"
    threads = sorted({number for of_delay in points.values() for number in of_delay})
    rows = [["threads", *map(str, threads), "stops paying at"]]
    for delay_ms, of_delay in sorted(points.items(), reverse=True):
        medians = {number: statistics.median(values) for number, values in of_delay.items()}
        cells = [f"{medians[number]:.0f}" if number in medians else "" for number in threads]
        end = stops_paying(medians)
        rows.append(
            [f"server's delay {delay_ms} ms", *cells, f"{end} threads" if end else "beyond the sweep"]
        )
    yield from layout(rows)
    failed = sum(line["errors"] for line in of(lines, "stock_ticker"))
    if failed:
        yield f"{failed} requests failed: the figures count them"


def sudoku_table(lines: Sequence[Line]) -> Iterator[str]:
    found = of(lines, "sudoku_validator")
    if not found:
        return
    yield "\nSudoku validator: ns a validation by 11 tasks, medians of 15 interleaved rounds\n"
    rows: list[list[Any]] = [["", "1 thread", "11 threads", "11 / 1"]]
    for line in found:
        name = f"{line['kind']}, each task {line['repeat']} times"
        ratio = line["several_ns"] / line["one_ns"]
        rows.append([name, f"{line['one_ns']}", f"{line['several_ns']}", f"{ratio:.2f}"])
    yield from layout(rows)


def report(lines: Sequence[Line]) -> Iterator[str]:
    yield host_line(lines[0])
    yield from busy_lines(lines[0])
    yield from sort_table(lines)
    yield from ticker_table(lines)
    yield from sudoku_table(lines)
    for line in (line for line in lines if "error" in line):
        yield f"\nwithout a result: {line['demo']}: {line['error']}"
