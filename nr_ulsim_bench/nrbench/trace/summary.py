# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

from typing import Any, Collection

from nrbench.trace.analysis import Analysis
from nrbench.trace.events import PHASES
from nrbench.trace.figures import PATH_PARTS, Figures
from nrbench.trace.functions import OTHERS as OTHER_FUNCTIONS
from nrbench.trace.ledger import OTHERS
from nrbench.trace.slots import Window
from nrbench.trace.state import Pool, Process
from nrbench.trace.symbols import Symbols

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
        "left_out": figures.left_out,
        "unfinished": figures.unfinished,
        "not_joined": figures.not_joined,
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


def pool_summary(names: Names, process: Process, number: int, pool: Pool) -> Summary:
    woken, by_timer, awake = pool.unparks
    return {
        "name": " ".join(filter(None, [names.process(process.pid), pool_label(process, number)])),
        "pid": process.pid,
        "pool": number,
        "workers": pool.worker_count,
        "cpus": pool.cpus or None,
        "worker_cpus": pool.worker_cpus or None,
        "pushes": pool.pushes,
        "runs": pool.runs,
        "steals": pool.steals,
        "parks": pool.parks,
        "wakes": pool.wakes,
        "unparks": {"woken": woken, "by_own_timer": by_timer, "did_not_sleep": awake},
        "prewake_plans": pool.plans,
        "prewake_hints": pool.hints,
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
