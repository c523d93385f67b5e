# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the coliseum beside its times: what `perf stat` shows of each pool, the contest in the sizes
of the slides, and what the own pool's other interfaces cost."""

from __future__ import annotations

import statistics
from typing import Any, Iterator, Sequence

from nrbench.backends import OWN
from nrbench.claims import Ratio, round_ratio
from nrbench.plan import FIB_CASES
from nrbench.stats import Key, Line, Summaries, Summary, select
from nrbench.sweep.bootstrap import CONFIDENCE, median_interval

FACADE_NS_MAX = 10.0  # a task, over the core
HEADS = ("task-clock, s", "CPUs", "user, s", "system, s", "switches", "involuntary", "IPC")


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
