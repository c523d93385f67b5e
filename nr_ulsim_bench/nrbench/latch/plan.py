# SPDX-License-Identifier: BSD-3-Clause
"""Which scans are measured, at which levels of contention, for how long, and in which order."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import NamedTuple

THREADS, TASKS, SAME, FIBERS, HINTS = "threads", "tasks", "tasks-same", "fibers", "hints"
HOWS = (THREADS, TASKS, SAME, FIBERS, HINTS)
WS, JUMP, BOOST = "cost-ws", "cost-jump", "cost-boost"
COSTS = (WS, JUMP, BOOST)
BLOCKS, BLOCK_BYTES = 16, 131072  # of each table; there are as many tables as CPUs
FEW, MANY, DEEP = 4, 32, 512  # clients a worker
CLIENTS_MAX = 4096  # one of the ways to run them takes a thread for each
ROUNDS, QUICK_ROUNDS = 7, 5
MS, QUICK_MS = 1000, 500
WARM_MS = 300
WORK_US = 4.0  # a block, about; for the time that a run takes
COSTS_S = 3.0
PROCESS_S = 0.1
COUNT, QUICK_COUNT = 1_000_000, 300_000  # switches


class Level(NamedTuple):
    """Of contention: what the writers do."""

    hold: str = "sleep"
    hold_us: int = 0
    writers: int = 0  # a table
    gap_us: int = 0

    @property
    def name(self) -> str:
        if self.writers == 0:
            return "no writers"
        return f"{'I/O' if self.hold == 'sleep' else 'CPU'}, {self.hold_us / 1000:g} ms"

    def round_trip_us(self) -> float:
        """About, of a scan that nothing but writers delays."""
        held = self.writers / BLOCKS * self.hold_us / max(1, self.hold_us + self.gap_us)
        return BLOCKS * (WORK_US + held * self.hold_us * 0.6)


def sleeping(hold_us: int) -> Level:
    """A quarter of the blocks is held at any time."""
    return Level("sleep", hold_us, BLOCKS // 4)


def working(hold_us: int) -> Level:
    """The writers compute on half of the CPUs' time, and hold a block meanwhile."""
    return Level("work", hold_us, 1, hold_us)


NONE, SOURCE = Level(), sleeping(1000)
LEVELS = (NONE, sleeping(20), sleeping(100), SOURCE, sleeping(4000), working(20), working(1000))
QUICK_LEVELS = (NONE, sleeping(100), SOURCE, working(1000))


class Run(NamedTuple):
    """One process: scans in one way, or what fibers cost (level None)."""

    how: str
    level: Level | None = None
    a_worker: int = 0  # clients


@dataclass(frozen=True)
class Options:
    cores: int
    quick: bool = False
    rounds: int | None = None
    seed: int = 1

    @property
    def round_count(self) -> int:
        return self.rounds or (QUICK_ROUNDS if self.quick else ROUNDS)

    @property
    def cells(self) -> list[tuple[Level, int]]:
        """Levels, each with a number of clients a worker."""
        if self.quick:
            return [*((level, MANY) for level in QUICK_LEVELS), (SOURCE, FEW)]
        cells = [(level, clients) for clients in (FEW, MANY) for level in LEVELS]
        return [*cells, (SOURCE, DEEP)] if DEEP * self.cores <= CLIENTS_MAX else cells

    def spans_ms(self, run: Run) -> tuple[int, int]:
        """Of the warm-up and of the measurement: with tasks that block, each client has two scans in each."""
        assert run.level is not None
        scan_ms = run.a_worker * run.level.round_trip_us() / 1000
        least_ms = math.ceil(2 * scan_ms)
        return max(WARM_MS, least_ms), max(QUICK_MS if self.quick else MS, least_ms)

    def seconds(self, run: Run) -> float:
        return PROCESS_S + (sum(self.spans_ms(run)) / 1000 if run.level else COSTS_S)


def words(options: Options, run: Run) -> list[str]:
    if run.level is None:
        return [f"how={run.how}", f"count={QUICK_COUNT if options.quick else COUNT}"]
    warm_ms, ms = options.spans_ms(run)
    level, tables = run.level, options.cores
    return [
        f"how={run.how}",
        f"scans={run.a_worker * options.cores}",
        f"workers={options.cores}",
        f"tables={tables}",
        f"blocks={BLOCKS}",
        f"block_bytes={BLOCK_BYTES}",
        f"writers={level.writers * tables}",
        f"hold={level.hold}",
        f"hold_us={level.hold_us}",
        f"gap_us={level.gap_us}",
        f"warm_ms={warm_ms}",
        f"ms={ms}",
    ]


def make_round(options: Options, without: dict[str, str], order: random.Random) -> list[Run]:
    """The cells in an order drawn anew; within a cell all ways, so that a ratio compares what was close."""
    runs: list[Run] = []
    for level, a_worker in order.sample(options.cells, len(options.cells)):
        runs += [Run(how, level, a_worker) for how in order.sample(HOWS, len(HOWS))]
    costs = [how for how in COSTS if how not in without]
    return runs + [Run(how) for how in order.sample(costs, len(costs))]


def make_rounds(options: Options, without: dict[str, str]) -> list[list[Run]]:
    order = random.Random(options.seed)
    return [make_round(options, without, order) for _ in range(options.round_count)]
