# SPDX-License-Identifier: BSD-3-Clause
"""Follows the threads of a process through its events: which task ran where and for which phase, what
waited for what.

An event is named by its place in the table of events, so a place is also a time. -1 is none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nrbench.trace.reader import rows

AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s
GAP_NS = 100_000  # after all tasks of an unjoined burst have run, a push this much later starts another

WAITS = -1  # in the place of a pool

# What a thread is in: the top of its stack.
IDLE, RUNNING, WAITING = range(3)
ENDS = {"run_end": RUNNING, "join_end": WAITING}  # also where the begin is not in the trace
AWAKE = ("push", "join_begin", "phase_begin")  # no thread that waits does that
SLEEP = ("wake", "unpark", "park")
FOLLOWED = (*AWAKE, *ENDS, *SLEEP, "run_begin", "run_as", "complete", "phase_end")


@dataclass(slots=True, eq=False)
class Frame:
    """A task that runs, or a wait: it is on the stack of its thread."""

    pool: int  # or WAITS
    func: int  # of a task of an interface on the pool, as soon as it is known: the one that it calls
    arg: int  # of a wait: its group
    group: int
    push: int = -1
    owner: Span | None = None
    begin: int = -1
    end: int = -1
    inner_ns: int = 0  # of what it runs or waits for
    is_ended: bool = False  # its end is in the trace

    @property
    def kind(self) -> Any:
        """Of the span in whose figures it counts."""
        return self.owner.kind if self.owner and self.owner.is_valid else None


@dataclass(slots=True, eq=False)
class Slot:
    """From the begin of the first phase of a (frame, slot) to the end of its last."""

    name: str  # FRAME.SLOT and, from the second of that name, #n
    begin: int
    end: int = -1
    ended: set[tuple[str, int]] = field(default_factory=set)  # phases
    is_valid: bool = True  # all its events are in the trace


@dataclass(slots=True, eq=False)
class Span:
    """A phase of a slot, or a burst: the tasks that a thread pushes outside any phase until it has joined
    them."""

    kind: Any  # what shares its figures: the name of a phase; pool and function of a burst
    begin: int
    depth: int
    pushed_before: int
    slot: Slot | None = None  # of a phase; a burst has none
    id: int = -1
    end: int = -1
    groups: set[int] = field(default_factory=set)
    tasks: int = 0  # pushed
    not_begun: int = 0  # of the tasks whose push is known
    outstanding: int = 0  # not ended
    is_done: bool = False  # a burst: nothing was outstanding at its end
    last_ran: int = -1
    is_valid: bool = True  # all its events are in the trace


@dataclass(slots=True, eq=False)
class Thread:
    stack: list[Frame] = field(default_factory=list)
    pushed: int = 0
    phases: dict[str, Span] = field(default_factory=dict)  # open, by name; the last begun at the end
    bursts: dict[tuple[int, int], Span] = field(default_factory=dict)  # open

    def in_what(self) -> int:
        if not self.stack:
            return IDLE
        return WAITING if self.stack[-1].pool == WAITS else RUNNING

    def owner(self) -> Span | None:
        """The phase that what it does now is for: its own if begun in this task, else its task's."""
        phase = next(reversed(self.phases.values()), None)
        if phase and phase.depth == len(self.stack):
            return phase
        return self.stack[-1].owner if self.stack else None


class Walk:
    """What the threads of a process did, by one walk through its events."""

    def __init__(self, events: pd.DataFrame) -> None:
        self.events = followed(events)
        self.time: list[int] = self.events.time.tolist()
        self.kind: list[str] = self.events.kind.tolist()
        self.tid: list[int] = self.events.tid.tolist()
        self.epoch: list[int] = self.events.epoch.tolist()
        self.prev: list[int] = self.events.groupby("tid").place.shift(fill_value=-1).tolist()
        self.was_in = [IDLE] * len(self.events)  # what the thread was in before
        self.wakes = wakes(self.events)
        self.cause: dict[int, int] = dict(zip(self.wakes.up, self.wakes.sent))  # what it waited for
        self.frames: list[Frame] = []
        self.spans: list[Span] = []
        self.slots: defaultdict[str, list[Slot]] = defaultdict(list)  # of the same numbers
        self.pending: defaultdict[tuple[int, ...], deque[Frame]] = defaultdict(deque)  # not yet run
        self._threads = {tid: Thread() for tid in set(self.tid)}
        self._joined: set[int] = set()  # groups that have been waited for
        self._done: dict[int, int] = {}  # the last count-down of a group
        self._ran: dict[int, int] = {}  # the last task of a group that ended
        self._last_ended: int | None = None  # of both, of any group
        self._follow()

    def _follow(self) -> None:
        handlers = {kind: getattr(self, f"_{kind}", None) for kind in FOLLOWED}
        for now, event in enumerate(rows(self.events)):
            thread = self._threads[event.tid]
            self._heal(thread, now, event.kind)
            self.was_in[now] = ENDS.get(event.kind, thread.in_what())
            if handler := handlers[event.kind]:
                handler(thread, now, event)
        for thread in self._threads.values():
            for span in (*thread.bursts.values(), *thread.phases.values()):
                if span.slot is None and span.end < 0 and span.outstanding == 0:
                    span.end = span.last_ran
                self._close(span)
        self.spans.sort(key=lambda span: (span.end < 0, span.end))

    def _enter(self, thread: Thread, now: int, frame: Frame) -> None:
        frame.begin = now
        thread.stack.append(frame)
        self.frames.append(frame)

    def _leave(self, thread: Thread, now: int, is_wait: bool, arg: int) -> Frame | None:
        """Take the innermost such task or wait off the stack, and what is left on top of it: its end was
        lost. None = there is none."""
        for depth, frame in reversed([*enumerate(thread.stack)]):
            if (frame.pool == WAITS, frame.arg) == (is_wait, arg):
                self._cut(thread, now, depth)
                frame.is_ended = True
                return frame
        return None

    def _cut(self, thread: Thread, now: int, depth: int) -> None:
        while len(thread.stack) > depth:
            frame = thread.stack.pop()
            frame.end = now
            if thread.stack:
                thread.stack[-1].inner_ns += self.time[now] - self.time[frame.begin]

    def _heal(self, thread: Thread, now: int, kind: str) -> None:
        """If a thread that waits seems to do something, or one in a task to park, an end was lost."""
        while kind in AWAKE and thread.in_what() == WAITING:
            self._cut(thread, now, len(thread.stack) - 1)
        if kind == "park" and thread.in_what() == RUNNING:
            self._cut(thread, now, 0)

    # Phases and bursts

    def _close(self, span: Span) -> None:
        """With the end that it has, if any."""
        span.is_valid &= span.end >= 0 and self.epoch[span.begin] == self.epoch[span.end]
        self.spans.append(span)
        if span.slot is not None:
            span.slot.is_valid &= span.is_valid
            if span.end >= 0:
                span.slot.end = span.end
                span.slot.ended.add((span.kind, span.id))

    def _phase_begin(self, thread: Thread, now: int, event: Any) -> None:
        if open := thread.phases.pop(event.text, None):
            self._close(open)
        phase = Span(event.text, now, len(thread.stack), thread.pushed, self._slot(now, event), event.id)
        thread.phases[event.text] = phase

    def _slot(self, now: int, event: Any) -> Slot:
        """That the phase is of. One that begins again starts the next slot of these numbers, even while
        others of it are open: a simulator repeats one slot, and the end of a phase may be lost."""
        name = f"{event.frame}.{event.slot}"
        slots = self.slots[name]
        last = slots[-1] if slots else None
        if last and (event.text, event.id) not in last.ended:
            if self.time[now] - self.time[max(last.begin, last.end)] <= AGAIN_NS:
                return last
        slots.append(Slot(f"{name}#{len(slots)}" if slots else name, now))
        return slots[-1]

    def _phase_end(self, thread: Thread, now: int, event: Any) -> None:
        phase = thread.phases.pop(event.text)
        phase.end = now
        phase.is_valid = thread.pushed - phase.pushed_before == event.tasks
        self._close(phase)

    def _burst(self, thread: Thread, now: int, task: Frame) -> Span:
        """The burst that a task belongs to, pushed at the bottom of a thread.

        A burst ends with the first return from a wait for its group after all its tasks have run, or with
        the last one before the thread's next push. If no thread waits for it, it ends with its last task,
        when no task has been pushed for a while. A group that has been waited for will be waited for again: a
        long pause between two pushes, of a thread that lost its CPU, is then part of the burst.
        """
        kind = (task.pool, task.func)
        if burst := thread.bursts.get(kind):
            is_over = burst.outstanding == 0 and self.time[now] - self.time[burst.last_ran] > GAP_NS
            if burst.end < 0 and is_over and self._joined.isdisjoint(burst.groups):
                burst.end = burst.last_ran
            if burst.end >= 0:
                self._close(thread.bursts.pop(kind))
        burst = thread.bursts.setdefault(kind, Span(kind, now, 0, thread.pushed, last_ran=now))
        burst.groups.add(task.group)
        return burst

    def _end_bursts(self, now: int, pool: int, group: int) -> None:
        """A wait returned: for a group or, 0, for the whole pool; pool 0 is any.

        A counted group is done then. Of others tasks may still run that have said that they are done, or that
        the next wait is for.
        """
        for burst in (burst for thread in self._threads.values() for burst in thread.bursts.values()):
            if group in burst.groups if group else pool in (0, burst.kind[0]):
                is_done = burst.outstanding == 0 or (group in self._done and burst.not_begun == 0)
                is_lost = self.epoch[burst.begin] != self.epoch[now]
                if not burst.is_done and (is_done or is_lost or (group and burst.not_begun == 0)):
                    burst.end, burst.is_done = now, is_done or is_lost

    # Tasks and waits

    def _push(self, thread: Thread, now: int, event: Any) -> None:
        thread.pushed += 1
        task = Frame(event.pool, event.func, event.arg, event.group, now, thread.owner())
        if task.owner is None and not thread.stack:
            task.owner = self._burst(thread, now, task)
        self.pending[task.pool, task.func, task.arg, task.group].append(task)
        if (owner := task.owner) is not None:
            owner.outstanding += 1
            owner.not_begun += 1
            owner.tasks += 1

    def _run_begin(self, thread: Thread, now: int, event: Any) -> None:
        task = Frame(event.pool, event.func, event.arg, event.group)
        pushed = self.pending[task.pool, task.func, task.arg, task.group]
        while pushed and task.push < 0:  # first in, first out
            first = pushed.popleft()
            if self.epoch[first.push] == self.epoch[now]:  # else it may have been run among lost events
                task, self.cause[now] = first, first.push
        self._enter(thread, now, task)
        if task.owner is not None:
            task.owner.not_begun -= 1

    def _run_as(self, thread: Thread, now: int, event: Any) -> None:
        if thread.in_what() == RUNNING:
            thread.stack[-1].func = event.func

    def _run_end(self, thread: Thread, now: int, event: Any) -> None:
        task = self._leave(thread, now, False, event.arg)
        if task is None:
            return  # it began before the trace did
        self._ran[task.group] = self._last_ended = now
        if task.owner is not None:
            task.owner.outstanding -= 1
            task.owner.last_ran = now

    def _complete(self, thread: Thread, now: int, event: Any) -> None:
        self._done[event.group] = self._last_ended = now

    def _join_begin(self, thread: Thread, now: int, event: Any) -> None:
        self._enter(thread, now, Frame(WAITS, 0, event.group, event.group))

    def _join_end(self, thread: Thread, now: int, event: Any) -> None:
        self._leave(thread, now, True, event.group)
        if (ended := self._what_ended(event.group)) is not None:
            self.cause[now] = ended
        if event.group:
            self._joined.add(event.group)
        self._end_bursts(now, event.pool, event.group)

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
        running = [thread.stack[-1] for thread in self._threads.values() if thread.in_what() == RUNNING]
        begins = [frame.begin for frame in running if frame.group == group]
        return ~min(begins) if begins else ran


def followed(events: pd.DataFrame) -> pd.DataFrame:
    """The events that say what a thread does, with their places.

    A phase that begins again before its end, for another transport block of the same slot, begins once.
    Phases whose begin is not in the trace are left out.
    """
    events = events[events.kind.isin(FOLLOWED)]
    phases = events[events.text != ""]
    before = phases.groupby(["tid", "text"])[["kind", "frame", "slot"]].shift()
    is_open, is_begin = before.kind == "phase_begin", phases.kind == "phase_begin"
    again = is_begin & is_open & (before.frame == phases.frame) & (before.slot == phases.slot)
    is_left_out = again | (~is_begin & ~is_open)
    events = events.drop(phases.index[is_left_out]).reset_index(drop=True)
    found: pd.DataFrame = events.assign(place=np.arange(len(events)))
    return found


def wakes(events: pd.DataFrame) -> pd.DataFrame:
    """Calls that woke a worker: the places of the call and of the worker's first event."""
    sleep = events[events.kind.isin(SLEEP)]
    before = sleep.groupby(["pool", "worker"])
    is_woken = (sleep.kind == "unpark") & (sleep.by_timer == 0) & (before.kind.shift() == "wake")
    is_woken &= before.epoch.shift() == sleep.epoch
    sent = before.place.shift(fill_value=-1)
    found: pd.DataFrame = pd.DataFrame({"pool": sleep.pool, "sent": sent, "up": sleep.place})[is_woken]
    return found
