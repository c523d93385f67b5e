# SPDX-License-Identifier: BSD-3-Clause
"""Lives: by how much one run of a pool differs from the next, alone and beside other programs. Each life is a
process of ws-bench, which starts and ends the other programs, too. A life is good beside those of a pool that
never sleeps, and slow beside those without a pool."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from typing import Iterator, NamedTuple, Sequence

import numpy as np

from nrbench import host
from nrbench.backends import ALONE, CLASSES, OWN
from nrbench.driver import not_built, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, chosen_classes, shown, words
from nrbench.judge import MET, MISSED, NO_GOAL, NONE, UNKNOWN
from nrbench.plot import Plot
from nrbench.stats import Line, Results

CASES = ("12x6", "4x20")
AUTO, HOT, NO_POOL = "auto", "hot", "none"
POOLS: dict[str, tuple[str, tuple[str, ...]]] = {  # titles and words
    AUTO: ("ws", words(backend=OWN)),
    HOT: ("ws hot", words(backend=OWN, mode="hot")),
    "off": ("ws off", words(backend=OWN, env="TPOOL_WS_SPIN=off")),
    NO_POOL: ("no pool", words(backend=ALONE)),
    "onetbb": ("onetbb", words(backend="onetbb")),
}
PERIOD_US, WARM, SLOTS = 500, 1000, 600
PROCESS_S, LIMIT_S = 0.1, 20  # its start and end; of a life, whose slots may be late
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
p50 and p99 of the makespan of a life's {SLOTS} slots, in us. The columns are quantiles over the lives:
10, 50, 90 and 100 %
  good: lives whose p50 is at most {GOOD:g} x the median of hot's lives beside the same
  slower: lives whose p50 is above {SLOWER:g} x the median without a pool
  CPUs: CPU time / wall time, median
  stopped: wakes in a life that put the worker on its waker's CPU, median/most"""
QUANTILES = (0.1, 0.5, 0.9, 1.0)
COLUMNS = (
    "{title}; lives {lives}; good {good}; slower {slower}; p50 {p50[0]:.0f}; {p50[1]:.0f}; {p50[2]:.0f}; "
    "{p50[3]:.0f}; p99 {p99[0]:.0f}; {p99[1]:.0f}; {p99[2]:.0f}; {p99[3]:.0f}; CPUs {cpus:.2f}; "
    "stopped {stopped}"
)


def step(case: str, sched_class: str, noise: str, pool: str) -> Step:
    labels: Line = {"bench": "lives", "case": case, "class": sched_class, "noise": noise, "pool": pool}
    title, of_pool = POOLS[pool]
    times = words(period_us=PERIOD_US, warm=WARM, slots=SLOTS, limit_s=LIMIT_S)
    given = (*words(bench="slot", workers=1, class_=sched_class, bursts=case), *times)
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
    return Plan(steps, asks(program), about, count, ("case", "class", "noise"), f"{count * len(steps)} lives")


@dataclass(frozen=True)
class Lives:
    """Of a case in a class beside a noise."""

    case: str
    sched_class: str
    noise: str
    by: dict[str, Results]  # pool

    def p50s(self, pool: str) -> list[float]:
        return [line["makespan_p50_us"] for line in self.by[pool].lines] if pool in self.by else []

    def failed(self, pool: str) -> int:
        return len(self.by[pool].failed) if pool in self.by else 0

    def count(self, pool: str) -> int:
        return len(self.p50s(pool)) + self.failed(pool)

    def median_us(self, pool: str) -> float | None:
        return statistics.median(p50s) if (p50s := self.p50s(pool)) else None

    def good(self, pool: str) -> int:
        """A life without a result is not good."""
        hot = self.median_us(HOT) or 0.0
        return sum(us <= GOOD * hot for us in self.p50s(pool))

    def slower(self, pool: str) -> int:
        alone = self.median_us(NO_POOL) or math.inf
        return sum(us > SLOWER * alone for us in self.p50s(pool))

    def row(self, pool: str) -> Line:
        lines, count = self.by[pool].lines, self.count(pool)
        stops = [line["stopped_callers"] for line in lines if "stopped_callers" in line]
        times = {
            p: np.quantile([line[f"makespan_{p}_us"] for line in lines], QUANTILES, method="inverted_cdf")
            for p in ("p50", "p99")
        }
        return times | {
            "title": f"{self.case} {self.sched_class} {POOLS[pool][0]}", "lives": count,
            "good": f"{100 * self.good(pool) / count:.0f} %" if self.median_us(HOT) else "",
            "slower": f"{self.slower(pool)}" if self.median_us(NO_POOL) else "",
            "cpus": statistics.median(line["cpu_s"] / line["wall_s"] for line in lines),
            "stopped": f"{statistics.median(stops):.0f}/{max(stops)}" if stops else "",
        }  # fmt: skip


def lives_of(results: Results) -> list[Lives]:
    found = results.by("case", "class", "noise")
    order = sorted(found, key=lambda place: (CLASSES.index(place[1]), CASES.index(place[0])))
    return [Lives(case, c, noise, found[case, c, noise].by("pool")) for case, c, noise in order]


def goal(noise: Noise, sched_class: str, cores: int) -> float | None:
    """Share of good lives to reach; None where producer and noise leave no CPU to the worker. A real-time
    worker takes its CPU from the noise."""
    return noise.goal if cores >= 2 + noise.busy_cpus * (sched_class == "other") else None


def goal_word(good: int, lives: int, wanted: float | None) -> str:
    """Missed: a pool that reaches the goal has so few good lives with a chance of one in twenty. Not known:
    between that and the goal."""
    if wanted is None:
        return NO_GOAL
    if good >= wanted * lives - 1e-9:
        return MET
    below = (math.comb(lives, n) * wanted**n * (1 - wanted) ** (lives - n) for n in range(good + 1))
    return MISSED if sum(below) < CHANCE else UNKNOWN


COUNTS = (Lives.count, Lives.good, Lives.slower)


def judged(every: Sequence[Lives], cores: int) -> Iterator[Line]:
    """The lives of the own pool in a class beside a noise, all cases that have something to compare with."""
    for sched_class, (name, noise) in itertools.product(CLASSES, NOISES.items()):
        here = [one for one in every if (one.sched_class, one.noise) == (sched_class, name)]
        here = [one for one in here if one.count(AUTO) and one.median_us(HOT)]
        if here:
            lives, good, slower = (sum(of(one, AUTO) for one in here) for of in COUNTS)
            wanted = goal(noise, sched_class, cores)
            yield {
                "title": f"{sched_class}, {noise.text}", "lives": lives, "good": good, "slower": slower,
                "goal": wanted, "word": MISSED if slower else goal_word(good, lives, wanted),
            }  # fmt: skip


def slower_text(count: int) -> str:
    return f"{count or 'none'} slower than no pool"


def verdicts(every: Sequence[Lives], cores: int) -> Iterator[Verdict]:
    """First that of all lives, then one for each class and noise."""
    found = list(judged(every, cores))
    counted = [one for one in found if one["goal"]] or found
    good, lives = (sum(one[name] for one in counted) for name in ("good", "lives"))
    idle = sum(one["lives"] for one in found) - lives
    words_of = {one["word"] for one in found}
    text = f"{good} of {lives} lives within {GOOD:g} x hot's; {slower_text(sum(o['slower'] for o in found))}"
    text += f". Another {idle} lives had no CPU for the worker" if idle else ""
    order = (MISSED, UNKNOWN, MET, NO_GOAL)
    yield Verdict(next((word for word in order if word in words_of), NONE), text)
    for one in found:
        wanted = f"goal {100 * one['goal']:.0f} %" if one["goal"] else "no CPU is left for the worker"
        text = (
            f"{one['title']}: {one['good']} of {one['lives']} lives, {wanted}; {slower_text(one['slower'])}"
        )
        yield Verdict(one["word"], text)


def report(results: Results) -> Iterator[Item]:
    every = lives_of(results)
    yield from [LEGEND] if every else []
    for name, noise in NOISES.items():
        rows = [one.row(pool) for one in every if one.noise == name for pool in POOLS if one.p50s(pool)]
        yield from shown("", noise.text.partition(",")[0] + COLUMNS, rows)
    yield from verdicts(every, results.host["cores"])


def plots(results: Results) -> Iterator[Plot]:
    """A dot a life."""
    points = [
        {"pool": POOLS[pool][0], "life / hot": us / hot, "noise": one.noise}
        | {"case": f"{one.case} {one.sched_class}"}
        for one in lives_of(results)
        if (hot := one.median_us(HOT))
        for pool in POOLS
        for us in one.p50s(pool)
    ]
    title = f"Median makespan of a life / median of hot's lives beside the same; dashed: {GOOD:g}"
    look = {"hue": "pool", "row": "noise", "col": "case", "size": 3, "aspect": 0.8}
    yield Plot("lives", title, points, "strip", ("pool", "life / hot"), look, "y", (GOOD,))


PART = Part("lives", report, "pool", plan, plots=plots)
