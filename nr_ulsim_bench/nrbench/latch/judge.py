# SPDX-License-Identifier: BSD-3-Clause
"""Figures by round, their ratios with intervals, what Little's law allows, and what can be claimed."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Iterator, NamedTuple, Sequence

from nrbench.claims import Ratio, Rounds, at_least_word, at_most_word, equal_word, round_ratio
from nrbench.latch.plan import BOOST, FIBERS, HINTS, MANY, NONE, SOURCE, TASKS, WS, Level
from nrbench.stats import Line

BOUND_PART = 0.5  # of what Little's law and the CPUs allow
NOT_SLOWER = 0.95  # fibers that meet no writer
EQUAL = 1.05  # with hints and without, on one node
COST_NAMES = {
    "yield_ns": "a switch, ns",
    "hand_over_ns": "a mutex passed on, ns",
    "spawn_ns": "a fiber started and joined, one at a time, ns",
    "spawn_many_ns": "a fiber started and joined, of 100 at once, ns",
    "sleep_cpu_ms": "CPU time of the sleepers, ms",
    "late_p50_us": "their lateness, median, µs",
    "late_p99_us": "their lateness, p99, µs",
}


class Cell(NamedTuple):
    level: Level
    a_worker: int  # clients


Figures = dict[str, dict[int, float]]  # by name and round


def _figures() -> Figures:
    return defaultdict(dict)


@dataclass
class Results:
    host: Line
    cells: dict[Cell, dict[str, Figures]] = field(default_factory=dict)
    costs: dict[str, Figures] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    workers: int = 1
    nodes: int = 1
    sleepers: int = 0
    errors: list[str] = field(default_factory=list)

    def rounds(self, cell: Cell, how: str, name: str = "blocks_per_s") -> Rounds:
        return self.cells.get(cell, {}).get(how, {}).get(name, {})

    def cost(self, how: str, name: str) -> Rounds:
        return self.costs.get(how, {}).get(name, {})

    def ratio(self, cell: Cell, of: str = FIBERS, to: str = TASKS) -> Ratio | None:
        """Of blocks per second."""
        return round_ratio(self.rounds(cell, of), self.rounds(cell, to))


def _keep(figures: Figures, line: Line) -> None:
    for name, value in line.items():
        if isinstance(value, (int, float)):
            figures[name][line["round"]] = value


def collect(lines: Sequence[Line]) -> Results:
    results = Results(next(line for line in lines if line.get("bench") == "host"))
    for line in (line for line in lines if line.get("bench") == "latch"):
        if "error" in line:
            results.errors.append(f"{line['how']}: {line['error']}")
        elif "level" in line:
            cell = Cell(Level(**line["level"]), line["a_worker"])
            _keep(results.cells.setdefault(cell, {}).setdefault(line["how"], _figures()), line)
            results.workers, results.nodes = line["workers"], line["nodes"]
        else:
            _keep(results.costs.setdefault(line["how"], _figures()), line)
            results.versions[line["how"]], results.sleepers = line["version"], line["sleepers"]
    return results


def median(rounds: Rounds) -> float | None:
    return statistics.median(rounds.values()) if rounds else None


def bound(results: Results, cell: Cell) -> Rounds:
    """
    Blocks per second that fibers can reach. By Little's law throughput is waits under way / time of a wait:
    tasks have at most a wait a worker, fibers a wait a client. And the CPUs sum up no more than they can.
    """
    tasks, work_us = results.rounds(cell, TASKS), results.rounds(cell, FIBERS, "work_us")
    return {
        number: min(cell.a_worker * tasks[number], results.workers * 1e6 / work_us[number])
        for number in sorted(tasks.keys() & work_us.keys())
    }


def bound_share(results: Results, cell: Cell) -> Ratio | None:
    return round_ratio(results.rounds(cell, FIBERS), bound(results, cell))


def pays(results: Results, cell: Cell) -> str:
    """PASS: fibers scan more than tasks that block. MISS: they do not."""
    return at_least_word(results.ratio(cell), 1.0)


def verdicts(results: Results) -> Iterator[str]:
    share, ratio = bound_share(results, Cell(SOURCE, MANY)), results.ratio(Cell(SOURCE, MANY))
    what = f"{SOURCE.name}, {MANY} clients a worker: (c) reaches {BOUND_PART:.0%} of the bound"
    yield f"{at_least_word(share, BOUND_PART)}  {what}: {share or 'n/a'}; (c) / (b) = {ratio or 'n/a'}"
    idle = results.ratio(Cell(NONE, MANY))
    what = "no writers: fibers cost at most 5 %"
    yield f"{at_least_word(idle, NOT_SLOWER)}  {what}: (c) / (b) = {idle or 'n/a'}"
    yield hints_verdict(results)
    for name, title in COST_NAMES.items():
        cost = round_ratio(results.cost(WS, name), results.cost(BOOST, name))
        yield f"{at_most_word(cost, 1.0)}  not more than Boost.Fiber: {title}: ratio {cost or 'n/a'}"


def hints_verdict(results: Results) -> str:
    hints = results.ratio(Cell(SOURCE, MANY), HINTS, FIBERS)
    if results.nodes == 1:
        word = equal_word(hints, EQUAL)
        return f"{word}  one node: hints change nothing, within 5 %: (d) / (c) = {hints or 'n/a'}"
    word = at_least_word(hints, 1.0)
    return f"{word}  {results.nodes} nodes: hints make scans faster: (d) / (c) = {hints or 'n/a'}"
