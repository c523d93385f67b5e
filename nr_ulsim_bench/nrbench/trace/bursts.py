# SPDX-License-Identifier: BSD-3-Clause
"""Bursts: the tasks of one function that a thread pushes to a pool outside any phase, until a thread waits.

A burst ends with the first return from a wait for its group after all its tasks have run. If no thread waits
for it, it ends with its last task, when no task has been pushed for a while. A group that has been waited
for will be waited for again: a long pause between two pushes, of a thread that lost its CPU, is then part of
the burst.
"""

from __future__ import annotations

from nrbench.trace.ledger import Ledger
from nrbench.trace.state import Moment, Phase, Process, Task, Thread, note_group

GAP_NS = 100_000  # after all tasks of an unjoined burst have run, a push this much later starts another
LATE_NS = 10_000  # a task that completed before its end ends at most this long after the wait


class Bursts:
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
