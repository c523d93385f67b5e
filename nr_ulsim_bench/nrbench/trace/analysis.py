# SPDX-License-Identifier: BSD-3-Clause
"""From events to figures, one event at a time. All times in ns.

Of a long trace only the times of tasks and phases are kept, not the events.
"""

from __future__ import annotations

from typing import Iterable

from nrbench.trace import events as ev
from nrbench.trace.events import Event
from nrbench.trace.figures import Figures
from nrbench.trace.functions import Functions
from nrbench.trace.ledger import Bursts, Ledger
from nrbench.trace.state import (
    RUNNING,
    WAITING,
    Join,
    Marks,
    Moment,
    Phase,
    Process,
    Task,
    TaskKey,
    Thread,
    note_group,
)

# Kinds of events. The handler of each has its name.
HANDLED = (
    "POOL_START", "POOL_STOP", "PUSH", "WAKE", "UNPARK", "PARK", "PREWAKE", "STEAL", "RUN_BEGIN", "RUN_AS",
    "RUN_END", "COMPLETE", "JOIN_BEGIN", "JOIN_END", "PHASE_BEGIN", "PHASE_END", "PROGRAM", "IMAGE", "LATE",
)  # fmt: skip
PENDING_MAX = 1 << 18  # tasks pushed and not yet run; more are counted only


class Analysis:
    """Feed it with events in order of time, then finish() it. `cores`: CPUs of the machine; 0 = not known."""

    def __init__(self, cores: int = 0) -> None:
        self.ledger = Ledger(cores)
        self.bursts = Bursts(self.ledger)
        self.functions = Functions()
        self.processes: dict[int, Process] = {}
        self.unmatched = 0  # tasks that ran and whose push is not known
        self._handlers = {getattr(ev, name): getattr(self, f"_{name.lower()}") for name in HANDLED}

    @property
    def figures(self) -> dict[tuple[int, object], Figures]:
        return self.ledger.figures

    def feed(self, stream: Iterable[Event]) -> None:
        handlers, processes = self._handlers, self.processes
        for kind, now, pid, tid, *fields in stream:
            if kind == ev.LOST:
                self.ledger.lose(now, *fields)
                continue
            process = processes.get(pid)
            if process is None:
                process = processes[pid] = Process(pid)
            handlers[kind](process, process.thread(tid), now, *fields)

    def finish(self) -> None:
        """The trace has ended."""
        for process in self.processes.values():
            self.bursts.close_unjoined(process, None)
            for phase in list(process.open):
                self.ledger.abandon(process, phase)
        self.ledger.slots.finish()

    def keep(self, pids: set[int]) -> None:
        """Forget the figures of all other processes."""
        self.processes = {pid: process for pid, process in self.processes.items() if pid in pids}
        self.ledger.figures = {key: value for key, value in self.figures.items() if key[0] in pids}
        self.ledger.slots.keep(pids)
        self.functions.keep(pids)

    def _program(self, process: Process, thread: Thread, now: int, name: str) -> None:
        process.name = name

    def _image(
        self, process: Process, thread: Thread, now: int, base: int, size: int, path: str, is_pic: int
    ) -> None:
        process.images[base, size, path, bool(is_pic)] = None

    def _pool_start(
        self, process: Process, thread: Thread, now: int, number: int, name: str, *sizes: int
    ) -> None:
        pool = process.pool(number)
        pool.name = name
        pool.workers, pool.cpus, pool.worker_cpus = sizes

    def _pool_stop(self, process: Process, thread: Thread, now: int, number: int) -> None:
        process.retire(number)

    def _steal(self, process: Process, thread: Thread, now: int, number: int) -> None:
        process.pool(number).steals += 1

    def _late(
        self, process: Process, thread: Thread, now: int, number: int, cause: str, late_ns: int
    ) -> None:
        process.pool(number).late.setdefault(cause, []).append(late_ns)

    def _prewake(self, process: Process, thread: Thread, now: int, number: int, worker: int) -> None:
        pool = process.pool(number)
        if worker < 0:
            pool.hints += 1
        else:
            pool.plans += 1

    def _push(
        self, process: Process, thread: Thread, now: int, number: int, func: int, arg: int, group: int
    ) -> None:
        pool = process.pool(number)
        pool.pushes += 1
        thread.pushed += 1
        if thread.stack and type(thread.stack[-1]) is Join:
            thread.heal_joins(now)
        task = Task(number, func, arg, group)
        task.push_ns, task.push_tid = now, thread.tid
        owner = thread.owner()
        if owner is None and not thread.stack:
            owner = self.bursts.of_push(process, thread, task)
        if process.pending_count < PENDING_MAX:
            process.put(task)
            if owner is not None:
                owner.outstanding += 1
                owner.not_begun += 1
        if owner is not None:
            task.owner = owner
            owner.tasks += 1
            owner.pools.add(number)
        self.ledger.mark(process, thread, now, Marks.PUSH, None, thread.in_what())

    def _pushed_task(self, process: Process, now: int, key: TaskKey) -> Task | None:
        """First in, first out. What was pushed before events were lost may have been run among them."""
        while (task := process.take(key)) is not None:
            if not self.ledger.lost_between(task.push_ns, now):
                return task
        return None

    def _run_begin(
        self,
        process: Process,
        thread: Thread,
        now: int,
        number: int,
        worker: int,
        func: int,
        arg: int,
        group: int,
    ) -> None:
        pool = process.pool(number)
        pool.runs += 1
        if worker >= 0:
            thread.identify(number, worker, pool)
        task = self._pushed_task(process, now, (number, func, arg))
        if task is None:
            self.unmatched += 1
            task = Task(number, func, arg, group)
        thread.settle(now)
        was_in = thread.in_what()
        thread.stack.append(task)
        task.begin_ns, task.tid = now, thread.tid
        if task.owner is not None:
            self.ledger.task_begins(task.owner, task, thread)
        thread.by_timer = False
        self.ledger.mark(process, thread, now, Marks.RUN, task, was_in)

    def _run_as(self, process: Process, thread: Thread, now: int, func: int) -> None:
        if thread.stack and type(task := thread.stack[-1]) is Task:
            task.calls = func

    def _run_end(self, process: Process, thread: Thread, now: int, arg: int) -> None:
        thread.settle(now)
        task = thread.leave(Task, lambda task: task.arg == arg)
        if task is None:  # it began before the trace did
            self.ledger.mark(process, thread, now, Marks.RAN, None, RUNNING)
            return
        if not self.ledger.lost_between(task.begin_ns, now):
            self.functions.add(process.pid, task.calls or task.func, task.own_ns)
        moment = Moment(now, thread.tid)
        note_group(process.groups_ran, task.group, moment)
        self.ledger.mark(process, thread, now, Marks.RAN, task, RUNNING)
        if task.owner is not None:
            self.ledger.task_ends(task.owner, task, moment)
            self.bursts.ran(process, task.owner, now)

    def _complete(self, process: Process, thread: Thread, now: int, group: int) -> None:
        note_group(process.groups_done, group, Moment(now, thread.tid))
        self.ledger.mark(process, thread, now, Marks.DONE, None, thread.in_what())

    def _what_ended(self, process: Process, group: int, now: int) -> Moment | None:
        """What a wait that returns has waited for: the group's count that went down last, or its last task.

        A task may say that it is done before it ends. Where that is no event, a task of the group that still
        runs has done so just now.
        """
        if group == 0:  # for the whole pool
            moments = (*process.groups_done.values(), *process.groups_ran.values())
            return max(moments, default=None)
        done, ran = process.groups_done.get(group), process.groups_ran.get(group)
        if done is not None:
            return done if ran is None else max(done, ran)
        running = [thread for thread in process.threads.values() if thread.runs_for(group)]
        if not running:
            return ran
        first = min(running, key=lambda thread: thread.since_ns)
        self.ledger.mark(process, first, now, Marks.DONE, None, RUNNING)
        return Moment(now, first.tid)

    def _join_begin(self, process: Process, thread: Thread, now: int, number: int, group: int) -> None:
        thread.heal_joins(now)
        self.bursts.joins(process, group)
        thread.settle(now)
        was_in = thread.in_what()
        thread.stack.append(Join(group))
        self.ledger.mark(process, thread, now, Marks.JOIN, None, was_in)

    def _join_end(self, process: Process, thread: Thread, now: int, number: int, group: int) -> None:
        thread.settle(now)
        thread.leave(Join, lambda join: join.group == group)
        last = self._what_ended(process, group, now)
        self.ledger.mark(process, thread, now, Marks.JOINED, last, WAITING)
        self.bursts.joined(process, number, group, Moment(now, thread.tid))

    def _wake(self, process: Process, thread: Thread, now: int, number: int, worker: int) -> None:
        pool = process.pool(number)
        pool.wakes += 1
        pool.wakes_sent[worker] = (now, thread.tid, self._woken_for(process, thread, number))
        self.ledger.mark(process, thread, now, Marks.WAKE, None, thread.in_what())

    def _woken_for(self, process: Process, thread: Thread, pool: int) -> Phase | None:
        """The phase whose tasks a wake is for: the waker's own, or the one that the waker itself was woken
        for."""
        owner = thread.owner()
        if owner is None and thread.bursts:
            owner = next((burst for burst in reversed(thread.bursts.values()) if pool in burst.pools), None)
        if owner is None:
            owner = thread.woken_for
        if owner is None or not owner.is_open:
            owner = next((phase for phase in reversed(process.open) if pool in phase.pools), None)
        return owner

    def _unpark(self, process: Process, thread: Thread, now: int, number: int, worker: int, how: int) -> None:
        pool = process.pool(number)
        thread.identify(number, worker, pool)
        pool.unparks[min(how, 2)] += 1
        thread.by_timer = how == ev.BY_TIMER
        sent, waker = pool.wakes_sent.pop(worker, None), None
        if sent is not None and how == ev.WOKEN and not self.ledger.lost_between(sent[0], now):
            sent_ns, by, owner = sent
            waker = Moment(sent_ns, by)
            thread.woken_for = owner
            if owner is not None:
                owner.tally.wakes.add(now - sent_ns)
        self.ledger.mark(process, thread, now, Marks.UNPARK, waker, thread.in_what())

    def _park(self, process: Process, thread: Thread, now: int, number: int, worker: int) -> None:
        pool = process.pool(number)
        pool.parks += 1
        thread.identify(number, worker, pool)
        if thread.stack and type(thread.stack[-1]) is Task:  # its end was lost
            thread.settle(now)
            thread.stack.clear()
        pool.wakes_sent.pop(worker, None)
        thread.by_timer, thread.woken_for = False, None
        self.ledger.mark(process, thread, now, Marks.PARK, None, thread.in_what())

    def _phase_begin(self, process: Process, thread: Thread, now: int, name: str, *numbers: int) -> None:
        thread.heal_joins(now)
        phase = thread.open_phase(name)
        if phase is not None:
            if (phase.frame, phase.slot) == numbers[:2]:  # another transport block of it
                thread.phases.remove(phase)
                thread.phases.append(phase)
                return
            self.ledger.abandon(process, phase)
        phase = Phase(name, process.pid, thread.tid, now)
        phase.frame, phase.slot, phase.id = numbers
        thread.phases.append(phase)
        self.ledger.open(process, thread, phase)
        self.ledger.mark(process, thread, now, Marks.PHASE, None, thread.in_what())

    def _phase_end(self, process: Process, thread: Thread, now: int, name: str, *numbers: int) -> None:
        phase = thread.open_phase(name)
        if phase is None:
            self.ledger.of(process.pid, name).left_out += 1
            return
        self.ledger.mark(process, thread, now, Marks.PHASE, None, thread.in_what())
        if thread.pushed - phase.pushed_before != numbers[-1]:
            phase.is_valid = False
        self.ledger.close(process, phase, Moment(now, thread.tid))
