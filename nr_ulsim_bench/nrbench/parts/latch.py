# SPDX-License-Identifier: BSD-3-Clause
"""Scans that meet held latches: as threads, as tasks that block, as fibers that yield. ws-latch in rounds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Iterator, NamedTuple

from nrbench.claims import Ratio, Rounds, at_least_word, at_most_word, median, round_ratio
from nrbench.driver import there
from nrbench.engine import Part, Plan, Request, Step, asks, in_rounds, words
from nrbench.stats import Line, Results
from nrbench.text import ending, host_line, layout, number

THREADS, TASKS, FIBERS = "threads", "tasks", "fibers"
TITLES = {
    THREADS: "(a) a thread a client",
    TASKS: "(b) tasks that block",
    FIBERS: "(c) fibers that yield",
}
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


class Cell(NamedTuple):
    level: Level
    a_worker: int  # clients

    def labels(self) -> Line:
        return {"level": self.level._asdict(), "a_worker": self.a_worker}


def cells(request: Request) -> list[Cell]:
    if request.quick:
        return [*(Cell(level, MANY) for level in QUICK_LEVELS), Cell(SOURCE, FEW)]
    found = [Cell(level, clients) for clients in (FEW, MANY) for level in LEVELS]
    return [*found, Cell(SOURCE, DEEP)] if DEEP * request.cores <= CLIENTS_MAX else found


def spans_ms(request: Request, cell: Cell) -> tuple[int, int]:
    """Of the warm-up and of the measurement: with tasks that block, each client has two scans in each."""
    least_ms = math.ceil(2 * cell.a_worker * cell.level.round_trip_us() / 1000)
    return max(WARM_MS, least_ms), max(request.usual(MS, QUICK_MS), least_ms)


def step(request: Request, number: int, how: str, cell: Cell | None) -> Step:
    """A process: scans in one way, or what fibers cost in a library."""
    labels: Line = {"bench": "latch", "how": how, "round": number}
    if cell is None:
        return Step(labels, words(how=how, count=request.usual(COUNT, QUICK_COUNT)), PROCESS_S + COSTS_S, how)
    (warm_ms, ms), level, cores = spans_ms(request, cell), cell.level, request.cores
    scans = words(
        how=how, scans=cell.a_worker * cores, workers=cores, tables=cores, blocks=BLOCKS,
        block_bytes=BLOCK_BYTES, writers=level.writers * cores, hold=level.hold, hold_us=level.hold_us,
        gap_us=level.gap_us, warm_ms=warm_ms, ms=ms,
    )  # fmt: skip
    return Step(labels | cell.labels(), scans, PROCESS_S + (warm_ms + ms) / 1000, f"{how} {level.name}")


def plan(request: Request) -> Plan:
    """Within a level all ways side by side, so that a ratio compares what was close."""
    why = "not built: fibers need Boost.Context (Debian: libboost-context-dev)"
    program = there(request.program.with_name("ws-latch"), why)
    boost = program.with_name("liblatch_boost.so").is_file()
    missing = {} if boost else {BOOST: "not built; get it: Debian libboost-fiber-dev"}
    settings: list[tuple[Cell | None, str]] = [(cell, how) for cell in cells(request) for how in TITLES]
    settings += [(None, how) for how in LIBRARIES if how not in missing]
    count = request.round_count(7, 5)
    order = in_rounds(settings, count, request.seed, lambda setting: setting[0])
    steps = [step(request, number, how, cell) for number, (cell, how) in order]
    about = {"rounds": count, "blocks": BLOCKS, "block_bytes": BLOCK_BYTES, "missing": missing}
    return Plan(steps, asks(program), about, f"{count} rounds")


def of_cell(results: Results, cell: Cell) -> Results:
    return results.only(**cell.labels())


def ratio(at: Results, of: str = FIBERS) -> Ratio | None:
    return round_ratio(at.rounds("blocks_per_s", how=of), at.rounds("blocks_per_s", how=TASKS))


def bound(at: Results) -> Rounds:
    """
    Blocks per second that fibers can reach. By Little's law throughput is waits under way / time of a wait:
    tasks have at most a wait a worker, fibers a wait a client. And the CPUs sum up no more than they can.
    """
    tasks, work_us = at.rounds("blocks_per_s", how=TASKS), at.rounds("work_us", how=FIBERS)
    a_worker, workers = at.last("a_worker", 0), at.last("workers", 1)
    numbers = sorted(tasks.keys() & work_us.keys())
    return {number: min(a_worker * tasks[number], workers * 1e6 / work_us[number]) for number in numbers}


def bound_share(at: Results) -> Ratio | None:
    return round_ratio(at.rounds("blocks_per_s", how=FIBERS), bound(at))


def cost_ratio(results: Results, name: str) -> Ratio | None:
    return round_ratio(results.rounds(name, how=WS), results.rounds(name, how=BOOST))


def verdicts(results: Results) -> Iterator[str]:
    source, free = of_cell(results, Cell(SOURCE, MANY)), of_cell(results, Cell(NONE, MANY))
    share, idle = bound_share(source), ratio(free)
    what = f"{SOURCE.name}, {MANY} clients a worker: (c) reaches {BOUND_PART:.0%} of the bound"
    found = f"{share or 'n/a'}; (c) / (b) = {ratio(source) or 'n/a'}"
    yield f"{at_least_word(share, BOUND_PART)}  {what}: {found}"
    what = "no writers: fibers cost at most 5 %"
    yield f"{at_least_word(idle, NOT_SLOWER)}  {what}: (c) / (b) = {idle or 'n/a'}"
    for name, title in COSTS.items():
        cost = cost_ratio(results, name)
        yield f"{at_most_word(cost, 1.0)}  not more than Boost.Fiber: {title}: ratio {cost or 'n/a'}"


def _cpu_us(at: Results, how: str) -> Rounds:
    """A block, of all but the writers."""
    cpu_s, blocks = (at.rounds(name, how=how) for name in ("cpu_s", "block_count"))
    return {number: 1e6 * cpu_s[number] / blocks[number] for number in cpu_s if blocks.get(number)}


def _row(at: Results, how: str) -> list[str]:
    times_ms = [1e-3 * (median(at.rounds(f"scan_{p}_us", how=how)) or 0) for p in ("p50", "p99", "max")]
    blocks, waits = (median(at.rounds(name, how=how)) for name in ("blocks_per_s", "waits_under_way"))
    cells = (number(blocks, 0), number(median(_cpu_us(at, how)), 2), *(f"{ms:.2f}" for ms in times_ms))
    return [TITLES[how], *cells, number(waits), str(ratio(at, how) or "") if how != TASKS else ""]


def _little(at: Results) -> Iterator[str]:
    """Where the ratio comes from."""
    names = [(how, name) for how in (TASKS, FIBERS) for name in ("waits_under_way", "wait_us")]
    b_waits, b_us, c_waits, c_us = (median(at.rounds(name, how=how)) for how, name in names)
    share, workers, a_worker = bound_share(at), at.last("workers", 1), at.last("a_worker", 0)
    if share is None:
        return
    yield (
        f"Waits under way, until the scan goes on: (b) {number(b_waits)} of at most {workers}, of"
        f" {number(b_us, 0)} µs each; (c) {number(c_waits)} of at most {a_worker * workers}, of"
        f" {number(c_us, 0)} µs each."
    )
    yield (
        "By Little's law scans get on as fast as waits under way / time of a wait. So (c) / (b) is at most"
        f" {a_worker}, and (c) at most what the CPUs sum up. (c) / the smaller bound = {share}"
    )


def _cell(cell: Cell, at: Results) -> Iterator[str]:
    hows = [how for how in TITLES if at.rounds("blocks_per_s", how=how)]
    hold_us, work_us = (median(at.rounds(name, how=hows[-1])) for name in ("hold_us", "work_us"))
    held = f"; a writer holds a block for {hold_us:.0f} µs, measured" if hold_us else ""
    clients = cell.a_worker * at.last("workers", 1)
    yield f"\n{cell.level.name}: {clients} clients; a block takes {number(work_us, 2)} µs{held}"
    head = [
        "",
        "blocks/s",
        "CPU µs a block",
        "scan p50",
        "p99",
        "max, ms",
        "waits at once",
        "ratio to (b) [95 %]",
    ]
    yield from layout([head, *(_row(at, how) for how in hows)])
    yield from _little(at) if cell.level.writers else ()
    for how in hows:
        count = max(at.rounds("starved", how=how).values(), default=0)
        if count:
            yield f"note: {TITLES[how]}: up to {count:.0f} clients got no block in a measurement"


def _costs(results: Results) -> Iterator[str]:
    heads = {how: title for how, title in LIBRARIES.items() if results.only(how=how).lines}
    if not heads:
        return
    if BOOST in heads:
        heads[BOOST] += f" {results.only(how=BOOST).last('version', '')}"
    rows = [["", *heads.values(), "ratio to Boost.Fiber [95 %]"]]
    for name, title in COSTS.items():
        cells = (number(median(results.rounds(name, how=how))) for how in heads)
        rows.append([title, *cells, str(cost_ratio(results, name) or "")])
    yield f"\nWhat fibers cost, on one thread; {results.last('sleepers', 0)} sleepers"
    yield from layout(rows)


def pays(at: Results) -> str:
    """PASS: fibers scan more than tasks that block. MISS: they do not."""
    return at_least_word(ratio(at), 1.0)


def _where_it_pays(found: dict[Cell, Results]) -> Iterator[str]:
    titles = {"PASS": "Yielding pays", "MISS": "Yielding does not pay", "OPEN": "The rounds do not tell"}
    for word, title in titles.items():
        chosen = [(cell, at) for cell, at in found.items() if pays(at) == word]
        yield from [f"{title}, (c) / (b):"] if chosen else []
        yield from (f"  {c.level.name}, {c.a_worker} clients a worker: {ratio(at)}" for c, at in chosen)


def by_cell(results: Results) -> dict[Cell, Results]:
    lines = [line for line in results.lines if "level" in line]
    found = {Cell(Level(**line["level"]), line["a_worker"]) for line in lines}
    order = sorted(found, key=lambda cell: (cell.a_worker, cell.level.hold, cell.level.hold_us))
    return {cell: of_cell(results, cell) for cell in order}


def report(results: Results) -> Iterator[str]:
    host, found = results.host, by_cell(results)
    workers = results.last("workers", 1)
    yield host_line(host)
    yield (
        f"{workers} tables of {host['blocks']} blocks of {host['block_bytes'] / 1024:g} KiB;"
        f" {workers} workers; each client asks for one scan after the other; medians over the rounds"
    )
    for cell, at in found.items():
        yield from _cell(cell, at)
    yield from ["", *_where_it_pays(found), *_costs(results)]
    yield from ending(results, verdicts(results), "how", titles=LIBRARIES)


def _point(at: Results) -> tuple[float, float, float, float] | None:
    """Hold / work, the ratio, and the bounds of its interval."""
    found = ratio(at)
    hold_us, work_us = (median(at.rounds(name, how=FIBERS)) for name in ("hold_us", "work_us"))
    if found is None or not hold_us or not work_us:
        return None
    low, high = found.interval or (found.value, found.value)
    return hold_us / work_us, found.value, found.value - low, high - found.value


def draw(results: Results, out: Path) -> Iterator[str]:
    """Fibers that yield against tasks that block, over how long a latch is held."""
    from nrbench.drawing import plain_numbers, plt, save  # loads for a second

    groups: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for cell, at in by_cell(results).items():
        if point := _point(at):
            groups.setdefault((cell.level.hold, cell.a_worker), []).append(point)
    if not groups:
        return
    figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    kinds = {"sleep": ("writers sleep (I/O)", "-", "o"), "work": ("writers compute", "--", "s")}
    for place, ((hold, a_worker), points) in enumerate(sorted(groups.items())):
        (title, style, marker), color = kinds[hold], f"C{place}"
        x, y, below, above = zip(*sorted(points))
        look: Any = {"linestyle": style, "marker": marker, "color": color, "capsize": 3}
        label = f"{title}, {a_worker * results.last('workers', 1)} clients"
        axis.errorbar(x, y, yerr=[below, above], label=label, **look)
        axis.axhline(a_worker, color=color, linestyle=":", linewidth=0.8)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set(xscale="log", yscale="log", ylabel="blocks per second, (c) fibers / (b) tasks that block")
    axis.set_xlabel("time that a writer holds a block / time to sum up a block, both measured")
    plain_numbers(axis.xaxis)
    plain_numbers(axis.yaxis)
    workers = results.last("workers", 1)
    axis.set_title(f"{workers} workers; dotted: clients a worker, Little's bound", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    yield save(figure, out / "latch.png", dpi=130)


PART = Part("latch", report, plan, draw=draw)
