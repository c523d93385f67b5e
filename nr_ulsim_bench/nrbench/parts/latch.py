# SPDX-License-Identifier: BSD-3-Clause
"""Scans that meet held latches, in five ways. ws-latch in rounds."""

import math
from typing import Iterator

from nrbench.driver import there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, shown, words
from nrbench.judge import Ratio, Rounds, at_least_word, judge, median, round_ratio
from nrbench.render import number
from nrbench.stats import Line, Results

FIBERS, TASKS, BOTH, BOOST = "fibers", "tasks", "both", "cost-boost"
TITLES = {"threads": "(a) a thread a client", TASKS: "(b) tasks that block"}
TITLES |= {"regions": "(c) tasks, by region", FIBERS: "(d) fibers that yield", BOTH: "(e) fibers, by region"}
LIBRARIES = ("cost-ws", BOOST)
COSTS = {
    "yield_ns": "a switch, ns",
    "hand_over_ns": "a mutex passed on, ns",
    "spawn_ns": "a fiber started and joined, one at a time, ns",
    "spawn_many_ns": "a fiber started and joined, of 100 at once, ns",
    "sleep_cpu_ms": "CPU time of the sleepers, ms",
    "late_p50_us": "their lateness, median, µs",
    "late_p99_us": "their lateness, p99, µs",
}
FEW, MANY = 4, 32  # clients a worker
SOURCE_US = 1000  # for which a quarter of the blocks is held, in the source of this comparison
HOLDS_US, QUICK_HOLDS_US = (0, 20, 100, SOURCE_US, 4000), (0, 100, SOURCE_US)
SCAN_US, HELD_BLOCKS = 64.0, 2.4  # of a scan about, for the time that a run takes
WARM_MS, MS, QUICK_MS = 300, 1000, 500
PROCESS_S, COSTS_S = 0.1, 3.0
COUNT, QUICK_COUNT = 1_000_000, 300_000  # switches
BOUND_PART = 0.5  # of what Little's law and the CPUs allow
NOT_SLOWER = 0.95  # fibers that meet no writer
SCANS = (
    "clients a worker{a_worker}; hold, µs{held}; scans as{title}; blocks/s{blocks_per_s:.0f};"
    " p50, µs{scan_p50_us:.0f}; p99, µs{scan_p99_us:.0f}; ÷ (b) [95 %]{ratio}; ÷ bound [95 %]{share}"
)
FIBER = "one thread{title}; this project{own}; Boost.Fiber{boost}; ÷ Boost.Fiber [95 %]{ratio}; verdict{word}"


def scans(request: Request, hold_us: int, clients: int, how: str) -> Step:
    """With tasks that block, each client has two scans in the warm-up and in the measurement."""
    least_ms = math.ceil(2 * clients * (SCAN_US + HELD_BLOCKS * hold_us) / 1000)
    warm_ms, ms = max(WARM_MS, least_ms), max(request.usual(MS, QUICK_MS), least_ms)
    sizes = {"how": how, "hold_us": hold_us, "clients": clients * request.cores, "workers": request.cores}
    labels = {"bench": "latch", "how": how, "held": hold_us, "a_worker": clients}
    seconds = PROCESS_S + (warm_ms + ms) / 1000
    return Step(labels, words(**sizes, warm_ms=warm_ms, ms=ms), seconds, f"{how} {hold_us} µs")


def plan(request: Request) -> Plan:
    """Within a cell all ways side by side, so that a ratio compares what was close."""
    why = "not built: fibers need Boost.Context (Debian: libboost-context-dev)"
    program = there(request.program.with_name("ws-latch"), why)
    holds_us = {FEW: request.usual(HOLDS_US, (SOURCE_US,)), MANY: request.usual(HOLDS_US, QUICK_HOLDS_US)}
    cells = [(held, clients) for clients, of in holds_us.items() for held in of]
    every = [scans(request, *cell, how) for cell in cells for how in TITLES]
    for how in LIBRARIES:
        given = words(how=how, count=request.usual(COUNT, QUICK_COUNT))
        every.append(Step({"bench": "latch", "how": how}, given, PROCESS_S + COSTS_S, how))
    return Plan(every, asks(program), {}, request.round_count(7, 5), ("a_worker", "held"))


def rounds(at: Results, how: str, name: str = "blocks_per_s") -> Rounds:
    return at.rounds(name, how=how)


def bound_share(at: Results, clients: int, how: str = FIBERS) -> Ratio | None:
    """
    Of the blocks per second that fibers can reach. By Little's law throughput is waits under way / time of a
    wait: tasks have at most a wait a worker, fibers a wait a client. The CPUs sum up no more than they can.
    """
    tasks, work_us, workers = rounds(at, TASKS), rounds(at, FIBERS, "work_us"), at.last("workers", 1)
    both = sorted(tasks.keys() & work_us.keys())
    most = {n: min(clients * tasks[n], workers * 1e6 / work_us[n]) for n in both}
    return round_ratio(rounds(at, how), most)


def _ways(cell: tuple[int, int], at: Results) -> Iterator[Line]:
    for how, of in at.by("how").items():
        figures = {name: of.get(name, math.nan) for name in ("blocks_per_s", "scan_p50_us", "scan_p99_us")}
        ratio = round_ratio(rounds(at, how), rounds(at, TASKS)) if how != TASKS else None
        share = bound_share(at, cell[0], how) if how in (FIBERS, BOTH) else None
        labels = {"a_worker": cell[0], "held": cell[1], "title": TITLES[how]}
        yield labels | figures | {"ratio": ratio or "", "share": share or ""}


def _costs(results: Results) -> Iterator[Line]:
    for name, title in COSTS.items():
        own, boost = (results.rounds(name, how=how) for how in LIBRARIES)
        ratio, texts = round_ratio(own, boost), {"own": number(median(own)), "boost": number(median(boost))}
        yield {"title": title, "ratio": ratio or "", "word": judge(ratio and ratio.interval)} | texts


def report(results: Results) -> Iterator[Item]:
    found = results.by("a_worker", "held")
    nodes = results.last("nodes", 1)
    title = f"Scans of tables of 16 blocks of 128 KiB, a quarter of them held; NUMA nodes: {nodes}"
    ways = (way for cell, at in found.items() for way in _ways(cell, at))
    yield from shown(title, SCANS, sorted(ways, key=lambda way: (way["a_worker"], way["held"], way["title"])))
    sleepers, version = results.last("sleepers", 0), results.only(how=BOOST).last("version", "not built")
    title = f"What fibers cost, on one thread; {sleepers} sleepers; Boost.Fiber {version}"
    yield from shown(title, FIBER, _costs(Results(results.lines)))
    source, free = (found.get((MANY, hold_us), Results([])) for hold_us in (SOURCE_US, 0))
    share, idle = bound_share(source, MANY), round_ratio(rounds(free, FIBERS), rounds(free, TASKS))
    what = f"{SOURCE_US} µs, {MANY} clients a worker: (d) reaches {BOUND_PART:.0%} of the bound"
    yield Verdict(at_least_word(share, BOUND_PART), f"{what}: {share or 'n/a'}")
    what = "no writers: fibers cost at most 5 %: (d) / (b)"
    yield Verdict(at_least_word(idle, NOT_SLOWER), f"{what} = {idle or 'n/a'}")


PART = Part("latch", "tables whose blocks are held by writers", report, "how", plan)
