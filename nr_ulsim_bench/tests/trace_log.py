# SPDX-License-Identifier: BSD-3-Clause
"""Writes event streams as a traced program would make them. Times in ns."""

from __future__ import annotations

from typing import Iterable

from nrbench.trace import events as ev
from nrbench.trace.analysis import Analysis
from nrbench.trace.events import SYMBOL_PROCESSING, Event
from nrbench.trace.figures import Figures, Path
from nrbench.trace.summary import Names, Summary, summarize

POOL, FUNC, GROUP = 1, 0x1000, 0x70
MAIN, W0, W1 = 100, 200, 201  # threads


class Log:
    """Events of one process; sorted by time when read."""

    def __init__(self, pid: int = 1) -> None:
        self.pid = pid
        self.events: list[Event] = []
        self.workers: dict[int, int] = {W0: 0, W1: 1}

    def add(self, kind: int, now: int, tid: int, *fields: object) -> None:
        self.events.append((kind, now, self.pid, tid, *fields))

    def pool(self, now: int = 0, workers: int = 1, cpus: int = 2, pool: int = POOL, name: str = "p") -> None:
        self.add(ev.POOL_START, now, MAIN, pool, name, workers, cpus, cpus)

    def push(
        self, now: int, arg: int, tid: int = MAIN, func: int = FUNC, group: int = GROUP, pool: int = POOL
    ):
        self.add(ev.PUSH, now, tid, pool, func, arg, group)

    def run(
        self, begin: int, end: int, arg: int, tid: int, func: int = FUNC, group: int = GROUP, pool: int = POOL
    ) -> None:
        self.add(ev.RUN_BEGIN, begin, tid, pool, self.workers.get(tid, -1), func, arg, group)
        self.add(ev.RUN_END, end, tid, arg)

    def join(self, begin: int, end: int, tid: int = MAIN, group: int = GROUP, pool: int = POOL) -> None:
        self.add(ev.JOIN_BEGIN, begin, tid, pool, group)
        self.add(ev.JOIN_END, end, tid, pool, group)

    def complete(self, now: int, tid: int, group: int = GROUP) -> None:
        self.add(ev.COMPLETE, now, tid, group)

    def park(self, now: int, tid: int = W0) -> None:
        self.add(ev.PARK, now, tid, POOL, self.workers[tid])

    def unpark(self, now: int, tid: int = W0, how: int = ev.WOKEN) -> None:
        self.add(ev.UNPARK, now, tid, POOL, self.workers[tid], how)

    def wake(self, now: int, tid: int = MAIN, worker: int = 0) -> None:
        self.add(ev.WAKE, now, tid, POOL, worker)

    def begin(
        self,
        now: int,
        name: str = SYMBOL_PROCESSING,
        frame: int = 7,
        slot: int = 3,
        id: int = 0,
        tid: int = MAIN,
    ):
        self.add(ev.PHASE_BEGIN, now, tid, name, frame, slot, id)

    def end(
        self,
        now: int,
        tasks: int,
        name: str = SYMBOL_PROCESSING,
        frame: int = 7,
        slot: int = 3,
        id: int = 0,
        tid: int = MAIN,
    ) -> None:
        self.add(ev.PHASE_END, now, tid, name, frame, slot, id, tasks)

    def lost(self, begin: int, end: int, events: int | None = 5, packets: int | None = 0) -> None:
        self.events.append((ev.LOST, begin, 0, 0, end, events, packets))

    def sorted(self) -> list[Event]:
        return sorted(self.events, key=lambda event: event[1])


def analyse(*logs: Log, cores: int = 0) -> Analysis:
    analysis = Analysis(cores)
    analysis.feed(sorted((event for log in logs for event in log.events), key=lambda event: event[1]))
    analysis.finish()
    return analysis


def summary_of(*logs: Log, wanted: Iterable[str] = ()) -> Summary:
    """As a report has it."""
    analysis = analyse(*logs)
    rest = {"events": 1, "warnings": [], "notes": []}
    return summarize(analysis, Names(analysis), tuple(wanted)) | rest


class LogTrace:
    """In the place of a trace that has been recorded: each reading comes upon the damage."""

    def __init__(self, *logs: Log, damage: str = "") -> None:
        self.logs, self.damage = logs, damage
        self.recorded = 0.0
        self.warnings: list[str] = []
        self.event_count = 0

    def __enter__(self) -> LogTrace:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self, begin_ns: int | None = None, end_ns: int | None = None) -> list[Event]:
        self.warnings += [self.damage] if self.damage else []
        events = sorted((event for log in self.logs for event in log.events), key=lambda event: event[1])
        self.event_count = len(events)
        return events


def only(analysis: Analysis) -> Figures:
    """The figures of the only kind of phase."""
    (figures,) = analysis.figures.values()
    return figures


def path_of(figures: Figures) -> Path:
    """Without the parts that took no time."""
    return {part: duration for part, duration in figures.path_ns.items() if duration}


def burst(log: Log, at: int = 0, tasks: int = 2, length: int = 100) -> int:
    """Tasks one after another on the thread that joins them. @return when it is over"""
    for i in range(tasks):
        log.push(at + i, i)
    begin = at + tasks
    for i in range(tasks):
        log.run(begin + 1 + i * length, begin + (i + 1) * length, i, MAIN)
    end = begin + tasks * length + 5
    log.join(begin, end)
    return end
