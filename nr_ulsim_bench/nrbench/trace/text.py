# SPDX-License-Identifier: BSD-3-Clause
"""A summary as tables: rows of cells, for the terminal and for the page."""

from __future__ import annotations

import textwrap
from typing import Callable, Iterator

from nrbench.render import Table, layout, plain_columns
from nrbench.trace.figures import Summary
from nrbench.trace.path import PATH_PARTS

WIDTH = 108  # where there is no terminal
BLOCKS, NONE = "▁▂▃▄▅▆▇█", "·"


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
    """How many phases of this kind are in no figure."""
    return int(phase["left_out"] + phase["unfinished"])


Cell = Callable[[Summary], str]


def _value(key: str, show: Callable[[float | None], str] = number) -> Cell:
    return lambda row: show(row[key])


def _times(name: str, *keys: str, head: str = "") -> dict[str, Cell]:
    """A column for each key of a distribution."""
    return {f"{head}{key}": lambda row, key=key: us(row[name][f"{key}_us"]) for key in keys}  # type: ignore[misc]


def _part(part: str) -> Cell:
    def cell(phase: Summary) -> str:
        path = phase["critical_path"]
        mean_us = path["mean_us"][part]
        return "-" if mean_us is None else f"{us(mean_us)} ({percent(path['share'][part])})"

    return cell


PHASES: dict[str, Cell] = {
    "count": _value("count"),
    "left out": lambda phase: number(missing(phase)),
    **_times("duration", "p50", "p99", "max", "mean"),
    "tasks each": _value("tasks_each"),
    "idle": _value("idle_share", percent),
}
TASKS: dict[str, Cell] = {
    "tasks": _value("tasks"),
    **_times("start_lag", "p50", "p99", head="lag "),
    **_times("task_time", "p50", "p99", head="time "),
    "stolen": _value("steal_share", percent),
}
WAKES: dict[str, Cell] = {
    "woken": lambda phase: number(phase["wake_latency"]["count"]),
    **_times("wake_latency", "p50", "p99", "max"),
    "own timer": _value("by_own_timer"),
}
PATH: dict[str, Cell] = {
    "count": lambda phase: number(phase["critical_path"]["count"]),
    **{part: _part(part) for part in PATH_PARTS},
}
POOLS: dict[str, Cell] = {
    "workers": _value("workers"),
    "CPUs": _value("cpus"),
    "for workers": _value("worker_cpus"),
    "pushed": _value("pushes"),
    **{key: _value(key) for key in ("steals", "parks", "wakes")},
    "woken": lambda pool: number(pool["unparks"]["woken"]),
    "own timer": lambda pool: number(pool["unparks"]["by_own_timer"]),
    "did not sleep": lambda pool: number(pool["unparks"]["did_not_sleep"]),
    "prewake": lambda pool: f"{pool['prewake_plans']}+{pool['prewake_hints']}",
}
LATE: dict[str, Cell] = {
    "cause": lambda late: str(late["cause"]),
    "bursts": _value("count"),
    "share": _value("share", percent),
    "p50": _value("median_us", us),
    "max": _value("max_us", us),
}
FUNCTIONS: dict[str, Cell] = {
    "tasks": _value("count"),
    "sum": _value("total_us", us),
    **{key: _value(f"{key}_us", us) for key in ("p50", "p99", "max")},
}
NOTES = {
    "Phases": (
        "Times in us. left out: phases that are in no figure, because events were lost meanwhile, the "
        "start or end is missing, or the number of tasks does not match. idle: 1 - (time in tasks + time "
        "of the phase's own thread outside its wait) / (duration x CPUs that could have worked); at least "
        "0. All tasks of the pool count, also those of other phases, and also while they have lost their "
        "CPU. The CPUs that could have worked: one for each worker, for the phase's own thread and for "
        "others that ran such tasks, at most as many as there are. -: their number is not known."
    ),
    "Tasks": (
        "Times in us. lag: from the push to the start of the task, including the time behind other tasks "
        "in the queue. time: from start to end, including tasks that it runs while it waits. stolen: "
        "share of tasks that another thread ran than the one that pushed them."
    ),
    "Wakes": (
        "Times in us, from the call that wakes a worker to the worker's first instruction. own timer: "
        "workers that were woken by their own timer (pre-wake) and then ran a task."
    ),
    "Critical path": (
        "Mean us a phase, and share. The path goes back from the end of the phase; at each moment it "
        "shows what the phase waited for. serial: the phase's own thread neither pushes, runs tasks nor "
        "waits. push: that thread pushes tasks or wakes workers. wake: from the call that wakes a worker "
        "to its first instruction. find: a thread searches for its next task. run: tasks. finish: from "
        "the end of the last task to the return of the wait."
    ),
    "Pools": (
        "Over the whole trace, not only in phases. for workers: CPUs that workers may use. did not sleep: "
        "a task came before the worker slept. prewake: timers set by workers + hints of the program."
    ),
    "Late starts": (
        "Times in us, over the whole trace, from a burst's first push after a pause to its first task on a "
        "worker. A start is late above the 90th percentile that the pool follows; the pool names the cause."
    ),
    "Run time by task function": (
        "Times in us, over the whole trace: from the start of a task's function to its end, without other "
        "tasks that it runs and without its waits for them. The last column shows how many tasks took how "
        "long: a character for each power of two of the time; the highest block is the most frequent one."
    ),
}


def drawn(rows: list[Summary]) -> dict[str, Cell]:
    """A column with a character for each power of two that the histograms of all rows cover. The highest
    block stands at the most frequent one."""
    powers = [int(low).bit_length() - 1 for row in rows for low in row["histogram"]]
    if not powers:
        return {}
    lows = [str(1 << power) for power in range(min(powers), max(powers) + 1)]

    def cell(row: Summary) -> str:
        counts = [row["histogram"].get(low, 0) for low in lows]
        blocks = [(count * len(BLOCKS) - 1) // max(counts) for count in counts]
        return "".join(BLOCKS[block] if block >= 0 else NONE for block in blocks)

    return {f"{us(int(lows[0]) / 1e3)} .. {us(2 * int(lows[-1]) / 1e3)}": cell}


def tables(summary: Summary) -> Iterator[Table]:
    """Those that have rows."""
    pools, functions = summary["pools"], summary["functions"]
    late = [found | {"name": pool["name"]} for pool in pools for found in pool["late"]]
    columns = (
        *((summary["phases"], columns) for columns in (PHASES, TASKS, WAKES, PATH)),
        (pools, POOLS),
        (late, LATE),
        (functions, FUNCTIONS | drawn(functions)),
    )
    for (title, note), (things, cells) in zip(NOTES.items(), columns):
        rows = [[thing["name"], *(cell(thing) for cell in cells.values())] for thing in things]
        if rows:
            yield Table(title, plain_columns("", *cells), rows, [note])


def losses(summary: Summary) -> list[str]:
    """Sentences on what the trace lacks; empty if nothing was lost."""
    said = []
    if summary["lost_stretches"]:
        stretches = many(summary["lost_stretches"], "stretch", "stretches")
        left_out = many(sum(map(missing, summary["phases"])), "phase is", "phases are")
        said.append(
            f"LOST: {_counted_losses(summary)} in {stretches} of time. {left_out} left out, and the "
            "numbers of pools are too small. Larger buffers help: record --subbuf-size, --num-subbuf"
        )
    if summary["tasks_without_push"]:
        tasks = many(summary["tasks_without_push"], "task", "tasks")
        said.append(f"{tasks} ran whose push is not in the trace")
    return said


def _counted_losses(summary: Summary) -> str:
    kinds = [(summary[f"lost_{kind}s"], kind) for kind in ("event", "packet")]
    counted = " and ".join(many(count, kind, f"{kind}s") for count, kind in kinds if count)
    if not counted:
        return "an unknown number of events"
    return f"at least {counted}" if summary["lost_uncounted"] else counted


def text(summary: Summary, width: int = WIDTH) -> Iterator[str]:
    """@param width of the notes, which are wrapped"""
    yield from (f"WARNING: {warning}" for warning in summary["warnings"])
    yield from summary["notes"]
    yield from losses(summary)
    for table in tables(summary):
        yield ""
        yield table.title
        yield from (line.rstrip() for line in layout(table.all_rows))
        yield from textwrap.wrap(table.notes[0], width, initial_indent="  ", subsequent_indent="  ")
    slot = summary["longest_slot"]
    if slot:
        yield ""
        what = "" if slot["name"].startswith("burst") else "slot "
        yield f"longest {what}{slot['name']}: {us(slot['duration_us'])} us"
