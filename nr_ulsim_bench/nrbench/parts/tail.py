# SPDX-License-Identifier: BSD-3-Clause
"""The tail of short bursts: how long one slot in a hundred and in a thousand takes, by pool. The
figures are of all slots of all rounds together."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, CLASSES, OWN, Backend, Present
from nrbench.cases import TINY_CASE, work_us
from nrbench.driver import Driver, there
from nrbench.engine import Part, Plan, Request, Step, asks, chosen_classes, nothing_to_measure, words
from nrbench.judge import at_most_word, round_ratio
from nrbench.render import ending, host_line, layout
from nrbench.session import in_rounds
from nrbench.stats import Line, Results

CASES = ("12x0.5", "12x2", "12x10")
FULL_CASES = ("12x0.5", "12x1", "12x2", "12x5", "12x10", TINY_CASE)
QUICK_CASES = ("12x2",)
USUAL_CLASSES = ("other",)  # the others, if they are asked for
PERIOD_US = 500
ROUNDS, SLOTS = 5, 4000
QUICK_ROUNDS, QUICK_SLOTS = 1, 2000
FULL_ROUNDS, FULL_SLOTS = 20, 50_000  # a million together
PROCESS_S = 0.05  # start and end of a measurement's process
RIVALS = ("onetbb", "openmp-gcc", "openmp-llvm", "mutex-queue", "mutex-per-worker")
CHECKOUTS = ("forkunion", "libfork", "citor", "ocudu")  # that a user may have
OFF = "off"  # what the own pool has beside the modes of its back end
OFF_WORDS = words(env="TPOOL_WS_SPIN=off")
TAIL = 0.999
QUANTILES = (0.5, 0.99, TAIL)
THRIFTY = 1.1  # x the CPU time of this pool; a pool that takes more is no rival of pre-wake
NOT_HIGHER = 1.05
HISTOGRAM = "makespan_histogram_ns"


class Place(NamedTuple):
    case: str
    sched_class: str

    def __str__(self) -> str:
        return f"{self.case} {self.sched_class}"


class Setting(NamedTuple):
    place: Place
    pool: Present
    mode: str
    cores: int

    @property
    def title(self) -> str:
        return title_of(self.pool.backend.name, self.mode)

    def step(self, number: int, slots: int) -> Step:
        backend = self.pool.backend
        labels: Line = {"bench": "tail", "case": self.place.case, "class": self.place.sched_class}
        labels |= {"backend": backend.name, "mode": self.mode, "pool": self.title, "round": number}
        mode = "default" if self.mode == OFF else self.mode
        warm = math.ceil(backend.settle_s * 1e6 / PERIOD_US)
        seconds = (warm + slots) * PERIOD_US * 1e-6
        given = words(
            bench="slot",
            backend=backend.name,
            mode=mode,
            workers=self.pool.fair_workers(self.cores) if self.pool.has_workers else 1,
            class_=self.place.sched_class,
            bursts=self.place.case,
            period_us=PERIOD_US,
            warm=warm,
            slots=slots,
            histogram=1,
            limit_s=round(10 + 4 * seconds),
        )
        environment = OFF_WORDS if self.mode == OFF else words_of(backend, mode)
        return Step(labels, (*given, *environment), seconds + PROCESS_S, f"{self.place} {self.title}")


def words_of(backend: Backend, mode: str) -> tuple[str, ...]:
    return tuple(f"env={word}" for word in backend.environment(mode))


def title_of(backend: str, mode: str) -> str:
    name = "no pool" if backend == ALONE else backend
    return name if mode == "default" else f"{name} {mode}"


def modes_of(request: Request, backend: Backend) -> Sequence[str]:
    """Of the rivals the hot ones only where there is time, or where the pools were chosen by name."""
    every = [mode for mode, _ in backend.modes]
    if backend.name == OWN:
        return [*every, OFF]
    return every if request.full or request.backends else every[:1]


def present(request: Request, program: Path) -> tuple[list[Present], dict[str, str]]:
    """The pools that load, and for each of the others why it does not."""
    with open(os.devnull, "w") as log:
        driver = Driver(program, log)
        try:
            return driver.chosen(request.backends or (OWN, ALONE, *RIVALS, *CHECKOUTS))
        finally:
            driver.close()


def cases(request: Request) -> tuple[str, ...]:
    return FULL_CASES if request.full else request.usual(CASES, QUICK_CASES)


def plan(request: Request) -> Plan:
    """All pools of a place side by side, in an order of their own in each round."""
    program = there(request.program)
    classes, skipped = chosen_classes(request.classes or USUAL_CLASSES)
    pools, missing = present(request, program)
    if not classes or not pools:
        raise nothing_to_measure({**missing, **skipped})
    places = [Place(case, sched_class) for sched_class in classes for case in cases(request)]
    every = [
        Setting(place, pool, mode, request.cores)
        for place in places
        for pool in pools
        for mode in modes_of(request, pool.backend)
    ]
    count = request.rounds or (FULL_ROUNDS if request.full else request.usual(ROUNDS, QUICK_ROUNDS))
    slots = FULL_SLOTS if request.full else request.usual(SLOTS, QUICK_SLOTS)
    steps = [s.step(number, slots) for number, s in in_rounds(every, count, request.seed, lambda s: s.place)]
    about = {"rounds": count, "slots": slots, "missing": missing, "skipped": skipped}
    about["versions"] = {pool.backend.name: pool.version for pool in pools}
    return Plan(steps, asks(program), about, f"{len(every)} settings, {count} x {slots} slots each")


Counts = Counter[int]  # slots by makespan, the end of its bin in ns


def quantile_us(counts: Counts, share: float) -> float:
    """The smallest makespan that so large a share of the slots does not exceed."""
    rank, below = math.ceil(share * counts.total() - 1e-9), 0
    for ns in sorted(counts):
        below += counts[ns]
        if below >= rank:
            return ns * 1e-3
    raise ValueError("a quantile of no slots")


@dataclass
class Cell:
    """All slots of a pool in a place."""

    backend: str = ""
    mode: str = ""
    rounds: dict[int, Counts] = field(default_factory=dict)
    max_us: float = 0.0
    cpu_s: float = 0.0
    work_s: float = 0.0
    late: int = 0

    def add(self, line: Line) -> None:
        self.backend, self.mode = line["backend"], line["mode"]
        pairs = line[HISTOGRAM]
        self.rounds[line["round"]] = Counter(dict(zip(pairs[::2], pairs[1::2])))
        self.max_us = max(self.max_us, line["makespan_max_us"])
        self.cpu_s += line["cpu_s"]
        self.work_s += line["work_s"]
        self.late += line["late_slots"]

    @property
    def counts(self) -> Counts:
        return sum(self.rounds.values(), Counter())

    @property
    def cpu_per_work(self) -> float:
        return self.cpu_s / self.work_s

    @property
    def tails(self) -> dict[int, float]:
        """p99.9 by round."""
        return {number: quantile_us(counts, TAIL) for number, counts in self.rounds.items()}

    def slower(self) -> tuple[list[float], list[float]]:
        """Makespans in us, and the share of the slots that take longer."""
        counts, ends, shares = self.counts, list[float](), list[float]()
        left = every = counts.total()
        for ns in sorted(counts):
            left -= counts[ns]
            ends.append(ns * 1e-3)
            shares.append(left / every)
        return ends, shares


Cells = dict[Place, dict[str, Cell]]


def collect(results: Results) -> Cells:
    """By place, then by the pool's title; own pool, no pool, then the others."""
    found: dict[Place, dict[str, Cell]] = defaultdict(lambda: defaultdict(Cell))
    for line in results.lines:
        found[Place(line["case"], line["class"])][line["pool"]].add(line)
    return {place: dict(sorted(found[place].items(), key=_pool_order)) for place in sorted(found, key=_order)}


def _pool_order(item: tuple[str, Cell]) -> tuple[int, str]:
    name, cell = item
    return [OWN, ALONE, cell.backend].index(cell.backend), name


def _order(place: Place) -> tuple[int, float, str]:
    return CLASSES.index(place.sched_class), work_us(place.case), place.case


HEAD = ("slots", "p50", "p99", "p99.9", "least", "most", "max", "late", "CPU/work")


def _row(title: str, cell: Cell) -> list[str]:
    """The end of the last bin lies above the longest slot."""
    counts, tails = cell.counts, cell.tails.values()
    times = (*(quantile_us(counts, share) for share in QUANTILES), min(tails), max(tails), cell.max_us)
    cells = (f"{min(us, cell.max_us):.1f}" for us in times)
    return [title, f"{counts.total()}", *cells, f"{cell.late}", f"{cell.cpu_per_work:.1f}"]


def tables(cells: Cells) -> Iterator[str]:
    if not cells:
        return
    yield (
        f"\nmakespan of a slot, a burst every {PERIOD_US} us, in us. Quantiles of all slots of all rounds,"
        " at most 1.6 % too high\n"
        "  least, most: p99.9 of single rounds\n"
        "  late: slots that began late, because the one before took longer than the period\n"
        "  CPU/work: CPU time / time that the tasks compute"
    )
    for place, by_pool in cells.items():
        rows = [_row(title, cell) for title, cell in by_pool.items()]
        yield from ["", *layout([[str(place), *HEAD], *rows])]


def _verdict(place: Place, by_pool: dict[str, Cell], title: str, thrifty: bool) -> str | None:
    """Against the pool with the lowest tail. @param thrifty  of those that take hardly more CPU time"""
    own = by_pool.get(title)
    if own is None:
        return None
    most = own.cpu_per_work * THRIFTY if thrifty else math.inf
    rivals = {t: c for t, c in by_pool.items() if c.backend not in (OWN, ALONE) and c.cpu_per_work <= most}
    of = f"{THRIFTY:g} x its CPU time" if thrifty else "any CPU time"
    text = f"{place}: p99.9 of {title} at most {NOT_HIGHER:g} x that of each pool with {of}"
    if not rivals:
        return f"no result  {text}: no such pool"
    best = min(rivals, key=lambda name: quantile_us(rivals[name].counts, TAIL))
    ratio = round_ratio(own.tails, rivals[best].tails)
    return f"{at_most_word(ratio, NOT_HIGHER)}  {text}: to {best} {ratio or 'n/a'}"


def verdicts(cells: Cells) -> Iterator[str]:
    for place, by_pool in cells.items():
        found = [_verdict(place, by_pool, OWN, True), _verdict(place, by_pool, title_of(OWN, "hot"), False)]
        yield from filter(None, found)


def report(results: Results) -> Iterator[str]:
    host, cells = results.host, collect(results)
    yield host_line(host)
    yield from tables(cells)
    versions = ", ".join(f"{name} {version}" for name, version in host["versions"].items() if name != ALONE)
    notes = (f"skipped: {what} ({why})" for what, why in host["skipped"].items())
    yield from ending(results, verdicts(cells), "pool", [f"versions: {versions}", *notes])


STYLES = {"default": "-", "hot": "--", OFF: ":"}
SHARES = (0.5, 0.01, 0.001)


def _draw_place(axis: Any, place: Place, by_pool: dict[str, Cell]) -> None:
    from nrbench.drawing import plain_numbers
    from nrbench.parts.pools.plots import color_of

    for title, cell in by_pool.items():
        ends, shares = cell.slower()
        look: Any = {
            "color": color_of(cell.backend),
            "linestyle": STYLES[cell.mode],
            "drawstyle": "steps-post",
        }
        axis.plot(ends, shares, label=title, linewidth=1.8 if cell.backend == OWN else 1.0, **look)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(1 / max(cell.counts.total() for cell in by_pool.values()), 1)
    for share in SHARES:
        axis.axhline(share, color="0.6", linewidth=0.6)
    plain_numbers(axis.xaxis)
    plain_numbers(axis.yaxis)
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(str(place), fontsize=9)


def draw(results: Results, out: Path) -> Iterable[str]:
    """The share of slots that take longer than a time. A row of panels a class, a column a case."""
    from nrbench.drawing import legend, plt, save  # loads for a second

    cells = collect(results)
    if not cells:
        return
    classes = list(dict.fromkeys(place.sched_class for place in cells))
    columns = list(dict.fromkeys(place.case for place in cells))
    size = (1.5 + 3.4 * len(columns), 1.8 + 3.2 * len(classes))
    look: Any = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained", "figsize": size}
    figure, axes = plt.subplots(len(classes), len(columns), **look)
    for place, by_pool in cells.items():
        axis = axes[classes.index(place.sched_class)][columns.index(place.case)]
        _draw_place(axis, place, by_pool)
    for axis in axes[-1]:
        axis.set_xlabel("makespan of a slot, us", fontsize=9)
    figure.supylabel("share of slots that take longer", fontsize=9)
    legend(figure, 2 + len(columns), fontsize=8)
    yield save(figure, out / "tail.png", dpi=130)


PART = Part("tail", report, plan, draw=draw)
