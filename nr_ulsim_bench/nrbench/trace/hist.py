# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of times in bounded memory: HDR histograms, three significant digits."""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from nrbench.needed import how_to_install
from nrbench.trace.errors import TraceError

HIGHEST_NS = 10**11  # 100 s; a longer time counts as that
DIGITS = 3
FEW = 128  # so many are kept as they are: a histogram takes a quarter of a megabyte

try:
    from hdrh.histogram import HdrHistogram
except ImportError:  # told when it is needed, in one line
    HdrHistogram = None


def check() -> None:
    if HdrHistogram is None:
        raise TraceError(how_to_install(["hdrhistogram"]))


class Times:
    """Times in ns; count, mean and maximum are exact, quantiles to a thousandth."""

    def __init__(self) -> None:
        self.count = 0
        self.sum_ns = 0
        self.max_ns = 0
        self._few: list[int] = []
        self._hist: Any = None  # of more than a few

    def add(self, value_ns: int) -> None:
        value_ns = max(value_ns, 0)
        self.count += 1
        self.sum_ns += value_ns
        self.max_ns = max(self.max_ns, value_ns)
        if self._hist is not None:
            self._hist.record_value(min(value_ns, HIGHEST_NS))
            return
        self._few.append(value_ns)
        if self.count > FEW:
            self._hist = self._histogram()
            self._few.clear()

    def _histogram(self) -> Any:
        if self._hist is not None:
            return self._hist
        hist = HdrHistogram(1, HIGHEST_NS, DIGITS)
        for value_ns in self._few:
            hist.record_value(min(value_ns, HIGHEST_NS))
        return hist

    def add_all(self, values_ns: Iterable[int]) -> None:
        for value_ns in values_ns:
            self.add(value_ns)

    @property
    def mean_us(self) -> float | None:
        return self.sum_ns / self.count / 1e3 if self.count else None

    def quantiles_us(self, *percents: int) -> list[float | None]:
        """The least of the times that so many percent of all do not exceed (nearest rank)."""
        if not self.count:
            return [None for _ in percents]
        hist = self._histogram()
        return [self._at_rank(hist, -(-self.count * percent // 100)) / 1e3 for percent in percents]

    def _at_rank(self, hist: Any, rank: int) -> int:
        """The rank-th of the times, from 1, in rising order; ns, to the histogram's digits."""
        below, index = hist.get_count_at_index(0), 0
        while below < rank:
            index += 1
            below += hist.get_count_at_index(index)
        highest: int = hist.get_highest_equivalent_value(hist.get_value_from_index(index))
        return min(highest, self.max_ns)

    def tail(self) -> Iterator[tuple[float, float]]:
        """(time in us, share of the times that are at least that long), in rising order."""
        if not self.count:
            return
        left = self.count
        for item in self._histogram().get_recorded_iterator():
            yield max(min(item.value_iterated_to, self.max_ns), 1) / 1e3, left / self.count
            left -= item.count_at_value_iterated_to

    def summary(self) -> dict[str, float | int | None]:
        p50, p99 = self.quantiles_us(50, 99)
        return {
            "count": self.count,
            "p50_us": p50,
            "p99_us": p99,
            "max_us": self.max_ns / 1e3 if self.count else None,
            "mean_us": self.mean_us,
        }
