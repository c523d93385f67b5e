# SPDX-License-Identifier: BSD-3-Clause
"""Throughput of the stock ticker, and time of the quicksorts, against threads."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Sequence

from nrbench.demos.table import OWN_SORT, of, ticker_points
from nrbench.drawing import plt, save
from nrbench.stats import Line

TICKER, SORT = "demos-ticker.png", "demos-quicksort.png"


def draw_ticker(lines: Sequence[Line], out: Path) -> list[str]:
    points = ticker_points(lines)
    if not points:
        return []
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for delay_ms, of_delay in sorted(points.items(), reverse=True):
        threads = sorted(of_delay)
        values = [statistics.median(of_delay[number]) for number in threads]
        (line,) = axis.plot(threads, values, marker="o", label=f"server's delay {delay_ms} ms")
        lowest, highest = ([pick(of_delay[number]) for number in threads] for pick in (min, max))
        axis.fill_between(threads, lowest, highest, color=line.get_color(), alpha=0.2)
        ideal = [values[0] * number / threads[0] for number in threads]
        label = "one thread's throughput times threads" if delay_ms == max(points) else None
        axis.plot(threads, ideal, color=line.get_color(), linestyle=":", label=label)
    axis.set(xlabel="threads", ylabel="symbols per second; band: all rounds", yscale="log")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    return [save(figure, out / TICKER, dpi=130)]


def draw_sort(lines: Sequence[Line], out: Path) -> list[str]:
    found = of(lines, "quicksort")
    if not found:
        return []
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    by_buffer: dict[Any, list[Line]] = {}
    for line in found:
        by_buffer.setdefault(line["buffer"], []).append(line)
    for buffer, group in by_buffer.items():
        medians = [statistics.median(line["contestants"][OWN_SORT]["wall_s"]) for line in group]
        axis.plot([line["threads"] for line in group], medians, marker="o", label=f"tpool, buffer {buffer}")
    first = next(iter(by_buffer.values()))
    for name in (name for name in first[0]["contestants"] if name != OWN_SORT):
        medians = [statistics.median(line["contestants"][name]["wall_s"]) for line in first]
        axis.plot([line["threads"] for line in first], medians, marker="x", linestyle="--", label=name)
    axis.set(xlabel="threads of the pool", ylabel=f"s to sort {found[0]['n']:,} numbers", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    return [save(figure, out / SORT, dpi=130)]


def draw_all(lines: Sequence[Line], out: Path) -> list[str]:
    """@return names of the files written"""
    return [*draw_ticker(lines, out), *draw_sort(lines, out)]
