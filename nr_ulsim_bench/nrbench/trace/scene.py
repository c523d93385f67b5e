# SPDX-License-Identifier: BSD-3-Clause
"""What threads did in a short stretch of a trace: the bars, gaps and arrows of a picture. All times in ns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, NamedTuple

from nrbench.trace import events as ev
from nrbench.trace.analysis import Analysis
from nrbench.trace.events import Event
from nrbench.trace.slots import Window
from nrbench.trace.state import Moment, Phase, Process, Task

LEAD_NS = 20_000_000  # read before the window, so that it is known what goes on when it begins
EVENTS_MAX = 500_000


class Bar(NamedTuple):
    begin_ns: int
    end_ns: int
    depth: int  # 0 = a task that runs inside no other
    owner: Phase | None
    func: int


class Span(NamedTuple):
    begin_ns: int
    end_ns: int


class Wait(NamedTuple):
    begin_ns: int
    end_ns: int
    depth: int  # number of tasks that it is inside of


class Arrow(NamedTuple):
    sent: Moment
    arrived: Moment


class PhaseSpan(NamedTuple):
    phase: Phase
    begin_ns: int
    end_ns: int


@dataclass
class Row:
    """One thread."""

    tid: int
    pool: int = -1
    worker: int = -1
    bars: list[Bar] = field(default_factory=list)
    parked: list[Span] = field(default_factory=list)
    rising: list[Span] = field(default_factory=list)  # woken, and not up yet
    waits: list[Wait] = field(default_factory=list)
    pushes: list[int] = field(default_factory=list)
    open_bars: list[tuple[int, Task]] = field(default_factory=list)
    open_waits: list[int] = field(default_factory=list)
    parked_since: int | None = None
    is_new: bool = True  # nothing has been seen of it yet


class Scene:
    """Built from the events of a window and of the time shortly before it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.rows: dict[int, Row] = {}
        self.arrows: list[Arrow] = []
        self.phases: list[PhaseSpan] = []
        self.is_cut = False
        self._analysis = Analysis()
        self._analysis.ledger.on_close = self._closed
        self._sent: dict[tuple[int, int], Moment] = {}

    @property
    def begin_ns(self) -> int:
        """When the events must begin."""
        return self.window.begin_ns - LEAD_NS

    @property
    def end_ns(self) -> int:
        return self.window.end_ns + max(self.window.duration_ns // 10, 20_000)

    @property
    def process(self) -> Process | None:
        return self._analysis.processes.get(self.window.pid)

    def build(self, events: Iterable[Event]) -> None:
        count = 0
        for event in events:
            if event[0] == ev.LOST or event[2] != self.window.pid or event[1] < self.begin_ns:
                continue
            count += 1
            self.is_cut = count > EVENTS_MAX
            if event[1] > self.end_ns or self.is_cut:
                break
            self._take(event)
        self._finish()

    def _take(self, event: Event) -> None:
        kind, now, _, tid = event[:4]
        row = self.rows.get(tid)
        if row is None:
            row = self.rows[tid] = Row(tid)
        if kind == ev.RUN_END and row.open_bars:
            begin_ns, task = row.open_bars.pop()
            row.bars.append(Bar(begin_ns, now, len(row.open_bars), task.owner, task.func))
        elif kind == ev.RUN_END and row.is_new:
            row.bars.append(Bar(self.begin_ns, now, 0, None, 0))
        self._analysis.feed([event])
        thread = self._analysis.processes[self.window.pid].thread(tid)
        if kind == ev.RUN_BEGIN:
            row.open_bars.append((now, thread.stack[-1]))  # type: ignore[arg-type]
        elif kind == ev.PUSH:
            row.pushes.append(now)
        elif kind == ev.JOIN_BEGIN:
            row.open_waits.append(now)
        elif kind == ev.JOIN_END:
            begin_ns = row.open_waits.pop() if row.open_waits else self.begin_ns
            row.waits.append(Wait(begin_ns, now, len(row.open_bars)))
        elif kind in (ev.PARK, ev.UNPARK, ev.WAKE):
            self._sleep(event, row)
        if thread.worker >= 0:
            row.pool, row.worker = thread.pool, thread.worker
        row.is_new = False

    def _sleep(self, event: Event, row: Row) -> None:
        kind, now, _, tid, pool, worker = event[:6]
        if kind == ev.PARK:
            row.parked_since = now
        elif kind == ev.WAKE:
            self._sent[pool, worker] = Moment(now, tid)
        else:
            since = row.parked_since if not row.is_new else self.begin_ns
            row.parked.append(Span(self.begin_ns if since is None else since, now))
            row.parked_since = None
            sent = self._sent.pop((pool, worker), None)
            if sent is not None and event[6] == ev.WOKEN:
                self.arrows.append(Arrow(sent, Moment(now, tid)))
                row.rising.append(Span(sent.time, now))

    def _closed(self, phase: Phase, end: Moment) -> None:
        self.phases.append(PhaseSpan(phase, phase.begin_ns, end.time))

    def _finish(self) -> None:
        """What has not ended when the picture does."""
        for row in self.rows.values():
            for depth, (begin_ns, task) in enumerate(row.open_bars):
                row.bars.append(Bar(begin_ns, self.end_ns, depth, task.owner, task.func))
            row.waits += [Wait(begin_ns, self.end_ns, 0) for begin_ns in row.open_waits[:1]]
            if row.parked_since is not None:
                row.parked.append(Span(row.parked_since, self.end_ns))
        process = self.process
        for phase in process.open if process else ():
            if not phase.is_burst:
                self.phases.append(PhaseSpan(phase, phase.begin_ns, self.end_ns))

    def add_sleepers(self, workers: dict[tuple[int, int], int]) -> None:
        """Workers, (pool, worker) -> thread, of which nothing was seen: they have slept all the time."""
        for (pool, worker), tid in workers.items():
            if tid not in self.rows:
                self.rows[tid] = Row(tid, pool, worker, parked=[Span(self.begin_ns, self.end_ns)])
            sent = self._sent.get((pool, worker))
            if sent is not None:
                self.rows[tid].rising.append(Span(sent.time, self.end_ns))

    def shown_rows(self) -> list[Row]:
        """Threads with something in the window: those outside pools first."""
        window = Span(self.window.begin_ns, self.end_ns)
        rows = [row for row in self.rows.values() if row.worker >= 0 or _has_part(row, window)]
        return sorted(rows, key=lambda row: (row.worker >= 0, row.pool, row.worker, row.tid))


def _has_part(row: Row, window: Span) -> bool:
    spans = [Span(bar.begin_ns, bar.end_ns) for bar in row.bars]
    spans += [Span(wait.begin_ns, wait.end_ns) for wait in row.waits]
    return any(span.begin_ns < window.end_ns and span.end_ns > window.begin_ns for span in spans) or any(
        window.begin_ns <= push < window.end_ns for push in row.pushes
    )
