# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of times. All values are kept, 8 bytes each: less than a tenth of the trace."""

from __future__ import annotations

from array import array

import numpy as np


class Times:
    """Times in ns. A negative time counts as 0."""

    def __init__(self) -> None:
        self.ns = array("q")

    def add(self, *values_ns: int) -> None:
        self.ns.extend(max(value_ns, 0) for value_ns in values_ns)

    @property
    def count(self) -> int:
        return len(self.ns)

    def tail(self) -> tuple[np.ndarray, np.ndarray]:
        """Times in us in rising order, and for each the share of all times that are at least that long."""
        times, counts = np.unique(np.asarray(self.ns), return_counts=True)
        return np.maximum(times, 1) / 1e3, counts[::-1].cumsum()[::-1] / max(self.count, 1)

    def summary(self) -> dict[str, float | int | None]:
        """Quantiles have the nearest rank: the least time that so many percent of all do not exceed."""
        ordered = np.sort(self.ns) / 1e3
        if not self.count:
            return {"count": 0, "p50_us": None, "p99_us": None, "max_us": None, "mean_us": None}
        p50, p99 = (float(ordered[-(-self.count * percent // 100) - 1]) for percent in (50, 99))
        return {
            "count": self.count,
            "p50_us": p50,
            "p99_us": p99,
            "max_us": float(ordered[-1]),
            "mean_us": float(ordered.mean()),
        }
