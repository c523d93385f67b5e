# SPDX-License-Identifier: BSD-3-Clause
"""The curves and the verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from simulate.machine import Machine, MachineError, find_machine
from simulate.scale.goals import Verdict, turn_of, verdicts
from simulate.scale.plan import Curve
from simulate.scale.points import Curves, Point, is_empty

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
HEAD = """SIMULATED: no figure here was measured on such a machine. Of the machine files only vm-2-amd is
calibrated; these are made of published values and estimates. A curve shows how the pool's own work grows with
the number of CPUs.
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
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "  ".join(["  " + cells[0], *cells[1:]]).rstrip()


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
