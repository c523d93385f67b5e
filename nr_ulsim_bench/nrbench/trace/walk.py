# SPDX-License-Identifier: BSD-3-Clause
"""Follows the threads of a process through its events: which task ran where and for which phase, what
waited for what.

An event is named by its place in the table of events, so a place is also a time. -1 is none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Callable

import pandas as pd

from nrbench.trace import events as ev
from nrbench.trace.events import Event
from nrbench.trace.reader import NUMBERS, VALUES

GAP_NS = 100_000  # after all tasks of an unjoined burst have run, a push this much later starts another
LATE_NS = 10_000  # a task that completed before its end ends at most this long after the wait

WAITS = -1  # in the place of a pool

# What a thread is in: the top of its stack.
IDLE, RUNNING, WAITING = range(3)
ENDS = {ev.RUN_END: RUNNING, ev.JOIN_END: WAITING}  # also where the begin is not in the trace
AWAKE = (ev.PUSH, ev.JOIN_BEGIN, ev.PHASE_BEGIN)  # no thread that waits does that
HANDLED = (
    "PUSH", "WAKE", "UNPARK", "PARK", "RUN_BEGIN", "RUN_AS", "RUN_END", "COMPLETE", "JOIN_BEGIN", "JOIN_END",
    "PHASE_BEGIN", "PHASE_END",
)  # fmt: skip


class Lost:
    """Stretches of time in which events were lost."""

    def __init__(self, lost: list[Event]) -> None:
        times = sorted((event[1], event[4]) for event in lost)
        self.begins = [begin_ns for begin_ns, _ in times]
        self.ends = [*accumulate((end_ns for _, end_ns in times), max)]  # the latest so far

    @property
    def count(self) -> int:
        """Of stretches, those that touch joined."""
        return sum(begin_ns > before_ns for begin_ns, before_ns in zip(self.begins, [-1, *self.ends]))

    def between(self, begin_ns: int, end_ns: int) -> bool:
        """Whether something was lost in that time, both ends included."""
        last = bisect_right(self.begins, end_ns) - 1
        return last >= 0 and self.ends[last] >= begin_ns


@dataclass(slots=True, eq=False)
class Task:
    """Pushed, then run. A frame of a thread's stack while it runs; a wait is one, too, of the pool WAITS."""

    pool: int
    func: int  # of a task of an interface on the pool, as soon as it is known: the one that it calls
    arg: int
    group: int
    push: int = -1
    owner: Span | None = None
    begin: int = -1
    end: int = -1
    tid: int = 0
    own_ns: int = 0  # so far, without what it runs or waits for
    by_timer: bool = False  # the thread's own timer woke it for the task
    is_ended: bool = False  # its end is in the trace


@dataclass(slots=True, eq=False)
class Span:
    """A phase of a slot, or a burst: the tasks that a thread pushes outside any phase until it has joined
    them."""

    kind: Any  # what shares its figures: the name of a phase; pool and function of a burst
    tid: int
    begin: int
    depth: int
    pushed_before: int
    frame: int = -1  # of a phase
    slot: int = -1
    id: int = -1
    end: int = -1
    pools: set[int] = field(default_factory=set)
    groups: set[int] = field(default_factory=set)
    tasks: int = 0  # pushed while it was open
    not_begun: int = 0  # of the tasks whose push is known
    outstanding: int = 0  # not ended
    joined_at: int = -1  # a burst: a wait returned while the last tasks still ran
    last_ran: int = -1
    is_valid: bool = True  # all its events are in the trace
    is_joined: bool = True

    @property
    def is_burst(self) -> bool:
        return not isinstance(self.kind, str)

    @property
    def is_counted(self) -> bool:
        return self.end >= 0 and self.is_valid


@dataclass(slots=True, eq=False)
class Thread:
    tid: int
    last: int = -1  # event
    stack: list[Task] = field(default_factory=list)
    since_ns: int = 0  # when the top of the stack changed
    pushed: int = 0
    phases: dict[object, Span] = field(default_factory=dict)  # open, by kind; the last begun at the end
    bursts: dict[object, Span] = field(default_factory=dict)
    by_timer: bool = False  # its own timer woke it, and it has run no task since
    woken_for: Span | None = None

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
    """Through the events of one process. What it finds are its lists."""

    def __init__(self, events: pd.DataFrame, lost: Lost) -> None:
        self.lost = lost
        self.time: list[int] = events.time.tolist()
        self.kind: list[int] = events.kind.tolist()
        self.tid: list[int] = events.tid.tolist()
        self.prev = [-1] * len(events)  # of the same thread
        self.was_in = [IDLE] * len(events)  # what the thread was in before
        self.cause: list[int | None] = [None] * len(events)  # what it waited for
        self.threads: dict[int, Thread] = {}
        self.tasks: list[Task] = []  # that ran
        self.waits: list[Task] = []
        self.wakes: list[tuple[int, int, Span | None]] = []  # wake, unpark, for which phase
        # Pool (or WAITS), thread, begin and end (ns): it ran a task, or waited, with nothing on top of it.
        self.stretches: list[tuple[int, int, int, int]] = []
        self.spans: list[Span] = []  # in order of their ends
        self.kinds: Counter[object] = Counter()  # of all spans; phases of which only the end is there
        self.pending: dict[tuple[int, int, int], deque[Task]] = {}  # by pool, function, argument
        self._open: dict[Span, None] = {}
        self._joined: set[int] = set()  # groups that have been waited for
        self._done: dict[int, int] = {}  # the last count-down of a group
        self._ran: dict[int, int] = {}  # the last task of a group that ended
        self._last_ended: int | None = None  # of both, of any group
        self._sent: dict[tuple[int, int], tuple[int, Span | None]] = {}  # wakes, by pool and worker
        self._follow(events)

    def _follow(self, events: pd.DataFrame) -> None:
        handlers = {getattr(ev, name): getattr(self, f"_{name.lower()}") for name in HANDLED}
        rows = zip(self.kind, self.tid, events.text, zip(*(events[name] for name in VALUES)))
        for now, (kind, tid, text, fields) in enumerate(rows):
            if (handler := handlers.get(kind)) is None:
                continue
            thread = self.threads.get(tid) or self.threads.setdefault(tid, Thread(tid))
            self._heal(thread, now, kind)
            self.was_in[now] = ENDS.get(kind, thread.in_what())
            given = fields[: len(NUMBERS[kind])]
            if handler(thread, now, *((text, *given) if text else given)) is not False:
                self.prev[now], thread.last = thread.last, now
        self._finish()

    def _finish(self) -> None:
        """The trace has ended."""
        for burst in [span for span in self._open if span.is_burst and span.outstanding == 0]:
            self._close_unjoined(burst)
        for span in list(self._open):
            self._close(span)
        for thread in self.threads.values():
            self._settle(thread, self.time[-1])

    def lost_between(self, begin: int, end: int) -> bool:
        return self.lost.between(self.time[begin], self.time[end])

    def _settle(self, thread: Thread, now_ns: int) -> None:
        """Account for the time since the stack changed; to be called before it changes again."""
        if thread.stack:
            top = thread.stack[-1]
            top.own_ns += now_ns - thread.since_ns
            self.stretches.append((top.pool, thread.tid, thread.since_ns, now_ns))
        thread.since_ns = now_ns

    def _enter(self, thread: Thread, now: int, task: Task) -> None:
        self._settle(thread, self.time[now])
        task.begin, task.tid = now, thread.tid
        thread.stack.append(task)

    def _leave(self, thread: Thread, now: int, is_it: Callable[[Task], bool]) -> Task | None:
        """Take the innermost such task or wait off the stack, and what is left on top of it: its end was
        lost. None = there is none."""
        for at in range(len(thread.stack) - 1, -1, -1):
            if is_it(task := thread.stack[at]):
                self._cut(thread, now, at)
                task.is_ended = True
                return task
        return None

    def _cut(self, thread: Thread, now: int, depth: int) -> None:
        self._settle(thread, self.time[now])
        for task in thread.stack[depth:]:
            task.end = now
        del thread.stack[depth:]

    def _heal(self, thread: Thread, now: int, kind: int) -> None:
        """If a thread that waits seems to do something, or one in a task to park, an end was lost."""
        while kind in AWAKE and thread.in_what() == WAITING:
            self._cut(thread, now, len(thread.stack) - 1)
        if kind == ev.PARK and thread.in_what() == RUNNING:
            self._cut(thread, now, 0)

    # Phases and bursts

    def _open_span(self, thread: Thread, now: int, kind: object) -> Span:
        span = Span(kind, thread.tid, now, len(thread.stack), thread.pushed, last_ran=now)
        self._open[span] = None
        return span

    def _close(self, span: Span, end: int = -1) -> None:
        """It has ended, with that event; for a burst that is one of the thread that waited for it. -1 = its
        end does not come."""
        span.end = end
        span.is_valid &= end >= 0 and not self.lost_between(span.begin, end)
        self.spans.append(span)
        self.kinds[span.kind] += 0
        del self._open[span]
        thread = self.threads[span.tid]
        del (thread.bursts if span.is_burst else thread.phases)[span.kind]

    def _phase_begin(self, thread: Thread, now: int, name: str, frame: int, slot: int, id: int) -> bool:
        phase = thread.phases.get(name)
        if phase and (phase.frame, phase.slot) == (frame, slot):  # another transport block of it
            thread.phases[name] = thread.phases.pop(name)
            return False
        if phase:
            self._close(phase)
        phase = thread.phases[name] = self._open_span(thread, now, name)
        phase.frame, phase.slot, phase.id = frame, slot, id
        return True

    def _phase_end(self, thread: Thread, now: int, name: str, *numbers: int) -> bool:
        phase = thread.phases.get(name)
        if phase is None:
            self.kinds[name] += 1
            return False
        phase.is_valid &= thread.pushed - phase.pushed_before == numbers[-1]  # tasks
        self._close(phase, now)
        return True

    def _burst_of(self, thread: Thread, now: int, task: Task) -> Span:
        """The burst that a task belongs to, pushed at the bottom of a thread.

        A burst ends with the first return from a wait for its group after all its tasks have run. If no
        thread waits for it, it ends with its last task, when no task has been pushed for a while. A group
        that has been waited for will be waited for again: a long pause between two pushes, of a thread that
        lost its CPU, is then part of the burst.
        """
        kind = (task.pool, task.func)
        if burst := thread.bursts.get(kind):
            pause_ns = self.time[now] - self.time[burst.last_ran]
            is_over = burst.outstanding == 0 and pause_ns > GAP_NS
            if burst.joined_at >= 0 and burst.not_begun == 0:
                self._close(burst, burst.joined_at)
            elif is_over and self._joined.isdisjoint(burst.groups):
                self._close_unjoined(burst)
        if kind not in thread.bursts:
            thread.bursts[kind] = self._open_span(thread, now, kind)
        thread.bursts[kind].groups.add(task.group)
        return thread.bursts[kind]

    def _close_unjoined(self, burst: Span) -> None:
        burst.is_joined = False
        self._close(burst, burst.last_ran)

    def _bursts(self, pool: int, group: int) -> list[Span]:
        """The open ones that a wait is for: for a group or, 0, for the whole pool."""
        bursts = [span for span in self._open if span.is_burst]
        return [one for one in bursts if (group in one.groups if group else pool in (0, one.kind[0]))]

    def _end_bursts(self, now: int, pool: int, group: int) -> None:
        """A wait returned.

        A counted group is done then. Of others tasks may still run that have said that they are done, or that
        the next wait is for.
        """
        if group:
            self._joined.add(group)
        for burst in self._bursts(pool, group):
            is_done = burst.outstanding == 0 or (group in self._done and burst.not_begun == 0)
            if is_done or self.lost_between(burst.begin, now):
                self._close(burst, now)
            elif group and burst.not_begun == 0:
                burst.joined_at = now

    # Tasks and waits

    def _push(self, thread: Thread, now: int, pool: int, func: int, arg: int, group: int) -> None:
        thread.pushed += 1
        task = Task(pool, func, arg, group, now, thread.owner())
        if task.owner is None and not thread.stack:
            task.owner = self._burst_of(thread, now, task)
        self.pending.setdefault((pool, func, arg), deque()).append(task)
        if (owner := task.owner) is not None:
            owner.outstanding += 1
            owner.not_begun += 1
            owner.tasks += owner in self._open
            owner.pools.add(pool)

    def _pushed_task(self, now: int, pool: int, func: int, arg: int) -> Task | None:
        """First in, first out. What was pushed before events were lost may have been run among them."""
        pushed = self.pending.get((pool, func, arg))
        while pushed:
            task = pushed.popleft()
            if not self.lost_between(task.push, now):
                return task
        return None

    def _run_begin(
        self, thread: Thread, now: int, pool: int, worker: int, func: int, arg: int, group: int
    ) -> None:
        task = self._pushed_task(now, pool, func, arg) or Task(pool, func, arg, group)
        self._enter(thread, now, task)
        self.tasks.append(task)
        self.cause[now] = task.push if task.push >= 0 else None
        task.by_timer, thread.by_timer = thread.by_timer, False
        if task.owner is not None:
            task.owner.not_begun -= 1

    def _run_as(self, thread: Thread, now: int, func: int) -> bool:
        if thread.in_what() == RUNNING:
            thread.stack[-1].func = func
        return False

    def _run_end(self, thread: Thread, now: int, arg: int) -> None:
        task = self._leave(thread, now, lambda task: task.pool != WAITS and task.arg == arg)
        if task is None:
            return  # it began before the trace did
        self._ran[task.group] = self._last_ended = now
        if (burst := task.owner) is None:
            return
        burst.outstanding -= 1
        burst.last_ran = now
        if burst.joined_at >= 0 and burst in self._open and burst.outstanding == 0:
            # The last task has ended, perhaps shortly after the wait for it.
            joined_at, burst.joined_at = burst.joined_at, -1
            if self.time[now] - self.time[joined_at] <= LATE_NS:
                self._close(burst, joined_at)

    def _complete(self, thread: Thread, now: int, group: int) -> None:
        self._done[group] = self._last_ended = now

    def _join_begin(self, thread: Thread, now: int, pool: int, group: int) -> None:
        for burst in self._bursts(pool, group) if group else ():
            burst.joined_at = -1  # the wait before was not the last one
        self.waits.append(Task(WAITS, 0, 0, group))
        self._enter(thread, now, self.waits[-1])

    def _join_end(self, thread: Thread, now: int, pool: int, group: int) -> None:
        self._leave(thread, now, lambda task: task.pool == WAITS and task.group == group)
        self.cause[now] = self._what_ended(group)
        self._end_bursts(now, pool, group)

    def _what_ended(self, group: int) -> int | None:
        """What a wait that returns has waited for: the group's count that went down last, or its last task.

        A task may say that it is done before it ends. Where that is no event, a task of the group that still
        runs has done so just now: then the complement of the last event of its thread.
        """
        if group == 0:  # for the whole pool
            return self._last_ended
        ran = self._ran.get(group)
        if group in self._done:
            return max(self._done[group], ran or 0)
        running = [thread for thread in self.threads.values() if thread.in_what() == RUNNING]
        running = [thread for thread in running if thread.stack[-1].group == group]
        return ~min(running, key=lambda thread: thread.since_ns).last if running else ran

    # Sleep

    def _wake(self, thread: Thread, now: int, pool: int, worker: int) -> None:
        self._sent[pool, worker] = (now, self._woken_for(thread, pool))

    def _woken_for(self, thread: Thread, pool: int) -> Span | None:
        """The phase whose tasks a wake is for: the waker's own, or the one that the waker itself was woken
        for."""
        bursts = (burst for burst in reversed(thread.bursts.values()) if pool in burst.pools)
        owner = thread.owner() or next(bursts, thread.woken_for)
        if owner not in self._open:
            owner = next((span for span in reversed(self._open) if pool in span.pools), None)
        return owner

    def _unpark(self, thread: Thread, now: int, pool: int, worker: int, how: int) -> None:
        thread.by_timer = how == ev.BY_TIMER
        sent, owner = self._sent.pop((pool, worker), (-1, None))
        if sent >= 0 and how == ev.WOKEN and not self.lost_between(sent, now):
            self.cause[now], thread.woken_for = sent, owner
            self.wakes.append((sent, now, owner))

    def _park(self, thread: Thread, now: int, pool: int, worker: int) -> None:
        self._sent.pop((pool, worker), None)
        thread.by_timer, thread.woken_for = False, None
