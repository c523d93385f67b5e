# SPDX-License-Identifier: BSD-3-Clause
"""Gives jobs to hosts, one at a time to each, and passes on what they give; whatever happens to a host, the
others go on. Runs in one thread; other threads only put messages into its queue."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Protocol

from nrbench.cluster.connect import MACHINE, Cluster
from nrbench.cluster.job import Job, Taken, run_job
from nrbench.progress import say

if TYPE_CHECKING:
    from nrbench.cluster.hosts import ClusterHost

PREPARING, READY, BUSY, GONE, OUT = "is in preparation", "is free", "measures", "is lost", "is left out"
LOOK_S = 1.0  # between two looks at the workers
SILENT_S = 60.0  # without a sign of life
RETURN_S = 60.0  # in which a lost host may come back
GRACE_S = 60.0  # of a run beyond its limit
WAIT_MAX_S = 6 * 3600.0  # for another measurement on the host to end


class SchedulerGone(RuntimeError):
    """The cluster ended before the work."""


class Work(Protocol):
    """What is to be done, and what becomes of the answers. Called in one thread."""

    def prepare(self, cluster: Cluster, host: ClusterHost) -> dict[str, Any]:
        """In a thread of its own; may block. @raise Exception  the host cannot be used"""

    def join(self, host: ClusterHost, prepared: dict[str, Any]) -> str | None:
        """@return why the host is not to be used"""

    def next(self, host: ClusterHost) -> Job | None: ...
    def took(self, host: ClusterHost, job: Job, answer: Taken) -> None: ...
    def lost(self, host: ClusterHost, job: Job, index: int, reason: str) -> None:
        """The host was lost during this run. Called before put_back() of the rest."""

    def put_back(self, host: ClusterHost, job: Job, left: list[int]) -> None: ...
    def release(self, host: ClusterHost) -> None:
        """The host takes no more runs."""


@dataclass
class Lane:
    """A host, and what it does."""

    host: ClusterHost
    state: str = PREPARING
    since: float = field(default_factory=time.monotonic)
    why: str = ""  # it is lost or left out
    may_return: bool = True
    job: Job | None = None
    future: Any = None
    done: set[int] = field(default_factory=set)
    running: int | None = None
    running_since: float = 0.0
    waits: bool = False  # for another measurement
    cut: tuple[Job, int, str] | None = None  # the run during which it was lost, and how
    beat: tuple[float, float] = (
        0.0,
        0.0,
    )  # the last sign of life: the scheduler's time, and when it was seen

    def enter(self, state: str, why: str = "") -> None:
        self.state, self.why, self.since = state, why, time.monotonic()

    @property
    def text(self) -> str:
        if self.state == BUSY and self.job:
            if self.running is None:
                return "waits for another measurement there" if self.waits else "begins"
            return self.job.titles[self.running]
        return f"{self.state}{f': {self.why}' if self.why else ''}"


class Lanes:
    def __init__(self, cluster: Cluster, work: Work, show: Callable[[dict[str, Lane]], None]) -> None:
        self.cluster, self.work, self.show = cluster, work, show
        self.lanes: dict[str, Lane] = {}  # by host id
        self.topic = f"nrbench-{uuid.uuid4().hex}"
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._jobs: dict[str, tuple[Lane, Job]] = {}  # by token
        self._looked = 0.0

    # What other threads call.

    def _event(self, event: tuple[float, dict[str, Any]]) -> None:
        self._inbox.put(("event", event[1]))

    def _prepare(self, host: ClusterHost) -> None:
        try:
            answer: Any = self.work.prepare(self.cluster, host)
        except Exception as error:  # whatever the host's own software raises
            answer = error
        self._inbox.put(("prepared", (host, answer)))

    # What the loop does.

    def run(self) -> None:
        """Until all is done that the hosts can do.

        @raise SchedulerGone"""
        client = self.cluster.client
        client.subscribe_topic(self.topic, self._event)
        try:
            while True:
                self._look()
                self._assign()
                self.show(self.lanes)
                if self._is_over():
                    return
                self._receive()
        finally:
            for lane in self.lanes.values():
                if lane.future is not None:
                    with suppress(Exception):  # the client may be closed, because the scheduler is gone
                        lane.future.cancel()

    def _receive(self) -> None:
        """Waits for a message, then takes all that there are."""
        wait_s = max(0.0, self._looked + LOOK_S - time.monotonic())
        try:
            message = self._inbox.get(timeout=wait_s)
            while True:
                self._handle(*message)
                message = self._inbox.get_nowait()
        except queue.Empty:
            pass

    def _handle(self, kind: str, what: Any) -> None:
        if kind == "prepared":
            self._prepared(*what)
        elif kind == "ended":
            self._ended(what)
        elif what["token"] in self._jobs:
            self._tell(what)

    def _tell(self, event: dict[str, Any]) -> None:
        lane, job = self._jobs[event["token"]]
        if "taken" in event:
            self._took(lane, job, event["taken"])
        elif lane.job is job:
            lane.waits = "waits" in event
            lane.running, lane.running_since = event.get("began"), time.monotonic()

    def _took(self, lane: Lane, job: Job, answer: Taken) -> None:
        if lane.job is job:
            if answer["index"] in lane.done:
                return
            lane.done.add(answer["index"])
            lane.running = None
        self.work.took(lane.host, job, answer)

    def _ended(self, token: str) -> None:
        lane, job = self._jobs[token]
        if lane.job is not job:
            return
        if lane.future.status == "finished":
            for answer in lane.future.result():
                self._took(lane, job, answer)
            self._forget(lane)
            lane.enter(READY)
        elif lane.future.status == "error":
            error = lane.future.exception()
            if type(error).__name__ != "KilledWorker":  # of a worker that is gone the next look hears
                self._leave_out(lane, f"{type(error).__name__}: {error}", may_return=False)

    def _forget(self, lane: Lane) -> None:
        lane.job = lane.future = lane.running = None
        lane.done, lane.waits = set(), False

    def _assign(self) -> None:
        for lane in self.lanes.values():
            if lane.state != READY:
                continue
            job = self.work.next(lane.host)
            if job is None:
                continue
            lane.job, lane.done, lane.running, lane.waits = job, set(), None, False
            self._jobs[job.token] = (lane, job)
            lane.enter(BUSY)
            lane.future = self.cluster.client.submit(
                run_job, self.topic, job.token, len(job.titles), job.take,
                key=f"nrbench-{job.token}", workers=[lane.host.address], allow_other_workers=False,
                resources=MACHINE, pure=False, retries=0,
            )  # fmt: skip
            lane.future.add_done_callback(lambda _, token=job.token: self._inbox.put(("ended", token)))

    # Hosts come and go.

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        try:
            workers = self.cluster.look(wait_s=0)
        except Exception as error:  # a closed connection has many names
            raise SchedulerGone(f"the scheduler is gone ({error or type(error).__name__})") from error
        present = {host.id: host for host in self.cluster.hosts}
        for key, host in present.items():
            if key not in self.lanes:
                self.lanes[key] = Lane(host)
                self._begin(self.lanes[key], host)
        for lane in self.lanes.values():
            there = present.get(lane.host.id)
            self._watch(lane, there, float(workers[there.address]["last_seen"]) if there else 0.0, now)

    def _begin(self, lane: Lane, host: ClusterHost) -> None:
        lane.host, lane.beat = host, (0.0, time.monotonic())
        lane.enter(PREPARING)
        threading.Thread(target=self._prepare, args=(host,), daemon=True).start()

    def _watch(self, lane: Lane, there: ClusterHost | None, seen: float, now: float) -> None:
        if there and seen != lane.beat[0]:
            lane.beat = (seen, now)
            returns = lane.state in (GONE, OUT) and lane.may_return
            if returns or (lane.state != OUT and there.address != lane.host.address):
                self._gone(lane, "it was started again")
                self._begin(lane, there)
                return
        silent_s = now - lane.beat[1]
        if lane.state not in (GONE, OUT):
            if there is None:
                self._gone(lane, "its worker is gone, or drained")
            elif silent_s > SILENT_S:
                self._gone(lane, f"no sign of life for {silent_s:.0f} s")
        elif lane.state == GONE and now - lane.since > RETURN_S:
            self._leave_out(lane, lane.why)
        waits = lane.state == PREPARING or (lane.state == BUSY and lane.running is None and not lane.done)
        if waits and now - lane.since > WAIT_MAX_S:
            self._leave_out(lane, f"busy for {WAIT_MAX_S / 3600:.0f} hours", may_return=False)
        if lane.state == BUSY and lane.job and lane.running is not None:
            limit_s = lane.job.limits_s[lane.running] + GRACE_S
            if now - lane.running_since > limit_s:
                reason = f"it hangs: no end of {lane.text} within {limit_s:.0f} s"
                self._leave_out(lane, reason, may_return=False)

    def _gone(self, lane: Lane, why: str) -> None:
        """Its job goes back; what it had begun waits for its return, for then the output is known."""
        if lane.job:
            say(f"{lane.host.name}: lost: {why}")
            lane.future.cancel()
            if lane.running is not None:
                lane.cut = (lane.job, lane.running, why)
            left = [n for n in range(len(lane.job.titles)) if n not in lane.done and n != lane.running]
            self.work.put_back(lane.host, lane.job, left)
            self._forget(lane)
        if lane.state not in (GONE, OUT):
            lane.enter(GONE, why)

    def _leave_out(self, lane: Lane, why: str, may_return: bool = True) -> None:
        self._gone(lane, why)
        self._settle(lane, "")
        lane.may_return = may_return
        lane.enter(OUT, why)
        say(f"{lane.host.name}: left out: {why}")
        self.work.release(lane.host)

    def _settle(self, lane: Lane, output: str) -> None:
        if lane.cut:
            job, index, why = lane.cut
            lane.cut = None
            self.work.lost(lane.host, job, index, f"{why}{f'. Its last output: {output}' if output else ''}")

    def _prepared(self, host: ClusterHost, answer: Any) -> None:
        lane = self.lanes[host.id]
        if lane.state != PREPARING or lane.host.address != host.address:
            return
        if isinstance(answer, Exception):
            if type(answer).__name__ not in ("CancelledError", "FutureCancelledError", "KilledWorker"):
                self._leave_out(lane, str(answer) or type(answer).__name__, may_return=False)
            return
        self._settle(lane, str(answer.get("last_output", "")))
        why = self.work.join(host, answer)
        if why:
            self._leave_out(lane, why, may_return=False)
        else:
            lane.enter(READY)

    def _is_over(self) -> bool:
        """No host does anything, and nothing is left for the hosts that could."""
        return all(lane.state in (READY, OUT) for lane in self.lanes.values())
