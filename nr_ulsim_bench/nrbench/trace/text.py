# SPDX-License-Identifier: BSD-3-Clause
"""A summary as tables: rows of cells, for the terminal and for the page."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Iterator

from nrbench.render import Table, layout, plain_columns
from nrbench.trace.figures import Summary
from nrbench.trace.path import PATH_PARTS

WIDTH = 108  # where there is no terminal
BLOCKS, NONE = "▁▂▃▄▅▆▇█", "·"
# Of each table: whose rows it has, and its columns: HEADING=VALUES. A value is named by the keys that lead to
# it; its unit is in them.
TABLES = {
    "Phases": "phases: count, left out=missing, p50=duration.p50_us, p99=duration.p99_us, "
    "max=duration.max_us, mean=duration.mean_us, tasks each=tasks_each, idle=idle_share",
    "Tasks": "phases: tasks, lag p50=start_lag.p50_us, lag p99=start_lag.p99_us, time p50=task_time.p50_us, "
    "time p99=task_time.p99_us, stolen=steal_share",
    "Wakes": "phases: woken=wake_latency.count, p50=wake_latency.p50_us, p99=wake_latency.p99_us, "
    "max=wake_latency.max_us, own timer=by_own_timer",
    "Critical path": "phases: count=critical_path.count, "
    + ", ".join(f"{part}=critical_path.mean_us.{part} (critical_path.share.{part})" for part in PATH_PARTS),
    "Pools": "pools: workers, CPUs=cpus, for workers=worker_cpus, pushed=pushes, steals, parks, wakes, "
    "woken=unparks.woken, own timer=unparks.by_own_timer, did not sleep=unparks.did_not_sleep, "
    "prewake=prewake_plans+prewake_hints",
    "Late starts": "late: cause, bursts=count, share, p50=median_us, max=max_us",
    "Run time by task function": "functions: tasks=count, sum=total_us, p50=p50_us, p99=p99_us, max=max_us",
}
NOTES = """
Times in us. left out: phases that are in no figure, because events were lost meanwhile, the start or end is
missing, or the number of tasks does not match. idle: 1 - (time in tasks + time of the phase's own thread
outside its wait) / (duration x CPUs that could have worked); at least 0. All tasks of the pool count, also
those of other phases, and also while they have lost their CPU. The CPUs that could have worked: one for each
worker, for the phase's own thread and for others that ran such tasks, at most as many as there are. -: their
number is not known.

Times in us. lag: from the push to the start of the task, including the time behind other tasks in the queue.
time: from start to end, including tasks that it runs while it waits. stolen: share of tasks that another
thread ran than the one that pushed them.

Times in us, from the call that wakes a worker to the worker's first instruction. own timer: workers that
were woken by their own timer (pre-wake) and then ran a task.

Mean us a phase, and share. The path goes back from the end of the phase; at each moment it shows what the
phase waited for. serial: the phase's own thread neither pushes, runs tasks nor waits. push: that thread
pushes tasks or wakes workers. wake: from the call that wakes a worker to its first instruction. find: a
thread searches for its next task. run: tasks. finish: from the end of the last task to the return of the
wait.

Over the whole trace, not only in phases. for workers: CPUs that workers may use. did not sleep: a task came
before the worker slept. prewake: timers set by workers + hints of the program.

Times in us, over the whole trace, from a burst's first push after a pause to its first task on a worker. A
start is late above the 90th percentile that the pool follows; the pool names the cause.

Times in us, over the whole trace: from the start of a task's function to its end, without other tasks that
it runs and without its waits for them. The last column shows how many tasks took how long: a character for
each power of two of the time; the highest block is the most frequent one.
""".strip().split("\n\n")


def us(value: float) -> str:
    """Microseconds, three digits or more."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def missing(phase: Summary) -> int:
    """How many phases of this kind are in no figure."""
    return int(phase["left_out"] + phase["unfinished"])


def shown(row: Summary, path: str) -> str:
    value: Any = row
    for key in path.split("."):
        value = value[key]
    if value is None or isinstance(value, str):
        return value or "-"
    if "share" in path:
        return f"{100 * value:.1f}%"
    if "_us" in path:
        return us(value)
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def cell(row: Summary, values: str) -> str:
    text = re.sub(r"[\w.]+", lambda match: shown(row, match[0]), values)
    return "-" if text.startswith("-") else text


def drawn(rows: list[Summary]) -> tuple[str, list[str]]:
    """A column with a character for each power of two that the histograms of all rows cover. The highest
    block stands at the most frequent one. @return its heading and its cells"""
    powers = [int(low).bit_length() - 1 for row in rows for low in row["histogram"]]
    lows = [1 << power for power in range(min(powers), max(powers) + 1)]
    cells = []
    for row in rows:
        counts = [row["histogram"].get(str(low), 0) for low in lows]
        blocks = [(count * len(BLOCKS) - 1) // max(counts) for count in counts]
        cells.append("".join(BLOCKS[block] if block >= 0 else NONE for block in blocks))
    return f"{us(lows[0] / 1e3)} .. {us(2 * lows[-1] / 1e3)}", cells


def tables(summary: Summary) -> Iterator[Table]:
    """Those that have rows."""
    late = [found | {"name": pool["name"]} for pool in summary["pools"] for found in pool["late"]]
    phases = [phase | {"missing": missing(phase)} for phase in summary["phases"]]
    for (title, about), note in zip(TABLES.items(), NOTES):
        of, _, columns = about.partition(": ")
        things = (summary | {"phases": phases, "late": late})[of]
        heads = {head: values or head for head, _, values in (c.partition("=") for c in columns.split(", "))}
        rows = [[thing["name"], *(cell(thing, values) for values in heads.values())] for thing in things]
        names = [*heads]
        if of == "functions" and rows:
            name, cells = drawn(things)
            names, rows = [*names, name], [[*row, one] for row, one in zip(rows, cells)]
        if rows:
            yield Table(title, plain_columns("", *names), rows, [" ".join(note.split())])


def losses(summary: Summary) -> list[str]:
    """Sentences on what the trace lacks; empty if nothing was lost."""
    said = []
    if summary["lost_stretches"]:
        kinds = [(summary[f"lost_{kind}s"], kind) for kind in ("event", "packet")]
        counted = " and ".join(many(count, kind, f"{kind}s") for count, kind in kinds if count)
        least = "at least " if summary["lost_uncounted"] else ""
        stretches = many(summary["lost_stretches"], "stretch", "stretches")
        left_out = many(sum(map(missing, summary["phases"])), "phase is", "phases are")
        said.append(
            f"LOST: {least + counted if counted else 'an unknown number of events'} in {stretches} of time. "
            f"{left_out} left out, and the numbers of pools are too small. Larger buffers help: record "
            "--subbuf-size, --num-subbuf"
        )
    if summary["tasks_without_push"]:
        tasks = many(summary["tasks_without_push"], "task", "tasks")
        said.append(f"{tasks} ran whose push is not in the trace")
    return said


def text(summary: Summary, width: int = WIDTH) -> Iterator[str]:
    """@param width of the notes, which are wrapped"""
    yield from (f"WARNING: {warning}" for warning in summary["warnings"])
    yield from summary["notes"]
    yield from losses(summary)
    for table in tables(summary):
        yield from ("", table.title)
        yield from (line.rstrip() for line in layout(table.all_rows))
        yield from textwrap.wrap(table.notes[0], width, initial_indent="  ", subsequent_indent="  ")
    if slot := summary["longest_slot"]:
        what = "" if slot["name"].startswith("burst") else "slot "
        yield from ("", f"longest {what}{slot['name']}: {us(slot['duration_us'])} us")
