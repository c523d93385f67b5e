# SPDX-License-Identifier: BSD-3-Clause
"""Follows the threads of a process through its events: which task ran where and for which phase, what
waited for what.

An event is named by its place in the table of events, so a place is also a time. -1 is none.
"""

from array import array
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nrbench.trace.reader import CHUNK, KINDS, NAMING, progress
from nrbench.trace.record import PHASES as NAMES

AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s
GAP_NS = 100_000  # after all tasks of an unjoined burst have run, a push this much later starts another

WAITS = -1  # in the place of a pool

# What a thread is in: the top of its stack.
IDLE, RUNNING, WAITING = range(3)
KIND_OF = {kind: code for code, kind in enumerate(KINDS)}
FOLLOWED = "push run_begin run_as run_end complete join_begin join_end wake park unpark".split()
PARK, UNPARK, WAKE = (KIND_OF[kind] for kind in ("park", "unpark", "wake"))
PHASE_BEGINS, PHASE_ENDS = ({KIND_OF[f"{name}_{part}"]: name for name in NAMES} for part in ("begin", "end"))
PHASES = PHASE_BEGINS | PHASE_ENDS
ENDS = {KIND_OF["run_end"]: RUNNING, KIND_OF["join_end"]: WAITING}  # also of what begins before the trace
AWAKE = {KIND_OF["push"], KIND_OF["join_begin"], *PHASE_BEGINS}  # no thread that waits does that
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
    ended: set[tuple[str, int]] = field(default_factory=set)  # phases
    is_valid: bool = True  # all its events are in the trace


@dataclass(slots=True, eq=False)
class Span:
    """A phase of a slot, or the tasks of one pool and function of a burst."""

    kind: Any  # what shares its figures: the name of a phase; pool and function of a burst
    begin: int
    number: int  # of the tasks that count in its figures
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
    last: int = -1  # event
    waits: int = 0  # the number of its last wait in the trace; 0 = not known
    unseen: int = 0  # bursts without an event that are not counted yet; below 0: counted too many
    begun: int = 0  # bursts since
    is_sure: bool = True  # where its next burst begins: not after lost events, or in a part of a trace
    is_worker: bool = False
    kind: tuple[int, int] | None = None  # of its burst before
    phase_before: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    phases: dict[str, Span] = field(default_factory=dict)  # open, by name; the last begun at the end
    bursts: dict[tuple[int, int], Span] = field(default_factory=dict)  # open
    unsure: list[Span] = field(default_factory=list)  # begun when it was not sure

    def in_what(self) -> int:
        return self.stack[-1].state if self.stack else IDLE

    def is_phase(self, name: str, is_begin: bool, slot: tuple[int, ...]) -> bool:
        """Not one that begins again before its end, for another transport block of the same slot, nor one
        whose begin is not in the trace."""
        before, self.phase_before[name] = self.phase_before.get(name), slot if is_begin else None
        return before != slot if is_begin else before is not None

    def owner(self) -> Span | None:
        """The phase that what it does now is for: its own if begun in this task, else its task's."""
        phase = next(reversed(self.phases.values()), None)
        if phase and phase.depth == len(self.stack):
            return phase
        return self.stack[-1].owner if self.stack else None

    def twice(self) -> list[Span]:
        """Bursts that are no others: a worker's pushes belong to its task, and what lost events have cut in
        two is one, where no later burst has made up for it."""
        return self.unsure[0 if self.is_worker else len(self.unsure) + min(self.unseen, 0) :]


class Walk:
    """What the threads of a process did, by one walk through its events."""

    def __init__(self, events: pd.DataFrame, is_whole: bool = True) -> None:
        self.events, count = events, len(events)
        self.time, self.kind, self.tid, self.epoch, self._worker, self._by_timer = (
            events[name].to_numpy().data  # its elements are Python's numbers
            for name in ("time", "kind", "tid", "epoch", "worker", "by_timer")
        )
        # Whether join_end says if a wait is outside tasks: in recordings of version 0.2.0 on.
        self._is_numbered = bool((events["arg"][events["kind"] == KIND_OF["join_end"]] > 0).any())
        # Up to now. What a process has loaded comes first: nothing of it was lost before.
        self._is_whole = is_whole and (count == 0 or self.epoch[0] == 1 or KINDS[self.kind[0]] in NAMING)
        self.prev = array("i", [-1]) * count  # the thread's event before
        self.was_in = bytearray(count)  # what the thread was in before
        self._cause = array("i", [NO_CAUSE]) * count  # what it waited for
        self._wakes = array("q")  # pool, call, first event of the worker
        self._frames = array("q")
        self._owners: list[Span] = []
        self.spans: list[Span] = []
        self.slots: defaultdict[str, list[Slot]] = defaultdict(list)  # of the same numbers
        self.pending: defaultdict[Task, deque[Frame]] = defaultdict(deque)  # not yet run
        self.threads: defaultdict[int, Thread] = defaultdict(lambda: Thread(is_sure=self._is_whole))
        self._sleep: dict[tuple[int, int], int] = {}  # the last event of a worker's sleep
        self._joined: set[int] = set()  # groups that have been waited for
        self._torn: dict[int, Span] = {}  # of groups: bursts of which events were lost
        self._began: dict[int, tuple[int, int]] = {}  # of groups: pool and function of tasks without a push
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

    def kinds(self) -> np.ndarray:
        """Of each owner: the first of its kind, -1 if events of it are missing."""
        first = dict[Any, int]()
        found = (first.setdefault(of.kind, of.number) if of.is_valid else -1 for of in self._owners)
        return np.array([*found, -1])

    def _follow(self) -> None:
        handlers = {KIND_OF[kind]: getattr(self, f"_{kind}") for kind in FOLLOWED}
        handlers |= dict.fromkeys(PHASES, self._phase)
        names, before = ("pool", "func", "arg", "group", "kind", "tid", "epoch"), self.epoch[0]
        for first in range(0, len(self.events), CHUNK):
            progress(f"{first / 1e6:.1f} million events followed")
            columns = [self.events[name].to_numpy()[first : first + CHUNK].tolist() for name in names]
            for now, (kind, tid, epoch, task) in enumerate(zip(*columns[4:], zip(*columns[:4])), first):
                if epoch != before:
                    self._lose(now)
                    before = epoch
                if (handler := handlers.get(kind)) is None:
                    continue
                thread = self.threads[tid]
                if kind in PHASES and not thread.is_phase(PHASES[kind], kind in PHASE_BEGINS, task[1:3]):
                    continue
                if thread.stack:
                    self._heal(thread, now, kind)
                self.prev[now], thread.last = thread.last, now
                self.was_in[now] = ENDS.get(kind) or (thread.stack[-1].state if thread.stack else IDLE)
                handler(thread, now, task)
        for thread in self.threads.values():
            for frame in thread.stack:
                self._keep(frame, -1, False)
            for span in (*thread.bursts.values(), *thread.phases.values()):
                if span.slot is None and span.end < 0 and span.outstanding == 0:
                    span.end = span.last_ran
                self._close(span)
        twice = {span.number for thread in self.threads.values() for span in thread.twice()}
        self.spans = [span for span in self.spans if span.number not in twice]
        self.spans.sort(key=lambda span: (span.end < 0, span.end))

    def _lose(self, now: int) -> None:
        """Events were lost: all threads leave what they were in, and what is open is left out."""
        for thread in self.threads.values():
            self._cut(thread, now, 0)
            for burst in thread.bursts.values():
                if burst.end < 0:
                    burst.end, burst.is_valid = now, False
                    burst.last_ran = max(burst.last_ran, thread.last)
                    self._torn |= dict.fromkeys(burst.groups, burst)
                self._close(burst)
            thread.bursts.clear()
            thread.is_sure = False
        self._is_whole = False
        self.pending.clear()
        self._began.clear()

    def _keep(self, frame: Frame, end: int, is_ended: bool) -> None:
        owner = frame.owner.number if frame.owner else -1
        of = (owner, frame.pool, frame.func, frame.push, frame.begin, end, frame.inner_ns, is_ended)
        self._frames.extend(of)

    def _leave(self, thread: Thread, now: int, state: int, arg: int) -> Frame | None:
        """Take the innermost such task or wait off the stack, and what is left on top of it: its end was
        lost. None = there is none."""
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

    def _heal(self, thread: Thread, now: int, kind: int) -> None:
        """If a thread that waits seems to do something, or one in a task to park, an end was lost."""
        while kind in AWAKE and thread.in_what() == WAITING:
            self._cut(thread, now, len(thread.stack) - 1)
        if kind == PARK and thread.in_what() == RUNNING:
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

    def _span(self, thread: Thread, kind: Any, begin: int, slot: Slot | None = None, id: int = -1) -> Span:
        depth, number = len(thread.stack), len(self._owners)
        self._owners.append(Span(kind, begin, number, depth, thread.pushed, slot, id, last_ran=begin))
        return self._owners[-1]

    def _phase(self, thread: Thread, now: int, task: Task) -> None:
        name, (_, frame, slot, id) = PHASES[self.kind[now]], task
        open = thread.phases.pop(name, None)
        if open and self.kind[now] not in PHASE_BEGINS:
            open.end = now
            open.is_valid = thread.pushed - open.pushed_before == self._worker[now]  # its number of tasks
        if open:
            self._close(open)
        if self.kind[now] in PHASE_BEGINS:
            of = self._slot(now, name, {"frame": frame, "slot": slot}, id)
            thread.phases[name] = self._span(thread, name, now, of, id)

    def _slot(self, now: int, phase: str, about: dict[str, int], id: int) -> Slot:
        """That the phase is of. One that begins again starts the next slot of these numbers, even while
        others of it are open: a simulator repeats one slot, and the end of a phase may be lost."""
        name = f"{about['frame']}.{about['slot']}"
        slots = self.slots[name]
        last = slots[-1] if slots else None
        if last and (phase, id) not in last.ended:
            if self.time[now] - self.time[max(last.begin, last.end)] <= AGAIN_NS:
                return last
        slots.append(Slot(f"{name}#{len(slots)}" if slots else name, now, about))
        return slots[-1]

    def _burst(self, thread: Thread, now: int, task: Frame) -> Span:
        """The burst that a task belongs to, pushed at the bottom of a thread.

        A burst ends with the first return from a wait for its group after all its tasks have run, or with
        the last one before the thread's next push. If no thread waits for it, it ends with its last task,
        when no task has been pushed for a while. A group that has been waited for will be waited for again: a
        long pause between two pushes, of a thread that lost its CPU, is then part of the burst.
        """
        kind = (task.pool, task.func)
        if not thread.is_sure and (torn := self._torn.get(task.group)):
            is_near, torn.last_ran = self._is_near(torn, now), now
            if is_near:
                return torn
        if burst := thread.bursts.get(kind):
            is_over = burst.outstanding == 0 and self.time[now] - self.time[burst.last_ran] > GAP_NS
            if burst.end < 0 and is_over and self._joined.isdisjoint(burst.groups):
                burst.end = burst.last_ran
            if burst.end >= 0:
                self._close(thread.bursts.pop(kind))
        if kind not in thread.bursts:
            thread.bursts[kind] = self._span(thread, kind, now)
            thread.begun += 1
            thread.bursts[kind].is_valid, thread.kind = thread.is_sure, kind
            thread.unsure += [] if thread.is_sure else [thread.bursts[kind]]
        thread.bursts[kind].groups.add(task.group)
        return thread.bursts[kind]

    def _end_bursts(self, now: int, pool: int, group: int) -> None:
        """A wait returned: for a group or, 0, for the whole pool; pool 0 is any.

        A counted group is done then. Of others tasks may still run that have said that they are done, or that
        the next wait is for.
        """
        for burst in (burst for thread in self.threads.values() for burst in thread.bursts.values()):
            if group in burst.groups if group else pool in (0, burst.kind[0]):
                is_done = burst.outstanding == 0 or (group in self._done and burst.not_begun == 0)
                if not burst.is_done and (is_done or (group and burst.not_begun == 0)):
                    burst.end, burst.is_done = now, is_done

    def _find_lost(self, thread: Thread, now: int, pool: int, group: int) -> None:
        """After lost events a wait returned: if no push of its burst is left, the burst is left out. Its kind
        is that of its tasks; if those are lost, too, of the thread's burst before."""
        if (torn := self._torn.get(group)) and self._is_near(torn, now):
            return
        if all(group not in burst.groups for burst in thread.bursts.values()):
            thread.begun += 1
            self._leave_out(thread, now, self._began.get(group) or thread.kind or (pool, 0))

    def _leave_out(self, thread: Thread, now: int, kind: tuple[int, int]) -> None:
        lost = self._span(thread, kind, now)
        lost.end, lost.is_valid = now, False
        self._close(lost)

    def _count_waits(self, thread: Thread, now: int, pool: int, waits: int) -> None:
        """By their numbers, some waits of the thread before this one have left no event. Bursts with events
        explain as many; the others have left none, and are of the kind before. A burst that lost events cut
        in two has been counted twice: the next ones make up for it."""
        if thread.waits:
            unseen = waits - thread.waits - max(thread.begun, 1)
            thread.unseen += unseen if unseen > 0 or not thread.is_sure else 0
            for burst in thread.bursts.values() if unseen > 0 else ():
                burst.is_valid = False  # the tracer's report of lost events may miss some
            while thread.unseen > 0:
                self._leave_out(thread, now, thread.kind or (pool, 0))
                thread.unseen -= 1
        thread.waits, thread.begun = waits, 0

    def _is_near(self, torn: Span, now: int) -> bool:
        """The lost stretch is short: it may be the same burst."""
        return self.time[now] - self.time[torn.last_ran] <= GAP_NS

    # Tasks and waits

    def _push(self, thread: Thread, now: int, task: Task) -> None:
        thread.pushed += 1
        frame = Frame(RUNNING, *task, now, thread.owner())
        if frame.owner is None and not thread.stack and not thread.is_worker:
            frame.owner = self._burst(thread, now, frame)
        self.pending[task].append(frame)
        if (owner := frame.owner) is not None:
            owner.outstanding += 1
            owner.not_begun += 1
            owner.tasks += 1

    def _run_begin(self, thread: Thread, now: int, task: Task) -> None:
        frame = Frame(RUNNING, *task)
        if pushed := self.pending.get(task):
            frame = pushed.popleft()  # first in, first out
            self._cause[now] = frame.push
            if not pushed:
                del self.pending[task]
        else:
            self._began[task[3]] = task[:2]
        frame.begin = now
        thread.is_worker |= self._worker[now] >= 0
        thread.stack.append(frame)
        if frame.owner is not None:
            frame.owner.not_begun -= 1

    def _run_as(self, thread: Thread, _: int, task: Task) -> None:
        if thread.in_what() == RUNNING:
            thread.stack[-1].func = task[1]

    def _run_end(self, thread: Thread, now: int, task: Task) -> None:
        frame = self._leave(thread, now, RUNNING, task[2])
        if frame is None:
            return  # it began before the trace did
        self._ran[frame.group] = self._last_ended = now
        if frame.owner is not None:
            frame.owner.outstanding -= 1
            frame.owner.last_ran = now

    def _complete(self, _: Thread, now: int, task: Task) -> None:
        self._done[task[3]] = self._last_ended = now

    def _join_begin(self, thread: Thread, now: int, task: Task) -> None:
        thread.stack.append(Frame(WAITING, WAITS, 0, task[3], task[3], begin=now))

    def _join_end(self, thread: Thread, now: int, task: Task) -> None:
        pool, group = task[0], task[3]
        self._leave(thread, now, WAITING, group)
        is_outside = task[2] > 0 if self._is_numbered else not thread.stack
        if (ended := self._what_ended(group)) is not None:
            self._cause[now] = ended
        if group:
            self._joined.add(group)
            if is_outside and not (thread.is_sure or thread.is_worker or thread.stack or thread.phases):
                self._find_lost(thread, now, pool, group)
            self._torn.pop(group, None)
        if task[2] and not (thread.is_worker or thread.stack or thread.phase_before):
            self._count_waits(thread, now, pool, task[2])
        thread.is_sure |= is_outside
        self._end_bursts(now, pool, group)

    def _wake(self, thread: Thread, now: int, task: Task) -> None:
        """A call, or what the worker does in its sleep."""
        before = self._sleep.get(key := (task[0], self._worker[now]), now)
        self._sleep[key] = now
        thread.is_worker |= self.kind[now] != WAKE
        is_called = self.kind[now] == UNPARK and self._by_timer[now] == 0 and self.kind[before] == WAKE
        if is_called and self.epoch[before] == self.epoch[now]:
            self._cause[now] = before
            self._wakes.extend((task[0], before, now))

    _park = _unpark = _wake

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
