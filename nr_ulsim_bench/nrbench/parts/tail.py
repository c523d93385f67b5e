# SPDX-License-Identifier: BSD-3-Clause
"""The tail of short bursts: how long one slot in a hundred and in a thousand takes, by pool. The
figures are of all slots of all rounds together."""

import itertools
import math
from typing import Iterator, Sequence

import numpy as np

from nrbench.backends import ALONE, CLASSES, OWN, Present
from nrbench.cases import work_us
from nrbench.driver import chosen, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, chosen_classes, shown, words
from nrbench.judge import Array, at_most_word, late, round_ratio
from nrbench.parts.pools import Config
from nrbench.stats import Line, Results

CASES, QUICK_CASES = ("12x0.5", "12x2", "12x10"), ("12x2",)
PERIOD_US = 500
SLOTS, QUICK_SLOTS = 4000, 2000
POOLS = (OWN, ALONE, *"onetbb openmp-gcc openmp-llvm mutex-queue mutex-per-worker".split())
POOLS += ("forkunion", "libfork", "citor", "ocudu")  # checkouts that a user may have
TAIL = 0.999
QUANTILES = (0.5, 0.99, TAIL)
THRIFTY = 1.1  # x the CPU time of this pool; a pool that takes more is no rival of pre-wake
NOT_HIGHER = 1.05
HISTOGRAM = "makespan_histogram_ns"
COLUMNS = (
    "pool {title}; p99.9 {times[2]:.1f}; p50 {times[0]:.1f}; p99 {times[1]:.1f}; slots {slots}; "
    "least {times[3]:.1f}; most {times[4]:.1f}; max {times[5]:.1f}; late {late}; CPU time ÷ work {cpu:.1f}"
)
LEGEND = f"""
makespan of a slot, a burst every {PERIOD_US} µs, in µs. Quantiles of all slots of all rounds, at most
1.6 % too high
  least, most: p99.9 of single rounds
  late: slots that took longer than the period, which is their deadline
  work: time that the tasks compute"""


def step(request: Request, config: Config, case: str, off: bool) -> Step:
    """@param off  the own pool without pre-wake, which is no mode of its module"""
    backend, slots = config.pool.backend, request.usual(SLOTS, QUICK_SLOTS)
    warm = math.ceil(backend.settle_s * 1e6 / PERIOD_US)
    seconds = (warm + slots) * PERIOD_US * 1e-6
    times = words(period_us=PERIOD_US, warm=warm, slots=slots)
    given = (*words(bench="slot", bursts=case, histogram=1), *times, *["env=TPOOL_WS_SPIN=off"] * off)
    mode = "off" if off else config.mode
    title = ("no pool" if backend.name == ALONE else backend.name) + f" {mode}" * (mode != "default")
    return config.step("tail", case, given, seconds, mode=mode, pool=title)


def configs(request: Request, pool: Present, sched_class: str) -> Iterator[tuple[Config, bool]]:
    """Of the rivals the hot ones only where the pools were chosen by name."""
    workers = pool.fair_workers(request.cores) if pool.has_workers else 1
    is_own, modes = pool.backend.name == OWN, pool.backend.modes
    for mode, _ in modes if is_own or request.backends else modes[:1]:
        yield Config(pool, workers, sched_class, mode), False
    if is_own:
        yield Config(pool, workers, sched_class), True


def plan(request: Request) -> Plan:
    """All pools of a place side by side, in an order of their own in each round."""
    program = there(request.program)
    classes, skipped = chosen_classes(request.classes or ("other",))
    pools, missing = chosen(program, request.backends or POOLS)
    places = itertools.product(classes, request.usual(CASES, QUICK_CASES), pools)
    every = [
        step(request, config, case, off)
        for c, case, pool in places
        for config, off in configs(request, pool, c)
    ]
    count = request.round_count(5, 1)
    about = {"missing": missing, "skipped": skipped}
    return Plan(every, asks(program), about, count, ("case", "class"))


def slots_us(lines: Sequence[Line], name: str = HISTOGRAM) -> Array:
    """The makespan of each slot: the end of its bin."""
    return 1e-3 * np.concatenate([np.repeat(line[name][::2], line[name][1::2]) for line in lines])


def quantiles_us(lines: Sequence[Line], shares: Sequence[float] = (TAIL,), name: str = HISTOGRAM) -> Array:
    """The smallest makespan that so large a share of the slots does not exceed."""
    return np.asarray(np.quantile(slots_us(lines, name), shares, method="inverted_cdf"))


def tails(at: Results) -> dict[int, float]:
    """By round."""
    return {line["round"]: float(quantiles_us([line])[0]) for line in at.lines}


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


def row(title: str, at: Results) -> Line:
    """The end of the last bin lies above the longest slot."""
    of_rounds, max_us = tails(at).values(), max(line["makespan_max_us"] for line in at.lines)
    times = [*quantiles_us(at.lines, QUANTILES), min(of_rounds), max(of_rounds), max_us]
    slots = slots_us(at.lines)
    times, (_, count) = [min(us, max_us) for us in times], late(slots, PERIOD_US)
    return {"title": title, "slots": len(slots), "times": times, "late": count, "cpu": cpu_per_work(at)}


def verdict(place: str, by_pool: dict[str, Results], title: str, factor: float) -> Iterator[Verdict]:
    """Against the pool with the lowest tail. @param factor  x this CPU time: more than that is no rival"""
    if title not in by_pool:
        return
    own = by_pool[title]
    rivals = {name: at for name, at in by_pool.items() if at.lines[0]["backend"] not in (OWN, ALONE)}
    rivals = {name: at for name, at in rivals.items() if cpu_per_work(at) <= factor * cpu_per_work(own)}
    best = min(rivals, key=lambda name: quantiles_us(rivals[name].lines)[0], default="")
    ratio = round_ratio(tails(own), tails(rivals[best])) if best else None
    of = "any CPU time" if factor == math.inf else f"{factor:g} x its CPU time"
    text = f"{place}: p99.9 of {title} at most {NOT_HIGHER:g} x that of each pool with {of}"
    found = f"to {best} {ratio or 'n/a'}" if best else "no such pool"
    yield Verdict(at_most_word(ratio, NOT_HIGHER), f"{text}: {found}")


def report(results: Results) -> Iterator[Item]:
    found = places(results)
    yield from [LEGEND] if found else []
    for place, by_pool in found.items():
        yield from shown(place, COLUMNS, itertools.starmap(row, by_pool.items()))
    for place, by_pool in found.items():
        yield from verdict(place, by_pool, OWN, THRIFTY)
        yield from verdict(place, by_pool, f"{OWN} hot", math.inf)


PART = Part("tail", "the slowest slots of short bursts", report, "pool", plan)
