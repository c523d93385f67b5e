# SPDX-License-Identifier: BSD-3-Clause
"""Follows the threads of a process through its events: which task ran where and for which burst or phase,
what waited for what. Bursts and phases begin and end as the process sees it (record/ws_burst.c).

After lost events it is not known what a thread is in. Nothing that it does then is a burst or phase, until
events rule out that it is in one that began before.

An event is named by its place in the table of events, so a place is also a time. -1 is none.
"""

from array import array
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nrbench.trace.reader import CHUNK, KINDS, progress
from nrbench.trace.record import PHASES as NAMES

AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s
WAITS = -1  # in the place of a pool
TASK, BURST = "task", "burst"  # as the name of a phase: what a thread may be in

# What a thread is in: the top of its stack.
IDLE, RUNNING, WAITING = range(3)
KIND_OF = {kind: code for code, kind in enumerate(KINDS)}
FOLLOWED = "push run_begin run_as run_end complete join_begin join_end wake park unpark".split()
UNPARK, WAKE = KIND_OF["unpark"], KIND_OF["wake"]
PHASE_BEGINS, PHASE_ENDS = ({KIND_OF[f"{name}_{part}"]: name for name in NAMES} for part in ("begin", "end"))
PHASES = PHASE_BEGINS | PHASE_ENDS
ENDS = {KIND_OF["run_end"]: RUNNING, KIND_OF["join_end"]: WAITING}  # also of what begins before the trace
NO_CAUSE = -(1 << 31)
FRAME = dict(owner="i4", pool="i4", func="i8", push="i4", begin="i4", end="i4", inner_ns="i8", is_ended="?")
Task = tuple[int, int, int, int]  # pool, func, arg, group; of a phase 0, frame, slot, id


@dataclass(slots=True, eq=False)
class Frame:
    """A task that runs, or a wait: it is on the stack of its thread."""

    state: int  # RUNNING or WAITING
    pool: int  # or WAITS
    func: int  # of a task of an interface on the pool, as soon as it is known: the one that it calls
    arg: int  # of a wait: its group
    group: int
    push: int = -1
    owner: "Span | None" = None
    begin: int = -1
    inner_ns: int = 0  # of what it runs or waits for


@dataclass(slots=True, eq=False)
class Slot:
    """From the begin of the first phase of a (frame, slot) to the end of its last."""

    name: str  # FRAME.SLOT and, from the second of that name, #n
    begin: int
    about: dict[str, int]  # frame and slot
    end: int = -1
    ended: set[tuple[Any, ...]] = field(default_factory=set)  # phases
    is_valid: bool = True  # nothing was lost from its begin to its end
    is_seen: bool = True  # nor may it have begun before


@dataclass(slots=True, eq=False)
class Span:
    """A burst, or a phase of a slot."""

    kind: Any  # what shares its figures: the name of a phase; pool and function of a burst's first task
    begin: int
    number: int  # of the tasks that count in its figures
    slot: Slot | None = None  # of a phase; a burst has none
    id: int = -1
    end: int = -1  # the last event of its thread if its end was lost
    tasks: int = 0  # pushed by its thread and its tasks
    is_valid: bool = True  # its thread has lost nothing meanwhile
    is_known: bool = False  # nor has another one


@dataclass(slots=True, eq=False)
class Thread:
    epoch: int
    may: set[str] = field(default_factory=set)  # what it may be in since before lost events
    stack: list[Frame] = field(default_factory=list)
    pushed: int = 0
    last: int = -1  # event
    group: int | None = None  # of its last push outside tasks
    span: Span | None = None  # that it is in
    # Phases that have begun: slot, id, and tasks that it had pushed before.
    open: dict[str, tuple[Slot, int, int]] = field(default_factory=dict)
    slot: Slot | None = None  # that it came to last
    anew: bool = False  # no phase since lost events: its slot may have had one before

    def in_what(self) -> int:
        return self.stack[-1].state if self.stack else IDLE

    def owner(self) -> Span | None:
        """The burst or phase that what it does now is for: that of the task that it is in, else its own."""
        tasks = (frame.owner for frame in reversed(self.stack) if frame.state == RUNNING)
        return next(tasks, self.span)

    def is_outside(self) -> bool:
        return all(frame.state == WAITING for frame in self.stack)


class Walk:
    """What the threads of a process did, by one walk through its events."""

    def __init__(self, events: pd.DataFrame, is_whole: bool, lost_ns: int) -> None:
        self.events, count = events, len(events)
        self.time, self.kind, self.tid, self._worker, self._by_timer, self._whole = (
            events[name].to_numpy().data  # its elements are Python's numbers
            for name in ("time", "kind", "tid", "worker", "by_timer", "whole")
        )
        self._is_whole, self.lost_ns = is_whole, lost_ns
        self.prev = array("i", [-1]) * count  # the thread's event before
        self.was_in = bytearray(count)  # what the thread was in before
        self._cause = array("i", [NO_CAUSE]) * count  # what it waited for
        self._wakes = array("q")  # pool, call, first event of the worker
        self._frames = array("q")
        self.owners = 0  # of tasks: bursts and phases that have begun
        self.spans: list[Span] = []
        self.slots: defaultdict[str, list[Slot]] = defaultdict(list)  # of the same numbers
        self.pending: defaultdict[Task, deque[Frame]] = defaultdict(deque)  # not yet run
        self.threads: dict[int, Thread] = {}
        self._phases: defaultdict[int, set[str]] = defaultdict(set)  # of each thread that has any
        phases = events.loc[events["kind"].isin(PHASES), ["tid", "kind"]].drop_duplicates()
        for tid, kind in phases.itertuples(index=False):
            self._phases[tid].add(PHASES[kind])
        self._sleep: dict[tuple[int, int], int] = {}  # the last event of a worker's sleep
        self._done: dict[int, int] = {}  # the last count-down of a group
        self._ran: dict[int, int] = {}  # the last task of a group that ended
        self._last_ended: int | None = None  # of both, of any group
        self._follow()
        self.wakes = pd.DataFrame(np.array(self._wakes).reshape(-1, 3), columns=["pool", "sent", "up"])
        frames = np.asarray(self._frames).reshape(-1, len(FRAME))
        order = np.argsort(frames[:, [*FRAME].index("begin")])
        self.table = pd.DataFrame({name: frames[order, at].astype(size)
                                   for at, (name, size) in enumerate(FRAME.items())}, copy=False)  # fmt: skip
        self._frames = array("q")

    def cause(self, at: int) -> int | None:
        return cause if (cause := self._cause[at]) != NO_CAUSE else None

    def _follow(self) -> None:
        handlers = {KIND_OF[kind]: getattr(self, f"_{kind}") for kind in FOLLOWED}
        handlers |= dict.fromkeys(PHASES, self._phase)
        names, before = ("pool", "func", "arg", "group", "kind", "tid", "epoch", "whole"), 1
        for first in range(0, len(self.events), CHUNK):
            progress(f"{first / 1e6:.1f} million events followed")
            columns = [self.events[name].to_numpy()[first : first + CHUNK].tolist() for name in names]
            rows = zip(*columns[4:], zip(*columns[:4]))
            for now, (kind, tid, epoch, whole, task) in enumerate(rows, first):
                if whole != before:
                    self.pending.clear()  # they may have run
                    before = whole
                if (handler := handlers.get(kind)) is None:
                    continue
                if (thread := self.threads.get(tid)) is None:
                    thread = self.threads[tid] = Thread(1 if self._is_whole else 0)
                if thread.epoch != epoch:
                    self._lose(thread, tid)
                    thread.epoch = epoch
                self.prev[now], thread.last = thread.last, now
                self.was_in[now] = ENDS.get(kind) or thread.in_what()
                handler(thread, now, task)
        for tid, thread in self.threads.items():
            if self.time[thread.last] < self.lost_ns:
                self._lose(thread, tid)
            for frame in thread.stack:
                self._keep(frame, -1, False)
            self._close(thread, -1, False)
        self.spans.sort(key=lambda span: (span.end < 0, span.end))

    def _lose(self, thread: Thread, tid: int) -> None:
        """Events of it were lost."""
        for frame in thread.stack:
            self._keep(frame, thread.last, False)
        self._close(thread, thread.last, False)
        if thread.slot:
            thread.slot.is_valid = False  # the next phase may be of it
        thread.stack, thread.last, thread.group, thread.anew = [], -1, None, True
        thread.may = {TASK, BURST, *self._phases[tid]}

    def _keep(self, frame: Frame, end: int, is_ended: bool) -> None:
        owner = frame.owner.number if frame.owner else -1
        of = (owner, frame.pool, frame.func, frame.push, frame.begin, end, frame.inner_ns, is_ended)
        self._frames.extend(of)

    def _leave(self, thread: Thread, now: int, state: int, arg: int) -> Frame | None:
        """Take the innermost such task or wait off the stack, and what is left on top of it: its end is not
        in the trace. None = there is none."""
        for depth, frame in reversed([*enumerate(thread.stack)]):
            if frame.state == state and frame.arg == arg:
                self._cut(thread, now, depth + 1)
                self._cut(thread, now, depth, True)
                return frame
        return None

    def _cut(self, thread: Thread, now: int, depth: int, is_ended: bool = False) -> None:
        while len(thread.stack) > depth:
            frame = thread.stack.pop()
            self._keep(frame, now, is_ended)
            if thread.stack:
                thread.stack[-1].inner_ns += self.time[now] - self.time[frame.begin]

    # Phases and bursts

    def _begin(self, thread: Thread, kind: Any, now: int, slot: Slot | None = None, id: int = -1) -> None:
        """What the thread was in is no burst or phase any more."""
        thread.span = Span(kind, now, self.owners, slot, id)
        self.owners += 1

    def _close(self, thread: Thread, end: int, is_valid: bool = True) -> None:
        if (span := thread.span) is None:
            return
        thread.span, span.end, span.is_valid = None, end, is_valid
        span.is_known = is_valid and self._whole[span.begin] == self._whole[end]
        if span.slot is not None:
            span.slot.is_valid &= is_valid
            if not span.slot.is_seen:
                span.is_known = False
                return
        self.spans.append(span)

    def _phase(self, thread: Thread, now: int, task: Task) -> None:
        name, (_, frame, number, id) = PHASES[self.kind[now]], task
        about, span = {"frame": frame, "slot": number}, thread.span
        is_in = span is not None and span.kind == name and span.slot is not None and span.slot.about == about
        if self.kind[now] in PHASE_BEGINS:
            if name not in thread.open or thread.open[name][0].about != about:
                thread.open[name] = self._slot(thread, now, name, about, id), id, thread.pushed
            slot = thread.slot = thread.open[name][0]
            if thread.is_outside() and not is_in:
                self._look(thread, now)
                slot.is_seen &= name not in thread.may
                slot.is_valid &= name == NAMES[0] or not thread.anew
                thread.anew = False
                thread.may &= {TASK}
                self._begin(thread, name, now, *thread.open[name][:2])
            return
        pushed = thread.pushed - self._worker[now]  # before it, if its number of tasks is right
        if name in thread.open:
            slot, id, pushed = thread.open.pop(name)
            slot.end = now
            slot.ended |= {(name, id), (name, id, thread)}
        if thread.is_outside():
            if is_in and span and span.slot:
                span.slot.is_seen &= TASK not in thread.may
                self._close(thread, now, thread.pushed - pushed == self._worker[now])
            thread.may.discard(name)

    def _look(self, thread: Thread, now: int) -> None:
        """In a record a push or phase says if it is outside tasks, and if the process has begun a burst."""
        if told := self._by_timer[now]:
            thread.may.intersection_update(thread.may - {TASK} if told == 1 else ())

    def _slot(self, thread: Thread, now: int, phase: str, about: dict[str, int], id: int) -> Slot:
        """That the phase is of. One that begins again, or its thread after a later one of this id, starts
        the next slot of these numbers, even while others of it are open: a simulator repeats one slot, and
        the end of a phase may be lost. Only events of phases count here, so names are the same in a part of a
        trace."""
        name = f"{about['frame']}.{about['slot']}"
        slots = self.slots[name]
        last = slots[-1] if slots else None
        later = [(of, id, thread) for of in NAMES[NAMES.index(phase) + 1 :]]
        if last and last.ended.isdisjoint([(phase, id), *later]):
            if self.time[now] - self.time[max(last.begin, last.end)] <= AGAIN_NS:
                return last
        slots.append(Slot(f"{name}#{len(slots)}" if slots else name, now, about))
        return slots[-1]

    # Tasks and waits

    def _push(self, thread: Thread, now: int, task: Task) -> None:
        self._look(thread, now)
        if thread.is_outside() and TASK not in thread.may:
            if thread.span is None and not thread.may:
                self._begin(thread, task[:2], now)
            elif thread.span is None:  # if it is in none of these phases, a burst has begun
                thread.may.add(BURST)
            thread.group = task[3]
        thread.pushed += 1
        frame = Frame(RUNNING, *task, now, thread.owner())
        self.pending[task].append(frame)
        if frame.owner is not None:
            frame.owner.tasks += 1

    def _run_begin(self, thread: Thread, now: int, task: Task) -> None:
        frame = Frame(RUNNING, *task)
        if pushed := self.pending.get(task):
            frame = pushed.popleft()  # first in, first out
            self._cause[now] = frame.push
            if not pushed:
                del self.pending[task]
        frame.begin = now
        thread.stack.append(frame)

    def _run_as(self, thread: Thread, _: int, task: Task) -> None:
        if thread.in_what() == RUNNING:
            thread.stack[-1].func = task[1]

    def _run_end(self, thread: Thread, now: int, task: Task) -> None:
        if frame := self._leave(thread, now, RUNNING, task[2]):  # else it began before the trace did
            self._ran[frame.group] = self._last_ended = now

    def _complete(self, _: Thread, now: int, task: Task) -> None:
        self._done[task[3]] = self._last_ended = now

    def _join_begin(self, thread: Thread, now: int, task: Task) -> None:
        thread.stack.append(Frame(WAITING, WAITS, 0, task[3], task[3], begin=now))

    def _join_end(self, thread: Thread, now: int, task: Task) -> None:
        _, _, waits, group = task
        self._leave(thread, now, WAITING, group)
        if (ended := self._what_ended(group)) is not None:
            self._cause[now] = ended
        if waits > 0:
            self._is_outside(thread, now)
        if thread.is_outside() and TASK not in thread.may and group in (0, thread.group):
            thread.may.discard(BURST)
            if thread.span and thread.span.slot is None:
                self._close(thread, now)

    def _is_outside(self, thread: Thread, now: int) -> None:
        self._cut(thread, now, 0)
        thread.may.discard(TASK)

    def _wake(self, _: Thread, now: int, task: Task) -> None:
        """A call, or what the worker does in its sleep."""
        before = self._sleep.get(key := (task[0], self._worker[now]), now)
        self._sleep[key] = now
        is_called = self.kind[now] == UNPARK and self._by_timer[now] == 0 and self.kind[before] == WAKE
        if is_called and self._whole[before] == self._whole[now]:
            self._cause[now] = before
            self._wakes.extend((task[0], before, now))

    def _park(self, thread: Thread, now: int, task: Task) -> None:
        self._is_outside(thread, now)
        self._wake(thread, now, task)

    _unpark = _park

    def _what_ended(self, group: int) -> int | None:
        """What a wait that returns has waited for: the group's count that went down last, or its last task.

        A task may say that it is done before it ends. Where that is no event, a task of the group that still
        runs has done so just now: then the complement of its begin.
        """
        if group == 0:  # for the whole pool
            return self._last_ended
        ran = self._ran.get(group)
        if group in self._done:
            return max(self._done[group], ran or 0)
        running = [thread.stack[-1] for thread in self.threads.values() if thread.in_what() == RUNNING]
        begins = [frame.begin for frame in running if frame.group == group]
        return ~min(begins) if begins else ran
