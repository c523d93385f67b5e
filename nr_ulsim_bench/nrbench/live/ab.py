# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws ab: settings in turn on a process that runs, in random order; what differs, with its interval.
A round has each setting once. ab holds the pools: however it ends, they then set back by themselves."""

from __future__ import annotations

import math
import random
import re
import time
from contextlib import ExitStack
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from nrbench.live.page import RECORD, Asker, Change, LiveError, Page, Pool, parse_change
from nrbench.live.rates import Span, quantile_us, span, together
from nrbench.live.signals import Stopped, ignore_signals

SETTLE_S, SETTLE_SHARE = 1.0, 0.2  # of an interval, after a change: not measured
ANSWER_S = 20.0  # an hour's run does not end because of one late answer
BUSY_S = 1.0  # another program that asks for one change is done by then
ALIVE_S = 0.5  # between looks whether the process lives
ROUNDS_MIN = 6  # with fewer the smallest and the largest value are no 95 % interval
SAME = 1.03  # the ratio up to which two times count as the same
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

Pools = list[tuple[Page, Pool]]


def seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not found or float(found[1]) == 0:
        raise LiveError(f'"{text}": not a time such as 500ms, 30s, 5m or 1h')
    return float(found[1]) * UNITS[found[2]]


class Plan(NamedTuple):
    every_s: float
    rounds: int
    changes: dict[str, Change]  # by what the user has written

    @classmethod
    def of(cls, every: str, whole: str, settings: Sequence[str]) -> Plan:
        """@param settings  each one or more settings, with commas between"""
        changes = {words: parse_change(words.split(",")) for words in settings}
        round_s = seconds(every) * len(changes)
        records = any(change.what & RECORD for change in changes.values())
        if len(changes) < 2 or len(changes) < len(settings) or records:
            wanted = "two or more different settings, such as spin=off spin=auto; not record=1"
            raise LiveError(f"ab needs {wanted}")
        if (rounds := int(seconds(whole) / round_s)) < ROUNDS_MIN:
            least = f"an interval needs {ROUNDS_MIN}: at least {ROUNDS_MIN * round_s:g}s"
            raise LiveError(f"--for {whole}: {rounds} rounds of {round_s:g} s; {least}")
        return cls(seconds(every), rounds, changes)


class Ab:
    """found: the pools as they were before it. askers: of their processes, while and after it holds these."""

    def __init__(self, pools: Pools) -> None:
        self.found = pools
        self.rounds: list[dict[str, Span]] = []
        self.askers: dict[Page, Asker] = {}

    def _look(self) -> Pools:
        """Of the same pools, in the same order."""
        return [(page, page.now(pool)) for page, pool in self.found]

    def _pause(self, seconds: float) -> None:
        while seconds > 0:
            time.sleep(min(seconds, ALIVE_S))
            seconds -= ALIVE_S
            self._look()

    def _measure(self, change: Change, every_s: float) -> Span:
        for page, pool in self.found:
            self.askers[page].change(pool, change, ANSWER_S, hold=True)
        settle_s = min(SETTLE_S, SETTLE_SHARE * every_s)
        self._pause(settle_s)
        before = self._look()
        self._pause(every_s - settle_s)
        return together([span(was, now) for (_, was), (_, now) in zip(before, self._look())])

    def run(self, plan: Plan, order: random.Random, who: str) -> None:
        """Its rounds are in self.rounds, also after an error."""
        with ExitStack() as held:
            self.askers = {page: held.enter_context(page.ask(who, BUSY_S)) for page in dict(self.found)}
            self.found = self._look()
            for _ in range(plan.rounds):
                turn = order.sample(list(plan.changes), len(plan.changes))
                self.rounds.append({text: self._measure(plan.changes[text], plan.every_s) for text in turn})

    def in_force(self) -> Iterator[str]:
        """Lines: what the pools have when they have set back."""
        end_s = time.monotonic() + ANSWER_S
        for page, was in self.found:
            try:
                while (now := page.now(was)).held and time.monotonic() < end_s:
                    time.sleep(0.02)
            except LiveError as error:
                yield str(error)
                continue
            before = ", as before" if now.settings == was.settings else f", before: {was.settings}"
            later = f"; when its watchdog thread gets a CPU: {was.settings}"
            yield f"{was}: in force: {now.settings}{later if now.held else before}"


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """That holds the true median with at least 95 %, whatever the distribution: from the k-th smallest value
    to the k-th largest. None: too few values."""
    count, outside, k = len(values), 0.0, 0
    while (outside := outside + math.comb(count, k) / 2**count) <= 0.025:
        k += 1
    return (sorted(values)[k - 1], sorted(values)[-k]) if k else None


def _line(name: str, unit: str, pairs: Iterable[tuple[float | None, float | None]]) -> str:
    """@param unit  of a difference; "" = a ratio @param pairs  of each round, the first setting's before"""
    whole = [(its, mine) for its, mine in pairs if its is not None and mine is not None and (unit or its)]
    values = sorted(mine - its if unit else mine / its for its, mine in whole)
    if not (limits := interval(values)):
        return f"  {name:<12} not known: an interval needs {ROUNDS_MIN} rounds, {len(values)} have it"
    median = (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2
    rounded = [round(value, 3) + 0.0 for value in (median, *limits)]  # + 0.0: none is -0.0
    low, high = rounded[1:] if unit else [math.log(limit or 1e-9) for limit in limits]
    less, more, same = ("less", "more", 0.0) if unit else ("faster", "slower", math.log(SAME))
    word = less if high < 0 else more if low > 0 else "same" if max(-low, high) <= same else "not known"
    shown = [f"{value:{'+' if unit else ''}.3f}" for value in rounded]
    return f"  {name:<12} {shown[0]} [{shown[1]}, {shown[2]}]{unit}: {word}"


def verdicts(rounds: list[dict[str, Span]], settings: Sequence[str]) -> Iterator[str]:
    """Lines."""
    first = settings[0]
    counts = together([one for measured in rounds for one in measured.values()]).counts
    figures: tuple[tuple[str, str, Callable[[Span], float | None]], ...] = (
        ("late bursts", " %", lambda one: one.late_percent),
        ("start p50", "", lambda one: quantile_us(one.starts, 0.5)),
        ("start p99", "", lambda one: quantile_us(one.starts, 0.99)),
        ("spinning", " cores", lambda one: one.spin_cores),
    )
    pushes = f"{counts['bursts']} pushes after a pause"
    yield f"{len(rounds)} rounds, {pushes}; 95 % intervals of the median over the rounds"
    for other in settings[1:]:
        yield f"{other}, compared with {first}:"
        for name, unit, of in figures if counts["judged_bursts"] else figures[1:]:
            yield _line(name, unit, [(of(one[first]), of(one[other])) for one in rounds])


def run(pools: Pools, plan: Plan, seed: int | None, who: str) -> int:
    """@return the exit status"""
    ab = Ab(pools)
    try:
        ab.run(plan, random.Random(seed), who)
        return 0
    except Stopped as stopped:
        print(f"stopped by {stopped.number.name} after {len(ab.rounds)} rounds")
        raise
    finally:
        ignore_signals()
        if ab.rounds:
            print(*verdicts(ab.rounds, list(plan.changes)), sep="\n")
        if ab.askers:
            print(*ab.in_force(), sep="\n")
