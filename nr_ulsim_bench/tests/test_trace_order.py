# SPDX-License-Identifier: BSD-3-Clause
"""Every event of a real recording is where it has to be: no push without its run, no wake without its waking.

As test_trace_lttng.py: where WS_TRACE_BUILD names a build folder and LTTng is there.
"""

from collections import Counter, defaultdict

import pytest
from test_trace_lttng import NAME, REASON, bench, record

pytestmark = [pytest.mark.alone, pytest.mark.skipif(REASON is not None, reason=str(REASON))]

BENCHES = {
    "slots": ["bench=slot", "bursts=12x6+22x28", "period_us=1000", "slots=200"],
    "late wakes": ["bench=slot", "bursts=4x20", "period_us=9000", "slots=30"],
    "nested": ["bench=coliseum", "work=nested", "tasks=100"],
}


class Order:
    """What has been seen so far, and what of it cannot be."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.seen: Counter[int] = Counter()
        self.pushed: Counter[tuple] = Counter()
        self.inside: dict[tuple, list[tuple]] = defaultdict(list)  # tasks and waits of a thread
        self.parked: dict[tuple, bool] = {}
        self.woken: Counter[tuple] = Counter()

    def expect(self, true: bool, what: str) -> None:
        if not true:
            self.faults[what] += 1

    def leave(self, thread: tuple, what: tuple) -> None:
        inside = self.inside[thread]
        self.expect(bool(inside) and inside.pop() == what, f"end of another {what[0]}")

    def take(self, event: tuple) -> None:
        from nrbench.trace import events as ev

        kind, thread, fields = event[0], event[2:4], event[4:]
        self.seen[kind] += 1
        if kind == ev.PUSH:
            self.pushed[(event[2], *fields[:3])] += 1
        elif kind == ev.RUN_BEGIN:
            task = (event[2], fields[0], *fields[2:4])
            self.pushed[task] -= 1
            self.expect(self.pushed[task] >= 0, "run without a push")
            self.inside[thread].append(("task", fields[3]))
        elif kind == ev.RUN_END:
            self.leave(thread, ("task", fields[0]))
        elif kind == ev.JOIN_BEGIN:
            self.inside[thread].append(("wait", fields[1]))
        elif kind == ev.JOIN_END:
            self.leave(thread, ("wait", fields[1]))
        elif kind == ev.WAKE:
            self.woken[(event[2], *fields[:2])] += 1
        elif kind == ev.PARK:
            self.expect(not self.parked.get(thread), "parked twice")
            self.expect(not self.inside[thread], "parked inside a task")
            self.parked[thread] = True
        elif kind == ev.UNPARK:
            self.rise((event[2], *fields[:2]), thread, fields[2] == ev.WOKEN)

    def rise(self, worker: tuple, thread: tuple, called: bool) -> None:
        self.expect(bool(self.parked.get(thread)), "up without having parked")
        self.parked[thread] = False
        if called:
            self.woken[worker] -= 1
            self.expect(self.woken[worker] == 0, "called without a wake, or twice")


@pytest.mark.parametrize("work", BENCHES)
@pytest.mark.parametrize("workers", [1, 3])
def test_every_event_is_where_it_has_to_be(tmp_path, work, workers):
    from nrbench.trace import events as ev
    from nrbench.trace.reader import Trace

    words = ["backend=ws", f"workers={workers}", *BENCHES[work]]
    record(tmp_path / "trace", "--", bench(tmp_path), *words)
    order = Order()
    with Trace(tmp_path / "trace") as trace:
        events = list(trace.events())
    own = {event[2] for event in events if event[0] == ev.PROGRAM and event[4] == NAME}  # not what else runs
    for event in events:
        if event[2] in own or event[0] == ev.LOST:
            order.take(event)
    assert order.seen[ev.LOST] == 0 and not order.faults
    assert order.seen[ev.PUSH] == order.seen[ev.RUN_BEGIN] == order.seen[ev.RUN_END] > 100
    assert not +order.pushed and not any(order.inside.values())
    assert order.seen[ev.JOIN_BEGIN] == order.seen[ev.JOIN_END] > 0
    assert order.seen[ev.WAKE] > 0 and order.seen[ev.STEAL] > 0 and order.seen[ev.COMPLETE] > 0
    assert order.seen[ev.POOL_START] == order.seen[ev.POOL_STOP] > 0
