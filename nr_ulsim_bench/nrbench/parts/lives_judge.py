# SPDX-License-Identifier: BSD-3-Clause
"""Which lives of a pool are good: against those of a pool that never sleeps, and against no pool."""

from __future__ import annotations

import math
import statistics
from typing import Iterator, NamedTuple

from nrbench.backends import CLASSES
from nrbench.engine import Verdict
from nrbench.judge import MET, MISSED, NONE, UNKNOWN
from nrbench.stats import Results

CASES = ("12x6", "4x20")
AUTO, HOT, NO_POOL = "auto", "hot", "none"
GOOD, SLOWER = 1.25, 1.05
_LOWEST, _BUSY = ("noise=lowest:20000:20000",), ("hog=1",)


class Noise(NamedTuple):
    """Beside which lives are lived."""

    text: str
    goal: float  # share of good lives
    words: tuple[str, ...]
    busy_cpus: int = 0  # that it takes from normal threads
    priority: int = 0  # of its real-time class, if it is in one


def _taking(text: str, ms: str, words: str) -> Noise:
    """A host that is shared."""
    return Noise(f"({text}) a host that takes each CPU away, for {ms}", 0.95, (f"noise=host:{words}",), 0, 99)


NOISES = {
    "alone": Noise("alone", 0.95, ()),
    "a": Noise("(a) a lowest-priority process, 20 ms on and 20 ms off", 0.95, _LOWEST),
    "b": Noise("(b) a busy normal process", 0.90, _BUSY, 1),
    "c": Noise("(c) both", 0.90, _LOWEST + _BUSY, 1),
    "d": Noise(
        "(d) a real-time process below the workers, 1 ms in 10", 0.95, ("noise=realtime:1000:9000",), 0, 10
    ),
    "e": Noise(
        "(e) two lowest-priority processes in sessions of their own, 30 ms on and 20 ms off",
        0.90,
        2 * ("noise=session:30000:20000",),
        2,
    ),
    "f1": _taking("f1", "0.3 ms each 6 ms", "300:6000"),
    "f2": _taking("f2", "1.5 ms each 15 ms", "1500:15000"),
    "f3": _taking("f3", "0.06 ms each 0.7 ms", "60:700"),
}
CHANCE = 0.05  # of fewer good lives than that, for a pool that reaches its goal: missed


class Place(NamedTuple):
    """Where a life is lived."""

    case: str
    sched_class: str
    noise: str


class Share(NamedTuple):
    lives: int
    good: int | None  # None: no life of hot to compare with
    slower: int | None  # None: no life without a pool


class Lives:
    """By place, and by pool."""

    def __init__(self, results: Results) -> None:
        found = results.by("case", "class", "noise")
        self.at = {Place(*labels): of.by("pool") for labels, of in found.items()}

    @property
    def places(self) -> list[Place]:
        def order(place: Place) -> tuple[int, int]:
            case = CASES.index(place.case) if place.case in CASES else len(CASES)
            return CLASSES.index(place.sched_class), case

        return sorted(self.at, key=order)

    def p50s(self, place: Place, pool: str) -> list[float]:
        of = self.at[place].get(pool)
        return [line["makespan_p50_us"] for line in of.lines] if of else []

    def limits_us(self, place: Place) -> tuple[float | None, float | None]:
        """Medians of lives up to which one is good, and above which it is slower than no pool."""
        limits = ((GOOD, self.p50s(place, HOT)), (SLOWER, self.p50s(place, NO_POOL)))
        fine, slow = (factor * statistics.median(p50s) if p50s else None for factor, p50s in limits)
        return fine, slow

    def failed(self, place: Place, pool: str) -> int:
        of = self.at[place].get(pool)
        return len(of.failed) if of else 0

    def share(self, place: Place, pool: str) -> Share:
        """A life without a result is not good."""
        p50s, (fine, slow) = self.p50s(place, pool), self.limits_us(place)
        good = None if fine is None else sum(us <= fine for us in p50s)
        slower = None if slow is None else sum(us > slow for us in p50s)
        return Share(len(p50s) + self.failed(place, pool), good, slower)


def goal(place: Place, cores: int) -> float | None:
    """Share of good lives to reach; None where producer and noise leave no CPU to the worker. A real-time
    worker takes its CPU from the noise."""
    noise = NOISES[place.noise]
    return noise.goal if cores >= 2 + noise.busy_cpus * (place.sched_class == "other") else None


def goal_word(good: int, lives: int, wanted: float) -> str:
    """Missed: a pool that reaches the goal has so few good lives with a chance of one in twenty. Not known:
    between that and the goal."""
    if good >= wanted * lives - 1e-9:
        return MET
    below = (math.comb(lives, n) * wanted**n * (1 - wanted) ** (lives - n) for n in range(good + 1))
    return MISSED if sum(below) < CHANCE else UNKNOWN


class Judged(NamedTuple):
    """The lives of the own pool in a class beside a noise, all cases."""

    place: Place
    lives: int
    good: int
    slower: int
    goal: float | None

    @property
    def word(self) -> str:
        if self.slower:
            return MISSED
        return NONE if self.goal is None else goal_word(self.good, self.lives, self.goal)

    def __str__(self) -> str:
        wanted = "no CPU is left for the worker" if self.goal is None else f"goal {100 * self.goal:.0f} %"
        return f"{self.good} of {self.lives} lives, {wanted}; {slower_text(self.slower)}"


def slower_text(count: int) -> str:
    return f"{count or 'none'} slower than no pool"


def judged(lives: Lives, cores: int) -> Iterator[Judged]:
    """Without places that have nothing to compare with."""
    for sched_class, noise in ((c, noise) for c in CLASSES for noise in NOISES):
        here = [place for place in lives.at if (place.sched_class, place.noise) == (sched_class, noise)]
        found = [share for place in here if (share := lives.share(place, AUTO)).lives]
        if whole := [(s.lives, s.good, s.slower or 0) for s in found if s.good is not None]:
            count, good, slower = map(sum, zip(*whole))
            yield Judged(here[0], count, good, slower, goal(here[0], cores))


def verdicts(lives: Lives, cores: int) -> Iterator[Verdict]:
    """First that of all lives, then one for each class and noise."""
    found = list(judged(lives, cores))
    if not found:
        yield Verdict(NONE, f"lives within {GOOD:g} x hot's: n/a")
        return
    counted, words = [one for one in found if one.goal is not None] or found, [one.word for one in found]
    good, count = sum(one.good for one in counted), sum(one.lives for one in counted)
    slower, every = sum(one.slower for one in found), sum(one.lives for one in found)
    text = f"{good} of {count} lives within {GOOD:g} x hot's; {slower_text(slower)}"
    if count < every:
        text += f". Another {every - count} lives had no CPU for the worker"
    yield Verdict(next((word for word in (MISSED, UNKNOWN, MET) if word in words), NONE), text)
    for one in found:
        yield Verdict(one.word, f"{one.place.sched_class}, {NOISES[one.place.noise].text}: {one}")
