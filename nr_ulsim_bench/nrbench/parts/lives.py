# SPDX-License-Identifier: BSD-3-Clause
"""Lives: by how much one run of a pool differs from the next, alone and beside other programs. Each life is a
process of ws-bench, which starts and ends the other programs, too."""

from __future__ import annotations

import math
import statistics
from typing import Iterable, Iterator, Sequence

from nrbench import host
from nrbench.backends import ALONE, OWN
from nrbench.driver import not_built, there
from nrbench.engine import Item, Part, Plan, Request, Step, asks, chosen_classes, table, words
from nrbench.parts.lives_judge import AUTO, CASES, GOOD, HOT, NO_POOL, NOISES, SLOWER, Lives, Place, verdicts
from nrbench.plot import Plot
from nrbench.stats import Line, Results

POOLS: dict[str, tuple[str, tuple[str, ...]]] = {  # titles and words
    AUTO: ("ws", words(backend=OWN)),
    HOT: ("ws hot", words(backend=OWN, mode="hot")),
    "off": ("ws off", words(backend=OWN, env="TPOOL_WS_SPIN=off")),
    NO_POOL: ("no pool", words(backend=ALONE)),
    "onetbb": ("onetbb", words(backend="onetbb")),
}
PERIOD_US, WARM, SLOTS = 500, 1000, 600
PROCESS_S = 0.1  # start and end of a life's process
LIMIT_S = 20  # of a life; with too few CPUs its slots are late
# The short form, which is a part of a plain ci/bench: for each class one noise, and the case that noise
# disturbs most.
SHORT_CASES = {"other": "4x20", "rr": "12x6", "rrall": "12x6"}
SHORT_NOISES = {"other": ("alone", "b"), "rr": ("b",), "rrall": ("f2",)}
QUANTILES = (0.1, 0.5, 0.9, 1.0)
HEAD = ["lives", "good", "slower", *("p50", "", "", "", "p99", "", "", ""), "CPUs", "stopped"]
LEGEND = f"""
p50 and p99 of the makespan of a life's {SLOTS} slots, in us. The columns are quantiles over the lives:
10, 50, 90 and 100 %
  good: lives whose p50 is at most {GOOD:g} x the median of hot's lives beside the same
  slower: lives whose p50 is above {SLOWER:g} x the median without a pool
  CPUs: CPU time / wall time, median
  stopped: wakes in a life that put the worker on its waker's CPU, median/most"""


def is_short(request: Request) -> bool:
    return request.quick or PART.name not in request.only


def step(place: Place, pool: str) -> Step:
    labels: Line = {"bench": "lives", "case": place.case, "class": place.sched_class, "noise": place.noise}
    title, of_pool = POOLS[pool]
    given = words(
        bench="slot",
        workers=1,
        class_=place.sched_class,
        bursts=place.case,
        period_us=PERIOD_US,
        warm=WARM,
        slots=SLOTS,
        limit_s=LIMIT_S,
    )
    seconds = (WARM + SLOTS) * PERIOD_US * 1e-6 + PROCESS_S
    text = f"{place.case} {place.sched_class} {place.noise} {title}"
    return Step(labels | {"pool": pool}, (*of_pool, *given, *NOISES[place.noise].words), seconds, text)


def plan(request: Request) -> Plan:
    """All pools of a place side by side. The short form has most lives of what is judged."""
    program, short = there(request.program), is_short(request)
    classes, skipped = chosen_classes(request.classes)
    if short:
        places = [Place(SHORT_CASES[c], c, noise) for c in classes for noise in SHORT_NOISES[c]]
    else:
        places = [Place(case, c, noise) for c in classes for case in CASES for noise in NOISES]
    for name, noise in NOISES.items():
        here = noise.priority and any(place.noise == name for place in places)
        if here and not host.realtime_allowed(noise.priority):
            places = [place for place in places if place.noise != name]
            skipped[f"noise {name}"] = f"no permission for real-time classes with priority {noise.priority}"
    missing = {} if short else not_built(program, ["onetbb"])
    own = (AUTO,) * request.usual(3, 2)
    pools = (*own, HOT, NO_POOL) if short else tuple(pool for pool in POOLS if pool not in missing)
    count = request.rounds or (request.usual(3, 1) if short else 20)
    every = [step(place, pool) for place in places for pool in pools]
    about = {"warm": WARM, "slots": SLOTS, "missing": missing, "skipped": skipped}
    return Plan(every, asks(program), about, count, ("case", "class", "noise"), f"{count * len(every)} lives")


def quantile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that so large a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _row(lives: Lives, place: Place, pool: str) -> Sequence[str]:
    found, at = lives.share(place, pool), lives.at[place][pool]
    good = "" if found.good is None else f"{100 * found.good / found.lives:.0f} %"
    slow = "" if found.slower is None else f"{found.slower}"
    head = [f"{place.case} {place.sched_class} {POOLS[pool][0]}", f"{found.lives}", good, slow]
    if not at.lines:
        return head + [""] * (1 + len(HEAD) - len(head))
    times = [
        quantile([line[f"makespan_{p}_us"] for line in at.lines], share)
        for p in ("p50", "p99")
        for share in QUANTILES
    ]
    cpus = statistics.median(line["cpu_s"] / line["wall_s"] for line in at.lines)
    stops = [line["stopped_callers"] for line in at.lines if "stopped_callers" in line]
    stopped = f"{statistics.median(stops):.0f}/{max(stops)}" if stops else ""
    return [*head, *(f"{us:.0f}" for us in times), f"{cpus:.2f}", stopped]


def report(results: Results) -> Iterator[Item]:
    lives = Lives(results)
    yield from [LEGEND] if lives.at else []
    for name, noise in NOISES.items():
        places = [place for place in lives.places if place.noise == name]
        rows = [_row(lives, place, pool) for place in places for pool in POOLS if pool in lives.at[place]]
        yield from table("", [noise.text.partition(",")[0], *HEAD], rows)
    yield from verdicts(lives, results.host["cores"])


def plots(results: Results) -> Iterator[Plot]:
    """A dot a life."""
    lives = Lives(results)
    points = [
        {
            "pool": POOLS[pool][0],
            "life / hot": line["makespan_p50_us"] * GOOD / limit_us,
            "noise": place.noise,
        }
        | {"case": f"{place.case} {place.sched_class}"}
        for place, by_pool in lives.at.items()
        if (limit_us := lives.limits_us(place)[0])
        for pool in (pool for pool in POOLS if pool in by_pool)
        for line in by_pool[pool].lines
    ]
    title = f"Median makespan of a life / median of hot's lives beside the same; dashed: {GOOD:g}"
    look = {"hue": "pool", "row": "noise", "col": "case", "size": 3, "aspect": 0.8}
    yield Plot("lives", title, points, "strip", ("pool", "life / hot"), look, "y", (GOOD,))


PART = Part("lives", report, "pool", plan, plots=plots)
