# SPDX-License-Identifier: BSD-3-Clause
"""Opens phases and bursts, collects their figures, and counts them when they have ended.

A phase is counted only if all its events are in the trace: none was lost while it ran, and its thread pushed
as many tasks as the program itself has counted.
"""

from __future__ import annotations

from typing import Callable

from nrbench.trace.figures import Figures, Lost
from nrbench.trace.path import critical_path
from nrbench.trace.slots import Slots
from nrbench.trace.state import Mark, Moment, Phase, Process, Task, Thread, note_group

KINDS_MAX = 64  # of bursts, in one process
OTHERS = "others"  # bursts of further kinds
MARKS_MAX = 1 << 17  # of history, in one process
OPEN_MAX = 1024  # phases at one time in one process; more have lost their end
GAP_NS = 100_000  # after all tasks of an unjoined burst have run, a push this much later starts another
LATE_NS = 10_000  # a task that completed before its end ends at most this long after the wait


class Ledger:
    """`on_long_history` is called with a process and the time when its history has become long: it may end
    phases. `cores`: CPUs of the machine that recorded; 0 = not known."""

    def __init__(self, cores: int = 0) -> None:
        self.on_long_history: Callable[[Process, int | None], None] = lambda process, now: None
        self.on_close: Callable[[Phase, Moment], None] = lambda phase, end: None
        self.figures: dict[tuple[int, object], Figures] = {}
        self.slots = Slots()
        self.cores = cores
        self.lost = Lost()
        self.lost_events = self.lost_packets = 0
        self.lost_uncounted = 0  # stretches of which the number is not known
        self._burst_kinds: dict[int, int] = {}  # by process

    def of(self, pid: int, name: object) -> Figures:
        """The figures of a kind of phase in a process. Phases have names, and each its own figures; too many
        kinds of bursts share some."""
        figures = self.figures.get((pid, name))
        if figures is None:
            if not isinstance(name, str):
                count = self._burst_kinds.get(pid, 0)
                self._burst_kinds[pid] = min(count + 1, KINDS_MAX)
                name = name if count < KINDS_MAX else OTHERS
            figures = self.figures.setdefault((pid, name), Figures())
        return figures

    def of_phase(self, phase: Phase) -> Figures:
        return self.of(*phase.kind)

    # Lost events

    def lose(self, begin_ns: int, end_ns: int, events: int | None, packets: int | None) -> None:
        self.lost.add(begin_ns, end_ns)
        self.lost_events += events or 0
        self.lost_packets += packets or 0
        self.lost_uncounted += events is None or packets is None

    def lost_between(self, begin_ns: int, end_ns: int) -> bool:
        return self.lost.between(begin_ns, end_ns)

    # History

    def mark(self, process: Process, thread: Thread, now: int, mark: int, about: object, was_in: int) -> None:
        """History is kept while some phase goes on."""
        if not process.open:
            return
        entry: Mark = (now, mark, about, was_in)
        thread.marks.append(entry)
        process.mark_count += 1
        if process.mark_count > MARKS_MAX:
            self.on_long_history(process, now)
            if process.mark_count > MARKS_MAX:
                self._cut_history(process, now)

    def _cut_history(self, process: Process, now: int) -> None:
        """Forget the older half, in time, and the paths of phases that began in it."""
        oldest = min(thread.marks[0][0] for thread in process.threads.values() if thread.marks)
        begins = next(iter(process.open)).begin_ns
        limit = begins if begins > (oldest + now) // 2 else (oldest + now) // 2
        process.cut_ns = limit
        forget_before(process, limit)

    def _forget(self, process: Process) -> None:
        if process.open:
            return
        for thread in process.threads.values():
            if thread.marks:
                thread.marks.clear()
        process.mark_count = 0

    # Phases

    def open(self, process: Process, thread: Thread, phase: Phase) -> None:
        now = phase.begin_ns
        phase.depth = len(thread.stack)
        phase.pushed_before = thread.pushed
        thread.settle(now)
        phase.run_before = process.run_ns(now)
        phase.own_run_before = dict(thread.run_ns)
        phase.own_wait_before = thread.wait_ns
        process.open[phase] = None
        if not phase.is_burst:
            self.slots.begin(phase)
        if len(process.open) > OPEN_MAX:
            self.abandon(process, next(iter(process.open)))

    def abandon(self, process: Process, phase: Phase) -> None:
        """Its end does not come."""
        self._take_out(process, phase)
        phase.is_valid = False
        self.slots.abandon(phase)
        self.of_phase(phase).unfinished += 1

    def _take_out(self, process: Process, phase: Phase) -> None:
        phase.is_open = False
        process.open.pop(phase, None)
        thread = process.thread(phase.tid)
        if phase in thread.phases:
            thread.phases.remove(phase)
        if thread.bursts.get((phase.pool, phase.func)) is phase:
            del thread.bursts[phase.pool, phase.func]
        for group in phase.groups:
            bursts = process.by_group[group]
            bursts.remove(phase)
            if not bursts:
                del process.by_group[group]

    def close(self, process: Process, phase: Phase, end: Moment) -> None:
        """It has ended, on that thread; for a burst that is the one that waited for it."""
        phase.is_valid &= not self.lost_between(phase.begin_ns, end.time)
        figures = self.of_phase(phase)
        if phase.is_valid:
            self._enter(process, phase, figures, end)
        else:
            figures.left_out += 1
        if phase.is_burst:
            self.slots.burst(phase, end.time, phase.is_valid)
        else:
            self.slots.end(phase, end.time, phase.is_valid)
        self.on_close(phase, end)
        self._take_out(process, phase)
        self._forget(process)

    def _enter(self, process: Process, phase: Phase, figures: Figures, end: Moment) -> None:
        duration_ns = end.time - phase.begin_ns
        figures.durations.add(duration_ns)
        figures.tasks += phase.tasks
        figures.add(phase.tally)
        phase.tally = figures  # for tasks that are still to run
        ran_ns = ran_in(process, phase, end.time)
        cpus = cpus_for(process, phase, ran_ns, self.cores)
        if cpus:
            figures.busy_ns += busy_ns(process, phase, ran_ns, end.time)
            figures.room_ns += duration_ns * cpus
        if phase.begin_ns >= process.cut_ns:
            figures.add_path(critical_path(process, end.tid, phase.begin_ns, end.time))

    # What belongs to a phase, while it is open or later

    def task_begins(self, phase: Phase, task: Task, thread: Thread) -> None:
        if task.push_ns >= 0:
            phase.not_begun -= 1
        phase.tally.stolen += task.push_tid != task.tid
        phase.tally.by_timer += thread.by_timer
        phase.tally.lags.add(task.begin_ns - task.push_ns)

    def task_ends(self, phase: Phase, task: Task, moment: Moment) -> None:
        phase.tally.times.add(moment.time - task.begin_ns)
        phase.outstanding -= 1
        phase.last_ran = moment


def forget_before(process: Process, limit_ns: int) -> None:
    process.mark_count = 0
    for thread in process.threads.values():
        if thread.marks and thread.marks[0][0] < limit_ns:
            thread.marks = [entry for entry in thread.marks if entry[0] >= limit_ns]
        process.mark_count += len(thread.marks)


def ran_in(process: Process, phase: Phase, now: int) -> dict[int, int]:
    """Time that threads have spent, since a phase began, in tasks of its pools, also in those of others."""
    ran_ns: dict[int, int] = {}
    run_ns = process.run_ns(now)
    for pool in phase.pools:
        before = phase.run_before.get(pool, {})
        for tid, time_ns in run_ns.get(pool, {}).items():
            since_ns = time_ns - before.get(tid, 0)
            if since_ns:
                ran_ns[tid] = ran_ns.get(tid, 0) + since_ns
    return ran_ns


def busy_ns(process: Process, phase: Phase, ran_ns: dict[int, int], now: int) -> int:
    """CPU time in which something was done: tasks of the phase's pools, and its own thread when it did not
    wait."""
    thread = process.thread(phase.tid)
    thread.settle(now)
    own = (now - phase.begin_ns) - (thread.wait_ns - phase.own_wait_before)
    for pool in phase.pools:
        own -= thread.run_ns.get(pool, 0) - phase.own_run_before.get(pool, 0)
    return max(own, 0) + sum(ran_ns.values())


def cpus_for(process: Process, phase: Phase, ran_ns: dict[int, int], cores: int) -> int:
    """CPUs that could have worked: one for each worker, the phase's own thread and others that ran tasks, as
    many as there are.

    How many there are a pool says when it starts; of one that ran before the recording `cores` is known at
    best. @return 0 = not known, or nothing was pushed
    """
    pools = [process.pools[number] for number in phase.pools]
    others = sum(process.thread(tid).pool not in phase.pools for tid in {phase.tid, *ran_ns})
    threads = sum(pool.worker_count for pool in pools) + others
    cpus = max((pool.cpus for pool in pools), default=0)
    return min(threads, cpus or cores) if pools else 0


class Bursts:
    """A burst: the tasks of one function that a thread pushes to a pool outside any phase, until a thread
    waits.

    A burst ends with the first return from a wait for its group after all its tasks have run. If no thread
    waits for it, it ends with its last task, when no task has been pushed for a while. A group that has been
    waited for will be waited for again: a long pause between two pushes, of a thread that lost its CPU, is
    then part of the burst.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        ledger.on_long_history = self.close_unjoined

    def of_push(self, process: Process, thread: Thread, task: Task) -> Phase:
        """The burst that a task belongs to, pushed at the bottom of a thread."""
        key = (task.pool, task.func)
        burst = thread.bursts.get(key)
        if burst is not None:
            if burst.joined_at is not None and burst.not_begun == 0:
                self.ledger.close(process, burst, burst.joined_at)
                burst = None
            elif self._is_over(process, burst, task.push_ns):
                self._close_unjoined(process, burst)
                burst = None
        if burst is None:
            burst = Phase("burst", process.pid, thread.tid, task.push_ns)
            burst.pool, burst.func = key
            thread.bursts[key] = burst
            self.ledger.open(process, thread, burst)
        if task.group not in burst.groups:
            burst.groups.add(task.group)
            process.by_group.setdefault(task.group, []).append(burst)
        return burst

    def joins(self, process: Process, group: int) -> None:
        """A wait begins, so the wait before was not the last one for the group."""
        for burst in process.by_group.get(group, ()):
            burst.joined_at = None

    def joined(self, process: Process, pool: int, group: int, end: Moment) -> None:
        """A wait returned, for a group or, 0, for the whole pool.

        A counted group is done then. Of others tasks may still run that have said that they are done, or that
        the next wait is for.
        """
        if group == 0:
            bursts = [phase for phase in process.open if phase.is_burst and pool in (0, phase.pool)]
        else:
            bursts = list(process.by_group.get(group, ()))
            note_group(process.joined, group, end)
        for burst in bursts:
            is_done = burst.outstanding == 0 or (group in process.groups_done and burst.not_begun == 0)
            if is_done or self.ledger.lost_between(burst.begin_ns, end.time):
                self.ledger.close(process, burst, end)
            elif group and burst.not_begun == 0:
                burst.joined_at = end

    def ran(self, process: Process, burst: Phase, now: int) -> None:
        """A task of it, or of a phase, has ended; perhaps the last, shortly after the wait for it."""
        joined_at = burst.joined_at
        if joined_at is not None and burst.is_open and burst.outstanding == 0:
            burst.joined_at = None
            if now - joined_at.time <= LATE_NS:
                self.ledger.close(process, burst, joined_at)

    def close_unjoined(self, process: Process, now: int | None) -> None:
        """Those that are over; at the end of a trace (None) all whose tasks have run."""
        for burst in [phase for phase in process.open if phase.is_burst and phase.outstanding == 0]:
            if now is None or self._is_over(process, burst, now):
                self._close_unjoined(process, burst)

    @staticmethod
    def _is_over(process: Process, burst: Phase, now: int) -> bool:
        if burst.outstanding or now - burst.last_ran.time <= GAP_NS:
            return False
        return not any(group in process.joined for group in burst.groups)

    def _close_unjoined(self, process: Process, burst: Phase) -> None:
        self.ledger.of_phase(burst).not_joined += 1
        self.ledger.close(process, burst, burst.last_ran)
