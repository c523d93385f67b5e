# SPDX-License-Identifier: BSD-3-Clause
"""What pools did between two looks."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, Sequence

from nrbench.live.page import Pool, bucket_end_s, of_kind


def quantile_us(counts: Sequence[int], share: float) -> float | None:
    """Of a histogram, to within an eighth. None: it is empty."""
    passed, values = 0, sum(counts)
    for bucket, count in enumerate(counts):
        passed += count
        if values and passed >= share * values:
            return bucket_end_s(bucket) * 1e6
    return None


class Span(NamedTuple):
    seconds: float
    counts: dict[str, int]
    starts: tuple[int, ...]

    def per_s(self, name: str) -> float:
        return self.counts[name] / self.seconds if self.seconds else 0.0

    @property
    def spin_cores(self) -> float:
        return self.per_s("spin_ns") / 1e9

    @property
    def late_percent(self) -> float | None:
        """Of the bursts that are judged."""
        judged, late = self.counts["judged_bursts"], sum(of_kind(self.counts, "burst:").values())
        return 100 * late / judged if judged else None

    def json(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds, "tasks_per_s": self.per_s("run_tasks"), "spin_cores": self.spin_cores,
            "start_p50_us": quantile_us(self.starts, 0.5), "start_p99_us": quantile_us(self.starts, 0.99),
            "counts": self.counts,
        }  # fmt: skip


def span(before: Pool, after: Pool) -> Span:
    counts = {name: max(0, count - before.counts[name]) for name, count in after.counts.items()}
    starts = tuple(max(0, now - then) for now, then in zip(after.starts, before.starts))
    return Span((after.written_ns - before.written_ns) / 1e9, counts, starts)


def together(spans: Sequence[Span]) -> Span:
    """Of pools in the same time; of the seconds the most."""
    counts: Counter[str] = Counter()
    for one in spans:
        counts.update(one.counts)
    starts = tuple(map(sum, zip(*(one.starts for one in spans))))
    return Span(max(one.seconds for one in spans), counts, starts)
