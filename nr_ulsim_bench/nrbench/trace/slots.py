# SPDX-License-Identifier: BSD-3-Clause
"""Slots: from the begin of the first phase of a (frame, slot) to the end of its last."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Iterable, NamedTuple, Sequence

from nrbench.trace.events import TraceError
from nrbench.trace.walk import Span, Walk

BURST = "burst #"
AGAIN_NS = 10**9  # the same numbers after a second are another slot: frames wrap after 10.24 s


class Window(NamedTuple):
    """A slot or a burst as a stretch of the trace."""

    name: str  # FRAME.SLOT and, from the second of that name in its process, #n; or burst #n
    pid: int
    begin_ns: int
    end_ns: int
    is_valid: bool = True  # all its events are in the trace

    @property
    def is_slot(self) -> bool:
        return not self.name.startswith(BURST)

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


def windows_of(pid: int, walk: Walk) -> list[Window]:
    """Slots by their begins, then bursts by their ends, which number them."""
    time, slots = walk.time, list[Window]()
    for (frame, slot), found in _phases(walk).items():
        for number, phases in enumerate(found):
            name = f"{frame}.{slot}" + (f"#{number}" if number else "")
            begin_ns = time[phases[0].begin]
            end_ns = max((time[phase.end] for phase in phases if phase.end >= 0), default=begin_ns)
            slots.append(Window(name, pid, begin_ns, end_ns, all(phase.is_valid for phase in phases)))
    slots = sorted((slot for slot in slots if slot.duration_ns), key=lambda slot: slot.begin_ns)
    bursts = [span for span in walk.spans if span.is_burst and span.end >= 0]
    for number, span in enumerate(bursts):
        slots.append(Window(f"{BURST}{number}", pid, time[span.begin], time[span.end], span.is_valid))
    return slots


def _phases(walk: Walk) -> dict[tuple[int, int], list[list[Span]]]:
    """Of the slots with these numbers, in their order."""
    slots: dict[tuple[int, int], list[list[Span]]] = defaultdict(list)
    for phase in sorted((span for span in walk.spans if not span.is_burst), key=lambda span: span.begin):
        same = slots[phase.frame, phase.slot]
        if not same or _is_over(walk, same[-1], phase):
            same.append([])
        same[-1].append(phase)
    return slots


def _is_over(walk: Walk, slot: list[Span], phase: Span) -> bool:
    """A phase that begins again starts the next slot of these numbers, even while others of it are open.

    A simulator repeats one slot, and the end of a phase may be lost.
    """
    ended = [one for one in slot if 0 <= one.end < phase.begin]
    last = max([one.end for one in ended], default=slot[0].begin)
    again = any((one.kind, one.id) == (phase.kind, phase.id) for one in ended)
    return again or walk.time[phase.begin] - walk.time[last] > AGAIN_NS


def longest(windows: Iterable[Window]) -> Window | None:
    """The longest slot; the longest burst if there are no slots."""
    valid = (window for window in windows if window.is_valid)
    return max(valid, key=lambda window: (window.is_slot, window.duration_ns), default=None)


def chosen(windows: Sequence[Window], wanted: str) -> Window:
    """The one of that name, of several processes the earliest: FRAME.SLOT, FRAME.SLOT#n, or #n for a burst; n
    counts from 0."""
    name = wanted.removesuffix("#0") or "#0"
    found = [window for window in windows if name == window.name.removeprefix("burst ")]
    if not found:
        names = Counter(window.name.removeprefix("burst ") for window in windows)
        raise TraceError(f"--slot {wanted}: no such slot or burst; there are {', '.join([*names][:5])} ...")
    return min(found, key=lambda window: window.begin_ns)
