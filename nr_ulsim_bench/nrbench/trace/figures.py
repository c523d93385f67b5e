# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.trace.path import PATH_PARTS, CriticalPath
from nrbench.trace.process import Process
from nrbench.trace.reader import Trace
from nrbench.trace.walk import WAITS, Span

Summary = dict[str, Any]
COUNTED = {"pushes": "push", "runs": "run_begin", "steals": "steal", "parks": "park", "wakes": "wake"}
QUANTILES = {"p50_us": 0.5, "p99_us": 0.99, "max_us": 1.0}
UNPARKS = ("woken", "by_own_timer", "did_not_sleep")


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def distribution(times_ns: Sequence[int] | np.ndarray | pd.Series[int]) -> Summary:
    """Quantiles have the nearest rank: the least time that so many percent of all do not exceed.

    A negative time counts as 0.
    """
    if not len(times_ns):
        return {"count": 0, **dict.fromkeys((*QUANTILES, "mean_us"))}
    us = np.maximum(times_ns, 0) / 1e3
    quantiles = np.quantile(us, [*QUANTILES.values()], method="inverted_cdf").tolist()
    return {"count": len(us), **dict(zip(QUANTILES, quantiles)), "mean_us": float(us.mean())}


def phase_summary(process: Process, kind: Any, cores: int) -> Summary:
    """Of a kind of phase or burst. Those are counted of which all events are in the trace."""
    walk, tasks = process.walk, process.tasks_of.get(kind, process.tasks[:0])
    of_kind = [span for span in walk.spans if span.kind == kind]
    spans = [span for span in of_kind if span.is_counted]
    count, unfinished = len(spans), sum(span.end < 0 for span in of_kind)
    usage = [both for both in (used(process, span, cores) for span in spans) if both[1]]
    busy_ns, room_ns = (sum(part) for part in zip(*usage, (0, 0)))
    path = sum((CriticalPath(walk, span, process.workers).ns for span in spans), Counter[str]())
    pushed = sum(span.tasks for span in spans)
    return {
        "name": process.whole(process.kind_label(kind)),
        "kind": kind if isinstance(kind, str) else "burst",
        "pid": process.pid,
        "count": count,
        "left_out": len(of_kind) - unfinished - count + walk.begun_before[kind],
        "unfinished": unfinished,
        "duration": distribution([walk.time[span.end] - walk.time[span.begin] for span in spans]),
        "tasks": pushed,
        "tasks_each": share(pushed, count),
        "start_lag": distribution(tasks.lag),
        "task_time": distribution(tasks.time[tasks.time >= 0]),
        "steal_share": share(int(tasks.is_stolen.sum()), len(tasks)),
        "idle_share": max(0.0, 1 - busy_ns / room_ns) if room_ns else None,
        "critical_path": {
            "mean_us": {part: share(path[part] / 1e3, count) for part in PATH_PARTS},
            "share": {part: share(path[part], path.total()) for part in PATH_PARTS},
        },
    }


def used(process: Process, span: Span, cores: int) -> tuple[int, int]:
    """CPU time of a span in which something was done, and how much there was: 0 = not known.

    Something is done in tasks of its pools, also those of other phases, and in its own thread when it does
    not wait. CPUs that could have worked: one for each worker, the span's own thread and others that ran
    tasks, as many as there are. How many there are a pool says when it starts; of one that ran before the
    recording `cores` is known at best.
    """
    begin_ns, end_ns = process.walk.time[span.begin], process.walk.time[span.end]
    pool, tid, begins, ends = process.stretches_between(begin_ns, end_ns)
    spent = np.maximum(np.minimum(ends, end_ns) - np.maximum(begins, begin_ns), 0)
    ran = np.isin(pool, [*span.pools]) & (spent > 0)
    own_ns = end_ns - begin_ns - int(spent[(tid == span.tid) & (ran | (pool == WAITS))].sum())
    threads = {span.tid, *tid[ran].tolist()}
    others = sum(process.workers.get(thread, (0,))[0] not in span.pools for thread in threads)
    cpus = max((process.started_with(number, "cpus") for number in span.pools), default=0) or cores
    there = min(sum(map(process.worker_count, span.pools)) + others, cpus) if span.pools else 0
    return int(spent[ran].sum()) + max(own_ns, 0), (end_ns - begin_ns) * there


def pool_summary(process: Process, pool: int) -> Summary:
    events = process.events[process.events.pool == pool]
    kinds = events.kind.value_counts()
    unparks = events[events.kind == "unpark"].by_timer.clip(upper=2).value_counts()
    prewake = events[events.kind == "prewake"].worker
    wakes, time = process.walk.wakes, np.array(process.walk.time)
    wakes = wakes[wakes.pool == pool]
    lates = events[events.kind == "late"]
    late = lates.groupby("text").late_ns.agg(count="count", median_us="median", max_us="max").reset_index()
    late = late.rename(columns={"text": "cause"}).sort_values("count", ascending=False, kind="stable")
    late = late.assign(
        share=late["count"] / len(lates), median_us=late.median_us / 1e3, max_us=late.max_us / 1e3
    )
    return {
        "name": process.whole(process.pool_label(pool)),
        "pid": process.pid,
        "pool": pool,
        "workers": process.worker_count(pool),
        "cpus": process.started_with(pool, "cpus") or None,
        "worker_cpus": process.started_with(pool, "worker_cpus") or None,
        **{key: int(kinds.get(kind, 0)) for key, kind in COUNTED.items()},
        "unparks": {key: int(unparks.get(how, 0)) for how, key in enumerate(UNPARKS)},
        "wake_latency": distribution(time[wakes.up] - time[wakes.sent]),
        "prewake_plans": int((prewake >= 0).sum()),
        "prewake_hints": int((prewake < 0).sum()),
        "late": late.to_dict("records"),
    }


def function_summaries(process: Process) -> Iterator[Summary]:
    """A task's own time: without tasks that it runs while it waits, and without these waits."""
    for func, times in process.tasks[process.tasks.own >= 0].groupby("func", sort=False).own:
        yield {
            "name": process.whole(process.function(int(func))),
            "pid": process.pid,
            **distribution(times),
            "total_us": float(times.sum()) / 1e3,
            "histogram": histogram(times.to_numpy()),
        }


def histogram(times_ns: np.ndarray) -> dict[str, int]:
    """Number of tasks by the power of two, in ns, that their time reaches: {"1024": 7} is 7 tasks of 1024 to
    2047 ns. Times below 1 ns count as 1."""
    powers = np.frexp(np.maximum(times_ns, 1).astype(float))[1] - 1
    found, counts = np.unique(powers, return_counts=True)
    return {str(1 << int(power)): int(count) for power, count in zip(found, counts)}


def summarize(trace: Trace, processes: Sequence[Process], cores: int = 0) -> Summary:
    """@param cores  of the machine that was recorded; 0 = unknown"""
    phases: list[Summary] = []
    functions: list[Summary] = []
    for process in sorted(processes, key=lambda process: process.pid):
        kinds = dict.fromkeys([*(span.kind for span in process.walk.spans), *process.walk.begun_before])
        for kind in sorted(kinds, key=lambda kind: not isinstance(kind, str)):  # phases first
            phases.append(phase_summary(process, kind, cores))
        functions += function_summaries(process)
    windows = [window for process in processes for window in process.windows]
    # The longest slot; the longest burst if there are no slots.
    whole = (window for window in windows if window.is_valid)
    slot = max(whole, key=lambda window: (window.is_slot, window.duration_ns), default=None)
    return {
        "phases": phases,
        "pools": [pool_summary(process, pool) for process in processes for pool in process.pools],
        "functions": sorted(functions, key=lambda row: -row["total_us"]),
        "slots": sum(window.is_slot for window in windows),
        "longest_slot": slot and slot._asdict() | {"duration_us": slot.duration_ns / 1e3},
        "lost_events": sum(one.events or 0 for one in trace.lost),
        "lost_packets": sum(one.packets or 0 for one in trace.lost),
        "lost_stretches": len(trace.lost),
        "tasks_without_push": sum(int((process.tasks.push < 0).sum()) for process in processes),
        "events": trace.event_count,
        "warnings": trace.warnings,
    }
