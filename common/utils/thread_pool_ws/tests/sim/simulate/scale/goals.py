# SPDX-License-Identifier: BSD-3-Clause
"""What the curves of ws must show, each met or not, and whether a curve turns up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from simulate.scale.plan import EMPTY, SLOTS, Curve
from simulate.scale.points import Curves, Point

TURN = 1.03  # more CPUs may take this much longer than fewer
LONG = ("22x28", "50x28", "100x28", "100x100")
FROM_20_US = ("4x20", "13x97.5", *LONG)
SHORT = ("12x6", "50x5", "100x5")
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
    """Holds where `value` of a point is at most `limit`."""

    name: str
    workloads: tuple[str, ...]
    value: Callable[[Point], float | None]
    limit: float
    unit: str = ""
    cpus: tuple[int, int] = (1, 1 << 30)
    digits: int = 2


def _excess_us(point: Point) -> float | None:
    return point.time - point.whole_us if point.whole_us else None


LONG_NAME = ", ".join(LONG)
GOALS = (
    Goal(f"{LONG_NAME}: up to 64 CPUs, x whole tasks", LONG, lambda p: p.per_whole, 1.10, cpus=(1, 64)),
    Goal(f"{LONG_NAME}: 65 to 128 CPUs, x whole tasks", LONG, lambda p: p.per_whole, 1.20, cpus=(65, 128)),
    Goal("tasks of 20 us and more: x B2", FROM_20_US, lambda p: p.per_passed, 1.10),
    Goal("tasks of 5 and 6 us: x B2", SHORT, lambda p: p.per_passed, 1.20),
    Goal("12x6: time beyond whole tasks", ("12x6",), _excess_us, 3.0, " us", digits=1),
    Goal("100x5: up to 32 CPUs, x whole tasks", ("100x5",), lambda p: p.per_whole, 1.25, cpus=(1, 32)),
    Goal(
        f"all slot cases but {TINY}: CPU time / work",
        tuple(case for case in SLOTS if case != TINY),
        lambda p: p.get("cpu_per_work"),
        2.0,
    ),
    Goal("empty tasks: up to 64 CPUs, time a task", (EMPTY,), lambda p: p.time, 50.0, " ns", (1, 64), 1),
)
TURN_GOALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("100x5: the most that more CPUs take longer", ("100x5",)),
    ("every curve: the most that more CPUs take longer", ()),
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


def own_curves(curves: Curves, machine: str, workloads: Sequence[str] = ()) -> Curves:
    """Of ws with one producer."""
    return {
        curve: points
        for curve, points in curves.items()
        if curve.pool == "ws"
        and curve.producers == 1
        and curve.machine == machine
        and (not workloads or curve.workload in workloads)
    }


def _where(curve: Curve, point: Point) -> str:
    return f"{curve.workload}, {point.cpus} CPUs"


def judge(goal: Goal, curves: Curves, machine: str) -> Verdict | None:
    """None: nothing to judge."""
    low, high = goal.cpus
    found: list[tuple[float, str]] = []
    for curve, points in own_curves(curves, machine, goal.workloads).items():
        for point in points:
            value = goal.value(point)
            if point.judged and low <= point.cpus <= high and value is not None:
                found.append((value, _where(curve, point)))
    if not found:
        return None
    value, where = max(found)
    met = sum(each <= goal.limit for each, _ in found)
    limit = f"{goal.limit:.{goal.digits}f}{goal.unit}"
    return Verdict(goal.name, machine, limit, met, len(found), f"{value:.{goal.digits}f}{goal.unit}: {where}")


def judge_turns(name: str, workloads: Sequence[str], curves: Curves, machine: str) -> Verdict | None:
    turns = {
        curve: turn
        for curve, points in own_curves(curves, machine, workloads).items()
        if (turn := turn_of(points))
    }
    if not turns:
        return None
    curve, turn = max(turns.items(), key=lambda item: item[1].ratio)
    met = sum(not one.is_up for one in turns.values())
    limit = f"{100 * (TURN - 1):+.0f} %"
    return Verdict(name, machine, limit, met, len(turns), f"{curve.workload}, {turn}")


def verdicts(curves: Curves) -> Iterator[Verdict]:
    machines = list(dict.fromkeys(curve.machine for curve in curves))
    for goal in GOALS:
        yield from filter(None, (judge(goal, curves, machine) for machine in machines))
    for name, workloads in TURN_GOALS:
        yield from filter(None, (judge_turns(name, workloads, curves, machine) for machine in machines))
