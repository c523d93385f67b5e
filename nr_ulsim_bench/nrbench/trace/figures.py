# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of times; sums over all phases of one kind in one process; where events were lost."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import numpy as np

PATH_PARTS = ("serial", "push", "wake", "find", "run", "finish", "unknown")


class Times:
    """Times in ns, 8 bytes each: less than a tenth of the trace. A negative time counts as 0."""

    def __init__(self) -> None:
        self.ns = array("q")

    def add(self, *values_ns: int) -> None:
        self.ns.extend(max(value_ns, 0) for value_ns in values_ns)

    @property
    def count(self) -> int:
        return len(self.ns)

    def tail(self) -> tuple[np.ndarray, np.ndarray]:
        """Times in us in rising order, and for each the share of all times that are at least that long."""
        times, counts = np.unique(np.asarray(self.ns), return_counts=True)
        return np.maximum(times, 1) / 1e3, counts[::-1].cumsum()[::-1] / max(self.count, 1)

    def summary(self) -> dict[str, float | int | None]:
        """Quantiles have the nearest rank: the least time that so many percent of all do not exceed."""
        found: dict[str, float | int | None] = dict.fromkeys(("p50_us", "p99_us", "max_us", "mean_us"))
        if self.count:
            ordered = np.sort(self.ns) / 1e3
            ranks = {"p50_us": 50, "p99_us": 99, "max_us": 100}
            found |= {key: float(ordered[-(-self.count * rank // 100) - 1]) for key, rank in ranks.items()}
            found["mean_us"] = float(ordered.mean())
        return {"count": self.count, **found}


Path = dict[str, int]  # ns by part


@dataclass
class Tally:
    """Of the tasks and wakes of one phase, or of all phases of a kind."""

    lags: Times = field(default_factory=Times)
    times: Times = field(default_factory=Times)
    wakes: Times = field(default_factory=Times)
    stolen: int = 0
    by_timer: int = 0

    def add(self, other: Tally) -> None:
        self.lags.add(*other.lags.ns)
        self.times.add(*other.times.ns)
        self.wakes.add(*other.wakes.ns)
        self.stolen += other.stolen
        self.by_timer += other.by_timer


@dataclass
class Figures(Tally):
    """Of a kind of phase. Only phases all of whose events are in the trace are counted."""

    durations: Times = field(default_factory=Times)
    tasks: int = 0
    left_out: int = 0  # events were lost while they ran, or their begin is not in the trace
    unfinished: int = 0  # no end
    not_joined: int = 0  # bursts that no thread waited for: they end with their last task
    busy_ns: int = 0
    room_ns: int = 0  # duration x CPUs that could have worked
    path_count: int = 0
    path_ns: Path = field(default_factory=lambda: dict.fromkeys(PATH_PARTS, 0))

    def add_path(self, path: Path) -> None:
        self.path_count += 1
        for part, duration_ns in path.items():
            self.path_ns[part] += duration_ns

    @property
    def idle_share(self) -> float | None:
        return max(0.0, 1 - self.busy_ns / self.room_ns) if self.room_ns else None


class Lost:
    """Stretches of time in which events were lost. Sorted and disjoint, so that a search takes the logarithm
    of their number."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    @property
    def count(self) -> int:
        return len(self._begins)

    def add(self, begin_ns: int, end_ns: int) -> None:
        first = bisect_left(self._ends, begin_ns)  # of those that it touches
        behind = bisect_right(self._begins, end_ns)
        if first < behind:
            begin_ns, end_ns = min(begin_ns, self._begins[first]), max(end_ns, self._ends[behind - 1])
        self._begins[first:behind] = [begin_ns]
        self._ends[first:behind] = [end_ns]

    def between(self, begin_ns: int, end_ns: int) -> bool:
        """Whether something was lost in that time, both ends included."""
        last = bisect_right(self._begins, end_ns) - 1
        return last >= 0 and self._ends[last] >= begin_ns
