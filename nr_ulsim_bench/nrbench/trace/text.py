# SPDX-License-Identifier: BSD-3-Clause
"""A summary as tables: rows of cells, for the terminal and for the page."""

from __future__ import annotations

import textwrap
from typing import Any, Callable, Iterator, NamedTuple

from nrbench.table import layout
from nrbench.trace.figures import PATH_PARTS
from nrbench.trace.summary import Summary

Row = list[str]
WIDTH = 108  # where there is no terminal


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


def many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def missing(phase: Summary) -> int:
    """How many of the kind are in no figure."""
    return int(phase["left_out"] + phase["unfinished"])


def _phase_row(phase: Summary) -> Row:
    time = phase["duration"]
    return [
        phase["name"],
        number(phase["count"]),
        number(missing(phase)),
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
        "that ran their first task after a wake by their own timer (pre-wake)."
    ),
    "Critical path": (
        "Mean us a phase, and share. Back from the end, what each moment waited for. serial: the phase's own "
        "thread neither pushes, runs tasks nor waits. push: it pushes or wakes. wake: from the call that "
        "wakes a worker to its first step. find: a thread searches for its next task. run: tasks. finish: "
        "from the end of the last task to the return of the wait."
    ),
    "Pools": (
        "Over the whole trace, not only in phases. did not sleep: a task came before the worker slept. "
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
            table = Table(title, [head, *(row(thing) for thing in things)], NOTES[title])
            yield _unknown_told(table, things) if title == "Critical path" else table


def _unknown_told(table: Table, phases: list[Summary]) -> Table:
    """The column `unknown`, the last, where anything is in it."""
    if any(phase["critical_path"]["mean_us"]["unknown"] for phase in phases):
        return table._replace(note=f"{table.note} unknown: what is not in the trace.")
    return table._replace(rows=[row[:-1] for row in table.rows])


def losses(summary: Summary) -> list[str]:
    """What is not in the trace; empty if all is."""
    said = []
    if summary["lost_stretches"]:
        stretches = many(summary["lost_stretches"], "stretch", "stretches")
        left_out = sum(map(missing, summary["phases"]))
        consequence = (
            f"in {stretches} of time: {many(left_out, 'phase is', 'phases are')} left out, and the numbers of"
            " pools are too small"
        )
        counted = _counted_losses(summary)
        if counted:
            remedy = "Larger buffers help: record --subbuf-size, --num-subbuf"
            said.append(f"LOST: {counted} {consequence}. {remedy}")
        else:
            said.append(f"LOST: events {consequence}")
    if summary["tasks_without_push"]:
        tasks = many(summary["tasks_without_push"], "task", "tasks")
        said.append(f"{tasks} ran whose push is not in the trace or was not kept")
    return said


def _counted_losses(summary: Summary) -> str:
    """How much is missing; empty if of no stretch the number is known."""
    parts = [
        many(summary[f"lost_{one}s"], one, f"{one}s")
        for one in ("event", "packet")
        if summary[f"lost_{one}s"]
    ]
    counted, uncounted = " and ".join(parts), summary["lost_uncounted"]
    if not counted or not uncounted:
        return counted
    return f"at least {counted}, of {many(uncounted, 'stretch', 'stretches')} the number is not known,"


def text(summary: Summary, width: int = WIDTH) -> Iterator[str]:
    """@param width of what can be wrapped"""
    yield from (f"WARNING: {warning}" for warning in summary["warnings"])
    yield from summary["notes"]
    yield from losses(summary)
    for table in tables(summary):
        yield ""
        yield table.title
        yield from (line.rstrip() for line in layout(table.rows))
        yield from textwrap.wrap(table.note, width, initial_indent="  ", subsequent_indent="  ")
    slot = summary["longest_slot"]
    if slot:
        yield ""
        what = "" if slot["name"].startswith("burst") else "slot "
        yield f"longest {what}{slot['name']}: {us(slot['duration_us'])} us"
