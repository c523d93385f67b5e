# SPDX-License-Identifier: BSD-3-Clause
"""A traced process: its walk as tables, its slots, and what it and its pools and functions are called."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nrbench.trace.lttng import PROVIDER, TraceError
from nrbench.trace.reader import Trace, rows
from nrbench.trace.walk import WAITS, Span, Walk

AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s
NO_POOL = 0  # tasks that their thread has run by itself, inside of the push
NAMES_POOL = ("pool_start", "push", "wake", "unpark", "park", "prewake", "steal", "run_begin", "late")
Image = tuple[int, int, str, int]  # base address, size in memory, file, whether it is position independent


class Window(NamedTuple):
    """A slot or a burst as a stretch of the trace."""

    name: str  # FRAME.SLOT and, from the second of that name in its process, #n; or #n of a burst
    pid: int
    begin_ns: int
    end_ns: int
    is_valid: bool  # all its events are in the trace
    is_slot: bool

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


class Process:
    """@param recorded  s of the epoch: an image that has changed since then has other functions"""

    def __init__(self, pid: int, events: pd.DataFrame, recorded: float) -> None:
        self.pid, self.events, self.recorded = pid, events, recorded
        self.name = "".join(self.of("procname").text[-1:])
        self.alone = True  # no other process is in the trace
        images = self.of("bin_info")
        self.images: list[Image] = [*zip(images.baddr, images.memsz, images.text, images.is_pic)]
        self.started: dict[int, Any] = {event.pool: event for event in rows(self.of("pool_start"))}
        self.pools = sorted(self.of(*NAMES_POOL).pool.unique().tolist())
        # Threads of workers: an event says which worker a thread is.
        known = self.of("unpark", "park", "run_begin")
        known = known[known.worker >= 0]
        self.seen = known.groupby("pool").worker.nunique().to_dict()  # workers of a pool
        last = known.groupby("tid").last()
        self.workers: dict[int, tuple[int, int]] = dict(zip(last.index, zip(last.pool, last.worker)))
        self.walk = Walk(events)
        self.frames = frames_of(self.walk)
        self.tasks = self.frames[self.frames.pool != WAITS]
        self.tasks_of: dict[Any, pd.DataFrame] = dict(iter(self.tasks.groupby("kind", sort=False)))
        self.windows = [*slots_of(self), *bursts_of(self)]
        # By begin, with the latest end so far.
        found = np.array(sorted(self.walk.stretches, key=itemgetter(2)), dtype=np.int64).reshape(-1, 4)
        self.stretches = np.column_stack([found, np.maximum.accumulate(found[:, 3])])

    def of(self, *kinds: str) -> pd.DataFrame:
        """The events of these kinds."""
        found: pd.DataFrame = self.events[self.events.kind.isin(kinds)]
        return found

    def stretches_between(self, begin_ns: int, end_ns: int) -> np.ndarray:
        """Columns pool, thread, begin and end of those in that time, and perhaps of some before it."""
        first = np.searchsorted(self.stretches[:, 4], begin_ns, "right")
        found: np.ndarray = self.stretches[first : np.searchsorted(self.stretches[:, 2], end_ns), :4].T
        return found

    def started_with(self, pool: int, what: str) -> int:
        """workers, cpus or worker_cpus of a pool; 0 = it started before the recording."""
        return int(getattr(self.started.get(pool), what, 0))

    def worker_count(self, pool: int) -> int:
        return self.started_with(pool, "workers") or self.seen.get(pool, 0)

    @property
    def label(self) -> str:
        return f"{self.name or 'process'}[{self.pid}]"

    def whole(self, text: str) -> str:
        """With the process, where there are several."""
        return text if self.alone else f"{self.label} {text}"

    def pool_label(self, pool: int) -> str:
        """With the number where the name alone does not tell which."""
        if pool == NO_POOL:
            return "no pool"
        names = [event.text for event in self.started.values()]
        name = getattr(self.started.get(pool), "text", "")
        return f"{name} (pool {pool})" if names.count(name) > 1 else name or f"pool {pool}"

    def kind_label(self, kind: Any) -> str:
        """Of phases by name, of bursts by pool and function."""
        if isinstance(kind, str):
            return kind
        pool, task = kind[0], self.function(kind[1])
        return f"{task}, inline" if pool == NO_POOL else f"{task} in {self.pool_label(pool)}"

    def function(self, address: int) -> str:
        """The function at an address; the address if there is no telling."""
        for base, size, path, is_pic in self.images:
            if base <= address < base + size:
                found = function_at(path, address - base if is_pic else address, self.recorded)
                return found or f"{address:#x}"
        return f"{address:#x}"


def frames_of(walk: Walk) -> pd.DataFrame:
    """A row for each task that ran and each wait; `kind` is that of the span in whose figures it counts.
    Times in ns, -1 where a push, an end or other events are not in the trace."""
    rows = [
        (
            one.owner.kind if one.owner and one.owner.is_counted else None,
            one.pool, one.func, one.tid, one.push, one.begin, one.end, one.own_ns, one.is_ended,
        )
        for one in walk.frames
    ]  # fmt: skip
    names = ["kind", "pool", "func", "tid", "push", "begin", "end", "own", "is_ended"]
    frames: pd.DataFrame = pd.DataFrame(rows, columns=names)
    time, epoch, tid = (np.array([*of, -1]) for of in (walk.time, walk.epoch, walk.tid))
    begin, end, push = (frames[name].to_numpy(dtype=np.int64) for name in ("begin", "end", "push"))
    is_ended = frames.is_ended.to_numpy(dtype=bool)
    frames["own"] = frames.own.where(is_ended & (epoch[begin] == epoch[end]), -1)
    frames["time"] = np.where(is_ended, time[end] - time[begin], -1)
    frames["lag"] = np.where(push >= 0, time[begin] - time[push], -1)
    frames["is_stolen"] = (push >= 0) & (tid[begin] != tid[push])
    return frames


def slots_of(process: Process) -> list[Window]:
    """From the begin of the first phase of a (frame, slot) to the end of its last; in order of begins."""
    walk, found = process.walk, list[Window]()
    slots: dict[tuple[int, int], list[list[Span]]] = defaultdict(list)  # of the same numbers, phases of each
    for phase in sorted((span for span in walk.spans if not span.is_burst), key=lambda span: span.begin):
        same = slots[phase.frame, phase.slot]
        if not same or is_over(walk, same[-1], phase):
            same.append([])
        same[-1].append(phase)
    for (frame, slot), same in slots.items():
        for number, phases in enumerate(same):
            name = f"{frame}.{slot}" + (f"#{number}" if number else "")
            begin_ns = walk.time[phases[0].begin]
            end_ns = max((walk.time[phase.end] for phase in phases if phase.end >= 0), default=begin_ns)
            is_valid = all(phase.is_valid for phase in phases)
            found.append(Window(name, process.pid, begin_ns, end_ns, is_valid, True))
    return sorted((slot for slot in found if slot.duration_ns), key=lambda slot: slot.begin_ns)


def is_over(walk: Walk, slot: list[Span], phase: Span) -> bool:
    """A phase that begins again starts the next slot of these numbers, even while others of it are open.

    A simulator repeats one slot, and the end of a phase may be lost.
    """
    ended = [one for one in slot if 0 <= one.end < phase.begin]
    last = max([one.end for one in ended], default=slot[0].begin)
    again = any((one.kind, one.id) == (phase.kind, phase.id) for one in ended)
    return again or walk.time[phase.begin] - walk.time[last] > AGAIN_NS


def bursts_of(process: Process) -> list[Window]:
    """In order of their ends, which number them."""
    time, spans = process.walk.time, process.walk.spans
    bursts = [span for span in spans if span.is_burst and span.end >= 0]
    return [
        Window(f"#{number}", process.pid, time[span.begin], time[span.end], span.is_valid, False)
        for number, span in enumerate(bursts)
    ]


def read(trace: Trace, wanted: str | None) -> list[Process]:
    """In order of their first events. @param wanted  name or id of the processes; None = all"""
    processes = [
        Process(int(str(pid)), events, trace.recorded)
        for pid, events in trace.table().groupby("pid", sort=False)
    ]
    with_pool = [process for process in processes if process.pools]
    if not with_pool:
        if trace.warnings:
            raise TraceError(f"{trace.path}: no event of the pool was read. {'. '.join(trace.warnings)}")
        if trace.event_count == 0:
            raise TraceError(f"{trace.path}: the trace is empty: no event was recorded")
        raise TraceError(
            f"{trace.path}: none of its {trace.event_count} events is of {PROVIDER}: the program was built"
            " without tracing, does not use the pool, or another session was recorded"
        )
    chosen = with_pool
    if wanted is not None:
        chosen = [process for process in with_pool if wanted in (str(process.pid), process.name)]
    if not chosen:
        there = ", ".join(process.label for process in with_pool)
        raise TraceError(f"--process {wanted}: no such process with a pool in the trace; there are: {there}")
    every = [image for process in processes for image in process.images]
    for process in chosen:
        process.alone = len(chosen) == 1
        process.images += every  # a forked child has its parent's, and the trace may not list them again
    return chosen


@cache
def function_at(path: str, address: int, recorded: float) -> str | None:
    """The function of an ELF file that holds an address, by pyelftools. None also if the file has changed
    since it was recorded."""
    with suppress(ImportError, OSError):
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        with open(path, "rb") as file, suppress(ELFError):
            if os.fstat(file.fileno()).st_mtime > recorded:
                return None
            tables: list[Any] = [ELFFile(file).get_section_by_name(name) for name in (".symtab", ".dynsym")]
            for symbol in (symbol for table in tables if table for symbol in table.iter_symbols()):
                past = address - symbol["st_value"]
                if 0 <= past < max(symbol["st_size"], 1) and symbol["st_info"]["type"] == "STT_FUNC":
                    return str(symbol.name)
    return None
