# SPDX-License-Identifier: BSD-3-Clause
"""Stretches of time in which events were lost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

STRETCHES_MAX = 1 << 14


class Lost:
    """In order of time and apart from each other, so that a search takes the logarithm of their number.

    What is asked about ends now or shortly before. When there are too many stretches, the older half becomes
    one: a phase between them that ended long ago and is entered only now would be left out for nothing.
    """

    def __init__(self) -> None:
        self.count = 0
        self._begins: list[int] = []
        self._ends: list[int] = []

    def add(self, begin_ns: int, end_ns: int) -> None:
        first = bisect_left(self._ends, begin_ns)  # of those that it touches
        behind = bisect_right(self._begins, end_ns)
        if first < behind:
            begin_ns, end_ns = min(begin_ns, self._begins[first]), max(end_ns, self._ends[behind - 1])
        self._begins[first:behind] = [begin_ns]
        self._ends[first:behind] = [end_ns]
        self.count += 1 - (behind - first)
        if len(self._begins) > STRETCHES_MAX:
            self._shorten()

    def _shorten(self) -> None:
        half = len(self._begins) // 2
        del self._begins[1:half]
        del self._ends[: half - 1]

    def between(self, begin_ns: int, end_ns: int) -> bool:
        """Whether something was lost in that time, both ends included."""
        last = bisect_right(self._begins, end_ns) - 1
        return last >= 0 and self._ends[last] >= begin_ns
