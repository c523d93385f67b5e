# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the measurements: ratios of one state to another with their intervals, and ns an event."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
import pandas as pd

Line = dict[str, Any]

OFF_RATIO_MAX = 1.01
EVENT_NS_MAX = 150.0
ROUNDS_MIN = 5  # an interval of fewer rounds means little
RESAMPLES = 1000
TAIL = RESAMPLES // 40  # 95 % lie between
FIELDS = ("makespan_p50_us", "makespan_mean_us", "cpu_s")
TASK_FIELD = "ns_per_task"


def measurements(lines: Sequence[Line], bench: str, cases: Sequence[str] = ()) -> pd.DataFrame:
    """Those that gave a result, sorted by class and case."""
    taken = [line for line in lines if line.get("bench") == bench and "error" not in line]
    table = pd.DataFrame(taken, columns=None if taken else ["class", "case", "state", "round"])
    order = {case: index for index, case in enumerate(cases)}
    place = table["case"].map(lambda case: order.get(case, len(order)))
    ordered: pd.DataFrame = table.assign(place=place).sort_values(["class", "place"], kind="stable")
    return ordered


class Ratio(NamedTuple):
    value: float
    low: float
    high: float
    rounds: int

    @property
    def percent(self) -> str:
        return f"{100 * (self.value - 1):+.2f} [{100 * (self.low - 1):+.2f}, {100 * (self.high - 1):+.2f}]"


def word(ratio: Ratio | None, limit: float) -> str:
    """OPEN: the limit lies inside the interval, or there are too few rounds; more rounds can decide."""
    if ratio is None:
        return "----"
    if ratio.rounds < ROUNDS_MIN:
        return "OPEN"
    return "PASS" if ratio.high <= limit else "MISS" if ratio.low > limit else "OPEN"


def compare(table: pd.DataFrame, field: str, of: str, to: str) -> Ratio | None:
    """Ratio in each round, in which the machine does the same; median over rounds; geometric mean over cases.

    The interval comes from rounds that are drawn anew. None: no round has all cases in both states.
    """
    if field not in table or not {of, to} <= set(table["state"]):
        return None
    wide = table.pivot_table(index="round", columns=["state", "case", "class"], values=field)
    ratios = (wide[of] / wide[to]).dropna(axis="columns", how="all").dropna()
    count = len(ratios)
    if ratios.empty:
        return None
    picks = np.random.default_rng(count).integers(0, count, (RESAMPLES, count))
    drawn = np.vstack([np.arange(count), picks])  # the first is as measured
    value, *again = np.exp(np.log(np.median(ratios.to_numpy()[drawn], axis=1)).mean(axis=1))
    again.sort()
    return Ratio(float(value), float(again[TAIL]), float(again[-TAIL - 1]), count)


def event_costs(lines: Sequence[Line]) -> pd.DataFrame:
    """Least and median ns of an event over the runs of ws-trace-cost, by `what` and `recorded`."""
    taken = [line for line in lines if line.get("bench") == "trace-cost" and "error" not in line]
    columns = ["what", "recorded", "ns_min", "ns_p50"]
    groups = pd.DataFrame(taken, columns=columns).groupby(["what", "recorded"])
    costs: pd.DataFrame = groups.agg({"ns_min": "min", "ns_p50": "median"})
    return costs


def recorded_costs(costs: pd.DataFrame) -> dict[str, float]:
    """Median ns of each kind of event while a session records."""
    medians: dict[Any, float] = costs["ns_p50"].to_dict()
    return {what: ns for (what, recorded), ns in medians.items() if recorded and what != "loop"}


def event_word(costs: pd.DataFrame) -> str:
    recorded = recorded_costs(costs).values()
    return "----" if not recorded else "PASS" if max(recorded) <= EVENT_NS_MAX else "MISS"
