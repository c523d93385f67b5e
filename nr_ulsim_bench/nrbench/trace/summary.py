# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path
from typing import Any, Collection, Iterable

from nrbench.trace.analysis import Analysis
from nrbench.trace.events import PHASES
from nrbench.trace.figures import PATH_PARTS, Figures
from nrbench.trace.functions import OTHERS as OTHER_FUNCTIONS
from nrbench.trace.ledger import OTHERS
from nrbench.trace.slots import Window
from nrbench.trace.state import Pool, Process

Summary = dict[str, Any]
Kind = tuple[int, object]  # of phases: process; name, or pool and function of bursts
NO_POOL = 0  # tasks that their thread has run by itself, inside of the push


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def process_label(process: Process, alone: bool) -> str:
    """Empty where there is one process only."""
    return "" if alone else f"{process.name or 'process'}[{process.pid}]"


def pool_label(process: Process, number: int) -> str:
    """With the number where the name alone does not tell which."""
    if number == NO_POOL:
        return "no pool"
    pool = process.pools.get(number)
    if pool is None or not pool.name:
        return f"pool {number}"
    namesakes = sum(other.name == pool.name for other in process.pools.values())
    return pool.name if namesakes == 1 else f"{pool.name} (pool {number})"


class Names:
    """What processes, pools and kinds of phases are called."""

    def __init__(self, analysis: Analysis, recorded: float | None = None) -> None:
        self.symbols = Symbols(analysis.processes.values(), recorded)
        self.processes = analysis.processes
        self.alone = (
            sum(1 for process in analysis.processes.values() if process.pools or process.threads) <= 1
        )

    def kind(self, pid: int, name: object) -> str:
        if not isinstance(name, tuple):
            return "other bursts" if name == OTHERS else str(name)
        pool, func = name
        task = self.symbols.name(pid, func)
        return f"{task}, inline" if pool == NO_POOL else f"{task} in {pool_label(self.processes[pid], pool)}"

    def function(self, pid: int, func: int) -> str:
        task = "other functions" if func == OTHER_FUNCTIONS else self.symbols.name(pid, func)
        return " ".join(filter(None, [self.process(pid), task]))

    def process(self, pid: int) -> str:
        process = self.processes.get(pid)
        return process_label(process, self.alone) if process else ""

    def workers(self, pid: int) -> dict[tuple[int, int], int]:
        """Threads of a process' workers, by pool and worker."""
        threads = self.processes[pid].threads.values()
        return {(thread.pool, thread.worker): thread.tid for thread in threads if thread.worker >= 0}

    def whole(self, pid: int, name: object) -> str:
        return " ".join(filter(None, [self.process(pid), self.kind(pid, name)]))


def kind_of(name: object) -> str:
    return str(name) if name in PHASES else "burst"


def kinds(analysis: Analysis, names: Names, wanted: Collection[str]) -> list[Kind]:
    """Those of the phases that the report shows, in the order of its tables.

    @param wanted names or kinds of phases; empty = all
    """
    ordered = sorted(analysis.figures, key=lambda kind: (kind[0], kind[1] not in PHASES))
    return [
        (pid, name)
        for pid, name in ordered
        if not wanted or any(word in names.whole(pid, name) or word == kind_of(name) for word in wanted)
    ]


def path_summary(figures: Figures) -> Summary:
    whole = sum(figures.path_ns.values())
    return {
        "count": figures.path_count,
        "mean_us": {
            part: figures.path_ns[part] / figures.path_count / 1e3 if figures.path_count else None
            for part in PATH_PARTS
        },
        "share": {part: share(figures.path_ns[part], whole) for part in PATH_PARTS},
    }


def phase_summary(names: Names, pid: int, name: object, figures: Figures) -> Summary:
    return {
        "name": names.whole(pid, name),
        "kind": kind_of(name),
        "pid": pid,
        "count": figures.durations.count,
        **{key: getattr(figures, key) for key in ("left_out", "unfinished", "not_joined")},
        "duration": figures.durations.summary(),
        "tasks": figures.tasks,
        "tasks_each": share(figures.tasks, figures.durations.count),
        "start_lag": figures.lags.summary(),
        "task_time": figures.times.summary(),
        "wake_latency": figures.wakes.summary(),
        "by_own_timer": figures.by_timer,
        "steal_share": share(figures.stolen, figures.lags.count),
        "idle_share": figures.idle_share,
        "critical_path": path_summary(figures),
    }


def late_summary(pool: Pool) -> list[Summary]:
    """Late starts by cause, the most frequent first."""
    found = sorted(pool.late.items(), key=lambda item: -len(item[1]))
    count = sum(len(times) for _, times in found)
    return [
        {
            "cause": cause,
            "count": len(times),
            "share": share(len(times), count),
            "median_us": statistics.median(times) / 1000,
            "max_us": max(times) / 1000,
        }
        for cause, times in found
    ]


def pool_summary(names: Names, process: Process, number: int, pool: Pool) -> Summary:
    woken, by_timer, awake = pool.unparks
    return {
        "name": " ".join(filter(None, [names.process(process.pid), pool_label(process, number)])),
        "pid": process.pid,
        "pool": number,
        "workers": pool.worker_count,
        "cpus": pool.cpus or None,
        "worker_cpus": pool.worker_cpus or None,
        **{key: getattr(pool, key) for key in ("pushes", "runs", "steals", "parks", "wakes")},
        "unparks": {"woken": woken, "by_own_timer": by_timer, "did_not_sleep": awake},
        "prewake_plans": pool.plans,
        "prewake_hints": pool.hints,
        "late": late_summary(pool),
    }


def slot_summary(window: Window | None) -> Summary | None:
    if window is None:
        return None
    return {
        "name": str(window.name),
        "pid": window.pid,
        "begin_ns": window.begin_ns,
        "duration_us": window.duration_ns / 1e3,
    }


def summarize(analysis: Analysis, names: Names, wanted: Collection[str]) -> Summary:
    """@param wanted as of kinds()"""
    ledger, figures = analysis.ledger, analysis.figures
    return {
        "phases": [phase_summary(names, *kind, figures[kind]) for kind in kinds(analysis, names, wanted)],
        "pools": [
            pool_summary(names, process, number, pool)
            for process in analysis.processes.values()
            for number, pool in sorted(process.pools.items())
        ],
        "functions": analysis.functions.summary(names.function),
        "slots": len(ledger.slots.slots),
        "longest_slot": slot_summary(ledger.slots.longest),
        "lost_events": ledger.lost_events,
        "lost_packets": ledger.lost_packets,
        "lost_stretches": ledger.lost.count,
        "lost_uncounted": min(ledger.lost_uncounted, ledger.lost.count),
        "tasks_without_push": analysis.unmatched,
    }


Image = tuple[int, int, str, bool]  # base address, size in memory, file, position independent


class Symbols:
    """Names of task functions, from the symbol tables of the images that the trace names, by pyelftools.

    `recorded` is when the trace was made (s): an image that has changed since then has other functions."""

    def __init__(self, processes: Iterable[Process], recorded: float | None = None) -> None:
        self._recorded = recorded
        self._images = {process.pid: process.images for process in processes}
        self._names: dict[tuple[int, int], str] = {}

    def name(self, pid: int, address: int) -> str:
        """The function at an address; the address if there is no telling."""
        key = (pid, address)
        if key not in self._names:
            self._names[key] = self._find(pid, address) or f"{address:#x}"
        return self._names[key]

    def _find(self, pid: int, address: int) -> str | None:
        """A forked child has its parent's images, and the trace may not list them again."""
        everyone = [image for images in self._images.values() for image in images]
        for base, size, path, is_pic in [*self._images.get(pid, []), *everyone]:
            if base <= address < base + size:
                return (
                    function_at(path, address - base if is_pic else address) if self._is_same(path) else None
                )
        return None

    def _is_same(self, path: str) -> bool:
        try:
            return self._recorded is None or Path(path).stat().st_mtime <= self._recorded
        except OSError:
            return False


def function_at(path: str, address: int) -> str | None:
    """The function of an ELF file that holds an address."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:
            image = ELFFile(file)
            tables: Iterable[Any] = (image.get_section_by_name(name) for name in (".symtab", ".dynsym"))
            symbols = itertools.chain.from_iterable(table.iter_symbols() for table in tables if table)
            return next((symbol.name for symbol in symbols if _holds(symbol, address)), None)
    except (OSError, ELFError):
        return None


def _holds(symbol: Any, address: int) -> bool:
    begin, size = symbol["st_value"], symbol["st_size"]
    return bool(begin <= address < begin + max(size, 1)) and symbol["st_info"]["type"] == "STT_FUNC"
