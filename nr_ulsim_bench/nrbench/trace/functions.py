# SPDX-License-Identifier: BSD-3-Clause
"""Run times by task function: which of a program's functions takes the time."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np

from nrbench.trace.figures import Times

FUNCTIONS_MAX = 256  # in a trace; more share one row
OTHERS = 0  # their address
BLOCKS = "▁▂▃▄▅▆▇█"
NONE = "·"

Key = tuple[int, int]  # process, address of the function


class Functions:
    """A task's own time: without tasks that it runs while it waits, and without these waits."""

    def __init__(self) -> None:
        self.times: dict[Key, Times] = {}

    def add(self, pid: int, func: int, own_ns: int) -> None:
        times = self.times.get((pid, func))
        if times is None:
            key = (pid, func if len(self.times) < FUNCTIONS_MAX else OTHERS)
            times = self.times.setdefault(key, Times())
        times.add(own_ns)

    def keep(self, pids: set[int]) -> None:
        self.times = {key: times for key, times in self.times.items() if key[0] in pids}

    def summary(self, name: Callable[[int, int], str]) -> list[dict[str, Any]]:
        """The function with the largest sum first."""
        rows = [
            {
                "name": name(pid, func),
                "pid": pid,
                **times.summary(),
                "total_us": float(np.sum(times.ns)) / 1e3,
                "histogram": histogram(times),
            }
            for (pid, func), times in self.times.items()
        ]
        return sorted(rows, key=lambda row: -row["total_us"])


def histogram(times: Times) -> dict[str, int]:
    """Number of tasks by the power of two, in ns, that their time reaches: {"1024": 7} is 7 tasks of 1024 to
    2047 ns. Times below 1 ns count as 1."""
    powers = np.frexp(np.maximum(np.asarray(times.ns), 1).astype(float))[1] - 1
    found, counts = np.unique(powers, return_counts=True)
    return {str(1 << int(power)): int(count) for power, count in zip(found, counts)}


def bounds(rows: list[dict[str, Any]]) -> range:
    """The powers of two that the histograms of all rows cover."""
    powers = [int(low).bit_length() - 1 for row in rows for low in row["histogram"]]
    return range(min(powers), max(powers) + 1) if powers else range(0)


def drawn(row: dict[str, Any], powers: range) -> str:
    """A character for each power of two. The highest block stands at the most frequent one."""
    counts = [row["histogram"].get(str(1 << power), 0) for power in powers]
    most = max(counts, default=0)
    return "".join(_block(count, most) for count in counts)


def _block(count: int, most: int) -> str:
    return BLOCKS[(count * len(BLOCKS) - 1) // most] if count else NONE


def cells(rows: list[dict[str, Any]], us: Callable[[float | None], str]) -> Iterator[list[str]]:
    """Head and rows of the table."""
    powers = bounds(rows)
    if not powers:
        return
    ends = f"{us((1 << powers.start) / 1e3)} .. {us((1 << powers.stop) / 1e3)}"
    yield ["", "tasks", "sum", "p50", "p99", "max", ends]
    for row in rows:
        values = (row[f"{key}_us"] for key in ("total", "p50", "p99", "max"))
        yield [row["name"], str(row["count"]), *map(us, values), drawn(row, powers)]
