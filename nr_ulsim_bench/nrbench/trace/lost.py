# SPDX-License-Identifier: BSD-3-Clause
"""Stretches of time in which events were lost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Lost:
    """Sorted and disjoint, so that a search takes the logarithm of their number."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    @property
    def count(self) -> int:
        return len(self._begins)

    def add(self, begin_ns: int, end_ns: int) -> None:
        first = bisect_left(self._ends, begin_ns)  # of those that it touches
        behind = bisect_right(self._begins, end_ns)
        if first < behind:
            begin_ns, end_ns = min(begin_ns, self._begins[first]), max(end_ns, self._ends[behind - 1])
        self._begins[first:behind] = [begin_ns]
        self._ends[first:behind] = [end_ns]

    def between(self, begin_ns: int, end_ns: int) -> bool:
        """Whether something was lost in that time, both ends included."""
        last = bisect_right(self._begins, end_ns) - 1
        return last >= 0 and self._ends[last] >= begin_ns
