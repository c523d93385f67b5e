# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a phase: the reasons why it did not end earlier.

Walks back from the end: a wait ended because a task ended, a task began because its thread had nothing to do
before or because it had just been pushed, a worker ran because a thread had woken it. Each stretch of
time on that way belongs to one part of PATH_PARTS, and the parts add up to the phase's duration.
"""

from __future__ import annotations

from collections import Counter
from typing import Container

from nrbench.trace.walk import RUNNING, WAITING, Span, Walk

PATH_PARTS = ("serial", "push", "wake", "find", "run", "finish")
CALLS = ("push", "wake")


class CriticalPath:
    """At the event `at`, at time `now`; going back moves it. `ns` has the parts of a span's time."""

    def __init__(self, walk: Walk, span: Span, workers: Container[int]) -> None:
        self.walk, self.workers = walk, workers
        self.begin_ns = walk.time[span.begin]
        self.at, self.now = span.end, walk.time[span.end]
        self.home = walk.tid[span.end]
        self.ns: Counter[str] = Counter()
        self.pushed: int | None = None  # the push of the task that the walk has come through
        while self.now > self.begin_ns and self.at >= 0:
            self.step()

    def spend(self, part: str, since: int) -> None:
        """The time from `since` until now was spent on that."""
        since = max(since, self.begin_ns)
        if since < self.now:
            self.ns[part] += self.now - since
            self.now = since

    def before(self) -> int:
        """When the thread did something before."""
        prev = self.walk.prev[self.at]
        return self.walk.time[prev] if prev >= 0 else self.begin_ns

    def back(self, part: str) -> None:
        self.spend(part, self.before())
        self.at = self.walk.prev[self.at]

    def go(self, part: str, to: int) -> None:
        self.spend(part, self.walk.time[to])
        self.at = to

    def step(self) -> None:
        walk, at = self.walk, self.at
        kind, was_in, tid, cause = walk.kind[at], walk.was_in[at], walk.tid[at], walk.cause.get(at)
        if was_in == RUNNING:
            self.back("run")
        elif kind == "run_begin":
            self.began(tid, cause)
        elif kind == "unpark":
            self.got_up(cause)
        elif kind == "join_end":
            self.joined(tid, cause)
        elif was_in == WAITING or (tid != self.home and tid in self.workers):
            self.back("find")
        else:
            # The phase's thread neither ran a task nor waited. From a push to its next push, wake or wait it
            # pushes.
            prev = walk.prev[at]
            pushing = prev >= 0 and walk.kind[prev] in CALLS and kind in (*CALLS, "join_begin")
            self.back("push" if pushing else "serial")

    def began(self, tid: int, push: int | None) -> None:
        """A task began: after it was pushed, and after its thread had come to look for one."""
        if push is not None:
            self.pushed = push
        if push is not None and self.walk.tid[push] != tid and self.walk.time[push] > self.before():
            self.go("find", push)
        else:
            self.back("find")

    def got_up(self, wake: int | None) -> None:
        """A thread woke the worker; or its own timer, too late for the push."""
        cause = self.pushed if wake is None else wake
        if cause is None or self.walk.time[cause] > self.now:
            self.back("wake")
        else:
            self.go("wake", cause)

    def joined(self, tid: int, last: int | None) -> None:
        """A wait ended: because the last of its tasks did, on whatever thread."""
        walk = self.walk
        if last is None:
            self.back("finish")
        elif last < 0:  # it still runs
            self.go("run", ~last)
        elif walk.time[last] <= self.before() or walk.tid[last] == tid:
            self.back("finish")
        else:
            self.go("finish", last)
            if walk.kind[last] == "complete" and walk.was_in[last] != RUNNING and walk.prev[last] >= 0:
                self.back("finish")  # it has ended before, and says so for several tasks at once
