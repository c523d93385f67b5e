# SPDX-License-Identifier: BSD-3-Clause
"""A traced process: its walk, its pools and workers, and what it and its pools and functions are called."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache, cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from nrbench.trace import events as ev
from nrbench.trace.reader import Table, of
from nrbench.trace.slots import windows_of
from nrbench.trace.walk import Lost, Walk

NO_POOL = 0  # tasks that their thread has run by itself, inside of the push
NAMES_POOL = (
    ev.POOL_START, ev.PUSH, ev.WAKE, ev.UNPARK, ev.PARK, ev.PREWAKE, ev.STEAL, ev.RUN_BEGIN, ev.LATE,
)  # fmt: skip
Image = tuple[int, int, str, int]  # base address, size in memory, file, whether it is position independent


class Process:
    """@param recorded  s of the epoch: an image that has changed since then has other functions"""

    def __init__(self, pid: int, events: pd.DataFrame, lost: Lost, recorded: float) -> None:
        self.pid, self.events, self.recorded = pid, events, recorded
        self.name = "".join(of(events, ev.PROGRAM).text[-1:])
        self.alone = True  # no other process is in the trace
        images = of(events, ev.IMAGE)
        self.images: list[Image] = [*zip(images.baddr, images.memsz, images.text, images.is_pic)]
        started = of(events, ev.POOL_START)
        self.started: dict[int, Any] = dict(zip(started.pool, started.itertuples()))
        self.pools = sorted(events.a[events.kind.isin(NAMES_POOL)].unique().tolist())
        # Threads of workers: an event says which worker a thread is.
        known = events[events.kind.isin((ev.UNPARK, ev.PARK, ev.RUN_BEGIN)) & (events.b >= 0)]
        self.seen = known.groupby("a").b.nunique().to_dict()  # workers of a pool
        last = known.groupby("tid").last()
        self.workers: dict[int, tuple[int, int]] = dict(zip(last.index, zip(last.a, last.b)))
        self.walk = Walk(events, lost)
        self.windows = windows_of(pid, self.walk)

    @cached_property
    def stretches(self) -> np.ndarray:
        """Of the walk, by begin, with the latest end so far."""
        found = np.array(sorted(self.walk.stretches, key=itemgetter(2)), dtype=np.int64).reshape(-1, 4)
        return np.column_stack([found, np.maximum.accumulate(found[:, 3])])

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
        names = [row.text for row in self.started.values()]
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


def processes_of(table: Table, recorded: float) -> list[Process]:
    """In order of their first events."""
    lost = Lost(table.lost)
    found = [
        Process(int(str(pid)), events.reset_index(drop=True), lost, recorded)
        for pid, events in table.events.groupby("pid", sort=False)
    ]
    every = [image for process in found for image in process.images]
    for process in found:
        process.alone = len(found) == 1
        process.images += every  # a forked child has its parent's, and the trace may not list them again
    return found


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
