# SPDX-License-Identifier: BSD-3-Clause
"""A trace for https://ui.perfetto.dev, in Perfetto's own format: tracks for threads, phases, bursts, slots,
counters, and for the stretches in which events were lost. All times in ns.

Tasks are slices with the name of their function, inside each other as they ran. A flow goes from a push to
the start of its task, and from a wake to the worker that gets up.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Iterable, Iterator

import pandas as pd
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from nrbench.needed import STATUS
from nrbench.trace import events as ev
from nrbench.trace.events import Event
from nrbench.trace.process import Process
from nrbench.trace.reader import Trace
from nrbench.trace.report import read
from nrbench.trace.slots import chosen
from nrbench.trace.walk import Walk

SEQUENCE = 1
LOST = "events lost"
NO_END = " (its end is not in the trace)"
NOT_WHOLE = " (events are missing)"
FOREVER = 1 << 62
LEAD_NS = 20_000  # shown before and after a slot, at least


class Export:
    """@param shown  slices that have no part of this stretch of time are left out"""

    def __init__(self, builder: StreamingTraceProtoBuilder, shown: tuple[int, int]) -> None:
        self.builder, self.shown = builder, shown
        self.events: list[tuple[int, TrackEvent]] = []  # those of a track are in order
        self.track_count = self.flow_count = 0

    def is_shown(self, begin_ns: int, end_ns: int) -> bool:
        return begin_ns <= self.shown[1] and end_ns >= self.shown[0]

    def track(self, name: str, parent: int = 0, **descriptors: dict[str, Any]) -> int:
        """@param descriptors  of a process, thread or counter"""
        self.track_count += 1
        about = TrackDescriptor(uuid=self.track_count, name=name, parent_uuid=parent, **descriptors)
        packet = self.builder.create_packet()
        packet.track_descriptor.CopyFrom(about)
        self.builder.write_packet(packet)
        return self.track_count

    def add(self, time_ns: int, track: int, kind: Any, **about: Any) -> None:
        """A slice begins or ends, an instant, or a value of a counter."""
        self.events.append((time_ns, TrackEvent(track_uuid=track, type=kind, **about)))

    def lanes(self, name: str, parent: int, slices: Iterable[tuple[int, int, str]]) -> None:
        """Tracks of one name: slices that overlap need as many."""
        ends: dict[int, int] = {}  # by track
        for begin_ns, end_ns, text in sorted(slices):
            if self.is_shown(begin_ns, end_ns):
                track = next((track for track, end in ends.items() if end <= begin_ns), 0)
                track = track or self.track(name, parent)
                ends[track] = end_ns
                if begin_ns == end_ns:
                    self.add(begin_ns, track, TrackEvent.TYPE_INSTANT, name=text)
                else:
                    self.add(begin_ns, track, TrackEvent.TYPE_SLICE_BEGIN, name=text)
                    self.add(end_ns, track, TrackEvent.TYPE_SLICE_END)

    def counter(self, name: str, parent: int, start: int, steps: Iterable[tuple[int, int]]) -> None:
        """@param steps  times, and by how much the value changes"""
        track, value = self.track(name, parent, counter={}), start
        for time_ns, step in sorted(steps):
            value += step
            if self.is_shown(time_ns, time_ns):
                self.add(time_ns, track, TrackEvent.TYPE_COUNTER, counter_value=value)

    def process(self, process: Process) -> None:
        name, walk = process.name or "process", process.walk
        parent = self.track(name, process={"pid": process.pid, "process_name": name})
        of_kind: dict[str, list[tuple[int, int, str]]] = {"slots": []}
        for slot in filter(attrgetter("is_slot"), process.windows):
            of_kind["slots"].append((slot.begin_ns, slot.end_ns, slot.name + NOT_WHOLE * (not slot.is_valid)))
        for span in walk.spans:
            label = process.kind_label(span.kind)
            text = label if span.is_burst else f"{label} {span.frame}.{span.slot}"
            times = walk.time[span.begin], walk.time[span.end]
            of_kind.setdefault(label, []).append((*times, text + NOT_WHOLE * (not span.is_valid)))
        for label, slices in of_kind.items():
            self.lanes(label, parent, slices)
        for pool in process.pools:
            label, workers = process.pool_label(pool), process.worker_count(pool)
            self.counter(f"{label}: queued", parent, 0, queued(walk, pool))
            self.counter(f"{label}: awake", parent, *awake(process.events, pool, workers))
        self.threads(process, parent)
        self.flow_count += len(walk.time)

    def threads(self, process: Process, parent: int) -> None:
        walk, time = process.walk, process.walk.time
        found: dict[int, list[Any]] = defaultdict(list)  # by thread: event, whether it begins something, what
        for tid, begin, end, name, source in thread_slices(process):
            if self.is_shown(time[begin if source < 0 else source], time[end]):
                flows = [self.flow_count + source + 1] if source >= 0 else []
                slice = {"name": name, "terminating_flow_ids": flows}
                found[tid].append((begin, 1, TrackEvent.TYPE_SLICE_BEGIN, slice))
                if end >= 0:
                    found[tid].append((end, 0, TrackEvent.TYPE_SLICE_END, {}))
                if source >= 0:
                    instant = {"name": "push" if walk.kind[source] == ev.PUSH else "wake", "flow_ids": flows}
                    found[walk.tid[source]].append((source, 1, TrackEvent.TYPE_INSTANT, instant))
        where = sorted((*process.workers.get(tid, (-1, -1)), tid) for tid in found)
        for pool, worker, tid in where:
            name = f"{process.pool_label(pool)} worker {worker}" if worker >= 0 else f"thread {tid}"
            track = self.track(name, parent, thread={"pid": process.pid, "tid": tid, "thread_name": name})
            for at, _, kind, about in sorted(found[tid], key=itemgetter(0, 1)):
                self.add(time[at], track, kind, **about)

    def write(self) -> None:
        for time_ns, event in sorted(self.events, key=itemgetter(0)):
            packet = self.builder.create_packet()
            packet.timestamp, packet.trusted_packet_sequence_id = time_ns, SEQUENCE
            packet.track_event.CopyFrom(event)
            self.builder.write_packet(packet)


def thread_slices(process: Process) -> Iterator[tuple[int, int, int, str, int]]:
    """Thread, begin, end, name, and the push or wake that it comes from."""
    walk = process.walk
    names = {func: process.function(func) for func in {task.func for task in walk.tasks}}
    for task in walk.tasks:
        name = names[task.func] + ("" if task.is_ended else NO_END)
        yield task.tid, task.begin, task.end, name, task.push
    for wait in walk.waits:
        yield wait.tid, wait.begin, wait.end, "wait", -1
    for sent, up, _ in walk.wakes:
        yield walk.tid[up], sent, up, "woken", sent
    asleep = process.events[process.events.kind.isin((ev.PARK, ev.UNPARK))]
    for _, found in asleep.groupby("tid"):
        at = [*found.index, -1]  # -1 = it sleeps to the end
        for begin, end in zip(at, at[1:]):
            if walk.kind[begin] == ev.PARK:
                yield walk.tid[begin], begin, end, "asleep", -1


def queued(walk: Walk, pool: int) -> list[tuple[int, int]]:
    """Tasks that are pushed and not begun. Those whose run was lost are not known."""
    tasks = [task for task in walk.tasks if task.pool == pool and task.push >= 0]
    waiting = [task for key, tasks in walk.pending.items() if key[0] == pool for task in tasks]
    waiting = [task for task in waiting if not walk.lost_between(task.push, -1)]
    steps = [(walk.time[task.push], 1) for task in (*tasks, *waiting)]
    return steps + [(walk.time[task.begin], -1) for task in tasks]


def awake(events: pd.DataFrame, pool: int, workers: int) -> tuple[int, list[tuple[int, int]]]:
    """How many workers are awake at first, and the changes."""
    found = events[events.kind.isin((ev.PARK, ev.UNPARK)) & (events.a == pool)]
    before = found.groupby("b").kind.shift()
    asleep = int((before.isna() & (found.kind == ev.UNPARK)).sum())
    changes = found[before != found.kind]
    steps = [(time, 1 if kind == ev.UNPARK else -1) for time, kind in zip(changes.time, changes.kind)]
    return workers - asleep, steps


def export(trace: Path, out: Path, slot: str | None = None, process: str | None = None) -> int:
    """@param slot  only what happened in it and shortly before and after
    @return 0; 2 if the trace was damaged and only a part of it is in the file"""
    source = Trace(trace)
    table, processes = read(source, process)
    shown = (0, FOREVER)
    if slot is not None:
        window = chosen([window for one in processes for window in one.windows], slot)
        around = max(window.duration_ns // 10, LEAD_NS)
        shown = (window.begin_ns - around, window.end_ns + around)
    with out.open("wb") as file:
        found = Export(StreamingTraceProtoBuilder(file), shown)
        for one in processes:
            found.process(one)
        found.lanes(LOST, 0, [(event[1], event[4], _lost(event)) for event in table.lost])
        found.write()
    for warning in source.warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    return STATUS if source.warnings else 0


def _lost(event: Event) -> str:
    counts = [(event[5], "events"), (event[6], "packets")]
    known = [f"{count} {what}" for count, what in counts if count]
    return f"{' and '.join(known) or 'unknown number of events'} lost"
