# SPDX-License-Identifier: BSD-3-Clause
"""Pools against pools, as one part: slots, streams, the coliseum and wakes, mixed within the rounds."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any, Iterator

from nrbench.backends import CLASSES, OWN
from nrbench.driver import Driver
from nrbench.engine import Item, Part, Plan, Request, Step, chosen_classes
from nrbench.parts.pools.plan import PARTS, Planner, make_plan
from nrbench.parts.pools.tables import CASES, START, tables
from nrbench.parts.pools.verdict import verdicts
from nrbench.plot import Plot, colors_of
from nrbench.stats import Key, Line, Results, groups, select

BUDGET_S, QUICK_BUDGET_S = 400.0, 85.0
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


def plan(request: Request) -> Plan:
    driver = Driver(request.program, open(os.devnull, "w"))  # it ends with this process
    pools, missing = driver.chosen(request.backends)
    classes, skipped = chosen_classes(request.classes)
    parts = tuple(part for part in PARTS if not request.only or part in request.only)
    budget_s = request.budget_s or request.usual(BUDGET_S, QUICK_BUDGET_S)
    planner = Planner(replace(request, only=parts, classes=classes), tuple(pools), driver.calibrate())
    made = make_plan(planner, budget_s)
    about: Line = {"rounds": made.rounds, "scale": made.scale, "missing": missing, "skipped": skipped}
    about["pools"] = {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools}
    return Plan(made.steps, Asker(driver), about, budget_s=budget_s)


def report(results: Results) -> Iterator[Item]:
    every = groups(results)
    yield from tables(results, every)
    yield from verdicts(every, results.host["cores"])


def _far(results: Results, key: Key) -> float:
    """From as many computing threads as cores."""
    helps = results.host["pools"].get(key.backend, {}).get("waiter_helps", False)
    return float(abs(key.workers + helps - results.host["cores"]))


def plots(results: Results) -> Iterator[Plot]:
    every = select(groups(results), bench="slot", hog=False, case=CASES)
    order = sorted(every, key=lambda key: (CLASSES.index(key.sched_class), CASES.index(key.case)))
    least = {key[2:3] + key[4:]: _far(results, key) for key in sorted(every, key=lambda k: -_far(results, k))}
    points: dict[str, list[Line]] = {"ratio": [], "start_ratio": [], "cost": []}
    for key in order:
        at, hot = every[key], " hot" * (key.mode == "hot")
        labels = {"pool": f"{key.backend}{hot}", "class": key.sched_class, "case": key.case}
        for prefix in ("ratio", "start_ratio") if _far(results, key) == least[key[2:3] + key[4:]] else ():
            ratios = [at[f"{prefix}_{p}"] for p in ("p50", "p99") if at.get(f"{prefix}_{p}")]
            points[prefix] += [labels | {"makespan / bound": min(one, RATIO_MAX)} for one in ratios]
        if key.backend != OWN or key.workers <= 2:
            figures = {
                "makespan / bound": min(at["ratio_p50"], RATIO_MAX),
                "CPU time / work": at.cpu_per_work,
            }
            points["cost"].append(labels | figures)
    pools = {point["pool"]: None for point in points["ratio"]}
    look: dict[str, Any] = {"hue": "pool", "row": "class", "palette": colors_of(list(pools))}
    ends = {"estimator": "min", "errorbar": ("pi", 100), "linestyle": "none", "aspect": 4}
    ends |= {"dodge": 0.7 if len(pools) > 1 else False}
    title = f"Slots, {{}}: median makespan (mark) and p99 (end of line), cut at {RATIO_MAX:g}"
    for prefix, name, of in (("ratio", "ratio", "steady state"), ("start_ratio", "start", START)):
        axes = ("case", "makespan / bound")
        yield Plot(f"slot_{name}", title.format(of), points[prefix], "point", axes, look | ends, "y", (1.0,))
    title = "Latency against CPU time in the steady state, all worker counts up to 2"
    more = {"style": "pool", "col": "case", "aspect": 0.9, "s": 60}
    axes = ("CPU time / work", "makespan / bound")
    yield Plot("slot_cost", title, points["cost"], "scatter", axes, look | more, "xy", (1.0,))


PART = Part("pools", report, plan=plan, plots=plots, stem="results", text="report.txt")
