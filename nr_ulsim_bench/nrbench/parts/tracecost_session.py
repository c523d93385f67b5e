# SPDX-License-Identifier: BSD-3-Clause
"""A recording as tpool-ws-trace makes it, for the time of a block, and the events in it."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator

from nrbench.trace.reader import Event
from nrbench.trace.record import Session, TraceError, ends_with_block

_numbers = itertools.count()
_OTHERS = ("procname", "bin_info")  # no events of the pool


@contextmanager
def recording() -> Iterator[Session]:
    """Its folder is gone after the block; so is a session daemon that it started."""
    with tempfile.TemporaryDirectory(prefix="ws-trace-cost-") as folder, ends_with_block():
        name = f"ws-trace-cost-{os.getpid()}-{next(_numbers)}"
        with Session(name, Path(folder) / "trace") as session:
            yield session


def discarded(session: Session) -> int:
    """Events of a stopped recording that found no room."""
    return session.losses.events if session.losses else 0


def why_none() -> str | None:
    """@return why nothing can be recorded here; None = it can"""
    try:
        with recording():
            return None
    except TraceError as error:
        return str(error)


def events_a_slot(events: Iterable[Event]) -> list[dict[str, float]]:
    """Number of each event a slot, for each process in order of appearance.

    Events before a process's first phase and after its last one are left out.
    """
    counts: dict[int, Counter[str]] = {}
    pending: dict[int, Counter[str]] = {}
    slots: dict[int, set[tuple[int, int]]] = {}
    for event in events:
        kind, process = event["kind"], event["pid"]
        if kind in _OTHERS:
            continue
        if kind == "phase_begin":
            slots.setdefault(process, set()).add((event["frame"], event["slot"]))
        if process not in slots:
            continue
        name = kind.replace("phase", event["text"])
        pending.setdefault(process, Counter())[name] += 1
        if kind == "phase_end":
            counts.setdefault(process, Counter()).update(pending.pop(process))
    return [{name: n / len(slots[p]) for name, n in of.items()} for p, of in counts.items()]
