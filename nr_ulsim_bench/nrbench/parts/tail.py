# SPDX-License-Identifier: BSD-3-Clause
"""The tail of short bursts: how long one slot in a hundred and in a thousand takes, by pool. The
figures are of all slots of all rounds together."""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import Iterator, Sequence

from nrbench.backends import ALONE, CLASSES, OWN, Backend
from nrbench.cases import work_us
from nrbench.driver import Driver, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, chosen_classes, table, words
from nrbench.judge import NONE, at_most_word, round_ratio
from nrbench.parts.pools import Config
from nrbench.plot import Plot, colors_of
from nrbench.stats import Line, Results

CASES, QUICK_CASES = ("12x0.5", "12x2", "12x10"), ("12x2",)
USUAL_CLASSES = ("other",)  # the others, if they are asked for
PERIOD_US = 500
SLOTS, QUICK_SLOTS = 4000, 2000
RIVALS = ("onetbb", "openmp-gcc", "openmp-llvm", "mutex-queue", "mutex-per-worker")
CHECKOUTS = ("forkunion", "libfork", "citor", "ocudu")  # that a user may have
OFF = "off"  # what the own pool has beside the modes of its back end
OFF_WORDS = ("env=TPOOL_WS_SPIN=off",)
TAIL = 0.999
QUANTILES = (0.5, 0.99, TAIL)
THRIFTY = 1.1  # x the CPU time of this pool; a pool that takes more is no rival of pre-wake
NOT_HIGHER = 1.05
HISTOGRAM = "makespan_histogram_ns"
HEAD = ("slots", "p50", "p99", "p99.9", "least", "most", "max", "late", "CPU/work")
LEGEND = f"""
makespan of a slot, a burst every {PERIOD_US} us, in us. Quantiles of all slots of all rounds, at most
1.6 % too high
  least, most: p99.9 of single rounds
  late: slots that began late, because the one before took longer than the period
  CPU/work: CPU time / time that the tasks compute"""
Counts = Counter[int]  # slots by makespan, the end of its bin in ns


def title_of(backend: str, mode: str) -> str:
    name = "no pool" if backend == ALONE else backend
    return name if mode == "default" else f"{name} {mode}"


def step(config: Config, case: str, slots: int) -> Step:
    backend, mode = config.pool.backend, config.mode
    warm = math.ceil(backend.settle_s * 1e6 / PERIOD_US)
    seconds = (warm + slots) * PERIOD_US * 1e-6
    times = words(period_us=PERIOD_US, warm=warm, slots=slots, limit_s=round(10 + 4 * seconds))
    given = (*words(bench="slot", bursts=case, histogram=1), *times, *OFF_WORDS * (mode == OFF))
    asked = config._replace(mode="default" if mode == OFF else mode)
    return asked.step("tail", case, given, seconds, mode=mode, pool=title_of(backend.name, mode))


def modes_of(request: Request, backend: Backend) -> Sequence[str]:
    """Of the rivals the hot ones only where the pools were chosen by name."""
    every = [mode for mode, _ in backend.modes]
    return [*every, OFF] if backend.name == OWN else every if request.backends else every[:1]


def plan(request: Request) -> Plan:
    """All pools of a place side by side, in an order of their own in each round."""
    program = there(request.program)
    classes, skipped = chosen_classes(request.classes or USUAL_CLASSES)
    with open(os.devnull, "w") as log:
        driver = Driver(program, log)
        try:
            pools, missing = driver.chosen(request.backends or (OWN, ALONE, *RIVALS, *CHECKOUTS))
        finally:
            driver.close()
    count, slots = request.round_count(5, 1), request.usual(SLOTS, QUICK_SLOTS)
    workers = {p.backend.name: p.fair_workers(request.cores) if p.has_workers else 1 for p in pools}
    every = [
        step(Config(pool, workers[pool.backend.name], sched_class, mode), case, slots)
        for sched_class in classes
        for case in request.usual(CASES, QUICK_CASES)
        for pool in pools
        for mode in modes_of(request, pool.backend)
    ]
    about: Line = {"slots": slots, "missing": missing, "skipped": skipped}
    about["versions"] = {pool.backend.name: pool.version for pool in pools}
    title = f"{len(every)} settings, {count} x {slots} slots each"
    return Plan(every, asks(program), about, count, ("case", "class"), title)


def quantile_us(counts: Counts, share: float) -> float:
    """The smallest makespan that so large a share of the slots does not exceed."""
    rank, below = math.ceil(share * counts.total() - 1e-9), 0
    for ns in sorted(counts):
        below += counts[ns]
        if below >= rank:
            return ns * 1e-3
    raise ValueError("a quantile of no slots")


def counts_of(line: Line) -> Counts:
    return Counter(dict(zip(line[HISTOGRAM][::2], line[HISTOGRAM][1::2])))


def counts(at: Results) -> Counts:
    return sum(map(counts_of, at.lines), Counter())


def tails(at: Results) -> dict[int, float]:
    """p99.9 by round."""
    return {line["round"]: quantile_us(counts_of(line), TAIL) for line in at.lines}


def cpu_per_work(at: Results) -> float:
    return float(sum(line["cpu_s"] for line in at.lines) / sum(line["work_s"] for line in at.lines))


def places(results: Results) -> dict[str, dict[str, Results]]:
    """By case and class, then by the pool's title; own pool, no pool, then the others."""

    def order(item: tuple[str, Results]) -> tuple[int, str]:
        backend = item[1].lines[0]["backend"]
        return [OWN, ALONE, backend].index(backend), item[0]

    found = Results(results.lines).by("case", "class")
    ordered = sorted(found, key=lambda at: (CLASSES.index(at[1]), work_us(at[0]), at[0]))
    return {" ".join(at): dict(sorted(found[at].by("pool").items(), key=order)) for at in ordered}


def _row(title: str, at: Results) -> list[str]:
    """The end of the last bin lies above the longest slot."""
    every, of_rounds = counts(at), tails(at).values()
    max_us = max(line["makespan_max_us"] for line in at.lines)
    times = (*(quantile_us(every, share) for share in QUANTILES), min(of_rounds), max(of_rounds), max_us)
    late = sum(line["late_slots"] for line in at.lines)
    texts = (f"{min(us, max_us):.1f}" for us in times)
    return [title, f"{every.total()}", *texts, f"{late}", f"{cpu_per_work(at):.1f}"]


def verdict(place: str, by_pool: dict[str, Results], title: str, thrifty: bool) -> Iterator[Verdict]:
    """Against the pool with the lowest tail. @param thrifty  of those that take hardly more CPU time"""
    own = by_pool.get(title)
    if own is None:
        return
    most = cpu_per_work(own) * THRIFTY if thrifty else math.inf
    backends = {name: at.lines[0]["backend"] for name, at in by_pool.items()}
    found = (
        name for name in by_pool if backends[name] not in (OWN, ALONE) and cpu_per_work(by_pool[name]) <= most
    )
    best = min(found, key=lambda name: quantile_us(counts(by_pool[name]), TAIL), default=None)
    of = f"{THRIFTY:g} x its CPU time" if thrifty else "any CPU time"
    text = f"{place}: p99.9 of {title} at most {NOT_HIGHER:g} x that of each pool with {of}"
    if best is None:
        yield Verdict(NONE, f"{text}: no such pool")
        return
    ratio = round_ratio(tails(own), tails(by_pool[best]))
    yield Verdict(at_most_word(ratio, NOT_HIGHER), f"{text}: to {best} {ratio or 'n/a'}")


def report(results: Results) -> Iterator[Item]:
    found = places(results)
    yield from [LEGEND] if found else []
    for place, by_pool in found.items():
        yield from table("", [place, *HEAD], [_row(title, at) for title, at in by_pool.items()])
    for place, by_pool in found.items():
        yield from verdict(place, by_pool, OWN, True)
        yield from verdict(place, by_pool, title_of(OWN, "hot"), False)
    versions = (f"{name} {version}" for name, version in results.host["versions"].items() if name != ALONE)
    yield f"versions: {', '.join(versions)}"


def plots(results: Results) -> Iterator[Plot]:
    """The share of slots that take longer than a time."""
    points = [
        {"pool": line["pool"], "case": line["case"], "class": line["class"], "makespan, us": ns * 1e-3}
        | {"slots": count}
        for line in results.lines
        for ns, count in counts_of(line).items()
    ]
    pools = list(dict.fromkeys(point["pool"] for point in points))
    look = {"hue": "pool", "palette": colors_of(pools), "row": "class", "col": "case"}
    more = {"weights": "slots", "complementary": True, "log_scale": (True, True)}
    yield Plot(
        "tail", "Share of the slots that take longer", points, "ecdf", ("makespan, us", ""), look | more
    )


PART = Part("tail", report, "pool", plan, plots=plots)
