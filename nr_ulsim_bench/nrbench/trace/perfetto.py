# SPDX-License-Identifier: BSD-3-Clause
"""A trace for https://ui.perfetto.dev, in Perfetto's own format: tracks for threads, phases, bursts, slots,
counters, and for the stretches in which events were lost. All times in ns.

Tasks are slices with the name of their function, inside each other as they ran. A flow goes from a push to
the start of its task, and from a wake to the worker that gets up.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterable, Iterator

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from nrbench.needed import STATUS
from nrbench.trace.process import Process, Window, read
from nrbench.trace.reader import Trace, rows
from nrbench.trace.record import TraceError
from nrbench.trace.walk import WAITS

BEGIN, END, INSTANT = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT
NOT_WHOLE = " (events are missing)"
LEAD_NS = 20_000  # shown before and after a slot, at least


class Export:
    """@param shown  slices that have no part of this stretch of time are left out; None = all are shown"""

    def __init__(self, builder: StreamingTraceProtoBuilder, shown: tuple[int, int] | None) -> None:
        self.builder, self.shown = builder, shown
        self.events: list[tuple[int, int, TrackEvent]] = []
        self.track_count = self.flow_count = 0

    def is_shown(self, begin_ns: int, end_ns: int) -> bool:
        return self.shown is None or (begin_ns <= self.shown[1] and end_ns >= self.shown[0])

    def track(self, name: str, parent: int = 0, **descriptors: dict[str, Any]) -> int:
        """@param descriptors  of a process, thread or counter"""
        self.track_count += 1
        packet, uuid = self.builder.create_packet(), self.track_count
        about = TrackDescriptor(uuid=uuid, name=name, parent_uuid=parent, **descriptors)
        packet.track_descriptor.CopyFrom(about)
        self.builder.write_packet(packet)
        return self.track_count

    def add(self, time_ns: int, track: int, kind: Any, order: int = 0, **about: Any) -> None:
        """A slice begins or ends, an instant, or a value of a counter. @param order  of those of one time"""
        self.events.append((time_ns, order, TrackEvent(track_uuid=track, type=kind, **about)))

    def lanes(self, name: str, parent: int, slices: Iterable[tuple[int, int, str]]) -> None:
        """Tracks of one name: slices that overlap need as many."""
        ends: dict[int, int] = {}  # by track
        for begin_ns, end_ns, text in sorted(slices):
            if self.is_shown(begin_ns, end_ns):
                track = next((track for track, end in ends.items() if end <= begin_ns), 0)
                track = track or self.track(name, parent)
                ends[track] = end_ns
                self.add(begin_ns, track, BEGIN if begin_ns < end_ns else INSTANT, name=text)
                if begin_ns < end_ns:
                    self.add(end_ns, track, END)

    def counter(self, name: str, parent: int, steps: Iterable[tuple[int, int]], start: int = 0) -> None:
        """@param steps  times, and by how much the value changes"""
        track, values = self.track(name, parent, counter={}), accumulate(step for _, step in sorted(steps))
        for (time_ns, _), value in zip(sorted(steps), values):
            if self.is_shown(time_ns, time_ns):
                self.add(time_ns, track, TrackEvent.TYPE_COUNTER, counter_value=start + value)

    def process(self, process: Process) -> None:
        name, time = process.name or "process", process.walk.time
        parent = self.track(name, process={"pid": process.pid, "process_name": name})
        lanes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for window in process.windows:
            text = window.name + NOT_WHOLE * (not window.is_valid)
            lanes[window.track].append((window.begin_ns, window.end_ns, text))
        for label, slices in lanes.items():
            self.lanes(label, parent, slices)
        for pool in process.pools:
            label = process.pool_label(pool)
            self.counter(f"{label}: queued", parent, queued(process, pool))
            self.counter(f"{label}: awake", parent, *awake(process, pool))
        self.threads(process, parent)
        self.flow_count += len(time)

    def threads(self, process: Process, parent: int) -> None:
        walk, time, tracks = process.walk, process.walk.time, dict[int, int]()
        for pool, worker, tid in sorted((*process.workers.get(tid, (-1, -1)), tid) for tid in {*walk.tid}):
            name = f"{process.pool_label(pool)} worker {worker}" if worker >= 0 else f"thread {tid}"
            about = {"pid": process.pid, "tid": tid, "thread_name": name}
            tracks[tid] = self.track(name, parent, thread=about)
        for tid, begin, end, name, source in thread_slices(process):
            if self.is_shown(time[begin if source < 0 else source], time[end]):
                flows = [self.flow_count + source + 1] if source >= 0 else []
                self.add(time[begin], tracks[tid], BEGIN, begin, name=name, terminating_flow_ids=flows)
                if end >= 0:
                    self.add(time[end], tracks[tid], END, end)
                if source >= 0:
                    track = tracks[walk.tid[source]]
                    self.add(time[source], track, INSTANT, source, name=walk.kind[source], flow_ids=flows)

    def write(self) -> None:
        # In one event a flow leaves, then slices end, then they begin.
        for time_ns, _, event in sorted(self.events, key=lambda one: (*one[:2], -one[2].type)):
            packet = self.builder.create_packet()
            packet.timestamp, packet.trusted_packet_sequence_id = time_ns, 1
            packet.track_event.CopyFrom(event)
            self.builder.write_packet(packet)


def thread_slices(process: Process) -> Iterator[tuple[int, int, int, str, int]]:
    """Thread, begin, end, name, and the push or wake that it comes from."""
    walk = process.walk
    names = {func: process.function(func) for func in process.tasks.func.unique()}
    for frame in rows(process.frames):
        no_end = "" if frame.is_ended else " (its end is not in the trace)"
        name = "wait" if frame.pool == WAITS else names[frame.func] + no_end
        yield frame.tid, frame.begin, frame.end, name, frame.push
    for wake in rows(walk.wakes):
        yield walk.tid[wake.up], wake.sent, wake.up, "woken", wake.sent
    asleep = walk.events[walk.events.kind.isin(("park", "unpark"))]
    asleep = asleep.assign(end=asleep.groupby("tid").place.shift(-1, fill_value=-1))  # -1 = to the end
    for event in rows(asleep[asleep.kind == "park"]):
        yield event.tid, event.place, event.end, "asleep", -1


def queued(process: Process, pool: int) -> list[tuple[int, int]]:
    """Tasks that are pushed and not begun. Those whose run was lost are not known."""
    walk, tasks = process.walk, process.tasks
    begun = tasks[(tasks.pool == pool) & (tasks.push >= 0)]
    waiting = [task.push for key, tasks in walk.pending.items() if key[0] == pool for task in tasks]
    pushes = [*begun.push, *(push for push in waiting if walk.epoch[push] == walk.epoch[-1])]
    return [(walk.time[at], 1) for at in pushes] + [(walk.time[at], -1) for at in begun.begin]


def awake(process: Process, pool: int) -> tuple[list[tuple[int, int]], int]:
    """The changes, and how many workers are awake at first."""
    found = process.of("park", "unpark")
    found = found[found.pool == pool]
    before = found.groupby("worker").kind.shift()
    asleep = int((before.isna() & (found.kind == "unpark")).sum())
    changes = found[before != found.kind]
    steps = [(time, 1 if kind == "unpark" else -1) for time, kind in zip(changes.time, changes.kind)]
    return steps, process.worker_count(pool) - asleep


def chosen(windows: list[Window], wanted: str) -> Window:
    """The one of that name, of several processes the earliest: FRAME.SLOT, FRAME.SLOT#n, or #n for a burst; n
    counts from 0."""
    name = wanted.removesuffix("#0") or "#0"
    found = [window for window in windows if window.name == name]
    if not found:
        names = dict.fromkeys(window.name for window in windows if window.kind != "phase")
        raise TraceError(f"--slot {wanted}: no such slot or burst; there are {', '.join([*names][:5])} ...")
    return min(found, key=lambda window: window.begin_ns)


def export(trace: Path, out: Path, slot: str | None, process: str | None) -> int:
    """@param slot  only what happened in it and shortly before and after
    @return 0; 2 if the trace was damaged and only a part of it is in the file"""
    source, shown = Trace(trace), None
    processes = read(source, process)
    if slot is not None:
        window = chosen([window for one in processes for window in one.windows], slot)
        around = max(window.duration_ns // 10, LEAD_NS)
        shown = (window.begin_ns - around, window.end_ns + around)
    with out.open("wb") as file:
        found = Export(StreamingTraceProtoBuilder(file), shown)
        for one in processes:
            found.process(one)
        lost = [(begin, end, f"{n or 'some'} {what}s lost") for begin, end, n, what in source.lost]
        found.lanes("events lost", 0, lost)
        found.write()
    for warning in source.warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    return STATUS if source.warnings else 0
