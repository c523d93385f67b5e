# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a phase: the reasons why it did not end earlier.

Walks back from the end: a wait ended because a task ended, a task began because its thread had nothing to do
before or because it had just been pushed, a worker ran because a thread had woken it. Each stretch of
time on that way belongs to one part of PATH_PARTS, and the parts add up to the phase's duration.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import cast

from nrbench.trace.figures import PATH_PARTS, Path
from nrbench.trace.state import IDLE, RUNNING, WAITING, Mark, Marks, Moment, Process, Task

STEPS_MAX = 1_000_000
CALLS = (Marks.PUSH, Marks.WAKE)


class _Walk:
    """A place in the history, the mark `at` of thread `tid` at time `now`; going back moves it."""

    def __init__(self, process: Process, tid: int, begin_ns: int, end_ns: int) -> None:
        self.process = process
        self.home = tid
        self.begin_ns = begin_ns
        self.path: Path = dict.fromkeys(PATH_PARTS, 0)
        self.cause: Moment | None = None  # the push of the task that the walk has come through
        self.now = end_ns
        self.go(Moment(end_ns, tid), None)

    def go(self, where: Moment, mark: int | None) -> None:
        """To what a thread did at a time; its last mark then, or the last of that kind."""
        thread = self.process.threads.get(where.tid)
        self.tid = where.tid
        self.marks: list[Mark] = thread.marks if thread else []
        at = bisect_left(self.marks, (where.time + 1,)) - 1
        first = bisect_left(self.marks, (where.time,))
        at = next((i for i in range(at, first - 1, -1) if self.marks[i][1] == mark), at)
        self.at = at
        if at >= 0 and self.marks[at][0] < self.now:
            self.spend("unknown", self.marks[at][0])  # its history has been cut

    def spend(self, part: str, since: int) -> None:
        """The time from `since` until now was spent on that."""
        since = max(since, self.begin_ns)
        if since < self.now:
            self.path[part] += self.now - since
            self.now = since

    def before(self) -> int:
        """When the thread did something before."""
        return self.marks[self.at - 1][0] if self.at > 0 else self.begin_ns

    def back(self, part: str) -> None:
        self.spend(part, self.before())
        self.at -= 1

    def is_home(self) -> bool:
        thread = self.process.threads.get(self.tid)
        return self.tid == self.home or thread is None or thread.worker < 0

    def step(self) -> None:
        _, mark, about, was_in = self.marks[self.at]
        if was_in == RUNNING:
            self.back("run")
        elif mark == Marks.RUN:
            self.began(cast(Task, about))
        elif mark == Marks.UNPARK:
            self.got_up(cast("Moment | None", about))
        elif mark == Marks.JOINED:
            self.joined(cast("Moment | None", about))
        elif was_in == WAITING or not self.is_home():
            self.back("find")
        else:
            self.outside(mark)

    def began(self, task: Task) -> None:
        """A task began: after it was pushed, and after its thread had come to look for one."""
        pushed = Moment(task.push_ns, task.push_tid)
        if task.push_ns >= 0:
            self.cause = pushed
        if task.push_tid not in (-1, self.tid) and task.push_ns > self.before():
            self.spend("find", task.push_ns)
            self.go(pushed, Marks.PUSH)
        else:
            self.back("find")

    def got_up(self, waker: Moment | None) -> None:
        """A thread woke the worker; or its own timer, too late for the push."""
        mark = Marks.WAKE
        if waker is None:
            waker, mark = self.cause, Marks.PUSH
        if waker is None or waker.time > self.now:
            self.back("wake")
            return
        self.spend("wake", waker.time)
        self.go(waker, mark)

    def joined(self, last: Moment | None) -> None:
        """A wait ended: because the last of its tasks did, on whatever thread."""
        if last is None or last.time <= self.before() or last.tid == self.tid:
            self.back("finish")
            return
        self.spend("finish", last.time)
        self.go(last, None)
        if self.at > 0 and self.marks[self.at][1] == Marks.DONE and self.marks[self.at][3] != RUNNING:
            self.back("finish")  # it has ended before, and says so for several tasks at once

    def outside(self, mark: int) -> None:
        """The phase's thread neither ran a task nor waited. From a push to its next push, wake or wait:
        push."""
        pushing = self.at > 0 and self.marks[self.at - 1][1] in CALLS and mark in (*CALLS, Marks.JOIN)
        self.back("push" if pushing else "serial")

    def rest(self) -> None:
        """Of the time before the first mark of a thread only what the thread was in is known."""
        was_in = self.marks[max(self.at, 0)][3] if self.marks else IDLE
        known = "run" if was_in == RUNNING else "find" if was_in == WAITING else "serial"
        self.spend(known if self.is_home() or was_in != IDLE else "unknown", self.begin_ns)


def critical_path(process: Process, tid: int, begin_ns: int, end_ns: int) -> Path:
    """Parts of the time from begin to end of a phase that ended on that thread, in ns."""
    walk = _Walk(process, tid, begin_ns, end_ns)
    for _ in range(STEPS_MAX):
        if walk.now <= begin_ns or walk.at < 0:
            break
        walk.step()
    walk.rest()
    return walk.path
