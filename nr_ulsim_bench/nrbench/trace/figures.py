# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Iterator, NamedTuple, Sequence

import numpy as np
import pandas as pd

from nrbench.trace import events as ev
from nrbench.trace.path import PATH_PARTS, CriticalPath
from nrbench.trace.process import Process
from nrbench.trace.reader import Table, of
from nrbench.trace.slots import longest
from nrbench.trace.walk import WAITS, Lost, Span

Summary = dict[str, Any]
COUNTED = {"pushes": ev.PUSH, "runs": ev.RUN_BEGIN, "steals": ev.STEAL, "parks": ev.PARK, "wakes": ev.WAKE}
QUANTILES = {"p50_us": 0.5, "p99_us": 0.99, "max_us": 1.0}
UNPARKS = ("woken", "by_own_timer", "did_not_sleep")


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def distribution(times_ns: Sequence[int] | np.ndarray) -> Summary:
    """Quantiles have the nearest rank: the least time that so many percent of all do not exceed.

    A negative time counts as 0.
    """
    if not len(times_ns):
        return {"count": 0, **dict.fromkeys((*QUANTILES, "mean_us"))}
    us = np.maximum(times_ns, 0) / 1e3
    quantiles = np.quantile(us, [*QUANTILES.values()], method="inverted_cdf").tolist()
    return {"count": len(us), **dict(zip(QUANTILES, quantiles)), "mean_us": float(us.mean())}


class Figures(NamedTuple):
    """Of a kind of phase or burst of a process."""

    summary: Summary
    times: dict[str, np.ndarray]  # ns, of each distribution


def figures_of(process: Process, kind: Any, tasks: pd.DataFrame, cores: int) -> Figures:
    """Spans are counted if all their events are in the trace."""
    walk = process.walk
    of_kind = [span for span in walk.spans if span.kind == kind]
    spans = {span: walk.time[span.end] - walk.time[span.begin] for span in of_kind if span.is_counted}
    count, unfinished = len(spans), sum(span.end < 0 for span in of_kind)
    times = {
        "duration of a phase": np.array([*spans.values()]),
        "start lag of a task": tasks.lag.to_numpy(),
        "wake latency": np.array(
            [walk.time[up] - walk.time[sent] for sent, up, o in walk.wakes if o in spans]
        ),
    }
    duration, lag, wake = map(distribution, times.values())
    usage = [both for both in (used(process, span, cores) for span in spans) if both[1]]
    busy_ns, room_ns = (sum(part) for part in zip(*usage, (0, 0)))
    path = sum((CriticalPath(walk, span, process.workers).ns for span in spans), Counter[str]())
    pushed = sum(span.tasks for span in spans)
    summary = {
        "name": process.whole(process.kind_label(kind)),
        "kind": kind if isinstance(kind, str) else "burst",
        "pid": process.pid,
        "count": count,
        "left_out": len(of_kind) - unfinished - count + walk.kinds[kind],
        "unfinished": unfinished,
        "not_joined": sum(not span.is_joined for span in of_kind),
        "duration": duration,
        "tasks": pushed,
        "tasks_each": share(pushed, count),
        "start_lag": lag,
        "task_time": distribution(tasks.time[tasks.time >= 0].to_numpy()),
        "wake_latency": wake,
        "by_own_timer": int(tasks.by_timer.sum()),
        "steal_share": share(int(tasks.stolen.sum()), len(tasks)),
        "idle_share": max(0.0, 1 - busy_ns / room_ns) if room_ns else None,
        "critical_path": {
            "count": count,
            "mean_us": {part: share(path[part] / 1e3, count) for part in PATH_PARTS},
            "share": {part: share(path[part], path.total()) for part in PATH_PARTS},
        },
    }
    return Figures(summary, times)


def tasks_of(process: Process) -> pd.DataFrame:
    """A row for each task that ran; `kind` is that of the span in whose figures it counts. Times in ns, -1
    where an end or other events are not in the trace."""
    walk, rows = process.walk, []
    for task in walk.tasks:
        kind = task.owner.kind if task.owner and task.owner.is_counted else None
        is_whole = task.is_ended and not walk.lost_between(task.begin, task.end)
        lag_ns = walk.time[task.begin] - walk.time[task.push]
        time_ns = walk.time[task.end] - walk.time[task.begin] if task.is_ended else -1
        is_stolen = walk.tid[task.push] != task.tid
        own_ns = task.own_ns if is_whole else -1
        rows.append((kind, task.func, own_ns, lag_ns, time_ns, is_stolen, task.by_timer))
    columns = ["kind", "func", "own", "lag", "time", "stolen", "by_timer"]
    table: pd.DataFrame = pd.DataFrame(rows, columns=columns)
    return table


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


# Pools, functions


def pool_summary(process: Process, pool: int) -> Summary:
    events = process.events[process.events.a == pool]
    unparks, prewake = of(events, ev.UNPARK).by_timer.clip(upper=2), of(events, ev.PREWAKE).worker
    lates = of(events, ev.LATE)
    late = [
        {
            "cause": cause,
            "count": len(times),
            "share": share(len(times), len(lates)),
            "median_us": float(times.median()) / 1000,
            "max_us": int(times.max()) / 1000,
        }
        for cause, times in lates.groupby("text", sort=False).late_ns
    ]
    return {
        "name": process.whole(process.pool_label(pool)),
        "pid": process.pid,
        "pool": pool,
        "workers": process.worker_count(pool),
        "cpus": process.started_with(pool, "cpus") or None,
        "worker_cpus": process.started_with(pool, "worker_cpus") or None,
        **{key: int((events.kind == kind).sum()) for key, kind in COUNTED.items()},
        "unparks": {key: int((unparks == how).sum()) for how, key in enumerate(UNPARKS)},
        "prewake_plans": int((prewake >= 0).sum()),
        "prewake_hints": int((prewake < 0).sum()),
        "late": sorted(late, key=lambda row: -row["count"]),
    }


def function_summaries(process: Process, tasks: pd.DataFrame) -> Iterator[Summary]:
    """A task's own time: without tasks that it runs while it waits, and without these waits."""
    for func, times in tasks[tasks.own >= 0].groupby("func", sort=False).own:
        yield {
            "name": process.whole(process.function(int(func))),
            "pid": process.pid,
            **distribution(times.to_numpy()),
            "total_us": float(times.sum()) / 1e3,
            "histogram": histogram(times.to_numpy()),
        }


def histogram(times_ns: np.ndarray) -> dict[str, int]:
    """Number of tasks by the power of two, in ns, that their time reaches: {"1024": 7} is 7 tasks of 1024 to
    2047 ns. Times below 1 ns count as 1."""
    powers = np.frexp(np.maximum(times_ns, 1).astype(float))[1] - 1
    found, counts = np.unique(powers, return_counts=True)
    return {str(1 << int(power)): int(count) for power, count in zip(found, counts)}


def is_wanted(figures: Figures, wanted: Collection[str]) -> bool:
    """@param wanted names or kinds of phases, or parts of names; empty = all"""
    name, kind = figures.summary["name"], figures.summary["kind"]
    return not wanted or any(word in name or word == kind for word in wanted)


def summarize(
    table: Table, processes: Sequence[Process], wanted: Collection[str] = (), cores: int = 0
) -> tuple[Summary, list[Figures]]:
    """@return the values, and the figures of all kinds of phases in the order of the tables"""
    figures: list[Figures] = []
    functions: list[Summary] = []
    for process in sorted(processes, key=lambda process: process.pid):
        tasks = tasks_of(process)
        of_kind: dict[Any, pd.DataFrame] = dict(iter(tasks.groupby("kind", sort=False)))
        for kind in sorted(process.walk.kinds, key=lambda kind: not isinstance(kind, str)):  # phases first
            figures.append(figures_of(process, kind, of_kind.get(kind, tasks[:0]), cores))
        functions += function_summaries(process, tasks)
    windows = [window for process in processes for window in process.windows]
    slot = longest(windows)
    stretches = Lost(table.lost).count
    return {
        "phases": [found.summary for found in figures if is_wanted(found, wanted)],
        "pools": [pool_summary(process, pool) for process in processes for pool in process.pools],
        "functions": sorted(functions, key=lambda row: -row["total_us"]),
        "slots": sum(window.is_slot for window in windows),
        "longest_slot": slot
        and {
            "name": slot.name,
            "pid": slot.pid,
            "begin_ns": slot.begin_ns,
            "duration_us": slot.duration_ns / 1e3,
        },
        "lost_events": sum(event[5] or 0 for event in table.lost),
        "lost_packets": sum(event[6] or 0 for event in table.lost),
        "lost_stretches": stretches,
        "lost_uncounted": min(sum(None in event[5:] for event in table.lost), stretches),
        "tasks_without_push": sum(task.push < 0 for process in processes for task in process.walk.tasks),
    }, figures
