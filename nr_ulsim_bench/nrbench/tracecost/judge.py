# SPDX-License-Identifier: BSD-3-Clause
"""What the measurements show: ratios of one state to another with their intervals, and ns an event."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Iterable, NamedTuple, Sequence

Line = dict[str, Any]

OFF_RATIO_MAX = 1.01
EVENT_NS_MAX = 150.0
ROUNDS_MIN = 5  # fewer, drawn anew, say little about how much they scatter
RESAMPLES = 1000
TAIL = RESAMPLES // 40  # 95 % lie between
FIELDS = ("makespan_p50_us", "makespan_mean_us", "cpu_s")
TASK_FIELD = "ns_per_task"


class CaseKey(NamedTuple):
    case: str
    sched_class: str


Series = dict[str, dict[str, dict[int, float]]]  # state -> field -> round -> value
Slots = dict[CaseKey, Series]


def collect(lines: Iterable[Line], bench: str = "trace", fields: Sequence[str] = FIELDS) -> Slots:
    slots: Slots = {}
    for line in lines:
        if line.get("bench") != bench or "error" in line:
            continue
        of_case = slots.setdefault(CaseKey(line["case"], line["class"]), {})
        for field in fields:
            of_case.setdefault(line["state"], {}).setdefault(field, {})[line["round"]] = line[field]
    return slots


@dataclass(frozen=True)
class Ratio:
    value: float
    low: float
    high: float
    rounds: int

    @property
    def percent(self) -> str:
        return f"{100 * (self.value - 1):+.2f} [{100 * (self.low - 1):+.2f}, {100 * (self.high - 1):+.2f}]"


def word(ratio: Ratio | None, limit: float) -> str:
    """OPEN: the limit lies inside the interval, or there are few rounds; only more can tell."""
    if ratio is None:
        return "----"
    if ratio.rounds < ROUNDS_MIN:
        return "OPEN"
    return "PASS" if ratio.high <= limit else "MISS" if ratio.low > limit else "OPEN"


def round_ratios(series: Series, field: str, of: str, to: str) -> dict[int, float]:
    """What the machine does lasts longer than a round, so it cancels."""
    upper, lower = series.get(of, {}).get(field, {}), series.get(to, {}).get(field, {})
    return {number: upper[number] / lower[number] for number in upper.keys() & lower.keys()}


def _mean_of_medians(cases: Sequence[dict[int, float]], rounds: Sequence[int]) -> float:
    medians = [statistics.median(ratios[i] for i in rounds if i in ratios) for ratios in cases]
    return statistics.geometric_mean(medians)


def ratio(cases: Sequence[dict[int, float]]) -> Ratio | None:
    """Geometric mean over cases of the median over rounds; interval by drawing whole rounds anew."""
    cases = [ratios for ratios in cases if ratios]
    common = sorted(set.intersection(*(set(ratios) for ratios in cases))) if cases else []
    if not common:
        return None
    draw = random.Random(len(common))
    again = sorted(_mean_of_medians(cases, draw.choices(common, k=len(common))) for _ in range(RESAMPLES))
    return Ratio(_mean_of_medians(cases, common), again[TAIL], again[-TAIL - 1], len(common))


def compare(slots: Slots, keys: Iterable[CaseKey], field: str, of: str, to: str) -> Ratio | None:
    return ratio([round_ratios(slots[key], field, of, to) for key in keys])


def median(series: Series, state: str, field: str) -> float | None:
    values = series.get(state, {}).get(field)
    return statistics.median(values.values()) if values else None


@dataclass(frozen=True)
class EventCost:
    """Over the runs of ws-trace-cost in one state, in ns an event."""

    minimum: float
    p50: float
    worst_p50: float
    runs: int


def event_costs(lines: Iterable[Line]) -> dict[tuple[str, bool], EventCost]:
    """By what was made and whether a session recorded."""
    runs: dict[tuple[str, bool], list[Line]] = defaultdict(list)
    for line in lines:
        if line.get("bench") == "trace-cost" and "error" not in line:
            runs[line["what"], line["recorded"]].append(line)
    return {
        key: EventCost(
            min(line["ns_min"] for line in of_key),
            statistics.median(line["ns_p50"] for line in of_key),
            max(line["ns_p50"] for line in of_key),
            len(of_key),
        )
        for key, of_key in runs.items()
    }


def event_word(costs: dict[tuple[str, bool], EventCost]) -> str:
    recorded = [cost.p50 for (what, on), cost in costs.items() if on and what != "loop"]
    return "----" if not recorded else "PASS" if max(recorded) <= EVENT_NS_MAX else "MISS"
