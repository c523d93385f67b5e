# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.trace import events as ev
from nrbench.trace.path import PATH_PARTS, critical_path
from nrbench.trace.process import Process
from nrbench.trace.reader import Table, of
from nrbench.trace.slots import Window, longest
from nrbench.trace.walk import WAITS, Lost, Span

Summary = dict[str, Any]
COUNTED = {"pushes": ev.PUSH, "runs": ev.RUN_BEGIN, "steals": ev.STEAL, "parks": ev.PARK, "wakes": ev.WAKE}
UNPARKS = ("woken", "by_own_timer", "did_not_sleep")


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def distribution(times_ns: Sequence[int] | np.ndarray) -> dict[str, float | int | None]:
    """Quantiles have the nearest rank: the least time that so many percent of all do not exceed.

    A negative time counts as 0.
    """
    found: dict[str, float | int | None] = {"count": len(times_ns)}
    found |= dict.fromkeys(("p50_us", "p99_us", "max_us", "mean_us"))
    if len(times_ns):
        us = np.sort(np.maximum(times_ns, 0)) / 1e3
        for key, rank in {"p50_us": 50, "p99_us": 99, "max_us": 100}.items():
            found[key] = float(us[-(-len(us) * rank // 100) - 1])
        found["mean_us"] = float(us.mean())
    return found


class Figures:
    """Of a kind of phase or burst of a process. Spans are counted if all their events are in the trace."""

    def __init__(self, process: Process, kind: Any, tasks: pd.DataFrame, cores: int) -> None:
        self.process, self.kind = process, kind
        walk = process.walk
        of_kind = [span for span in walk.spans if span.kind == kind]
        self.spans = [span for span in of_kind if span.is_counted]
        self.unfinished = sum(span.end < 0 for span in of_kind)
        self.left_out = len(of_kind) - self.unfinished - len(self.spans) + walk.kinds[kind]
        self.not_joined = sum(not span.is_joined for span in of_kind)
        self.tasks = tasks
        owned = set(self.spans)
        self.durations = np.array([walk.time[span.end] - walk.time[span.begin] for span in self.spans])
        self.lags = self.tasks.lag.to_numpy()
        self.wakes = np.array([walk.time[up] - walk.time[sent] for sent, up, o in walk.wakes if o in owned])
        usage = [both for both in (used(process, span, cores) for span in self.spans) if both[1]]
        self.busy_ns, self.room_ns = (sum(part) for part in zip(*usage, (0, 0)))
        self.path: Counter[str] = Counter()
        for span in self.spans:
            self.path.update(critical_path(walk, span, process.workers))

    @property
    def name(self) -> str:
        return self.process.whole(self.process.kind_label(self.kind))

    @property
    def is_phase(self) -> bool:
        return isinstance(self.kind, str)

    def summary(self) -> Summary:
        count, whole = len(self.spans), sum(self.path.values())
        pushed = sum(span.tasks for span in self.spans)
        ended = self.tasks[self.tasks.time >= 0]
        return {
            "name": self.name,
            "kind": self.kind if self.is_phase else "burst",
            "pid": self.process.pid,
            "count": count,
            **{key: getattr(self, key) for key in ("left_out", "unfinished", "not_joined")},
            "duration": distribution(self.durations),
            "tasks": pushed,
            "tasks_each": share(pushed, count),
            "start_lag": distribution(self.lags),
            "task_time": distribution(ended.time.to_numpy()),
            "wake_latency": distribution(self.wakes),
            "by_own_timer": int(self.tasks.by_timer.sum()),
            "steal_share": share(int(self.tasks.stolen.sum()), len(self.tasks)),
            "idle_share": max(0.0, 1 - self.busy_ns / self.room_ns) if self.room_ns else None,
            "critical_path": {
                "count": count,
                "mean_us": {part: share(self.path[part] / 1e3, count) for part in PATH_PARTS},
                "share": {part: share(self.path[part], whole) for part in PATH_PARTS},
            },
        }


def tasks_of(process: Process) -> pd.DataFrame:
    """A row for each task that ran; `kind` is that of the span in whose figures it counts. Times in ns, -1
    where an end or other events are not in the trace."""
    walk = process.walk
    rows = [
        (
            task.owner.kind if task.owner and task.owner.is_counted else None,
            task.func,
            task.own_ns if task.is_ended and not walk.lost_between(task.begin, task.end) else -1,
            walk.time[task.begin] - walk.time[task.push],
            walk.time[task.end] - walk.time[task.begin] if task.is_ended else -1,
            walk.tid[task.push] != task.tid,
            task.by_timer,
        )
        for task in walk.tasks
    ]
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
        "late": [*late_summaries(of(events, ev.LATE))],
    }


def late_summaries(late: pd.DataFrame) -> Iterator[Summary]:
    """Late starts by cause, the most frequent first."""
    causes = late.groupby("text", sort=False).late_ns
    for cause, times in sorted(causes, key=lambda item: -len(item[1])):
        yield {
            "cause": cause,
            "count": len(times),
            "share": share(len(times), len(late)),
            "median_us": float(times.median()) / 1000,
            "max_us": int(times.max()) / 1000,
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


def figures_of(process: Process, tasks: pd.DataFrame, cores: int) -> list[Figures]:
    """Of each kind, phases first."""
    ordered = sorted(process.walk.kinds, key=lambda kind: not isinstance(kind, str))
    of_kind: dict[Any, pd.DataFrame] = dict(iter(tasks.groupby("kind", sort=False)))
    return [Figures(process, kind, of_kind.get(kind, tasks[:0]), cores) for kind in ordered]


def slot_summary(window: Window) -> Summary:
    times = {"begin_ns": window.begin_ns, "duration_us": window.duration_ns / 1e3}
    return {"name": window.name, "pid": window.pid, **times}


def is_wanted(figures: Figures, wanted: Collection[str]) -> bool:
    """@param wanted names or kinds of phases, or parts of names; empty = all"""
    kind = figures.kind if figures.is_phase else "burst"
    return not wanted or any(word in figures.name or word == kind for word in wanted)


def summarize(
    table: Table, processes: Sequence[Process], wanted: Collection[str] = (), cores: int = 0
) -> tuple[Summary, list[Figures]]:
    """@return the values, and the figures of all kinds of phases in the order of the tables"""
    tasks = {process.pid: tasks_of(process) for process in processes}
    by_pid = sorted(processes, key=lambda process: process.pid)
    figures = [found for process in by_pid for found in figures_of(process, tasks[process.pid], cores)]
    functions = [row for process in processes for row in function_summaries(process, tasks[process.pid])]
    slots = [window for process in processes for window in process.slots]
    bursts = [window for process in processes for window in process.bursts]
    stretches = len(Lost(table.lost).begins)
    return {
        "phases": [found.summary() for found in figures if is_wanted(found, wanted)],
        "pools": [pool_summary(process, pool) for process in processes for pool in process.pools],
        "functions": sorted(functions, key=lambda row: -row["total_us"]),
        "slots": len(slots),
        "longest_slot": slot_summary(window) if (window := longest(slots, bursts)) else None,
        "lost_events": sum(event[5] or 0 for event in table.lost),
        "lost_packets": sum(event[6] or 0 for event in table.lost),
        "lost_stretches": stretches,
        "lost_uncounted": min(sum(None in event[5:] for event in table.lost), stretches),
        "tasks_without_push": sum(task.push < 0 for process in processes for task in process.walk.tasks),
    }, figures
