# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of times in bounded memory: HDR histograms, three significant digits."""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from nrbench.trace.errors import TraceError

HIGHEST_NS = 10**11  # 100 s; a longer time counts as that
DIGITS = 3

try:
    from hdrh.histogram import HdrHistogram
except ImportError:  # told when it is needed, in one line
    HdrHistogram = None


def check() -> None:
    if HdrHistogram is None:
        raise TraceError(
            "the Python package hdrhistogram is missing: pip install hdrhistogram, or run ci/setup bench"
        )


class Times:
    """Times in ns; count, mean and maximum are exact, quantiles to a thousandth."""

    def __init__(self) -> None:
        self.count = 0
        self.sum_ns = 0
        self.max_ns = 0
        self._hist: Any = None  # half a megabyte, so not before it is needed

    def add(self, value_ns: int) -> None:
        if self._hist is None:
            self._hist = HdrHistogram(1, HIGHEST_NS, DIGITS)
        value_ns = max(value_ns, 0)
        self.count += 1
        self.sum_ns += value_ns
        self.max_ns = max(self.max_ns, value_ns)
        self._hist.record_value(min(value_ns, HIGHEST_NS))

    def add_all(self, values_ns: Iterable[int]) -> None:
        for value_ns in values_ns:
            self.add(value_ns)

    @property
    def mean_us(self) -> float | None:
        return self.sum_ns / self.count / 1e3 if self.count else None

    def quantiles_us(self, *percents: float) -> list[float | None]:
        if self._hist is None:
            return [None for _ in percents]
        values = self._hist.get_percentile_to_value_dict(list(percents))
        return [min(values[percent], self.max_ns) / 1e3 for percent in percents]

    def tail(self) -> Iterator[tuple[float, float]]:
        """(time in us, share of the times that are longer or equal), in rising order."""
        if self._hist is None:
            return
        left = self.count
        for item in self._hist.get_recorded_iterator():
            yield max(item.value_iterated_to, 1) / 1e3, left / self.count
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
