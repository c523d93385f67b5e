# SPDX-License-Identifier: BSD-3-Clause
"""Slots: from the begin of the first phase of a (frame, slot) to the end of its last."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from nrbench.trace.events import TraceError
from nrbench.trace.state import Phase

OPEN_MAX = 64  # slots of which phases may still begin
AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s


class SlotName(NamedTuple):
    """FRAME.SLOT, and which of that name in the trace. With frame and slot -1: which burst."""

    frame: int
    slot: int
    occurrence: int

    def __str__(self) -> str:
        number = f"#{self.occurrence}" if self.occurrence else ""
        return f"burst #{self.occurrence}" if self.frame < 0 else f"{self.frame}.{self.slot}{number}"


def parse_name(text: str | None) -> SlotName | None:
    if text is None:
        return None
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
    """A slot or a burst as a stretch of the trace."""

    name: SlotName
    pid: int
    begin_ns: int
    end_ns: int
    is_valid: bool = True  # all its events are in the trace

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
    is_current: bool = True  # a phase that begins next under these numbers belongs to it
    is_valid: bool = True
    ended: set[tuple[str, int]] = field(default_factory=set)


def _counted(windows: list[Window], what: str) -> str:
    """How many there are in each process."""
    counts = Counter(window.pid for window in windows)
    where = {pid: "there are" if len(counts) == 1 else f"process {pid} has" for pid in counts}
    return "; ".join(f"{where[pid]} {count} {what}, #0 to #{count - 1}" for pid, count in counts.items())


@dataclass
class Slots:
    """All slots and bursts. Each process numbers its own."""

    slots: list[Window] = field(default_factory=list)
    bursts: list[Window] = field(default_factory=list)
    _current: dict[tuple[int, int, int], _Slot] = field(default_factory=dict)
    _of: dict[Phase, _Slot] = field(default_factory=dict)  # of open phases
    _numbers: Counter[tuple[int, int, int]] = field(default_factory=Counter)

    def begin(self, phase: Phase) -> None:
        key = (phase.pid, phase.frame, phase.slot)
        slot = self._current.get(key)
        if slot is not None and self._is_over(slot, phase):
            self._retire(key)
            slot = None
        if slot is None:
            slot = _Slot(self._name(*key), phase.pid, phase.begin_ns, phase.begin_ns)
            self._current[key] = slot
            if len(self._current) > OPEN_MAX:
                self._retire(next(iter(self._current)))
        slot.open_count += 1
        self._of[phase] = slot

    def _name(self, pid: int, frame: int, slot: int) -> SlotName:
        """With the next number of that name in the process."""
        self._numbers[pid, frame, slot] += 1
        return SlotName(frame, slot, self._numbers[pid, frame, slot] - 1)

    @staticmethod
    def _is_over(slot: _Slot, phase: Phase) -> bool:
        """A phase that begins again starts the next slot of these numbers, even while others of it are open.

        A simulator repeats one slot, and the end of a phase may be lost.
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
        """The end of the phase is not in the trace."""
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
        name = self._name(phase.pid, -1, -1)
        self.bursts.append(Window(name, phase.pid, phase.begin_ns, end_ns, is_valid))

    def _retire(self, key: tuple[int, int, int]) -> None:
        """Later phases do not belong to it; those that are open still do."""
        slot = self._current.pop(key)
        slot.is_current = False
        if slot.open_count == 0:
            self._enter(slot)

    def _enter(self, slot: _Slot) -> None:
        if slot.end_ns > slot.begin_ns:  # a phase of it has ended
            self.slots.append(Window(slot.name, slot.pid, slot.begin_ns, slot.end_ns, slot.is_valid))

    def finish(self) -> None:
        """Requires that all phases have ended or been abandoned."""
        for key in list(self._current):
            self._retire(key)

    def keep(self, pids: set[int]) -> None:
        """Drops all other processes."""
        self.slots = [window for window in self.slots if window.pid in pids]
        self.bursts = [window for window in self.bursts if window.pid in pids]

    @property
    def longest(self) -> Window | None:
        """The longest slot; the longest burst if there are no slots."""
        for windows in (self.slots, self.bursts):
            valid = [window for window in windows if window.is_valid]
            if valid:
                return max(valid, key=lambda window: window.duration_ns)
        return None

    def chosen(self, wanted: SlotName | None) -> Window | None:
        """The window to draw, of several processes the earliest. None is the longest.

        Raises TraceError if the wanted one is not in the trace.
        """
        if wanted is None:
            return self.longest
        found = [window for window in (*self.slots, *self.bursts) if window.name == wanted]
        if not found:
            raise TraceError(f"--slot {wanted}: {self._alternatives(wanted)}")
        return min(found, key=lambda window: window.begin_ns)

    def _alternatives(self, wanted: SlotName) -> str:
        if wanted.frame < 0:
            return _counted(self.bursts, "bursts outside phases") or "there are no bursts outside phases"
        same = [window for window in self.slots if window.name[:2] == wanted[:2]]
        if same:
            return _counted(same, "slots of that name")
        names = dict.fromkeys(window.name[:2] for window in self.slots)
        if not names:
            return "there are no phases, so no slots; name a burst: #n"
        some = ", ".join(f"{frame}.{slot}" for frame, slot in list(names)[:5])
        return f"no such slot; there are {len(names)} others: {some} ..."
