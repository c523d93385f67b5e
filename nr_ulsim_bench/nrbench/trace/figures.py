# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from collections import Counter, defaultdict
from typing import Any, Container, Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import late
from nrbench.live.page import TO_DO
from nrbench.trace.process import Process, Window
from nrbench.trace.reader import FOREVER, KINDS, Trace
from nrbench.trace.walk import KIND_OF, RUNNING, WAITING, Span, Walk

Summary = dict[str, Any]
PATH_PARTS = ("serial", "push", "wake", "find", "run", "finish")
CALLS = (KIND_OF["push"], KIND_OF["wake"])
RUN_BEGIN, JOIN_BEGIN, JOIN_END = (KIND_OF[kind] for kind in ("run_begin", "join_begin", "join_end"))
COUNTED = {"pushes": "push", "runs": "run_begin", "steals": "steal", "parks": "park", "wakes": "wake"}
QUANTILES = {"p50_us": 0.5, "p99_us": 0.99, "max_us": 1.0}
UNPARKS = ("woken", "by_own_timer", "did_not_sleep")
SLOWEST, COMPARED = 10, 100  # slots: that are named, and of which the usual is known
BETWEEN = "between phases"
POINTS = 40  # of a curve, in each power of ten of its share


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def distribution(times_ns: "Sequence[int] | np.ndarray | pd.Series[int]") -> Summary:
    """Quantiles have the nearest rank: the least time that so many percent of all do not exceed.

    A negative time counts as 0.
    """
    if not len(times_ns):
        return {"count": 0, **dict.fromkeys((*QUANTILES, "mean_us"))}
    us = np.maximum(times_ns, 0) / 1e3
    quantiles = np.quantile(us, [*QUANTILES.values()], method="inverted_cdf").tolist()
    return {"count": len(us), **dict(zip(QUANTILES, quantiles)), "mean_us": float(us.mean())}


def critical_path(walk: Walk, span: Span, workers: Container[int]) -> Counter[str]:
    """The reasons why a phase did not end earlier: ns of each of PATH_PARTS, which add up to its duration.

    Goes back from the end: a wait ended because a task ended, a task began because its thread had nothing to
    do before or because it had just been pushed, a worker ran because a thread had woken it.
    @param workers  their threads
    """
    ns, pushed = Counter[str](), None
    at, now_ns, begin_ns = span.end, walk.time[span.end], walk.time[span.begin]
    while now_ns > begin_ns and at >= 0:
        if walk.kind[at] == RUN_BEGIN and walk.was_in[at] != RUNNING:
            cause = walk.cause(at)
            pushed = pushed if cause is None else cause  # of the task that the path comes through
        is_worker = walk.tid[at] != walk.tid[span.end] and walk.tid[at] in workers
        part, at = step(walk, at, is_worker, pushed)
        since_ns = max(walk.time[at] if at >= 0 else begin_ns, begin_ns)
        ns[part] += max(now_ns - since_ns, 0)
        now_ns = min(now_ns, since_ns)
    return ns


def step(walk: Walk, at: int, is_worker: bool, pushed: int | None) -> tuple[str, int]:
    """What happened until an event, and the event before from which on it did."""
    kind, was_in, prev, cause = walk.kind[at], walk.was_in[at], walk.prev[at], walk.cause(at)
    # Whether something of another thread came later than what this one did before.
    is_other = cause is not None and walk.tid[cause] != walk.tid[at] and cause > prev
    if was_in == RUNNING:
        return "run", prev
    if kind == RUN_BEGIN:  # after it was pushed, and after its thread had come to look for one
        return "find", cause if cause is not None and is_other else prev
    if kind == KIND_OF["unpark"]:  # a thread woke the worker; or its own timer, too late for the push
        cause = pushed if cause is None else cause
        return "wake", prev if cause is None or cause > at else cause
    if kind == JOIN_END:  # because the last of its tasks did, on whatever thread
        if cause is not None and cause < 0:  # it still runs
            return "run", ~cause
        if cause is None or not is_other:
            return "finish", prev
        # A task may have ended before, and say so for several at once.
        says = walk.kind[cause] == KIND_OF["complete"] and walk.was_in[cause] != RUNNING
        return "finish", walk.prev[cause] if says and walk.prev[cause] >= 0 else cause
    if was_in == WAITING or is_worker:
        return "find", prev
    # The phase's thread neither ran a task nor waited. From a push to its next push, wake or wait it pushes.
    pushing = prev >= 0 and walk.kind[prev] in CALLS and kind in (*CALLS, JOIN_BEGIN)
    return "push" if pushing else "serial", prev


def named(process: Process, name: str, **more: Any) -> Summary:
    return {"name": process.whole(name), "pid": process.pid, **more}


def durations(walk: Walk, spans: Sequence[Span]) -> list[int]:
    return [walk.time[span.end] - walk.time[span.begin] for span in spans]


def phase_summary(process: Process, kind: Any) -> Summary:
    """Of a kind of phase or burst. Those are counted of whose thread all events are in the trace, and what
    other threads did for them if theirs are, too."""
    walk = process.walk
    of_kind = [span for span in process.spans if span.kind == kind]
    tasks = process.tasks[process.tasks.kind == process.first.get(kind, -2)]
    spans, known = [of for of in of_kind if of.is_valid], [of for of in of_kind if of.is_known]
    path = sum((critical_path(walk, span, process.workers) for span in known), Counter[str]())
    mean_us = {part: share(path[part] / 1e3, len(known)) for part in PATH_PARTS}
    shares = {part: share(path[part], path.total()) for part in PATH_PARTS}
    pushed, work_ns = sum(span.tasks for span in known), float(tasks.own.clip(lower=0).sum())
    row = named(process, process.kind_label(kind), kind=kind if isinstance(kind, str) else "burst")
    row |= dict(count=len(spans), missing=len(of_kind) - len(spans))
    row |= dict(duration=distribution(durations(walk, spans)), start_lag=distribution(tasks.lag))
    row |= dict(tasks=pushed, tasks_each=share(pushed, len(known)))
    row |= dict(task_time=distribution(tasks.time[tasks.time >= 0]))
    row |= dict(steal_share=share(int(tasks.is_stolen.sum()), len(tasks)))
    row |= dict(at_once=share(work_ns, sum(durations(walk, known))))
    return row | {"critical_path": dict(count=len(known), mean_us=mean_us, share=shares)}


def pool_summary(process: Process, pool: int) -> Summary:
    is_own = process.is_shown & (process.events.pool == pool)
    kinds = process.events.kind[is_own].value_counts().rename(dict(enumerate(KINDS)))
    by_timer = process.events.by_timer[is_own & process.is_of("unpark")]
    unparks = by_timer.clip(upper=2).value_counts()
    wakes, time = process.walk.wakes, np.asarray(process.walk.time)
    wakes = wakes[(wakes.pool == pool) & process.is_shown[wakes.up]]
    about = process.started.get(pool, {})
    row = named(process, process.pool_label(pool), pool=pool, workers=process.worker_count(pool))
    row |= dict(cpus=about.get("cpus"), worker_cpus=about.get("worker_cpus"))
    row |= {key: int(kinds.get(kind, 0)) for key, kind in COUNTED.items()}
    row |= {"unparks": {key: int(unparks.get(how, 0)) for how, key in enumerate(UNPARKS)}}
    return row | {"wake_latency": distribution(time[wakes.up] - time[wakes.sent])}


def function_summaries(process: Process) -> Iterator[Summary]:
    """A task's own time: without tasks that it runs while it waits, and without these waits."""
    for func, times in process.tasks[process.tasks.own >= 0].groupby("func", sort=False).own:
        row = named(process, process.function(int(func)), **distribution(times))
        yield row | dict(total_us=float(times.sum()) / 1e3, histogram=histogram(times.to_numpy()))


def histogram(times_ns: np.ndarray, steps: int = 1) -> dict[str, int]:
    """How many times reach which power of two, in ns: {"1024": 7} are 7 times of 1024 to 2047 ns. Times below
    1 ns count as 1. @param steps  in which a power of two is divided"""
    powers = np.floor(np.log2(np.maximum(times_ns, 1).astype(float)) * steps + 1e-9)
    found, counts = np.unique(powers, return_counts=True)
    return {str(int(2 ** (power / steps))): int(count) for power, count in zip(found, counts)}


def waits(process: Process, window: Window) -> Counter[str]:
    """What a slot or burst consists of: ns of PATH_PARTS of its phases, and of what lies between them."""
    path = sum((critical_path(process.walk, span, process.workers) for span in window.spans), Counter[str]())
    path[BETWEEN] = max(window.duration_ns - path.total(), 0)
    return path


def reason(process: Process, window: Window, alike: list[Window]) -> str:
    """What took so much longer than in those that are alike, in words."""
    if not window.is_known:
        return "not known: events of other threads are missing"
    usual = [waits(process, one) for one in alike[:: -(-len(alike) // COMPARED)]]
    path = waits(process, window)
    parts = (*PATH_PARTS, BETWEEN)
    more = {part: path[part] - float(np.median([one[part] for one in usual])) for part in parts}
    part = max(more, key=lambda part: more[part])
    text = longest_task(process, {span.number for span in window.spans}) if part == "run" else ""
    return f"{part} +{more[part] / 1e3:.1f}{text}"


def longest_task(process: Process, owners: set[int]) -> str:
    """Of these spans the task that took longer than others of its function by most."""
    tasks, walk = process.tasks, process.walk
    usual = tasks[tasks.own >= 0].groupby("func").own.median()
    own = tasks[walk.table.owner.loc[tasks.index].isin(owners) & (tasks.own >= 0)]
    if own.empty:
        return ""
    at = (own.own - own.func.map(usual)).idxmax()
    func, took_us, cpu = own.func[at], own.own[at] / 1e3, process.events.cpu.iloc[own.begin[at]]
    return f": {process.function(int(func))} {took_us:.1f} on CPU {cpu}, usually {usual[func] / 1e3:.1f}"


def tail_of(times_ns: Any) -> dict[str, Any]:
    """p99.9, and the share of slots that takes at least so long (CCDF)."""
    us = np.sort(np.maximum(times_ns, 0)) / 1e3
    count = len(us)
    if not count:
        return {"p999_us": None, "ccdf": []}
    points = round(POINTS * (1 + np.log10(count)))
    ranks = np.unique(np.geomspace(1, count, points).round().astype(int))[::-1]  # so many take as long
    p999_us = float(np.quantile(us, 0.999, method="inverted_cdf"))
    return {"p999_us": p999_us, "ccdf": [[float(us[count - rank]), rank / count] for rank in ranks]}


def slot_figures(processes: Sequence[Process], first_ns: int, deadline_us: float | None) -> Summary:
    """Of slots, or of bursts where there are no slots: how many are late; which are the slowest, and why."""
    every = [(process, window) for process in processes for window in process.shown]
    kind = max((window.kind for _, window in every if window.kind != "phase"), default="")
    alike = defaultdict[tuple[Process, str], list[Window]](list)
    for process, window in every:
        if window.kind == kind:
            alike[process, window.alike].append(window)
    rows, slowest = [], list[Summary]()
    for (process, name), windows in alike.items():
        whole = [window for window in windows if window.is_valid]
        known = [window for window in windows if window.is_known]
        times_ns = np.array([window.duration_ns for window in whole])
        times = distribution(times_ns)
        limit_us, count = late(times_ns / 1e3, deadline_us)
        row = named(process, name, missing=len(windows) - len(whole), **times, **tail_of(times_ns))
        row |= dict(limit_us=limit_us or None, late=count, share=share(count, len(whole)))
        rows.append(row | {"histogram": histogram(times_ns, 4)})
        for window in sorted(whole, key=lambda window: -window.duration_ns)[:SLOWEST]:
            at_s, us = (window.begin_ns - first_ns) / 1e9, window.duration_ns / 1e3
            of = named(process, window.name, kind=kind, at_s=at_s, duration_us=us)
            more = dict(usual_us=times["p50_us"], is_late=us > limit_us, cause=(process, window, known))
            slowest.append(of | more)
    slowest = sorted(slowest, key=lambda of: -of["duration_us"])[:SLOWEST]
    return {"slots": rows, "slowest": [of | {"cause": reason(*of["cause"])} for of in slowest]}


def causes(process: Process) -> Iterator[Summary]:
    """Late bursts by their main causes, as the process has judged them: of its tracepoint, or its journal."""
    begin_ns, end_ns = process.part
    late = [note for note in process.notes["late_burst"] if begin_ns <= note["time"] <= end_ns]
    for cause, count in Counter(note["text"] for note in late).most_common():
        over_us = sum(note["over_ns"] for note in late if note["text"] == cause) / 1e3
        row = named(process, cause, count=count, share=share(count, len(late)), over_us=over_us)
        yield row | {"to_do": TO_DO.get(cause, "")}


def nameless(process: Process) -> str:
    functions = [int(func) for func in process.tasks.func.unique() if func]
    if not process.is_seen or not (count := sum(not process.holding(func) for func in functions)):
        return ""
    return (
        f"{process.label}: no names for {count} functions: their library was loaded late, and the program "
        "ended before the recorder looked into /proc: 1, 2, 4, 8 ... s after the start, and before it ends"
    )


def summarize(trace: Trace, processes: Sequence[Process], deadline_us: float | None = None) -> Summary:
    phases, functions, late_bursts = list[Summary](), list[Summary](), list[Summary]()
    for process in sorted(processes, key=lambda process: process.pid):
        kinds = dict.fromkeys(span.kind for span in process.spans)
        in_order = sorted(kinds, key=lambda kind: not isinstance(kind, str))  # phases first
        phases += [phase_summary(process, kind) for kind in in_order]
        functions += function_summaries(process)
        late_bursts += causes(process)
    begin_ns, end_ns = trace.part or (0, FOREVER)
    stretches = [one for one in trace.lost if one.begin_ns <= end_ns and one.end_ns >= begin_ns]
    lost = {of: sum(one.number or 0 for one in stretches if one.what == of) for of in ("event", "packet")}
    return {
        **slot_figures(processes, trace.first_ns, deadline_us),
        "causes": late_bursts,
        "phases": phases,
        "pools": [pool_summary(process, pool) for process in processes for pool in process.pools],
        "functions": sorted(functions, key=lambda row: -row["total_us"]),
        **{f"lost_{of}s": count for of, count in lost.items()},
        "lost_stretches": len(stretches),
        "lost_unknown": sum(one.number is None for one in stretches),
        "events": trace.event_count,
        "warnings": trace.warnings + [*filter(None, map(nameless, processes))],
    }
