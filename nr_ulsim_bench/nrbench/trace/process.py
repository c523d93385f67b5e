# SPDX-License-Identifier: BSD-3-Clause
"""A traced process: its walk as tables, its slots, and what it and its pools and functions are called."""

from collections import defaultdict
from functools import cached_property
from typing import Any, Iterator, NamedTuple

import numpy as np
import pandas as pd

from nrbench.live.record import function_at
from nrbench.trace.reader import FOREVER, KINDS, NAMING, NOTHING, Event, Events, Stretch, Trace
from nrbench.trace.record import PROVIDER, TraceError
from nrbench.trace.walk import WAITS, Slot, Span, Walk

NO_POOL = 0  # tasks that their thread has run by itself, inside of the push
Image = tuple[int, int, str]  # base address, size in memory, file
NAMES_POOL = ("pool_start", "push", "wake", "unpark", "park", "prewake", "steal", "run_begin")


class Window(NamedTuple):
    """A slot, phase or burst as a stretch of the trace."""

    kind: str
    track: str  # of those that are alike
    name: str  # of a slot as in its walk; of a burst # and when it began, in s, for --begin
    begin_ns: int
    end_ns: int
    is_valid: bool  # its threads' events are in the trace
    about: dict[str, int]
    spans: list[Span]

    @property
    def alike(self) -> str:
        """What its duration is compared with: slots of the same phases, or those of its track."""
        return self.track if self.kind != "slot" else ", ".join(sorted({span.kind for span in self.spans}))

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns

    @property
    def is_known(self) -> bool:
        """All threads' events are."""
        return self.is_valid and all(span.is_known for span in self.spans)

    def is_in(self, part: Stretch) -> bool:
        return part[0] <= self.begin_ns and self.end_ns <= part[1]


class Process:
    def __init__(self, events: Events, trace: Trace) -> None:
        self.pid, self.events, self.recorded = events.pid, events.table, trace.recorded
        seen = f"{events.namespace}:{events.pid}:"
        self.threads = {int(tid): str(name) for tid, name in trace.noted("threads", seen).items()}
        self.notes: defaultdict[str, list[Event]] = defaultdict(list)  # by kind
        for note in events.notes:
            self.notes[note["kind"]].append(note)
        self.name = "".join(note["text"] for note in self.notes["procname"][-1:])
        self.label = f"{self.name or 'process'}[{self.pid}]"
        self.namespace = events.namespace
        self.alone = True  # no other process is in the trace
        self.first_ns, self.part = trace.first_ns, trace.part or (0, FOREVER)
        self.images = [(of["baddr"], of["memsz"], of["text"]) for of in self.notes["bin_info"]]
        libraries = ((*key.split(":", 1), size) for key, size in trace.noted("images", seen).items())
        self.images += [(int(base), size, path) for base, path, size in libraries]
        self.others: list[Image] = []  # of all processes
        self.is_seen = "images" in trace.about  # by a recorder that looks for what its programs load late
        self.started = {note["pool"]: note for note in self.notes["pool_start"]}
        self.pools = sorted(self.of(*NAMES_POOL).pool.unique().tolist())
        # Threads of workers: an event says which worker a thread is.
        known = self.of("unpark", "park", "run_begin")
        known = known[known.worker >= 0]
        self.seen = known.groupby("pool").worker.nunique().to_dict()  # workers of a pool
        last = known.groupby("tid").last()
        self.workers: dict[int, tuple[int, int]] = dict(zip(last.index, zip(last.pool, last.worker)))
        del known, last
        self.pool_names = {pool: self.pool_name(pool) for pool in self.pools}
        self.is_shown: np.ndarray = self.events.time.between(*self.part).to_numpy()  # in the part asked for
        self.walk = Walk(self.events, events.is_whole, events.lost_ns)

    def find_windows(self) -> None:
        """When all processes' images are known, which their names come from."""
        self.windows = [*windows_of(self)]
        self.shown = [window for window in self.windows if window.is_in(self.part)]
        self.spans = [window.spans[0] for window in self.shown if window.kind != "slot"]
        self.first: dict[Any, int] = {}  # of each kind the number of the first that is known
        for span in self.spans:
            if span.is_known:
                self.first.setdefault(span.kind, span.number)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        return tasks_of(self)

    def of(self, *kinds: str) -> pd.DataFrame:
        """Places, threads and workers of the events of these kinds."""
        names = ["kind", "time", "tid", "pool", "worker"]
        found: pd.DataFrame = self.events.loc[self.is_of(*kinds), names].reset_index(names="place")
        return found

    def is_of(self, *kinds: str) -> "pd.Series[bool]":
        return self.events.kind.isin([KINDS.index(kind) for kind in kinds])

    def worker_count(self, pool: int) -> int:
        started = self.started.get(pool)  # None: before the recording
        return int(started["workers"]) if started else self.seen.get(pool, 0)

    def whole(self, text: str) -> str:
        """With the process, where there are several."""
        return text if self.alone else f"{self.label} {text}"

    def pool_name(self, pool: int) -> str:
        """Of one that began before the recording: its workers' threads are called so, with a number."""
        if pool in self.started:
            return str(self.started[pool]["text"])
        of_pool = ((tid, worker) for tid, (of, worker) in self.workers.items() if of == pool)
        names = (self.threads.get(tid, "").removesuffix(f"{worker}") for tid, worker in of_pool)
        return next(filter(None, names), "")

    def pool_label(self, pool: int) -> str:
        """With the number where the name alone does not tell which."""
        if pool == NO_POOL:
            return "no pool"
        name = self.pool_names.get(pool, "")
        is_one = [*self.pool_names.values()].count(name) == 1
        return f"{name} (pool {pool})" if name and not is_one else name or f"pool {pool}"

    def kind_label(self, kind: Any) -> str:
        """Of phases by name, of bursts by pool and function."""
        if isinstance(kind, str):
            return kind
        pool, task = kind[0], self.function(kind[1])
        if kind == (NO_POOL, 0):  # of a record: all its runs are in lost stretches of other threads
            return "unknown tasks"
        return f"{task}, inline" if pool == NO_POOL else f"{task} in {self.pool_label(pool)}"

    def function(self, address: int) -> str:
        """The function at an address; the address if there is no telling."""
        if not address:
            return "unknown"
        held = self.holding(address)
        names = {function_at(path, base, address, self.recorded) for base, _, path in held}
        names.discard(None)
        return str(names.pop()) if len(names) == 1 else hex(address)  # or two libraries, one after the other

    def holding(self, address: int) -> list[Image]:
        """The files that an address lies in."""
        for images in (self.images, self.others):
            if held := [image for image in images if 0 <= address - image[0] < image[1]]:
                return held
        return []


def tasks_of(process: Process) -> pd.DataFrame:
    """A row for each task that ran; `kind` is that of the span in whose figures it counts, by its first
    number, -1 = none. Times in ns, -1 where a push or an end is not in the trace."""
    walk, kinds = process.walk, np.full(process.walk.owners + 1, -1)
    for span in (span for span in process.spans if span.is_known):
        kinds[span.number] = process.first[span.kind]
    found: pd.DataFrame = walk.table[walk.table.pool != WAITS]
    found = found[process.is_shown[found.begin]]
    time, tid = np.asarray(walk.time), np.asarray(walk.tid)
    begin, end, push = (found[name].to_numpy() for name in ("begin", "end", "push"))
    is_ended, is_pushed = found.is_ended.to_numpy(), push >= 0
    found = found[["pool", "func", "push", "begin"]].assign(kind=kinds[found.owner])
    found["time"] = np.where(is_ended, time[end] - time[begin], -1)
    found["own"] = np.where(is_ended, found.time - walk.table.inner_ns[found.index], -1)
    found["lag"] = np.where(is_pushed, time[begin] - time[push], -1)
    found["is_stolen"] = is_pushed & (tid[begin] != tid[push])
    return found


def windows_of(process: Process) -> Iterator[Window]:
    """Slots, and phases and bursts in order of their ends."""
    time, phases = process.walk.time, defaultdict[Slot | None, list[Span]](list)
    for span in process.walk.spans:
        phases[span.slot].append(span)
    for slot in (slot for slot in phases if slot and slot.end >= 0 and slot.is_seen):
        times = time[slot.begin], time[slot.end]
        yield Window("slot", "slots", slot.name, *times, slot.is_valid, slot.about, phases[slot])
    for span in process.walk.spans:
        times, label = (time[span.begin], time[span.end]), process.kind_label(span.kind)
        at_s = (times[0] - process.first_ns) / 1e9
        kind, name = ("phase", f"{label} {span.slot.name}") if span.slot else ("burst", f"#{at_s:.6f}")
        about = span.slot.about | {"id": span.id} if span.slot else {"tasks": span.tasks}
        yield Window(kind, label, name, *times, span.is_valid, about, [span])


def read(trace: Trace, wanted: str | None) -> list[Process]:
    """In order of their first events. @param wanted  name or id of the processes; None = all"""

    def is_wanted(process: Process) -> bool:
        return wanted is None or wanted in (str(process.pid), process.name)

    if wanted is not None and trace.has_state:  # a wrong name is known at once
        every = [Process(events, trace) for events in Trace(trace.path, NOTHING).processes()]
        refuse(wanted, [*filter(is_wanted, every)], every)
    processes = [Process(events, trace) for events in trace.processes()]
    with_pool = [process for process in processes if not process.is_of(*NAMING[:2]).all()]
    is_empty = all(process.is_of(*NAMING)[process.is_shown].all() for process in processes)
    if is_empty and trace.part not in (None, NOTHING):
        lasts_s = (trace.last_ns - trace.first_ns) / 1e9
        raise TraceError(f"{trace.path}: no event in this part of the recording, which lasts {lasts_s:.3f} s")
    if not with_pool:
        why = "the program was built without tracing, does not use the pool, or another session was recorded"
        none = f"{trace.path}: none of its {trace.event_count} events is of {PROVIDER}"
        raise TraceError(f"{none}: {'. '.join(trace.warnings) or why}")
    chosen = [*filter(is_wanted, with_pool)]
    refuse(wanted, chosen, with_pool)
    for process in chosen:
        of_id = [other for other in chosen if other.pid == process.pid]
        if any(other.namespace != process.namespace for other in of_id):
            process.label += f" of {trace.kind_of_namespace} {process.namespace}"
        lives = [other for other in of_id if other.namespace == process.namespace]
        if len(lives) > 1:
            process.label += f" of life {lives.index(process) + 1}"
    images = [image for process in processes for image in process.images]
    for process in chosen:
        process.alone = len(chosen) == 1
        process.others = images  # a forked child has its parent's, and the trace may not list them again
        process.find_windows()
    return chosen


def refuse(wanted: str | None, chosen: list[Process], there: list[Process]) -> None:
    if not chosen:
        labels = ", ".join(process.label for process in there)
        raise TraceError(f"--process {wanted}: no such process with a pool in the trace; there are: {labels}")
