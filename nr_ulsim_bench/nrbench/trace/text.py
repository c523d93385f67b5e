# SPDX-License-Identifier: BSD-3-Clause
"""A summary as tables: rows of cells, for the terminal and for the page."""

from __future__ import annotations

import textwrap
from typing import Any, Callable, Iterator, NamedTuple

from nrbench.table import layout
from nrbench.trace.figures import PATH_PARTS
from nrbench.trace.summary import Summary

Row = list[str]


class Table(NamedTuple):
    title: str
    rows: list[Row]  # the first is the head
    note: str


def us(value: float | None) -> str:
    """Microseconds, three digits or more."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def _phase_row(phase: Summary) -> Row:
    time, missing = phase["duration"], phase["left_out"] + phase["unfinished"]
    return [
        phase["name"],
        number(phase["count"]),
        number(missing),
        *(us(time[key]) for key in ("p50_us", "p99_us", "max_us", "mean_us")),
        number(phase["tasks_each"]),
        percent(phase["idle_share"]),
    ]


def _task_row(phase: Summary) -> Row:
    return [
        phase["name"],
        number(phase["tasks"]),
        *(us(phase[times][key]) for times in ("start_lag", "task_time") for key in ("p50_us", "p99_us")),
        percent(phase["steal_share"]),
    ]


def _wake_row(phase: Summary) -> Row:
    wake = phase["wake_latency"]
    return [
        phase["name"],
        number(wake["count"]),
        *(us(wake[key]) for key in ("p50_us", "p99_us", "max_us")),
        number(phase["by_own_timer"]),
    ]


def _path_row(phase: Summary) -> Row:
    path = phase["critical_path"]
    cells = (
        "-"
        if path["mean_us"][part] is None
        else f"{us(path['mean_us'][part])} ({percent(path['share'][part])})"
        for part in PATH_PARTS
    )
    return [phase["name"], number(path["count"]), *cells]


def _pool_row(pool: Summary) -> Row:
    up = pool["unparks"]
    keys = ("workers", "cpus", "worker_cpus", "pushes", "steals", "parks", "wakes")
    return [
        pool["name"],
        *(number(pool[key]) for key in keys),
        *(number(up[key]) for key in ("woken", "by_own_timer", "did_not_sleep")),
        f"{pool['prewake_plans']}+{pool['prewake_hints']}",
    ]


NOTES = {
    "Phases": (
        "Times in us. left out: events were lost while it ran, its begin or end is missing, or its tasks do "
        "not add up. idle: 1 - (tasks + the phase's own thread when it does not wait) / (duration x CPUs that"
        " could have worked), 0 at the least. That is any task of the pool, also of phases at the same time; "
        "it counts as busy also where it loses its CPU. CPUs: one for each worker, the phase's own thread and"
        " others that ran such tasks, as many as there are; -: how many is not known."
    ),
    "Tasks": (
        "Times in us. lag: from the push to the begin of the task, so also the time behind other tasks in the"
        " queue. time: from begin to end, with the tasks that it runs itself while it waits. stolen: run by "
        "another thread than the one that pushed it."
    ),
    "Wakes": (
        "Times in us, from the call that wakes to the first thing that the worker does. own timer: workers "
        "that ran their first task after they had got up by their own timer (pre-wake)."
    ),
    "Critical path": (
        "Mean us a phase, and share. Back from the end, what each moment waited for. serial: the phase's own "
        "thread neither pushes, runs tasks nor waits. push: it pushes or wakes. wake: a worker gets up. find:"
        " a thread looks for its next task. run: tasks. finish: from the end of the last task to the return "
        "of the wait. unknown: what is not in the trace."
    ),
    "Pools": (
        "Over the whole trace, not only in phases. did not sleep: a task came while the worker lay down. "
        "prewake: plans of workers + hints of the program."
    ),
}
HEADS: dict[str, tuple[Row, Callable[[Any], Row]]] = {
    "Phases": (["", "count", "left out", "p50", "p99", "max", "mean", "tasks each", "idle"], _phase_row),
    "Tasks": (["", "tasks", "lag p50", "lag p99", "time p50", "time p99", "stolen"], _task_row),
    "Wakes": (["", "woken", "p50", "p99", "max", "own timer"], _wake_row),
    "Critical path": (["", "count", *PATH_PARTS], _path_row),
    "Pools": (
        [
            "", "workers", "CPUs", "for workers", "pushed", "steals", "parks", "wakes", "woken", "own timer",
            "did not sleep", "prewake",
        ],
        _pool_row,
    ),
}  # fmt: skip


def tables(summary: Summary) -> Iterator[Table]:
    for title, (head, row) in HEADS.items():
        things = summary["pools" if title == "Pools" else "phases"]
        if things:
            yield Table(title, [head, *(row(thing) for thing in things)], NOTES[title])


def losses(summary: Summary) -> list[str]:
    """What is not in the trace; empty if all is."""
    said = []
    if summary["lost_stretches"]:
        left_out = sum(phase["left_out"] for phase in summary["phases"])
        consequence = f"{left_out} phases are left out, and the numbers of pools are too small"
        if summary["lost_events"] or summary["lost_packets"]:
            packets = f" and {summary['lost_packets']} packets" if summary["lost_packets"] else ""
            said.append(
                f"LOST: {summary['lost_events']} events{packets} in {summary['lost_stretches']} stretches of"
                f" time: {consequence}. Larger buffers help: record --subbuf-size, --num-subbuf"
            )
        else:
            said.append(f"LOST: events in {summary['lost_stretches']} stretches of time: {consequence}")
    if summary["tasks_without_push"]:
        said.append(
            f"{summary['tasks_without_push']} tasks ran whose push is not in the trace or was not kept"
        )
    return said


def text(summary: Summary, warnings: list[str]) -> Iterator[str]:
    yield from (f"WARNING: {warning}" for warning in warnings)
    yield from losses(summary)
    for table in tables(summary):
        yield ""
        yield table.title
        yield from (line.rstrip() for line in layout(table.rows))
        yield from textwrap.wrap(table.note, 108, initial_indent="  ", subsequent_indent="  ")
    slot = summary["longest_slot"]
    if slot:
        yield ""
        what = "" if slot["name"].startswith("burst") else "slot "
        yield f"longest {what}{slot['name']}: {us(slot['duration_us'])} us"
