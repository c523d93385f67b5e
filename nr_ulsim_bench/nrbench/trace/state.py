# SPDX-License-Identifier: BSD-3-Clause
"""What is going on in the traced processes at the present moment of a trace. All times in ns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Callable, NamedTuple, TypeVar

from nrbench.trace.figures import Tally

GROUPS_MAX = 4096

# What a thread is in: the top of its stack.
IDLE, RUNNING, WAITING = range(3)


class Marks:
    """Kinds of marks in a thread's history, for the critical path."""

    PUSH, WAKE, RUN, RAN, JOIN, JOINED, PARK, UNPARK, PHASE, DONE = range(10)


# (time, mark, what it refers to, what the thread was in before)
Mark = tuple[int, int, object, int]


class Moment(NamedTuple):
    """Something that a thread did."""

    time: int
    tid: int


@dataclass(slots=True, eq=False)
class Task:
    """Pushed, then run. A frame of a thread's stack while it runs."""

    pool: int
    func: int
    arg: int
    group: int
    push_ns: int = -1  # not known
    push_tid: int = -1
    owner: Phase | None = None
    begin_ns: int = 0
    tid: int = 0
    own_ns: int = 0  # so far, without what it runs or waits for
    calls: int = 0  # function that it really is, of a task of an interface on the pool


@dataclass(slots=True, eq=False)
class Join:
    """A wait. A frame of a thread's stack."""

    group: int


Frame = Task | Join
F = TypeVar("F", Task, Join)
TaskKey = tuple[int, int, int]  # pool, function, argument


@dataclass(slots=True, eq=False)
class Phase:
    """A phase of a slot, or a burst: the tasks that a thread pushes outside any phase until it has joined
    them."""

    name: str
    pid: int
    tid: int
    begin_ns: int
    func: int = 0  # of a burst
    pool: int = 0  # of a burst
    frame: int = -1  # of a phase
    slot: int = -1
    id: int = -1
    depth: int = 0
    pushed_before: int = 0
    run_before: dict[int, dict[int, int]] = field(default_factory=dict)  # by pool and thread
    own_run_before: dict[int, int] = field(default_factory=dict)
    own_wait_before: int = 0
    pools: set[int] = field(default_factory=set)
    groups: set[int] = field(default_factory=set)
    tasks: int = 0
    not_begun: int = 0  # of the tasks whose push is known
    outstanding: int = 0  # not ended
    joined_at: Moment | None = None  # a burst: a wait returned while the last tasks still ran
    last_ran: Moment = Moment(0, 0)
    tally: Tally = field(default_factory=Tally)
    is_open: bool = True
    is_valid: bool = True

    def __post_init__(self) -> None:
        self.last_ran = Moment(self.begin_ns, self.tid)

    @property
    def is_burst(self) -> bool:
        return self.func != 0 or self.frame < 0

    @property
    def kind(self) -> tuple[int, object]:
        """What shares its figures: phases of one name in a process; bursts of one pool and function."""
        return self.pid, (self.pool, self.func) if self.is_burst else self.name


@dataclass(slots=True, eq=False)
class Thread:
    tid: int
    pool: int = -1  # while it is no worker
    worker: int = -1
    stack: list[Frame] = field(default_factory=list)
    since_ns: int = 0  # when the top of the stack changed
    run_ns: dict[int, int] = field(default_factory=dict)  # by pool: in a task, with nothing on top of it
    wait_ns: int = 0
    pushed: int = 0
    phases: list[Phase] = field(default_factory=list)  # open; the last begun at the end
    bursts: dict[tuple[int, int], Phase] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    by_timer: bool = False  # its own timer woke it, and it has run no task since
    woken_for: Phase | None = None

    def open_phase(self, name: str) -> Phase | None:
        return next((phase for phase in self.phases if phase.name == name), None)

    def is_idle(self) -> bool:
        """It does nothing that a phase or a picture could ask for."""
        return not (self.stack or self.phases or self.bursts or self.marks)

    def in_what(self) -> int:
        if not self.stack:
            return IDLE
        return RUNNING if type(self.stack[-1]) is Task else WAITING

    def identify(self, number: int, worker: int, pool: Pool) -> None:
        """An event says which worker the thread is."""
        self.pool, self.worker = number, worker
        pool.seen.add(worker)

    def owner(self) -> Phase | None:
        """The phase that what it does now is for: its own if begun in this task, else its task's."""
        if self.phases and self.phases[-1].depth == len(self.stack):
            return self.phases[-1]
        top = self.stack[-1] if self.stack else None
        return top.owner if isinstance(top, Task) else None

    def runs_for(self, group: int) -> bool:
        """Whether it is in a task of that group."""
        top = self.stack[-1] if self.stack else None
        return isinstance(top, Task) and top.group == group

    def heal_joins(self, now: int) -> None:
        """One that waits pushes nothing and begins nothing: if it seems so, the wait's end was lost."""
        if self.stack and type(self.stack[-1]) is Join:
            self.settle(now)
            while self.stack and type(self.stack[-1]) is Join:
                self.stack.pop()

    def leave(self, kind: type[F], is_it: Callable[[F], bool]) -> F | None:
        """Take the innermost such task or wait off the stack, and what is left on top of it: its end was
        lost. None = there is none."""
        for at in range(len(self.stack) - 1, -1, -1):
            frame = self.stack[at]
            if isinstance(frame, kind) and is_it(frame):
                del self.stack[at:]
                return frame
        return None

    def settle(self, now: int) -> None:
        """Account for the time since the stack changed; to be called before it changes again."""
        if self.stack:
            top = self.stack[-1]
            if type(top) is Task:
                top.own_ns += now - self.since_ns
                self.run_ns[top.pool] = self.run_ns.get(top.pool, 0) + now - self.since_ns
            else:
                self.wait_ns += now - self.since_ns
        self.since_ns = now


@dataclass
class Pool:
    """Numbers of a pool, and what waits to be matched."""

    name: str = ""
    workers: int = 0  # 0 = not known
    cpus: int = 0
    worker_cpus: int = 0
    seen: set[int] = field(default_factory=set)
    wakes_sent: dict[int, tuple[int, int, Phase | None]] = field(default_factory=dict)
    pushes: int = 0
    runs: int = 0
    parks: int = 0
    wakes: int = 0
    steals: int = 0
    plans: int = 0
    hints: int = 0
    late: dict[str, list[int]] = field(default_factory=dict)  # ns of late starts, by cause
    unparks: list[int] = field(default_factory=lambda: [0, 0, 0])

    @property
    def worker_count(self) -> int:
        return self.workers or len(self.seen)


@dataclass(slots=True, eq=False)
class Process:
    pid: int
    name: str = ""
    threads: dict[int, Thread] = field(default_factory=dict)
    pools: dict[int, Pool] = field(default_factory=dict)
    pending: dict[TaskKey, Task | deque[Task]] = field(default_factory=dict)
    pending_count: int = 0
    open: dict[Phase, None] = field(default_factory=dict)  # in order of their begin
    groups_ran: dict[int, Moment] = field(default_factory=dict)  # the last task of a group that ended
    groups_done: dict[int, Moment] = field(default_factory=dict)  # the last count-down of a group
    by_group: dict[int, list[Phase]] = field(default_factory=dict)  # open bursts
    joined: dict[int, Moment] = field(default_factory=dict)  # groups that have been waited for
    images: dict[tuple[int, int, str, bool], None] = field(default_factory=dict)  # in order of appearance
    mark_count: int = 0
    cut_ns: int = 0  # history before that has been dropped

    def thread(self, tid: int) -> Thread:
        thread = self.threads.get(tid)
        if thread is None:
            thread = self.threads[tid] = Thread(tid)
        return thread

    def pool(self, number: int) -> Pool:
        pool = self.pools.get(number)
        if pool is None:
            pool = self.pools[number] = Pool()
        return pool

    def put(self, task: Task) -> None:
        """It waits to be run. Most keys have one task at a time."""
        key = (task.pool, task.func, task.arg)
        there = self.pending.get(key)
        if there is None:
            self.pending[key] = task
        elif isinstance(there, Task):
            self.pending[key] = deque((there, task))
        else:
            there.append(task)
        self.pending_count += 1

    def take(self, key: TaskKey) -> Task | None:
        """The first that was put."""
        there = self.pending.get(key)
        if there is None:
            return None
        self.pending_count -= 1
        if isinstance(there, Task):
            del self.pending[key]
            return there
        task = there.popleft()
        if not there:
            del self.pending[key]
        return task

    def run_ns(self, now: int) -> dict[int, dict[int, int]]:
        """Time that each thread has spent in tasks of each pool; without those that have run none."""
        times: dict[int, dict[int, int]] = {}
        for thread in self.threads.values():
            for pool, time_ns in thread.run_ns.items():
                times.setdefault(pool, {})[thread.tid] = time_ns
            top = thread.stack[-1] if thread.stack else None
            if isinstance(top, Task):
                of_pool = times.setdefault(top.pool, {})
                of_pool[thread.tid] = of_pool.get(thread.tid, 0) + now - thread.since_ns
        return times

    def retire(self, pool: int) -> None:
        """The pool has stopped, and its workers are gone. What open phases ask for stays."""
        if any(pool in phase.pools for phase in self.open):
            return
        for thread in list(self.threads.values()):
            thread.run_ns.pop(pool, None)
            if thread.pool == pool and thread.is_idle():
                del self.threads[thread.tid]


def note_group(groups: dict[int, Moment], group: int, moment: Moment) -> None:
    """Of the groups with the latest events."""
    groups.pop(group, None)
    groups[group] = moment
    if len(groups) > GROUPS_MAX:
        del groups[next(iter(groups))]
