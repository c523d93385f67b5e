# SPDX-License-Identifier: BSD-3-Clause
"""
The coliseum's question: is this pool slower than another? Answered with intervals, or not at all. Beside it
what `perf stat` shows of each pool, the contest in the sizes of the slides, and what the own pool's other
interfaces cost.
"""

from __future__ import annotations

import statistics
from typing import Any, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.claims import Ratio, at_most_word, round_ratio
from nrbench.parts.pools.plan import FIB_CASES
from nrbench.stats import Key, Line, Summaries, Summary, select
from nrbench.sweep.bootstrap import CONFIDENCE, median_interval

TIE = 1.01  # slower by less than that is no loss
FACADE_NS_MAX = 10.0  # a task, over the core
HEADS = ("task-clock, s", "CPUs", "user, s", "system, s", "switches", "involuntary", "IPC")


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
        for rival, summary in every.items() if key else ():
            if (
                key is None
                or rival.backend in (OWN, *FACADES)
                or (name == "cpu_s" and rival.backend == ALONE)
            ):
                continue
            if ratio := round_ratio(summaries[key].by_round.get(name, {}), summary.by_round.get(name, {})):
                yield ContestRatio(key, rival, ratio)


def counters_source(lines: Sequence[Line]) -> str:
    """Where the figures come from, and why instructions and cycles are missing if they are."""
    usage = [line for line in lines if line.get("bench") == "usage" and "error" not in line]
    perf = any("perf_task_clock_s" in line for line in usage)
    source = "the kernel's perf events" if perf else "getrusage: perf events cannot be had"
    for line in usage:
        if "counters_missing" in line:
            return f"{source}; no instructions and cycles: {line['counters_missing']}"
        if line.get("counters_user_only"):
            return f"{source}; instructions and cycles in user mode only"
    return source


def _number(summary: Summary, perf: str, otherwise: str) -> float:
    value = summary.get(perf)
    return summary[otherwise] if value is None else value


def _usage_cells(summary: Summary) -> list[str]:
    clock_s = _number(summary, "perf_task_clock_s", "cpu_s")
    instructions, cycles = summary.get("instructions"), summary.get("cycles")
    return [
        f"{clock_s:.3f}",
        f"{clock_s / summary['wall_s']:.2f}",
        f"{summary['user_s']:.3f}",
        f"{summary['system_s']:.3f}",
        f"{_number(summary, 'perf_ctx_switches', 'ctx_switches'):.0f}",
        f"{summary['involuntary_switches']:.0f}",
        f"{instructions / cycles:.2f}" if instructions and cycles else "n/a",
    ]


def usage_rows(summaries: Summaries, order: Any) -> list[list[str]]:
    usage = select(summaries, bench="usage")
    return [
        [key.pool(), f"{usage[key]['tasks']:.0f}", *_usage_cells(usage[key])]
        for key in sorted(usage, key=order)
    ]


def full_ratio(summaries: Summaries, key: Key) -> Ratio | None:
    """Time of the own pool ÷ time of this one, with the same number of workers."""
    own = summaries.get(key._replace(backend=OWN))
    if own is None:
        return None
    return round_ratio(own.by_round.get("wall_s", {}), summaries[key].by_round.get("wall_s", {}))


def full_rows(summaries: Summaries, order: Any) -> list[list[str]]:
    """A row a pool and number of workers; seconds, and the own pool's time ÷ that."""
    contest = select(summaries, bench="contest")
    rows = []
    for first in sorted({key._replace(case="") for key in contest}, key=order):
        cells = []
        for case in FIB_CASES:
            key = first._replace(case=case)
            ratio = full_ratio(summaries, key) if key in contest and key.backend != OWN else None
            cells.append(
                f"{contest[key]['wall_s']:.2f}{f' {ratio}' if ratio else ''}" if key in contest else ""
            )
        rows.append([first.pool(), *cells])
    return rows


def facade_costs(summaries: Summaries, facade: str) -> list[float]:
    """ns a task that an interface costs over the core's, in each round that has both: empty tasks."""
    empty = select(summaries, bench="coliseum", case="empty", mode="default", hog=False, sched_class="other")
    for key, summary in empty.items():
        core = empty.get(key._replace(backend=OWN))
        if key.backend == facade and core:
            upper, lower = summary.by_round["ns_per_task"], core.by_round["ns_per_task"]
            return [upper[number] - lower[number] for number in sorted(upper.keys() & lower.keys())]
    return []


def facade_text(costs: Sequence[float]) -> str:
    interval = median_interval(costs)
    limits = f" [{interval.low:+.1f}, {interval.high:+.1f}]" if interval else " [?]"
    return f"{statistics.median(costs):+.1f}{limits} ns a task"


def facade_lines(summaries: Summaries, names: Sequence[str]) -> Iterator[str]:
    costs = {name: facade_costs(summaries, name) for name in names}
    if any(costs.values()):
        yield (
            "\nInterfaces of other pools on this one, empty tasks: cost over the core's interface, median of "
            f"the rounds' differences [{CONFIDENCE:.0%} interval]"
        )
    yield from (f"  {name}: {facade_text(found)}" for name, found in costs.items() if found)
