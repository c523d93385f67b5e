# SPDX-License-Identifier: BSD-3-Clause
"""A session on a cluster from its first job to its last, and how it ended."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Protocol

from nrbench.cluster.connect import Cluster
from nrbench.cluster.display import Display
from nrbench.cluster.lanes import OUT, Lane, Lanes, SchedulerGone, Work
from nrbench.progress import say
from nrbench.sweep.session import Writer

WHERE = {"host": "on each host", "class": "on one host of each class", "any": "on one host"}


class Session(Work, Protocol):
    """Work whose results are lines of a file."""

    display: Display

    def open(self, writer: Writer) -> None: ...
    def show(self, lanes: dict[str, Lane]) -> None:
        """Counts what is left, and shows it."""


class Outcome(NamedTuple):
    interrupted: bool
    cut: str  # why runs are left, without an interruption


def announce(cluster: Cluster, per: str) -> None:
    classes = Counter(host.class_ for host in cluster.hosts)
    say(f"hosts: {len(cluster.hosts)}, classes: {len(classes)}; a case is run {WHERE[per]}")
    for name, count in classes.items():
        say(f"  {count} × {name}")
    if cluster.dashboard:
        say(f"dashboard: {cluster.dashboard}")


def drive(cluster: Cluster, work: Session, path: Path) -> Outcome:
    """Until all is done that the hosts can do, or the user interrupts, or the scheduler is gone.

    @param path  of the results; each is written as it comes
    @raise ResultsError  it cannot be written, and names it"""
    display, lanes = work.display, Lanes(cluster, work, work.show)
    interrupted, cut, over = False, "", "failed"
    try:
        with contextlib.closing(Writer(path)) as writer:
            work.open(writer)
            lanes.run()
            over = "over"
    except KeyboardInterrupt:
        interrupted, over = True, "interrupted"
    except SchedulerGone as error:
        cut = over = str(error)
    finally:
        work.show(lanes.lanes)
        display.finish(lanes.lanes, over)
    left = sum(display.left.values())
    if not (left or display.done or cut or interrupted):
        say("nothing left to do")
    if left and not (cut or interrupted):
        out = ", ".join(lane.host.name for lane in lanes.lanes.values() if lane.state == OUT)
        cut = f"{left} runs are left: these hosts could not take them: {out}"
    return Outcome(interrupted, cut)
