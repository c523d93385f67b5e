# SPDX-License-Identifier: BSD-3-Clause
"""Which lives of a pool are good: against those of a pool that never sleeps, and against no pool."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Iterator, Mapping, NamedTuple

from nrbench.backends import CLASSES
from nrbench.stats import Line, Results

AUTO, HOT, NO_POOL = "auto", "hot", "none"
GOOD, SLOWER = 1.25, 1.05
GOALS = {  # share of good lives
    "alone": 0.95,
    "a": 0.95,
    "b": 0.90,
    "c": 0.90,
    "d": 0.95,
    "e": 0.90,
    "f1": 0.95,
    "f2": 0.95,
    "f3": 0.95,
}
BUSY_CPUS = {"b": 1, "c": 1, "e": 2}  # that the noise takes from normal threads
CHANCE = 0.05  # of fewer good lives than that, for a pool that reaches its goal: MISS


class Place(NamedTuple):
    """Where a life is lived."""

    case: str
    sched_class: str
    noise: str


@dataclass
class Lives:
    taken: dict[Place, dict[str, list[Line]]] = field(default_factory=dict)  # by pool, those with figures
    failed: Counter[tuple[Place, str]] = field(default_factory=Counter)  # the others


def collect(results: Results) -> Lives:
    found: dict[Place, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    failed: Counter[tuple[Place, str]] = Counter()
    for line in [*results.lines, *results.failed]:
        place = Place(line["case"], line["class"], line["noise"])
        of_pool = found[place][line["pool"]]
        if "error" in line:
            failed[place, line["pool"]] += 1
        else:
            of_pool.append(line)
    return Lives({place: dict(by_pool) for place, by_pool in found.items()}, failed)


class Limits(NamedTuple):
    """Medians of lives up to which one is good, and above which it is slower than no pool."""

    good: float | None
    slow: float | None


def limits_us(lives: Lives, place: Place) -> Limits:
    medians = (
        [line["makespan_p50_us"] for line in lives.taken[place].get(pool, ())] for pool in (HOT, NO_POOL)
    )
    good, slow = (statistics.median(found) if found else None for found in medians)
    return Limits(good and GOOD * good, slow and SLOWER * slow)


class Share(NamedTuple):
    lives: int
    good: int | None  # None: no life of hot to compare with
    slower: int | None  # None: no life without a pool


def share(lives: Lives, place: Place, pool: str) -> Share:
    """A life without a result is not good."""
    p50s = [line["makespan_p50_us"] for line in lives.taken[place].get(pool, ())]
    limits = limits_us(lives, place)
    good = None if limits.good is None else sum(us <= limits.good for us in p50s)
    slower = None if limits.slow is None else sum(us > limits.slow for us in p50s)
    return Share(len(p50s) + lives.failed[place, pool], good, slower)


def goal(place: Place, cores: int) -> float | None:
    """Share of good lives to reach; None where producer and noise leave no CPU to the worker. A real-time
    worker takes its CPU from the noise."""
    busy = BUSY_CPUS.get(place.noise, 0) if place.sched_class == "other" else 0
    return GOALS[place.noise] if cores >= 2 + busy else None


def goal_word(good: int, lives: int, wanted: float) -> str:
    """MISS: a pool that reaches the goal has so few good lives with a chance of one in twenty. OPEN: between
    that and the goal."""
    if good >= wanted * lives - 1e-9:
        return "PASS"
    below = (math.comb(lives, n) * wanted**n * (1 - wanted) ** (lives - n) for n in range(good + 1))
    return "MISS" if sum(below) < CHANCE else "OPEN"


class Judged(NamedTuple):
    """The lives of the own pool in a class beside a noise, all cases."""

    sched_class: str
    noise: str
    lives: int
    good: int
    slower: int
    goal: float | None

    @property
    def word(self) -> str:
        if self.slower:
            return "MISS"
        return "----" if self.goal is None else goal_word(self.good, self.lives, self.goal)

    def __str__(self) -> str:
        wanted = "no CPU is left for the worker" if self.goal is None else f"goal {100 * self.goal:.0f} %"
        return f"{self.good} of {self.lives} lives, {wanted}; {slower_text(self.slower)}"


def slower_text(count: int) -> str:
    return f"{count or 'none'} slower than no pool"


def judged(lives: Lives, cores: int) -> Iterator[Judged]:
    """Without places that have nothing to compare with."""
    for sched_class in CLASSES:
        for noise in GOALS:
            here = [p for p in lives.taken if (p.sched_class, p.noise) == (sched_class, noise)]
            found = [share(lives, place, AUTO) for place in here]
            whole = [(s.lives, s.good, s.slower or 0) for s in found if s.lives and s.good is not None]
            if whole:
                count, good, slower = map(sum, zip(*whole))
                yield Judged(sched_class, noise, count, good, slower, goal(here[0], cores))


def verdicts(lives: Lives, cores: int, noise_text: Mapping[str, str]) -> Iterator[str]:
    """First that of all lives, then one for each class and noise."""
    found = list(judged(lives, cores))
    if not found:
        yield f"----  lives within {GOOD:g} x hot's: n/a"
        return
    counted = [one for one in found if one.goal is not None] or found
    words = [one.word for one in found]
    word = next((word for word in ("MISS", "OPEN", "PASS") if word in words), "----")
    good, count = (sum(figures) for figures in ([j.good for j in counted], [j.lives for j in counted]))
    slower, every = sum(j.slower for j in found), sum(j.lives for j in found)
    text = f"{good} of {count} lives within {GOOD:g} x hot's; {slower_text(slower)}"
    if count < every:
        text += f". Another {every - count} lives had no CPU for the worker"
    yield f"{word}  {text}"
    yield from (f"{one.word}  {one.sched_class}, {noise_text[one.noise]}: {one}" for one in found)
