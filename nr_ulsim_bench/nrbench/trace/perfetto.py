# SPDX-License-Identifier: BSD-3-Clause
"""A trace for https://ui.perfetto.dev, in Perfetto's own format: tracks for threads, phases, bursts, slots,
counters, and for the stretches in which events were lost. Its clock is CLOCK_MONOTONIC, in ns.

Tasks are slices with the name of their function, inside each other as they ran. A flow goes from a push to
the start of its task, and from a wake to the worker that gets up.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, BinaryIO, Iterable

import numpy as np
import pandas as pd
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

from nrbench.needed import STATUS
from nrbench.trace.process import Process, Window, read
from nrbench.trace.reader import CHUNK, FOREVER, NOTHING, Stretch, Trace, progress
from nrbench.trace.record import TraceError
from nrbench.trace.rings import open_trace
from nrbench.trace.walk import KIND_OF, WAITS

BEGIN, END, INSTANT = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT
COUNTER, MONOTONIC = TrackEvent.TYPE_COUNTER, pb.BUILTIN_CLOCK_MONOTONIC
NO_END = " (its end is not in the trace)"
LEAD_NS = 20_000  # shown before and after a slot, at least
# An event of the file. order: of those of one time; value: of a counter, or the place in Export.about.
ROW = {"time": "i8", "order": "i4", "kind": "i1", "track": "i4", "name": "i4", "flow": "i4", "value": "i4"}
Slice = tuple[int, int, str, dict[str, int]]


class Export:
    """@param shown  slices are cut to this stretch of time, and what lies outside it is left out"""

    def __init__(self, file: BinaryIO, shown: Stretch, offset_ns: int) -> None:
        self.file, self.shown, self.offset_ns = file, shown, offset_ns
        self.columns: dict[str, list[np.ndarray]] = {name: [] for name in ROW}
        self.names: dict[str, int] = {"": 0}
        self.about: list[dict[str, int]] = [{}]  # the arguments of slices
        self.track_count = self.flow_count = 0

    def put(self, **packet: Any) -> None:
        self.file.write(pb.Trace(packet=[pb.TracePacket(**packet)]).SerializeToString())

    def track(self, name: str, parent: int = 0, **descriptors: dict[str, Any]) -> int:
        """@param descriptors  of a process, thread or counter"""
        self.track_count += 1
        self.put(track_descriptor=dict(uuid=self.track_count, name=name, parent_uuid=parent, **descriptors))
        return self.track_count

    def name(self, text: str) -> int:
        return self.names.setdefault(text, len(self.names))

    def add(self, **fields: Any) -> None:
        """Adds events: a number or an array for each column. A column that is not named is 0."""
        arrays = np.broadcast_arrays(np.atleast_1d(fields["time"]), *(fields.get(name, 0) for name in ROW))
        for (name, size), array in zip(ROW.items(), arrays[1:]):
            self.columns[name].append(array.astype(size))

    def slices(self, begin_ns: Any, end_ns: Any, ends: Any = 0, **fields: Any) -> None:
        """Those that have a part in what is shown. @param ends  the order of their ends"""
        first, last = self.shown
        of = pd.DataFrame({"time": np.atleast_1d(begin_ns), "end": end_ns, "ends": ends} | fields)
        of = of[(of.time <= last) & (of.end >= first)]
        ended = of[of.end < FOREVER]
        self.add(**of.drop(columns=["end", "ends"]).assign(time=of.time.clip(lower=first)), kind=BEGIN)
        self.add(time=ended.end.clip(upper=last), order=ended.ends, kind=END, track=ended.track)

    def lanes(self, name: str, parent: int, slices: Iterable[Slice]) -> None:
        """Tracks of one name: slices that overlap need as many."""
        ends: dict[int, int] = {}  # by track
        rows = []
        for begin_ns, end_ns, text, about in sorted(slices, key=lambda one: one[:3]):
            if begin_ns <= self.shown[1] and end_ns >= self.shown[0]:
                track = next((track for track, end in ends.items() if end <= begin_ns), 0)
                track = track or self.track(name, parent)
                ends[track] = end_ns
                rows.append((begin_ns, end_ns, track, self.name(text), len(self.about)))
                self.about.append(about)
        found = np.array(rows, "i8").reshape(-1, 5)
        is_slice = found[:, 0] < found[:, 1]
        begin_ns, end_ns, track, text, value = found[is_slice].T
        self.slices(begin_ns, end_ns, track=track, name=text, value=value)
        time_ns, _, track, text, _ = found[~is_slice].T
        self.add(time=time_ns, kind=INSTANT, track=track, name=text)

    def counter(self, name: str, parent: int, time_ns: Any, steps: Any, start: int = 0) -> None:
        """@param steps  by how much the value changes"""
        track, order = self.track(name, parent, counter={}), np.lexsort((steps, time_ns))
        time_ns, values = np.asarray(time_ns)[order], start + np.cumsum(np.asarray(steps)[order])
        first, past = np.searchsorted(time_ns, [self.shown[0], self.shown[1] + 1])
        first = max(first - 1, 0)  # the value before
        time_ns = time_ns[first:past].clip(min=self.shown[0])
        self.add(time=time_ns, kind=COUNTER, track=track, value=values[first:past])

    def process(self, process: Process) -> None:
        name = process.name or "process"
        parent = self.track(name, process={"pid": process.pid, "process_name": name})
        lanes: dict[str, list[Slice]] = defaultdict(list)
        for window in (window for window in process.windows if window.is_valid):
            lanes[window.track].append((window.begin_ns, window.end_ns, window.name, window.about))
        for label, slices in lanes.items():
            self.lanes(label, parent, slices)
        for pool in process.pools:
            label = process.pool_label(pool)
            self.counter(f"{label}: queued", parent, *queued(process, pool))
            self.counter(f"{label}: awake", parent, *awake(process, pool))
        self.threads(process, parent)
        self.flow_count += len(process.walk.time)

    def threads(self, process: Process, parent: int) -> None:
        walk, time, tid = process.walk, np.asarray(process.walk.time), np.asarray(process.walk.tid)
        tracks: dict[int, int] = {}
        for pool, worker, one in sorted((*process.workers.get(one, (-1, -1)), one) for one in walk.threads):
            called = process.threads.get(one, "")
            name = f"{process.pool_label(pool)} worker {worker}" if worker >= 0 else called or f"thread {one}"
            thread = {"pid": process.pid, "tid": one, "thread_name": called or name}
            tracks[one] = self.track(name, parent, thread=thread)
        track = pd.Series(tracks).reindex(tid, fill_value=0).to_numpy("i4")  # of each event
        ends, cpus = np.append(time, FOREVER), process.events.cpu.to_numpy("i4")  # an end of -1 is forever
        first_cpu = len(self.about)
        self.about += [{"cpu": cpu} for cpu in range(int(cpus.max(initial=0)) + 1)]
        for first in range(0, len(walk.table), CHUNK):
            of = walk.table[first : first + CHUNK]
            begin, end = of.begin.to_numpy(), of.end.to_numpy()
            tasks = of.func.map({func: process.function(func) for func in of.func.unique().tolist()})
            names = tasks.where(of.is_ended, tasks + NO_END).where(of.pool != WAITS, "wait")
            named = names.map({name: self.name(name) for name in names.unique()}).to_numpy()
            about = {"name": named, "order": begin, "value": first_cpu + cpus[begin]}
            about["flow"] = self.flows(process, track, of.push.to_numpy())
            self.slices(time[begin], ends[end], end + (end == begin), track=track[begin], **about)
        sent, up = walk.wakes.sent.to_numpy(), walk.wakes.up.to_numpy()
        about = {"name": self.name("woken"), "order": sent, "flow": self.flows(process, track, sent)}
        self.slices(time[sent], time[up], up, track=track[up], **about)
        sleep = process.of("park", "unpark")
        is_park = (sleep.kind == KIND_OF["park"]).to_numpy()
        end = sleep.groupby("tid").place.shift(-1, fill_value=-1).to_numpy()[is_park]
        begin, epoch = sleep.place.to_numpy()[is_park], process.events.epoch.to_numpy()
        # Else it may have run meanwhile.
        is_known = np.where(end < 0, time[begin] >= walk.lost_ns, epoch[begin] == epoch[end])
        begin, end = begin[is_known], end[is_known]
        self.slices(time[begin], ends[end], end, track=track[begin], name=self.name("asleep"), order=begin)

    def flows(self, process: Process, track: np.ndarray, source: np.ndarray) -> np.ndarray:
        """From pushes and wakes that are shown. @return their numbers, 0 = there is none"""
        times, kinds = np.asarray(process.walk.time), np.asarray(process.walk.kind)
        is_shown = (source >= 0) & (self.shown[0] <= times[source]) & (times[source] <= self.shown[1])
        at, flow = source[is_shown], np.where(is_shown, self.flow_count + source + 1, 0)
        name = np.where(kinds[at] == KIND_OF["push"], self.name("push"), self.name("wake"))
        self.add(time=times[at], order=at, kind=INSTANT, track=track[at], name=name, flow=flow[is_shown])
        return flow

    def write(self) -> None:
        rows = {name: np.concatenate([np.zeros(0, ROW[name]), *self.columns.pop(name)]) for name in ROW}
        # In one event a flow leaves, then slices end, then they begin.
        order = np.lexsort((-rows["kind"], rows["order"], rows["time"]))
        names = [*self.names]
        for first in range(0, len(order), CHUNK):
            progress(f"{100 * first // len(order)} % written")
            chunk = zip(*(rows[name][order[first : first + CHUNK]].tolist() for name in ROW))
            for time_ns, _, kind, track, name, flow, value in chunk:
                event = TrackEvent(type=kind, track_uuid=track)
                if kind == COUNTER:
                    event.counter_value = value
                elif kind != END:
                    event.name = names[name]
                    for key, number in self.about[value].items():
                        event.debug_annotations.add(name=key, int_value=number)
                    if flow:
                        (event.flow_ids if kind == INSTANT else event.terminating_flow_ids).append(flow)
                of = {"timestamp": time_ns - self.offset_ns, "timestamp_clock_id": MONOTONIC}
                self.put(**of, trusted_packet_sequence_id=1, track_event=event)


def queued(process: Process, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """Tasks that are pushed and not begun: times and changes. Those whose run was lost are not known."""
    walk, tasks = process.walk, process.walk.table
    begun = tasks.loc[(tasks.pool == pool) & (tasks.push >= 0), ["push", "begin"]]
    waiting = [task.push for key, tasks in walk.pending.items() if key[0] == pool for task in tasks]
    time = np.asarray(walk.time)
    pushes = np.concatenate([np.array(waiting, "i8"), begun.push])
    steps = np.repeat([1, -1], [len(pushes), len(begun)])
    return np.concatenate([time[pushes], time[begun.begin]]), steps


def awake(process: Process, pool: int) -> tuple[Any, Any, int]:
    """The changes, and how many workers are awake at first."""
    found = process.of("park", "unpark")
    found = found[found.pool == pool]
    before, is_up = found.groupby("worker").kind.shift(), found.kind == KIND_OF["unpark"]
    asleep = int((before.isna() & is_up).sum())
    is_change = before != found.kind
    steps = np.where(is_up, 1, -1)[is_change]
    return found.time.to_numpy()[is_change], steps, process.worker_count(pool) - asleep


def chosen(windows: list[Window], wanted: str) -> Window:
    """The one of that name, of several processes the earliest: FRAME.SLOT, FRAME.SLOT#n (from 0), or #SECONDS
    for a burst."""
    found = [window for window in windows if window.name == wanted.removesuffix("#0")]
    if not found:
        names = dict.fromkeys(window.name for window in windows if window.kind != "phase")
        raise TraceError(f"--slot {wanted}: no such slot or burst; there are {', '.join([*names][:5])} ...")
    return min(found, key=lambda window: window.begin_ns)


def export(trace: Path, out: Path, slot: str | None, process: str | None, part: Stretch | None) -> int:
    """@param slot, part  only what happened in it; of a slot and shortly before and after
    @return 0; 2 if the trace was damaged and only a part of it is in the file"""
    if slot is not None and not re.fullmatch(r"\d+\.\d+(#\d+)?|#[\d.]+", slot):
        raise TraceError(f"--slot {slot}: not FRAME.SLOT, FRAME.SLOT#n or #SECONDS")
    out.open("ab").close()  # what is wrong with it is known at once
    source, shown = open_trace(trace, part), part or (0, FOREVER - 1)
    if slot is not None and source.has_state and not slot.startswith("#"):  # without all the others
        walks = (one.walk for one in read(Trace(trace, NOTHING), process))
        slots = ((walk, of) for walk in walks for of in walk.slots[slot.partition("#")[0]])
        ended = ((walk, of) for walk, of in slots if of.name == slot.removesuffix("#0") and of.end >= 0)
        if times := [(walk.time[of.begin], walk.time[of.end]) for walk, of in ended]:
            source = Trace(trace, min(times))
    processes = read(source, process)
    if slot is not None:
        window = chosen([window for one in processes for window in one.windows], slot)
        around = max(window.duration_ns // 10, LEAD_NS)
        shown = (window.begin_ns - around, window.end_ns + around)
    with out.open("wb") as file:
        packets = Export(file, shown, source.offset_ns)
        first_ns = min(one.walk.time[0] for one in processes)
        clocks = ((MONOTONIC, first_ns - source.offset_ns), (pb.BUILTIN_CLOCK_REALTIME, first_ns))
        about = [{"clock_id": clock, "timestamp": at_ns} for clock, at_ns in clocks]
        packets.put(clock_snapshot={"primary_trace_clock": MONOTONIC, "clocks": about})
        while processes:  # their memory
            packets.process(processes.pop(0))
        lost = ((begin, end, f"{n or 'some'} {what}s lost") for begin, end, n, what in source.lost)
        packets.lanes("events lost", 0, ((*of, dict[str, int]()) for of in lost))
        packets.write()
    for warning in source.warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    return STATUS if source.warnings else 0
