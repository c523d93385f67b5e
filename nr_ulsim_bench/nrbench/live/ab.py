# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws ab: settings in turn on a process that runs, in random order; what differs, with its interval, by
the judge that sweeps use. A round has each setting once. At the end, also after SIGINT, SIGTERM or SIGHUP, it
sets back what it found."""

import random
import re
import time
from functools import reduce
from statistics import median
from typing import Callable, Iterator, NamedTuple, Sequence

from nrbench.judge import ROUNDS_MIN, judge, round_ratio, typical
from nrbench.live.page import RECORD, LiveError, Page, Pool, Request, parse_change
from nrbench.live.rates import Span, quantile_us, span, together

SETTLE_S, SETTLE_SHARE = 1.0, 0.2  # of an interval, after a change: not measured
ANSWER_S = 20.0  # an hour's run does not end because of one late answer
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not found or float(found[1]) == 0:
        raise LiveError(f'"{text}": not a time such as 500ms, 30s, 5m or 1h')
    return float(found[1]) * UNITS[found[2]]


class Plan(NamedTuple):
    every_s: float
    rounds: int
    changes: dict[str, Request]  # by what the user has written

    @classmethod
    def of(cls, every: str, whole: str, settings: Sequence[str]) -> "Plan":
        """@param settings  each one or more settings, with commas between"""
        changes = {words: parse_change(words.split(",")) for words in settings}
        round_s = seconds(every) * len(changes)
        if len(changes) < 2 or len(changes) < len(settings):
            raise LiveError("ab needs two or more different settings, such as spin=off spin=auto")
        if any(change.what & RECORD for change in changes.values()):
            raise LiveError("record=1: no setting that ab can compare")
        if (rounds := int(seconds(whole) / round_s)) < ROUNDS_MIN:
            least = f"an interval needs {ROUNDS_MIN}: at least {ROUNDS_MIN * round_s:g}s"
            raise LiveError(f"--for {whole}: {rounds} rounds of {round_s:g} s; {least}")
        return cls(seconds(every), rounds, changes)


class Ab:
    def __init__(self, page: Page, pools: list[Pool], sleep: Callable[[float], None] = time.sleep) -> None:
        self.page, self.found, self.sleep = page, pools, sleep
        self.rounds: list[dict[str, Span]] = []

    def _look(self) -> list[Pool]:
        pools = [pool for pool in self.page.pools() if pool.id in {one.id for one in self.found}]
        if len(pools) < len(self.found):
            raise LiveError(f"process {self.page.pid}: a pool has ended")
        return pools

    def _measure(self, change: Request, every_s: float) -> Span:
        for pool in self.found:
            self.page.request(pool.place, change, ANSWER_S)
        settle_s = min(SETTLE_S, SETTLE_SHARE * every_s)
        self.sleep(settle_s)
        before = self._look()
        self.sleep(every_s - settle_s)
        return together([span(one, other) for one, other in zip(before, self._look())])

    def run(self, plan: Plan, order: random.Random) -> None:
        """Its rounds are in self.rounds, also after an error."""
        try:
            for _ in range(plan.rounds):
                turn = order.sample(list(plan.changes), len(plan.changes))
                self.rounds.append({text: self._measure(plan.changes[text], plan.every_s) for text in turn})
        finally:
            self._set_back([change.what for change in plan.changes.values()])

    def _set_back(self, changed: list[int]) -> None:
        there, errors = {pool.id for pool in self.page.pools()}, []
        for pool in (pool for pool in self.found if pool.id in there):
            found = Request(reduce(int.__or__, changed), wanted=pool.settings)
            try:
                self.page.request(pool.place, found, ANSWER_S)
            except LiveError as error:
                errors.append(f"{error}; not set back: {pool.settings}")
        if errors:
            raise LiveError("\n".join(errors))


def _line(name: str, texts: tuple[str, str], values: list[tuple[float, float]]) -> str:
    """@param values  of both settings, by round"""
    its, mine = (list(one) for one in zip(*values))
    by, to = typical([b - a for a, b in values]), round_ratio(dict(enumerate(mine)), dict(enumerate(its)))
    whole = by.interval if by and len(values) >= ROUNDS_MIN else None
    word = "not known" if not whole or whole.low <= 0 <= whole.high else "more" if whole.low > 0 else "less"
    difference = by.text(lambda value: f"{value:+.4g}") if by else "-"
    if to and name.startswith("start p"):
        difference, word = f"{difference}, ratio {to}", judge(to.interval)
    of_each = ", ".join(f"{text} {median(one):.4g}" for text, one in zip(texts, (its, mine)))
    return f"{name}: {of_each}; difference {difference}: {word}"


def verdicts(rounds: list[dict[str, Span]], settings: list[str]) -> Iterator[str]:
    """Lines. Late: as the ledger says; without one, above the 90th percentile of the first setting."""
    everything = together([one for measured in rounds for one in measured.values()])
    limit_us = quantile_us(together([one[settings[0]] for one in rounds]).starts, 0.9) or 0.0
    late = "late bursts" if everything.counts["judged_bursts"] else f"starts later than {limit_us:.1f} us"
    figures: dict[str, Callable[[Span], float | None]] = {
        f"{late}, %": lambda one: one.late_percent(limit_us),
        "start p50, us": lambda one: quantile_us(one.starts, 0.5),
        "start p99, us": lambda one: quantile_us(one.starts, 0.99),
        "spinning, cores": lambda one: one.spin_cores,
    }
    bursts = everything.counts["bursts"]
    yield f"{len(rounds)} rounds, {bursts} bursts; median, and 95 % interval over the rounds"
    for other in settings[1:]:
        for name, figure in figures.items():
            both = ((figure(one[settings[0]]), figure(one[other])) for one in rounds)
            if values := [(its, mine) for its, mine in both if its is not None and mine is not None]:
                yield _line(name, (settings[0], other), values)
