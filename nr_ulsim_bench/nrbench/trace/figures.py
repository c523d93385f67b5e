# SPDX-License-Identifier: BSD-3-Clause
"""Sums and distributions over all phases of one kind in one process."""

from __future__ import annotations

from dataclasses import dataclass, field

from nrbench.trace.hist import Times

PATH_PARTS = ("serial", "push", "wake", "find", "run", "finish", "unknown")
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
