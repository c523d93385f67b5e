# SPDX-License-Identifier: BSD-3-Clause
"""Pools against pools, as one part: slots, streams, the coliseum and wakes, mixed within the rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Iterator

from nrbench.backends import OWN
from nrbench.driver import Driver
from nrbench.engine import Item, Measuring, Part, Plan, Request, Step, chosen_classes, nothing_to_measure
from nrbench.parts.pools.plan import PARTS, Planner, make_plan
from nrbench.parts.pools.tables import CASES, START, tables
from nrbench.parts.pools.verdict import verdicts
from nrbench.plot import Plot, colors_of
from nrbench.stats import Groups, Line, Results, groups, select

BUDGET_S, QUICK_BUDGET_S = 395.0, 85.0
TIMEOUTS_MAX = 2
RATIO_MAX = 4.0  # of plots


class Asker:
    """Of one process. A measurement that did not end in time twice is left out."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.timeouts: Counter[tuple[str, ...]] = Counter()

    def __call__(self, step: Step) -> list[Line]:
        words = tuple(step.words)
        if self.timeouts[words] >= TIMEOUTS_MAX:
            return [{"error": f"left out: {TIMEOUTS_MAX} rounds before did not end in time"}]
        # Generous, because a real-time pool may starve the producer for a while and still end.
        answer = self.driver.ask([*words, f"limit_s={2 + 4 * step.seconds:.2f}"])
        self.timeouts[words] += "killed" in answer.get("error", "")
        return [answer]


def prepare(request: Request, driver: Driver) -> Plan:
    pools, missing = driver.chosen(request.backends)
    classes, skipped = chosen_classes(request.classes)
    if not pools or not classes:
        raise nothing_to_measure({**missing, **skipped})
    parts = tuple(part for part in PARTS if not request.only or part in request.only)
    budget_s = request.budget_s or request.usual(BUDGET_S, QUICK_BUDGET_S)
    planner = Planner(replace(request, only=parts, classes=classes), tuple(pools), driver.calibrate())
    made = make_plan(planner, budget_s)
    about: Line = {"rounds": made.rounds, "scale": made.scale, "missing": missing, "skipped": skipped}
    about["pools"] = {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools}
    return Plan(made.steps, Asker(driver), about, budget_s=budget_s)


def take(measuring: Measuring) -> None:
    plan = prepare(measuring.request, measuring.driver("bench.log"))
    measuring.begin(plan.about)
    measuring.take(plan)


def report(results: Results) -> Iterator[Item]:
    every = groups(results)
    yield from tables(results, every)
    yield from verdicts(every, results.host["cores"])


def _fair(results: Results, every: Groups) -> Groups:
    """Of each pool and mode: as many computing threads as cores, or the nearest measured."""
    helps = {name: pool["waiter_helps"] for name, pool in results.host["pools"].items()}
    best: dict[tuple[Any, ...], int] = {}

    def name(key: Any) -> tuple[Any, ...]:
        return key.backend, key.mode, key.sched_class

    def far(key: Any, workers: int) -> float:
        return abs(workers - float(results.host["cores"]) + bool(helps.get(key.backend)))

    for key in every:
        have = best.setdefault(name(key), key.workers)
        best[name(key)] = min(have, key.workers, key=lambda workers: far(key, workers))
    return {key: at for key, at in every.items() if key.workers == best[name(key)]}


def plots(results: Results) -> Iterator[Plot]:
    every = select(groups(results), bench="slot", hog=False, case=CASES)
    pools = list(dict.fromkeys(f"{key.backend}{' hot' * (key.mode == 'hot')}" for key in every))
    look: dict[str, Any] = {"hue": "pool", "row": "class", "palette": colors_of(pools)}

    def point(key: Any, **figures: Any) -> Line:
        pool = f"{key.backend}{' hot' * (key.mode == 'hot')}"
        return {"pool": pool, "class": key.sched_class, "case": key.case, "own": key.backend == OWN} | figures

    for prefix, name, of in (("ratio", "slot_ratio", "steady state"), ("start_ratio", "slot_start", START)):
        points = [
            point(key, **{"makespan / bound": min(at[f"{prefix}_{p}"], RATIO_MAX)})
            for key, at in _fair(results, every).items()
            for p in ("p50", "p99")
            if at.get(f"{prefix}_{p}") is not None
        ]
        if points:
            title = f"Slots, {of}: median makespan (mark) and p99 (end of line), cut at {RATIO_MAX:g}"
            more = {
                "estimator": "min",
                "errorbar": ("pi", 100),
                "dodge": 0.7,
                "linestyle": "none",
                "aspect": 4,
            }
            axes = ("case", "makespan / bound")
            yield Plot(name, title, points, "point", axes, look | more, "y", (1.0,))
    points = [
        point(
            key, **{"CPU time / work": at.cpu_per_work, "makespan / bound": min(at["ratio_p50"], RATIO_MAX)}
        )
        for key, at in every.items()
        if key.backend != OWN or key.workers <= 2
    ]
    if points:
        title = "Latency against CPU time in the steady state, all worker counts up to 2; dashed: the bound"
        axes = ("CPU time / work", "makespan / bound")
        more = {"style": "pool", "col": "case", "aspect": 0.9, "size": "own", "sizes": {True: 90, False: 40}}
        yield Plot("slot_cost", title, points, "scatter", axes, look | more, "xy", (1.0,))


PART = Part("pools", report, take=take, plots=plots, stem="results", text="report.txt")
