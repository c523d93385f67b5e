# SPDX-License-Identifier: BSD-3-Clause
"""`tpool-ws-trace late`: the worst late bursts of a record, with the causes that the pool has found."""

import shlex
from pathlib import Path

import numpy as np

from nrbench.trace.process import Process, read
from nrbench.trace.reader import KINDS
from nrbench.trace.record import TraceError
from nrbench.trace.rings import LateBurst, Record, is_record, removed_files

SHOWN, COLUMNS, MARGIN = 10, 64, 0.1
RUN, RAN, JOIN, JOINED, PARK, UNPARK = (
    KINDS.index(kind) for kind in ("run_begin", "run_end", "join_begin", "join_end", "park", "unpark")
)
LEGEND = "= runs a task   w waits   z sleeps   . is awake without a task"


def rising(kinds: np.ndarray, begin: int, end: int) -> np.ndarray:
    """How many there are of what begins and ends so; the first ones may have begun before."""
    depth = np.cumsum((kinds == begin).astype(int) - (kinds == end))
    return np.asarray(depth - min(depth.min(), 0))


def picture(process: Process, burst: LateBurst) -> list[str]:
    """A row for each thread that has events then; a character for a part of the time."""
    margin = int((burst.end_ns - burst.begin_ns) * MARGIN)
    begin, end = burst.begin_ns - margin, burst.end_ns + margin
    edges = np.linspace(begin, end, COLUMNS + 1)
    rows = [f"{'':16} |{'burst'.center(COLUMNS - 12, '-').center(COLUMNS)}|"]
    for tid in process.walk.threads:
        of = process.events[process.events.tid == tid]
        times, kinds = of.time.to_numpy(), of.kind.to_numpy()
        depth = rising(kinds, RUN, RAN)
        states = np.where(depth > 0, "=", ".")
        states[(kinds == JOIN) & (depth == 0)] = "w"
        states[(kinds == RAN) & (depth == 0) & (rising(kinds, JOIN, JOINED) > 0)] = "w"
        states[kinds == PARK] = "z"
        at = np.searchsorted(times, edges[:-1] + (end - begin) / COLUMNS / 2, "right") - 1
        if not ((times >= begin) & (times <= end)).any():
            continue
        cells = "".join(states[place] if place >= 0 else " " for place in at)
        rows.append(f"{process.threads.get(tid, str(tid))[:16]:16} |{cells}|")
    return rows


def longest(process: Process, burst: LateBurst) -> str:
    """Function and thread of the task that lasted longest in the burst."""
    tasks = process.walk.table[process.walk.table.is_ended]
    time = np.asarray(process.walk.time)
    begin, end = time[tasks.begin], time[tasks.end]
    chosen = (end > burst.begin_ns) & (begin < burst.end_ns) & (tasks.pool >= 0).to_numpy()
    if not chosen.any():
        return ""
    at = np.flatnonzero(chosen)[np.argmax((end - begin)[chosen])]
    return f"{process.function(int(tasks.func.iloc[at]))} {(end[at] - begin[at]) / 1e3:.1f} us"


def late(folder: Path, shown: int = SHOWN) -> int:
    """@return 0; 2 if a part of the record is missing"""
    if not is_record(folder):
        raise TraceError(f"{folder}: no file *.record is in it: set TPOOL_WS_RECORD={folder}")
    record = Record(folder)
    processes = {process.namespace: process for process in read(record, None)}
    worst = sorted(record.late, key=lambda burst: -burst.over_ns)[:shown]
    for warning in record.warnings:
        print(f"WARNING: {warning}")
    for journal, removed in removed_files(folder).items():
        print(f"{journal}: {removed} older files were removed, as all take more than TPOOL_WS_RECORD_MB")
    print(f"{len(record.late)} late bursts and phases are in the record; the worst, in us over their limits:")
    for number, burst in enumerate(worst, 1):
        process = processes[burst.life]
        causes = sorted(burst.over.items(), key=lambda of: -of[1])
        at_s, took_s = (burst.begin_ns - record.first_ns) / 1e9, (burst.end_ns - burst.begin_ns) / 1e9
        print(
            f"\n{number}. {process.label} at {at_s:.6f} s: {took_s * 1e6:.1f} us, "
            f"{burst.over_ns / 1e3:.1f} over: {', '.join(f'{cause} {ns / 1e3:.1f}' for cause, ns in causes)}"
        )
        if task := longest(process, burst):
            print(f"   longest task: {task}")
        print("\n".join(f"   {row}" for row in picture(process, burst)))
        span = f"--begin {max(at_s - took_s, 0):.6f} --end {at_s + 2 * took_s:.6f}"
        print(f"   tpool-ws-trace export {shlex.quote(str(folder))} --perfetto late-{number}.pftrace {span}")
    print(f"\n{LEGEND}")
    return 2 if record.warnings else 0
