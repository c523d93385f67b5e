# SPDX-License-Identifier: BSD-3-Clause
"""
The coliseum's question: is this pool slower than another? Answered with intervals, or not at all. Beside it
what each pool used by the kernel's count, and what the own pool's other interfaces cost.
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.claims import Ratio, at_most_word, round_ratio, typical
from nrbench.parts.pools.plan import FIB_CASES
from nrbench.stats import Key, Summaries, Summary, select
from nrbench.sweep.bootstrap import CONFIDENCE

TIE = 1.01  # slower by less than that is no loss
FACADE_NS_MAX = 10.0  # a task, over the core
HEADS = ("CPU time, s", "CPUs", "user, s", "system, s", "switches", "involuntary")


class ContestRatio(NamedTuple):
    """Time of the own pool ÷ time of a rival: median over the rounds that both have."""

    key: Key
    rival: Key
    ratio: Ratio

    @property
    def word(self) -> str:
        """Not slower by more than the tie."""
        return at_most_word(self.ratio, TIE)

    def __str__(self) -> str:
        return f"{self.key} against {self.rival.pool()}: {self.ratio.percent(1)} %"


def contest_ratios(summaries: Summaries, name: str) -> Iterator[ContestRatio]:
    """Against each other pool in each class and case: the own pool with the fewest workers, which are as many
    computing threads as cores. `alone` has no queue: no rival in CPU time."""
    for sched_class, case in ((c, case) for c in CLASSES for case in FIB_CASES):
        every = select(summaries, bench="coliseum", case=case, sched_class=sched_class, hog=False)
        own = select(every, backend=OWN, mode="default")
        key = min(own, key=lambda key: key.workers, default=None)
        left_out = {OWN, *FACADES, *([ALONE] if name == "cpu_s" else [])}
        for rival in (rival for rival in every if key and rival.backend not in left_out):
            if key and (ratio := time_ratio(summaries, key, rival, name)):
                yield ContestRatio(key, rival, ratio)


def time_ratio(summaries: Summaries, key: Key, rival: Key, name: str = "wall_s") -> Ratio | None:
    own, other = (summaries[one].by_round.get(name, {}) for one in (key, rival))
    return round_ratio(own, other)


def _usage_cells(summary: Summary) -> list[str]:
    return [
        f"{summary['cpu_s']:.3f}",
        f"{summary['cpu_s'] / summary['wall_s']:.2f}",
        f"{summary['user_s']:.3f}",
        f"{summary['system_s']:.3f}",
        f"{summary['ctx_switches']:.0f}",
        f"{summary['involuntary_switches']:.0f}",
    ]


def usage_rows(summaries: Summaries, order: Any) -> list[list[str]]:
    usage = select(summaries, bench="coliseum", case="fib19", sched_class="other", hog=False)
    return [
        [key.pool(), f"{usage[key]['tasks']:.0f}", *_usage_cells(usage[key])]
        for key in sorted(usage, key=order)
    ]


def facade_cost(summaries: Summaries, facade: str) -> Ratio | None:
    """ns a task that an interface costs over the core's: empty tasks, the differences in the rounds."""
    empty = select(summaries, bench="coliseum", case="empty", mode="default", hog=False, sched_class="other")
    for key, summary in empty.items():
        core = empty.get(key._replace(backend=OWN))
        if key.backend == facade and core:
            upper, lower = summary.by_round["ns_per_task"], core.by_round["ns_per_task"]
            return typical([upper[number] - lower[number] for number in sorted(upper.keys() & lower.keys())])
    return None


def facade_text(cost: Ratio) -> str:
    return cost.text(lambda ns: f"{ns:+.1f}") + " ns a task"


def facade_lines(summaries: Summaries, names: Sequence[str]) -> Iterator[str]:
    costs = {name: cost for name in names if (cost := facade_cost(summaries, name))}
    if costs:
        yield (
            "\nInterfaces of other pools on this one, empty tasks: cost over the core's interface, median of "
            f"the rounds' differences [{CONFIDENCE:.0%} interval]"
        )
    yield from (f"  {name}: {facade_text(cost)}" for name, cost in costs.items())
