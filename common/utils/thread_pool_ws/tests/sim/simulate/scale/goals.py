# SPDX-License-Identifier: BSD-3-Clause
"""What the curves of ws must show, each met or not, and whether a curve turns up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulate.scale.plan import EMPTY, SLOTS
from simulate.scale.points import Curves, Point

TURN = 1.03  # more CPUs may take this much longer than fewer
LONG = ("22x28", "50x28", "100x28", "100x100")
FROM_20_US = ("4x20", "13x97.5", *LONG)
TINY = "38x0.5"  # its CPU time is the waking itself


@dataclass(frozen=True)
class Turn:
    """The two points of a curve between which it rises most; not certain where their runs overlap."""

    fewer: Point
    more: Point

    @property
    def ratio(self) -> float:
        return self.more.time / self.fewer.time

    @property
    def is_up(self) -> bool:
        return self.ratio > TURN

    @property
    def certain(self) -> bool:
        return self.is_up and self.more.low > self.fewer.high

    def __str__(self) -> str:
        return f"{self.fewer.cpus} to {self.more.cpus} CPUs {100 * (self.ratio - 1):+.0f} %"


def turn_of(points: Sequence[Point]) -> Turn | None:
    """None: fewer than two points to judge."""
    judged = [point for point in points if point.judged]
    turns = [Turn(fewer, more) for i, fewer in enumerate(judged) for more in judged[i + 1 :]]
    return max(turns, key=lambda turn: turn.ratio, default=None)


@dataclass(frozen=True)
class Goal:
    """Holds where a figure of a point (Point.get; "turn": of a curve) is at most `limit`."""

    name: str
    workloads: Sequence[str]  # none: each one
    key: str
    limit: float
    cpus: tuple[int, int] = (1, 1 << 30)
    text: str = "{:.2f}"

    def found(self, curves: Curves) -> Iterator[tuple[float, str]]:
        """The values, and where they are."""
        for curve, points in curves.items():
            if self.workloads and curve.workload not in self.workloads:
                continue
            if self.key == "turn" and (turn := turn_of(points)):
                yield turn.ratio, f"{curve.workload}, {turn}"
            for point in points:
                value = point.get(self.key)
                if point.judged and self.cpus[0] <= point.cpus <= self.cpus[1] and value is not None:
                    yield value, f"{self.text.format(value)}: {curve.workload}, {point.cpus} CPUs"


LONG_NAME = ", ".join(LONG)
GOALS = (
    Goal(f"{LONG_NAME}: up to 64 CPUs, x whole tasks", LONG, "time/whole_us", 1.10, (1, 64)),
    Goal(f"{LONG_NAME}: 65 to 128 CPUs, x whole tasks", LONG, "time/whole_us", 1.20, (65, 128)),
    Goal("tasks of 20 us and more: x B2", FROM_20_US, "time/passed_us", 1.10),
    Goal("tasks of 5 and 6 us: x B2", ("12x6", "50x5", "100x5"), "time/passed_us", 1.20),
    Goal("12x6: time beyond whole tasks", ("12x6",), "time-whole_us", 3.0, text="{:.1f} us"),
    Goal("100x5: up to 32 CPUs, x whole tasks", ("100x5",), "time/whole_us", 1.25, (1, 32)),
    Goal(
        f"all slot cases but {TINY}: CPU time / work",
        [case for case in SLOTS if case != TINY],
        "cpu_per_work",
        2.0,
    ),
    Goal("empty tasks: up to 64 CPUs, time a task", (EMPTY,), "time", 50.0, (1, 64), "{:.1f} ns"),
    Goal("100x5: the most that more CPUs take longer", ("100x5",), "turn", TURN),
    Goal("every curve: the most that more CPUs take longer", (), "turn", TURN),
)


@dataclass(frozen=True)
class Verdict:
    goal: str
    machine: str
    limit: str
    met: int
    of: int
    worst: str

    @property
    def is_met(self) -> bool:
        return self.met == self.of


def verdicts(curves: Curves) -> Iterator[Verdict]:
    """Of ws with one producer; none where there is nothing to judge."""
    for goal in GOALS:
        limit = f"{100 * (TURN - 1):+.0f} %" if goal.key == "turn" else goal.text.format(goal.limit)
        for machine in dict.fromkeys(curve.machine for curve in curves):
            own = {one: curves[one] for one in curves if one[:1] + one[2:] == (machine, 1, "ws")}
            if found := list(goal.found(own)):
                met = sum(value <= goal.limit for value, _ in found)
                yield Verdict(goal.name, machine, limit, met, len(found), max(found)[1])
