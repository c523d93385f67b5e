# SPDX-License-Identifier: BSD-3-Clause
"""What the curves of ws must show, each met or not, whether a curve turns up, and all of it as text."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from simulate.machine import Machine, MachineError, find_machine
from simulate.program import line
from simulate.scale.plan import EMPTY, SLOTS, Curve
from simulate.scale.points import Curves, Point, is_empty

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


# Row: its name, the figure (Point.get), digits
Row = tuple[str, str, int]
SLOT_ROWS: tuple[Row, ...] = (
    ("p50 us", "time", 1),
    ("p50 / bound", "time/bound_us", 2),
    ("p50 / whole tasks", "time/whole_us", 2),
    ("p50 / B1", "time/dealt_us", 2),
    ("p50 / B2", "time/passed_us", 2),
    ("p99 us", "p99_us", 1),
    ("start lag us", "start_lag_us", 1),
    ("steals a slot", "steals", 1),
    ("lost steals a slot", "steals_lost", 1),
    ("wakes a slot", "wakes", 1),
    ("CPU time / work", "cpu_per_work", 2),
)
BURST_ROWS = SLOT_ROWS[6:10]
HEAD = """SIMULATED: no figure here was measured on such a machine. Of the machine files only vm-2-amd and
vm-16-intel are calibrated; these are made of published values and estimates. A curve shows how the pool's own
work grows with the number of CPUs.
p50, p99: makespan of a slot, from the first push to the return of the last join.
bound: the longest task, or the work on all CPUs.
whole tasks: the CPU that is free first takes the next task; for equal tasks ceil(tasks / CPUs) x a task.
B1: whole tasks, and what pushes and moves of cache lines take at least, from one producer.
B2: the same, and the last end of each CPU is counted in one word.
start lag: from the first push to the first task that starts on a worker.
lost steals: compare-and-swaps that came too late, because another thread took the task.
ws: workers = CPUs - producers, pre-wake auto. mutex-queue, mutex-per-worker: workers = CPUs.
Each figure is the median of the runs."""


def layout(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """So many columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    yield from ("  " + line(row, widths, left) for row in rows)


def text_of(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def rows_of(curve: Curve) -> tuple[Row, ...]:
    first = ("ns a task", "time", 1) if is_empty(curve.workload) else SLOT_ROWS[0]
    if curve.pool != "ws":
        return (first, SLOT_ROWS[2])
    return (first, *BURST_ROWS) if curve.workload.startswith(("empty", "fib")) else SLOT_ROWS


def workload_table(curves: Curves) -> Iterator[str]:
    """Curves of one workload and machine: a column for each number of CPUs."""
    counts = sorted({point.cpus for points in curves.values() for point in points})
    table = [["CPUs", *map(str, counts)]]
    for curve, points in curves.items():
        by_cpus = {point.cpus: point for point in points}
        for name, key, digits in rows_of(curve):
            cells = [text_of(by_cpus[n].get(key), digits) if n in by_cpus else "" for n in counts]
            if any(cell not in ("", "-") for cell in cells):
                table.append([f"{curve.pool}: {name}", *cells])
    yield from layout(table)


def curve_tables(curves: Curves) -> Iterator[str]:
    for same in dict.fromkeys(curve[:3] for curve in curves):
        machine, workload, producers = same
        several = f", {producers} producers" if producers > 1 else ""
        yield f"\n{workload}{several} on {machine}, simulated"
        yield from workload_table({curve: points for curve, points in curves.items() if curve[:3] == same})


def verdict_table(found: Sequence[Verdict]) -> Iterator[str]:
    yield "\nGoals (simulated; ws, one producer; CPUs that share a core are left out)"
    if not found:
        yield "  nothing to judge"
        return
    heads = ["goal", "machine", "limit", "", "holds at", "worst"]
    met = {True: "met", False: "NOT MET"}
    rows = [
        [one.goal, one.machine, one.limit, met[one.is_met], f"{one.met} of {one.of}", one.worst]
        for one in found
    ]
    yield from layout([heads, *rows], len(heads))


def turn_text(points: Sequence[Point] | None) -> str:
    turn = turn_of(points) if points else None
    if turn is None:
        return "-"
    if not turn.is_up:
        return "no"
    return str(turn) if turn.certain else f"perhaps: {turn}"


def turn_table(curves: Curves) -> Iterator[str]:
    """A row for each workload on a machine, a column for each pool."""
    yield "\nDoes the curve turn up: do more CPUs take more than 3 % longer than fewer? (simulated)"
    pools = list(dict.fromkeys(curve.pool for curve in curves))
    rows = [["curve", "machine", *pools]]
    for machine, workload, producers in dict.fromkeys(curve[:3] for curve in curves):
        name = f"{workload}, {producers} producers" if producers > 1 else workload
        found = (curves.get(Curve(machine, workload, producers, pool)) for pool in pools)
        rows.append([name, machine, *map(turn_text, found)])
    yield from layout(rows, len(rows[0]))
    yield '  "perhaps": the runs of the two points overlap.'


def report(curves: Curves) -> Iterator[str]:
    yield HEAD
    for name in dict.fromkeys(curve.machine for curve in curves):
        with suppress(MachineError):  # the figures may come from another tree
            machine: Machine | None = find_machine(name)
            while machine:
                yield f"  {name}, up to {machine.cpus} CPUs: {machine.title}"
                machine = machine.wider
    yield from curve_tables(curves)
    yield from verdict_table(list(verdicts(curves)))
    yield from turn_table(curves)
