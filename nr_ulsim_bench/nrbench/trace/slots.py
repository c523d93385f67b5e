# SPDX-License-Identifier: BSD-3-Clause
"""Slots: from the begin of the first phase of a (frame, slot) to the end of its last."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nrbench.trace.errors import TraceError
from nrbench.trace.state import Phase

OPEN_MAX = 64  # slots that may still go on
AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s


class SlotName(NamedTuple):
    """FRAME.SLOT, the occurrence-th of that name in the trace; without them the occurrence-th burst."""

    frame: int
    slot: int
    occurrence: int

    def __str__(self) -> str:
        number = f"#{self.occurrence}" if self.occurrence else ""
        return f"burst #{self.occurrence}" if self.frame < 0 else f"{self.frame}.{self.slot}{number}"


def parse_name(text: str) -> SlotName:
    match = re.fullmatch(r"(?:(\d+)\.(\d+))?(?:#(\d+))?", text.strip())
    if not match or not text.strip():
        raise TraceError(
            f"--slot {text}: expected FRAME.SLOT, FRAME.SLOT#n, or #n for a burst; n counts from 0"
        )
    frame, slot, number = match.groups()
    return (
        SlotName(int(frame or -1), int(slot or -1), int(number or 0))
        if frame
        else SlotName(-1, -1, int(number))
    )


class Window(NamedTuple):
    """A stretch of a trace, ns."""

    name: SlotName
    pid: int
    begin_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


@dataclass
class _Slot:
    name: SlotName
    begin_ns: int
    end_ns: int
    open_count: int = 0
    is_valid: bool = True
    ended: set[tuple[str, int]] = field(default_factory=set)


def _keep_longest(by_process: dict[int, Window], window: Window) -> None:
    longest = by_process.get(window.pid)
    if longest is None or window.duration_ns > longest.duration_ns:
        by_process[window.pid] = window


def _counted(counts: dict[int, int], what: str) -> str:
    """How many there are in each process."""

    def where(pid: int) -> str:
        return "there are" if len(counts) == 1 else f"process {pid} has"

    return "; ".join(f"{where(pid)} {count} {what}, #0 to #{count - 1}" for pid, count in counts.items())


@dataclass
class Slots:
    """Finds the longest slot, and one that is asked for; in traces without phases, the longest burst.

    Each process has its own: what is asked for may be in several, and is looked for in all until keep().
    """

    wanted: SlotName | None = None
    found: dict[int, Window] = field(default_factory=dict)  # by process
    counts: dict[int, int] = field(default_factory=dict)  # by process
    _worst: dict[int, Window] = field(default_factory=dict)  # by process
    _worst_burst: dict[int, Window] = field(default_factory=dict)
    _open: dict[tuple[int, int, int], _Slot] = field(default_factory=dict)
    _seen: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _bursts: dict[int, int] = field(default_factory=dict)  # by process

    def begin(self, phase: Phase) -> None:
        key = (phase.pid, phase.frame, phase.slot)
        slot = self._open.get(key)
        if slot is not None and self._is_over(slot, phase):
            self._close(key)
            slot = None
        if slot is None:
            number = self._seen.get(key, 0)
            self._seen[key] = number + 1
            slot = _Slot(SlotName(phase.frame, phase.slot, number), phase.begin_ns, phase.begin_ns)
            self._open[key] = slot
            if len(self._open) > OPEN_MAX:
                self._close(next(iter(self._open)))
        slot.open_count += 1

    @staticmethod
    def _is_over(slot: _Slot, phase: Phase) -> bool:
        """The same phase again is the next slot of these numbers: a simulator repeats one slot."""
        again = (phase.name, phase.id) in slot.ended and slot.open_count == 0
        return again or phase.begin_ns - slot.end_ns > AGAIN_NS

    def end(self, phase: Phase, end_ns: int, is_valid: bool) -> None:
        slot = self._open.get((phase.pid, phase.frame, phase.slot))
        if slot is None:
            return
        slot.open_count -= 1
        slot.end_ns = max(slot.end_ns, end_ns)
        slot.is_valid &= is_valid
        slot.ended.add((phase.name, phase.id))

    def burst(self, phase: Phase, end_ns: int, is_valid: bool) -> None:
        number = self._bursts.get(phase.pid, 0)
        self._bursts[phase.pid] = number + 1
        window = Window(SlotName(-1, -1, number), phase.pid, phase.begin_ns, end_ns)
        if is_valid:
            _keep_longest(self._worst_burst, window)
        if self.wanted == window.name:
            self.found[window.pid] = window

    def _close(self, key: tuple[int, int, int]) -> None:
        slot = self._open.pop(key)
        window = Window(slot.name, key[0], slot.begin_ns, slot.end_ns)
        if slot.end_ns == slot.begin_ns:
            return  # no phase of it has ended
        self.counts[window.pid] = self.counts.get(window.pid, 0) + 1
        if slot.is_valid:
            _keep_longest(self._worst, window)
        if self.wanted == slot.name:
            self.found[window.pid] = window

    def finish(self) -> None:
        for key in list(self._open):
            self._close(key)

    def keep(self, pids: set[int]) -> None:
        """Forget all other processes."""
        by_process: dict[int, Any]
        for by_process in (self.found, self.counts, self._worst, self._worst_burst, self._bursts):
            for pid in by_process.keys() - pids:
                del by_process[pid]
        self._seen = {key: count for key, count in self._seen.items() if key[0] in pids}

    @property
    def worst(self) -> Window | None:
        """The longest slot; the longest burst, if there are no slots."""
        windows = (self._worst or self._worst_burst).values()
        return max(windows, key=lambda window: window.duration_ns, default=None)

    def chosen(self) -> Window | None:
        """The window to draw, of several processes the earliest; raise if what was asked for is not there."""
        if self.wanted is None:
            return self.worst
        if not self.found:
            raise TraceError(f"--slot {self.wanted}: {self._what_there_is()}")
        return min(self.found.values(), key=lambda window: window.begin_ns)

    def _what_there_is(self) -> str:
        assert self.wanted is not None
        if self.wanted.frame < 0:
            return _counted(self._bursts, "bursts outside phases") or "there are no bursts outside phases"
        name = (self.wanted.frame, self.wanted.slot)
        counts = {pid: count for (pid, *numbers), count in self._seen.items() if tuple(numbers) == name}
        if counts:
            return _counted(counts, "slots of that name")
        names = dict.fromkeys(key[1:] for key in self._seen)
        some = ", ".join(f"{frame}.{slot}" for frame, slot in list(names)[:5])
        return (
            f"no such slot; there are {len(names)} others: {some} ..."
            if names
            else ("there are no phases, so no slots; name a burst: #n")
        )
