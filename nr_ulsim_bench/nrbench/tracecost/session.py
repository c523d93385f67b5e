# SPDX-License-Identifier: BSD-3-Clause
"""A recording, made as tpool-ws-trace makes it, while a block of Python runs; gone after it."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Iterable

from nrbench.trace import daemon
from nrbench.trace import events as ev
from nrbench.trace.errors import TraceError
from nrbench.trace.lttng import Buffers, Session

_numbers = itertools.count()
_NAMES = {kind.number: name.partition(":")[2] for name, kind in ev.KINDS.items() if kind.phase is None}
_ENDINGS = {ev.PHASE_BEGIN: "_begin", ev.PHASE_END: "_end"}
_OTHERS = (ev.PROGRAM, ev.IMAGE, ev.LOST)  # no events of the pool


class Recording:
    """Into a folder that lives as long as the block. A session daemon that it starts ends with it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ws-trace-cost-"))
        self.discarded = 0
        name = f"ws-trace-cost-{os.getpid()}-{next(_numbers)}"
        self._session = Session(name, self.folder / "trace", Buffers())
        self._leftovers = ExitStack()

    def __enter__(self) -> Recording:
        with ExitStack() as leftovers:
            leftovers.callback(shutil.rmtree, self.folder, ignore_errors=True)
            leftovers.enter_context(daemon.ends_with_block())
            leftovers.enter_context(self._session)
            self._leftovers = leftovers.pop_all()
        return self

    def stop(self) -> None:
        """Now the trace is complete, and it is known how many events found no room."""
        self._session.stop()
        self.discarded = self._session.losses.events if self._session.losses else 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._leftovers.__exit__(kind, error, at)


def why_none() -> str | None:
    """@return why nothing can be recorded here; None = it can"""
    try:
        with Recording():
            return None
    except TraceError as error:
        return str(error)


def _name(event: ev.Event) -> str:
    ending = _ENDINGS.get(event[0])
    return f"{event[4]}{ending}" if ending else _NAMES[event[0]]


def events_a_slot(events: Iterable[ev.Event]) -> list[dict[str, float]]:
    """Number of each event a slot, from its first phase to its last, for each process in order of appearance.

    What a pool does before the first phase and after the last one is left out.
    """
    counts: dict[int, Counter[str]] = {}
    pending: dict[int, Counter[str]] = {}
    slots: dict[int, set[tuple[int, int]]] = {}
    for event in events:
        kind, process = event[0], event[2]
        if kind in _OTHERS:
            continue
        if kind == ev.PHASE_BEGIN:
            slots.setdefault(process, set()).add((event[5], event[6]))
        if process not in slots:
            continue
        pending.setdefault(process, Counter())[_name(event)] += 1
        if kind == ev.PHASE_END:
            counts.setdefault(process, Counter()).update(pending.pop(process))
    return [{name: n / len(slots[p]) for name, n in of.items()} for p, of in counts.items()]
