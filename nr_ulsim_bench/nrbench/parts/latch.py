# SPDX-License-Identifier: BSD-3-Clause
"""Scans that meet held latches: as threads, as tasks that block, as fibers that yield. ws-latch in rounds."""

from __future__ import annotations

import math
from typing import Any, Iterator, NamedTuple

from nrbench.driver import there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, table, words
from nrbench.judge import (
    MET,
    MISSED,
    UNKNOWN,
    Ratio,
    Rounds,
    at_least_word,
    at_most_word,
    median,
    round_ratio,
)
from nrbench.plot import Plot
from nrbench.render import number
from nrbench.stats import Line, Results

THREADS, TASKS, FIBERS = "threads", "tasks", "fibers"
TITLES = {THREADS: "(a) a thread a client", TASKS: "(b) tasks that block", FIBERS: "(c) fibers that yield"}
WS, BOOST = "cost-ws", "cost-boost"
LIBRARIES = {WS: "this project", BOOST: "Boost.Fiber"}
COSTS = {
    "yield_ns": "a switch, ns",
    "hand_over_ns": "a mutex passed on, ns",
    "spawn_ns": "a fiber started and joined, one at a time, ns",
    "spawn_many_ns": "a fiber started and joined, of 100 at once, ns",
    "sleep_cpu_ms": "CPU time of the sleepers, ms",
    "late_p50_us": "their lateness, median, µs",
    "late_p99_us": "their lateness, p99, µs",
}
BLOCKS, BLOCK_BYTES = 16, 131072  # of each table; there are as many tables as CPUs
FEW, MANY, DEEP = 4, 32, 512  # clients a worker
CLIENTS_MAX = 4096  # one of the ways to run them takes a thread for each
WARM_MS, MS, QUICK_MS = 300, 1000, 500
WORK_US = 4.0  # a block, about; for the time that a run takes
PROCESS_S, COSTS_S = 0.1, 3.0
COUNT, QUICK_COUNT = 1_000_000, 300_000  # switches
BOUND_PART = 0.5  # of what Little's law and the CPUs allow
NOT_SLOWER = 0.95  # fibers that meet no writer
HEAD = ["blocks/s", "CPU µs a block", "scan p50", "p99", "max, ms", "waits at once", "ratio to (b) [95 %]"]
PAYS = {MET: "Yielding pays", MISSED: "Yielding does not pay", UNKNOWN: "The rounds do not tell"}


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


NO_WRITERS, SOURCE = Level(), sleeping(1000)
LEVELS = (NO_WRITERS, sleeping(20), sleeping(100), SOURCE, sleeping(4000), working(20), working(1000))
QUICK_LEVELS = (NO_WRITERS, sleeping(100), SOURCE, working(1000))
Cell = tuple[Level, int]  # the level, and clients a worker


def cells(request: Request) -> list[Cell]:
    if request.quick:
        return [*((level, MANY) for level in QUICK_LEVELS), (SOURCE, FEW)]
    found = [(level, clients) for clients in (FEW, MANY) for level in LEVELS]
    return [*found, (SOURCE, DEEP)] if DEEP * request.cores <= CLIENTS_MAX else found


def scans(request: Request, cell: Cell, how: str) -> Step:
    """With tasks that block, each client has two scans in the warm-up and in the measurement."""
    (level, a_worker), cores = cell, request.cores
    least_ms = math.ceil(2 * a_worker * level.round_trip_us() / 1000)
    warm_ms, ms = max(WARM_MS, least_ms), max(request.usual(MS, QUICK_MS), least_ms)
    labels: Line = {"bench": "latch", "how": how, "level": level._asdict(), "a_worker": a_worker}
    given = words(
        how=how, scans=a_worker * cores, workers=cores, tables=cores, blocks=BLOCKS,
        block_bytes=BLOCK_BYTES, writers=level.writers * cores, hold=level.hold, hold_us=level.hold_us,
        gap_us=level.gap_us, warm_ms=warm_ms, ms=ms,
    )  # fmt: skip
    return Step(labels, given, PROCESS_S + (warm_ms + ms) / 1000, f"{how} {level.name}")


def costs(request: Request, how: str) -> Step:
    given = words(how=how, count=request.usual(COUNT, QUICK_COUNT))
    return Step({"bench": "latch", "how": how}, given, PROCESS_S + COSTS_S, how)


def plan(request: Request) -> Plan:
    """Within a level all ways side by side, so that a ratio compares what was close."""
    why = "not built: fibers need Boost.Context (Debian: libboost-context-dev)"
    program = there(request.program.with_name("ws-latch"), why)
    boost = program.with_name("liblatch_boost.so").is_file()
    missing = {} if boost else {BOOST: "not built; get it: Debian libboost-fiber-dev"}
    every = [scans(request, cell, how) for cell in cells(request) for how in TITLES]
    every += [costs(request, how) for how in LIBRARIES if how not in missing]
    count = request.round_count(7, 5)
    about = {"blocks": BLOCKS, "block_bytes": BLOCK_BYTES, "missing": missing}
    return Plan(every, asks(program), about, count, ("level", "a_worker"), f"{count} rounds")


class At:
    """The measurements of a level."""

    def __init__(self, results: Results, cell: Cell) -> None:
        self.level, self.a_worker = cell
        self.by = results.by("how")
        self.workers = results.last("workers", 1)

    def rounds(self, name: str, how: str) -> Rounds:
        return self.by[how].rounds(name) if how in self.by else {}

    def text(self, name: str, how: str, digits: int = 1) -> str:
        return number(median(self.rounds(name, how)), digits)

    def ratio(self, how: str = FIBERS) -> Ratio | None:
        return round_ratio(self.rounds("blocks_per_s", how), self.rounds("blocks_per_s", TASKS))

    def bound_share(self) -> Ratio | None:
        """
        Of the blocks per second that fibers can reach. By Little's law throughput is waits under way / time
        of a wait: tasks have at most a wait a worker, fibers a wait a client. And the CPUs sum up no more
        than they can.
        """
        tasks, work_us = self.rounds("blocks_per_s", TASKS), self.rounds("work_us", FIBERS)
        both = sorted(tasks.keys() & work_us.keys())
        most = {n: min(self.a_worker * tasks[n], self.workers * 1e6 / work_us[n]) for n in both}
        return round_ratio(self.rounds("blocks_per_s", FIBERS), most)

    def row(self, how: str) -> list[str]:
        """CPU time is of all but the writers."""
        cpu_s, blocks = (self.rounds(name, how) for name in ("cpu_s", "block_count"))
        cpu_us = median({n: 1e6 * cpu_s[n] / blocks[n] for n in cpu_s if blocks.get(n)})
        times = (
            f"{1e-3 * (median(self.rounds(f'scan_{p}_us', how)) or 0):.2f}" for p in ("p50", "p99", "max")
        )
        found = str(self.ratio(how) or "") if how != TASKS else ""
        texts = (self.text("blocks_per_s", how, 0), number(cpu_us, 2), *times)
        return [TITLES[how], *texts, self.text("waits_under_way", how), found]

    def little(self) -> Iterator[str]:
        """Where the ratio comes from."""
        if share := self.bound_share():
            yield (
                f"Waits under way, until the scan goes on: (b) {self.text('waits_under_way', TASKS)} of at"
                f" most {self.workers}, of {self.text('wait_us', TASKS, 0)} µs each; (c)"
                f" {self.text('waits_under_way', FIBERS)} of at most {self.a_worker * self.workers}, of"
                f" {self.text('wait_us', FIBERS, 0)} µs each."
            )
            yield (
                "By Little's law scans get on as fast as waits under way / time of a wait. So (c) / (b) is at"
                f" most {self.a_worker}, and (c) at most what the CPUs sum up."
                f" (c) / the smaller bound = {share}"
            )

    def shown(self) -> Iterator[Item]:
        hows = [how for how in TITLES if self.rounds("blocks_per_s", how)]
        hold_us = median(self.rounds("hold_us", hows[-1]))
        held = f"; a writer holds a block for {hold_us:.0f} µs, measured" if hold_us else ""
        block = f"a block takes {self.text('work_us', hows[-1], 2)} µs{held}"
        title = f"{self.level.name}: {self.a_worker * self.workers} clients; {block}"
        yield from table(title, ["", *HEAD], map(self.row, hows))
        yield from self.little() if self.level.writers else ()
        for how in hows:
            if count := max(self.rounds("starved", how).values(), default=0):
                yield f"note: {TITLES[how]}: up to {count:.0f} clients got no block in a measurement"


def levels(results: Results) -> dict[Cell, At]:
    lines = [line for line in results.lines if "level" in line]
    found = {(Level(**line["level"]), line["a_worker"]) for line in lines}
    order = sorted(found, key=lambda cell: (cell[1], cell[0].hold, cell[0].hold_us))
    return {cell: At(results.only(level=cell[0]._asdict(), a_worker=cell[1]), cell) for cell in order}


def cost_table(results: Results) -> Iterator[Item]:
    by = Results(results.lines).by("how")
    heads = {how: title for how, title in LIBRARIES.items() if how in by}
    if BOOST in heads:
        heads[BOOST] += f" {by[BOOST].last('version', '')}"
    rows = []
    for name, title in COSTS.items() if heads else ():
        texts = (number(median(by[how].rounds(name))) for how in heads)
        rows.append([title, *texts, str(cost_ratio(results, name) or "")])
    title = f"What fibers cost, on one thread; {results.last('sleepers', 0)} sleepers"
    yield from table(title, ["", *heads.values(), "ratio to Boost.Fiber [95 %]"], rows)


def cost_ratio(results: Results, name: str) -> Ratio | None:
    return round_ratio(results.rounds(name, how=WS), results.rounds(name, how=BOOST))


def verdicts(results: Results, of: dict[Cell, At]) -> Iterator[Verdict]:
    source, free = (of.get((level, MANY), At(Results([]), (level, MANY))) for level in (SOURCE, NO_WRITERS))
    share, idle = source.bound_share(), free.ratio()
    what = f"{SOURCE.name}, {MANY} clients a worker: (c) reaches {BOUND_PART:.0%} of the bound"
    found = f"{share or 'n/a'}; (c) / (b) = {source.ratio() or 'n/a'}"
    yield Verdict(at_least_word(share, BOUND_PART), f"{what}: {found}")
    what = f"no writers: fibers cost at most 5 %: (c) / (b) = {idle or 'n/a'}"
    yield Verdict(at_least_word(idle, NOT_SLOWER), what)
    for name, title in COSTS.items():
        cost = cost_ratio(results, name)
        text = f"not more than Boost.Fiber: {title}: ratio {cost or 'n/a'}"
        yield Verdict(at_most_word(cost, 1.0), text)


def report(results: Results) -> Iterator[Item]:
    host, of = results.host, levels(results)
    workers = results.last("workers", 1)
    yield (
        f"{workers} tables of {host['blocks']} blocks of {host['block_bytes'] / 1024:g} KiB;"
        f" {workers} workers; each client asks for one scan after the other; medians over the rounds"
    )
    for at in of.values():
        yield from at.shown()
    yield ""
    for word, title in PAYS.items():
        chosen = [at for at in of.values() if at_least_word(at.ratio(), 1.0) == word]
        yield from [f"{title}, (c) / (b):"] if chosen else []
        yield from (f"  {at.level.name}, {at.a_worker} clients a worker: {at.ratio()}" for at in chosen)
    yield from cost_table(results)
    yield from verdicts(results, of)


def plots(results: Results) -> Iterator[Plot]:
    """Fibers that yield against tasks that block, over how long a latch is held."""
    x, y = "time that a writer holds a block / time to sum it up", "blocks per second, (c) / (b)"
    points = [
        {x: hold_us / work_us, y: fibers[n] / tasks[n], "writers": at.level.hold, "clients": at.a_worker}
        for at in levels(results).values()
        for fibers, tasks in [[at.rounds("blocks_per_s", how) for how in (FIBERS, TASKS)]]
        for hold_us, work_us in [[median(at.rounds(name, FIBERS)) for name in ("hold_us", "work_us")]]
        for n in sorted(fibers.keys() & tasks.keys())
        if hold_us and work_us
    ]
    look: dict[str, Any] = {"hue": "clients", "style": "writers", "markers": True, "aspect": 1.8}
    look |= {"estimator": "median", "errorbar": ("pi", 100), "palette": "deep"}
    yield Plot("latch", "Fibers against tasks that block", points, "line", (x, y), look, "xy", (1.0,))


PART = Part("latch", report, "how", plan, plots=plots)
