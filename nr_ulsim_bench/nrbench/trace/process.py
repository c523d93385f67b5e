# SPDX-License-Identifier: BSD-3-Clause
"""A traced process: its walk as tables, its slots, and what it and its pools and functions are called."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from itertools import count
from operator import attrgetter
from typing import Any, Iterator, NamedTuple

import numpy as np
import pandas as pd

from nrbench.trace.reader import Trace, rows
from nrbench.trace.record import PROVIDER, TraceError
from nrbench.trace.walk import WAITS, Walk

NO_POOL = 0  # tasks that their thread has run by itself, inside of the push
NAMES_POOL = ("pool_start", "push", "wake", "unpark", "park", "prewake", "steal", "run_begin", "late")


class Window(NamedTuple):
    """A slot, phase or burst as a stretch of the trace."""

    kind: str
    track: str  # of those that are alike
    name: str  # of a slot as in its walk, of a burst #n
    pid: int
    begin_ns: int
    end_ns: int
    is_valid: bool  # all its events are in the trace

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


class Process:
    """@param recorded  s of the epoch: an image that has changed since then has other functions"""

    def __init__(self, pid: int, events: pd.DataFrame, recorded: float) -> None:
        self.pid, self.events, self.recorded = pid, events, recorded
        self.name = "".join(self.of("procname").text[-1:])
        self.label = f"{self.name or 'process'}[{pid}]"
        self.alone = True  # no other process is in the trace
        self.windows: list[Window] = []
        images = self.of("bin_info")
        # Base address, size in memory, file, whether it is position independent.
        self.images = [*zip(images.baddr, images.memsz, images.text, images.is_pic)]
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

    def of(self, *kinds: str) -> pd.DataFrame:
        """The events of these kinds."""
        found: pd.DataFrame = self.events[self.events.kind.isin(kinds)]
        return found

    def worker_count(self, pool: int) -> int:
        started = self.started.get(pool)  # None: before the recording
        return int(started.workers if started else self.seen.get(pool, 0))

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
                return found or hex(address)
        return hex(address)


def frames_of(walk: Walk) -> pd.DataFrame:
    """A row for each task that ran and each wait; `kind` is that of the span in whose figures it counts.
    Times in ns, -1 where a push, an end or other events are not in the trace."""
    names = ["kind", "pool", "func", "push", "begin", "end", "inner_ns", "is_ended"]
    frames: pd.DataFrame = pd.DataFrame(map(attrgetter(*names), walk.frames), columns=names)
    time, epoch, tid = (np.array([*of, -1]) for of in (walk.time, walk.epoch, walk.tid))
    begin, end, push = (frames[name].to_numpy(dtype=np.int64) for name in ("begin", "end", "push"))
    is_ended = frames.is_ended.to_numpy(dtype=bool)
    frames["tid"] = tid[begin]
    frames["time"] = np.where(is_ended, time[end] - time[begin], -1)
    frames["own"] = (frames.time - frames.inner_ns).where(is_ended & (epoch[begin] == epoch[end]), -1)
    frames["lag"] = np.where(push >= 0, time[begin] - time[push], -1)
    frames["is_stolen"] = (push >= 0) & (tid[begin] != tid[push])
    return frames


def windows_of(process: Process) -> Iterator[Window]:
    """Slots, and phases and bursts in order of their ends, which number the bursts."""
    time, numbers = process.walk.time, count()
    for slot in (slot for slots in process.walk.slots.values() for slot in slots if slot.end >= 0):
        times = time[slot.begin], time[slot.end]
        yield Window("slot", "slots", slot.name, process.pid, *times, slot.is_valid)
    for span in process.walk.spans:
        times, label = (time[span.begin], time[span.end]), process.kind_label(span.kind)
        kind, name = ("phase", f"{label} {span.slot.name}") if span.slot else ("burst", f"#{next(numbers)}")
        yield Window(kind, label, name, process.pid, *times, span.is_valid)


def read(trace: Trace, wanted: str | None) -> list[Process]:
    """In order of their first events. @param wanted  name or id of the processes; None = all"""
    processes = [
        Process(int(str(pid)), events, trace.recorded)
        for pid, events in trace.table().groupby("pid", sort=False)
    ]
    with_pool = [process for process in processes if process.pools]
    if not with_pool:
        why = "the program was built without tracing, does not use the pool, or another session was recorded"
        none = f"{trace.path}: none of its {trace.event_count} events is of {PROVIDER}"
        raise TraceError(f"{none}: {'. '.join(trace.warnings) or why}")
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
        process.windows = [*windows_of(process)]
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
