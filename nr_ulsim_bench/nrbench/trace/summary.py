# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a trace as plain values: what the tables, the page and --json show."""

from __future__ import annotations

from typing import Any

from nrbench.trace.analysis import Analysis
from nrbench.trace.events import PHASES
from nrbench.trace.figures import PATH_PARTS, Figures
from nrbench.trace.ledger import OTHERS
from nrbench.trace.slots import Window
from nrbench.trace.state import Pool, Process
from nrbench.trace.symbols import Symbols

Summary = dict[str, Any]


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def process_label(process: Process, alone: bool) -> str:
    """Empty where there is one process only."""
    return "" if alone else f"{process.name or 'process'}[{process.pid}]"


def pool_label(process: Process, number: int) -> str:
    pool = process.pools.get(number)
    return pool.name if pool is not None and pool.name else f"pool {number}"


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
            return str(name)
        pool, func = name
        return f"{self.symbols.name(pid, func)} in {pool_label(self.processes[pid], pool)}"

    def process(self, pid: int) -> str:
        process = self.processes.get(pid)
        return process_label(process, self.alone) if process else ""

    def workers(self, pid: int) -> dict[tuple[int, int], int]:
        """Threads of a process' workers, by pool and worker."""
        threads = self.processes[pid].threads.values()
        return {(thread.pool, thread.worker): thread.tid for thread in threads if thread.worker >= 0}

    def whole(self, pid: int, name: object) -> str:
        return " ".join(filter(None, [self.process(pid), self.kind(pid, name)]))


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
        "kind": str(name) if name in PHASES else OTHERS if name == OTHERS else "burst",
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


def summarize(analysis: Analysis, names: Names, wanted: set[str]) -> Summary:
    """@param wanted names or kinds of phases; empty = all"""
    ledger = analysis.ledger
    phases = [phase_summary(names, pid, name, figures) for (pid, name), figures in analysis.figures.items()]
    if wanted:
        phases = [
            phase
            for phase in phases
            if any(word in phase["name"] or word == phase["kind"] for word in wanted)
        ]
    phases.sort(key=lambda phase: (phase["pid"], phase["kind"] not in PHASES))
    return {
        "phases": phases,
        "pools": [
            pool_summary(names, process, number, pool)
            for process in analysis.processes.values()
            for number, pool in sorted(process.pools.items())
        ],
        "slots": sum(ledger.slots.counts.values()),
        "longest_slot": slot_summary(ledger.slots.worst),
        "lost_events": ledger.lost_events,
        "lost_packets": ledger.lost_packets,
        "lost_stretches": ledger.lost.count,
        "lost_uncounted": ledger.lost_uncounted,
        "tasks_without_push": analysis.unmatched,
    }
