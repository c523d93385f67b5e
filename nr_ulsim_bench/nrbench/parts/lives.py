# SPDX-License-Identifier: BSD-3-Clause
"""Lives: by how much one run of a pool differs from the next, alone and beside other programs. Each life is a
process of ws-bench, which starts and ends the other programs, too. A life is good beside those of a pool that
never sleeps, and slow beside those without a pool."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from typing import Iterator, NamedTuple, Sequence

import numpy as np

from nrbench import host
from nrbench.backends import ALONE, CLASSES, OWN
from nrbench.driver import not_built, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, chosen_classes, shown, words
from nrbench.judge import MET, MISSED, NO_GOAL, NONE, UNKNOWN
from nrbench.stats import Line, Results

BY_CHANCE = "4x20 by chance"  # no timer foresees its slots: they are compared with those without a pool only
CASES = {
    "12x6": words(bursts="12x6"),
    "4x20": words(bursts="4x20"),
    BY_CHANCE: words(bursts="4x20", arrivals="exponential"),
}
AUTO, HOT, NO_POOL = "auto", "hot", "none"
POOLS: dict[str, tuple[str, tuple[str, ...]]] = {  # titles and words
    AUTO: ("ws", words(backend=OWN)),
    HOT: ("ws hot", words(backend=OWN, mode="hot")),
    "off": ("ws off", words(backend=OWN, env="TPOOL_WS_SPIN=off")),
    NO_POOL: ("no pool", words(backend=ALONE)),
    "onetbb": ("onetbb", words(backend="onetbb")),
}
PERIOD_US, WARM, SLOTS = 500, 1000, 600
PROCESS_S = 0.1  # its start and end
# The short form, which is a part of a plain ci/bench: what disturbs a class most.
SHORT = {"other": (("4x20", "alone"), ("4x20", "b")), "rr": (("12x6", "b"),), "rrall": (("12x6", "f2"),)}
GOOD, SLOWER = 1.25, 1.05
CHANCE = 0.05  # of fewer good lives than that, for a pool that reaches its goal: missed


class Noise(NamedTuple):
    """Beside which lives are lived."""

    text: str
    goal: float  # share of good lives
    words: tuple[str, ...]
    busy_cpus: int = 0  # that it takes from normal threads
    priority: int = 0  # of its real-time class, if it is in one


def _taking(text: str, ms: str, given: str) -> Noise:
    """A host that is shared."""
    return Noise(f"({text}) a host that takes each CPU away, for {ms}", 0.95, (f"noise=host:{given}",), 0, 99)


_LOWEST, _BUSY = ("noise=lowest:20000:20000",), ("hog=1",)
_REALTIME, _SESSION = ("noise=realtime:1000:9000",), ("noise=session:30000:20000",)
_APART = "in sessions of their own"
NOISES = {
    "alone": Noise("alone", 0.95, ()),
    "a": Noise("(a) a lowest-priority process, 20 ms on and 20 ms off", 0.95, _LOWEST),
    "b": Noise("(b) a busy normal process", 0.90, _BUSY, 1),
    "c": Noise("(c) both", 0.90, _LOWEST + _BUSY, 1),
    "d": Noise("(d) a real-time process below the workers, 1 ms in 10", 0.95, _REALTIME, 0, 10),
    "e": Noise(f"(e) two lowest-priority processes {_APART}, 30 ms on and 20 ms off", 0.90, 2 * _SESSION, 2),
    "f1": _taking("f1", "0.3 ms each 6 ms", "300:6000"),
    "f2": _taking("f2", "1.5 ms each 15 ms", "1500:15000"),
    "f3": _taking("f3", "0.06 ms each 0.7 ms", "60:700"),
}
LEGEND = f"""
p50, p99: of the makespan of a life's {SLOTS} slots; columns: quantiles over the lives
  good: lives whose p50 is at most {GOOD:g} x the median of hot's lives beside the same
  slower: lives whose p50 is above {SLOWER:g} x the median without a pool
  CPUs: CPU time / wall time, median"""
QUANTILES = (0.1, 0.5, 0.9, 1.0)
TIMES = "; ".join(
    f"{p}, µs|{100 * q:.0f} % {{{p}[{n}]:.0f}}" for p in ("p50", "p99") for n, q in enumerate(QUANTILES)
)
COLUMNS = (
    "case {case}; class {class}; pool {title}; lives {lives}; good {share}; slower {slow}; "
    f"{TIMES}; CPUs {{cpus:.2f}}"
)


def step(case: str, sched_class: str, noise: str, pool: str) -> Step:
    labels: Line = {"bench": "lives", "case": case, "class": sched_class, "noise": noise, "pool": pool}
    title, of_pool = POOLS[pool]
    times = words(period_us=PERIOD_US, warm=WARM, slots=SLOTS)
    given = (*words(bench="slot", workers=1, class_=sched_class), *CASES[case], *times)
    seconds = (WARM + SLOTS) * PERIOD_US * 1e-6 + PROCESS_S
    text = f"{case} {sched_class} {noise} {title}"
    return Step(labels, (*of_pool, *given, *NOISES[noise].words), seconds, text)


def plan(request: Request) -> Plan:
    """All pools of a place side by side. The short form has most lives of what is judged."""
    program, short = there(request.program), request.quick or "lives" not in request.only
    classes, skipped = chosen_classes(request.classes)
    every = tuple(itertools.product(CASES, NOISES))
    places = [(case, c, noise) for c in classes for case, noise in (SHORT[c] if short else every)]
    for name, noise in NOISES.items():
        wanted = any(place[2] == name for place in places)
        if wanted and noise.priority and not host.realtime_allowed(noise.priority):
            places = [place for place in places if place[2] != name]
            skipped[f"noise {name}"] = f"no permission for real-time classes with priority {noise.priority}"
    missing = {} if short else not_built(program, ["onetbb"])
    own = (AUTO,) * request.usual(3, 2)
    pools = (*own, HOT, NO_POOL) if short else tuple(pool for pool in POOLS if pool not in missing)
    count = request.rounds or (request.usual(3, 1) if short else 20)
    steps = [step(*place, pool) for place in places for pool in pools]
    about = {"warm": WARM, "slots": SLOTS, "missing": missing, "skipped": skipped}
    return Plan(steps, asks(program), about, count, ("case", "class", "noise"))


def lives_of(results: Results) -> Iterator[Line]:
    """Of each pool beside each noise: its lives, those that are good and those that are slow."""
    found = results.by("case", "class", "noise")
    in_order = sorted(found, key=lambda at: (CLASSES.index(at[1]), [*CASES].index(at[0])))
    for case, sched_class, noise in in_order:
        by = found[case, sched_class, noise].by("pool")
        p50s = {pool: [line["makespan_p50_us"] for line in of.lines] for pool, of in by.items()}
        medians = {pool: statistics.median(times) for pool, times in p50s.items() if times}
        hot, alone = medians.get(HOT, 0.0), medians.get(NO_POOL, math.inf)
        for pool in (pool for pool in POOLS if pool in by):
            yield {
                "title": POOLS[pool][0], "case": case, "class": sched_class,
                "noise": noise, "pool": pool,
                "lines": by[pool].lines, "lives": len(by[pool].all), "p50s": p50s[pool],
                "hot": hot, "good": sum(us <= GOOD * hot for us in p50s[pool]),
                "alone": alone, "slower": sum(us > SLOWER * alone for us in p50s[pool]),
            }  # fmt: skip


def row(found: Line) -> Line:
    lines, lives = found["lines"], found["lives"]
    times = {p: [line[f"makespan_{p}_us"] for line in lines] for p in ("p50", "p99")}
    quantiles = {p: np.quantile(of, QUANTILES, method="inverted_cdf") for p, of in times.items()}
    return found | quantiles | {
        "share": f"{100 * found['good'] / lives:.0f} %" if found["hot"] else "",
        "slow": f"{found['slower']}" if found["alone"] < math.inf else "",
        "cpus": statistics.median(line["cpu_s"] / line["wall_s"] for line in lines),
    }  # fmt: skip


def word_of(counts: Counter[str], goal: float | None) -> str:
    """Missed: a pool that reaches the goal has so few good lives with a chance of one in twenty. Not known:
    between that and the goal."""
    good, lives = counts["good"], counts["lives"]
    if counts["slower"]:
        return MISSED
    if goal is None:
        return NO_GOAL
    if good >= goal * lives - 1e-9:
        return MET
    below = (math.comb(lives, n) * goal**n * (1 - goal) ** (lives - n) for n in range(good + 1))
    return MISSED if sum(below) < CHANCE else UNKNOWN


def verdicts(own: Sequence[Line], cores: int) -> Iterator[Verdict]:
    """First that of all lives, then one for each class and noise, all cases."""
    found, every, judged = list[Verdict](), Counter[str](), Counter[str]()
    for sched_class, (name, noise) in itertools.product(CLASSES, NOISES.items()):
        here = [one for one in own if (one["class"], one["noise"]) == (sched_class, name)]
        foreseen = [one for one in here if one["case"] != BY_CHANCE]
        counts = Counter({of: sum(one[of] for one in foreseen) for of in ("lives", "good")})
        counts["slower"] = sum(one["slower"] for one in here)
        if here:
            # None: producer and noise leave the worker no CPU. A real-time worker takes it from the noise.
            goal = noise.goal if cores >= 2 + noise.busy_cpus * (sched_class == "other") else None
            every, judged = every + counts, judged + counts if goal else judged
            wanted = f"goal {100 * goal:.0f} %" if goal else "no CPU is left for the worker"
            text = f"{counts['good']} of {counts['lives']} lives, {wanted}; {slower_text(counts)}"
            found.append(Verdict(word_of(counts, goal), f"{sched_class}, {noise.text}: {text}"))
    shown = judged or every
    idle = every["lives"] - shown["lives"]
    text = f"{shown['good']} of {shown['lives']} lives within {GOOD:g} x hot's; {slower_text(every)}"
    text += f". Another {idle} lives had no CPU for the worker" if idle else ""
    order, there = (MISSED, UNKNOWN, MET, NO_GOAL), {one.word for one in found}
    yield Verdict(next((word for word in order if word in there), NONE), text)
    yield from found


def slower_text(counts: Counter[str]) -> str:
    return f"{counts['slower'] or 'none'} slower than no pool"


def report(results: Results) -> Iterator[Item]:
    found = list(lives_of(results))
    yield from [LEGEND] if found else []
    for name, noise in NOISES.items():
        rows = (row(one) for one in found if one["noise"] == name and one["lines"])
        yield from shown(noise.text, COLUMNS, rows)
    yield from verdicts([one for one in found if one["pool"] == AUTO and one["hot"]], results.host["cores"])


PART = Part("lives", "many short runs, alone and beside other programs", report, "pool", plan)
