# SPDX-License-Identifier: BSD-3-Clause
"""Slots: from the begin of the first phase of a (frame, slot) to the end of its last."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nrbench.trace.errors import TraceError
from nrbench.trace.state import Phase

OPEN_MAX = 64  # slots of which phases may still begin
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
    if frame is None:
        return SlotName(-1, -1, int(number))
    return SlotName(int(frame), int(slot), int(number or 0))


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
    pid: int
    begin_ns: int
    end_ns: int
    open_count: int = 0
    is_current: bool = True  # what begins next under these numbers belongs to it
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
    _current: dict[tuple[int, int, int], _Slot] = field(default_factory=dict)
    _of: dict[Phase, _Slot] = field(default_factory=dict)  # of open phases
    _seen: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _bursts: dict[int, int] = field(default_factory=dict)  # by process

    def begin(self, phase: Phase) -> None:
        key = (phase.pid, phase.frame, phase.slot)
        slot = self._current.get(key)
        if slot is not None and self._is_over(slot, phase):
            self._retire(key)
            slot = None
        if slot is None:
            number = self._seen.get(key, 0)
            self._seen[key] = number + 1
            name = SlotName(phase.frame, phase.slot, number)
            slot = _Slot(name, phase.pid, phase.begin_ns, phase.begin_ns)
            self._current[key] = slot
            if len(self._current) > OPEN_MAX:
                self._retire(next(iter(self._current)))
        slot.open_count += 1
        self._of[phase] = slot

    @staticmethod
    def _is_over(slot: _Slot, phase: Phase) -> bool:
        """The same phase again is the next slot of these numbers: a simulator repeats one slot.

        Whatever else of the slot goes on: that may have lost its end.
        """
        return (phase.name, phase.id) in slot.ended or phase.begin_ns - slot.end_ns > AGAIN_NS

    def end(self, phase: Phase, end_ns: int, is_valid: bool) -> None:
        slot = self._of.get(phase)
        if slot is None:
            return
        slot.end_ns = max(slot.end_ns, end_ns)
        slot.ended.add((phase.name, phase.id))
        self._leave(phase, slot, is_valid)

    def abandon(self, phase: Phase) -> None:
        """Its end does not come."""
        slot = self._of.get(phase)
        if slot is not None:
            self._leave(phase, slot, False)

    def _leave(self, phase: Phase, slot: _Slot, is_valid: bool) -> None:
        del self._of[phase]
        slot.open_count -= 1
        slot.is_valid &= is_valid
        if not slot.is_current and slot.open_count == 0:
            self._enter(slot)

    def burst(self, phase: Phase, end_ns: int, is_valid: bool) -> None:
        number = self._bursts.get(phase.pid, 0)
        self._bursts[phase.pid] = number + 1
        window = Window(SlotName(-1, -1, number), phase.pid, phase.begin_ns, end_ns)
        if is_valid:
            _keep_longest(self._worst_burst, window)
        if self.wanted == window.name:
            self.found[window.pid] = window

    def _retire(self, key: tuple[int, int, int]) -> None:
        """No other phase belongs to it; those that go on still do."""
        slot = self._current.pop(key)
        slot.is_current = False
        if slot.open_count == 0:
            self._enter(slot)

    def _enter(self, slot: _Slot) -> None:
        window = Window(slot.name, slot.pid, slot.begin_ns, slot.end_ns)
        if slot.end_ns == slot.begin_ns:
            return  # no phase of it has ended
        self.counts[window.pid] = self.counts.get(window.pid, 0) + 1
        if slot.is_valid:
            _keep_longest(self._worst, window)
        if self.wanted == slot.name:
            self.found[window.pid] = window

    def finish(self) -> None:
        """All phases have ended or been abandoned."""
        for key in list(self._current):
            self._retire(key)

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
