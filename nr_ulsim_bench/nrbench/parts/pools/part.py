# SPDX-License-Identifier: BSD-3-Clause
"""Pools against pools, as one part: slots, streams, the coliseum and wakes, mixed within the rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Iterator

from nrbench.driver import Driver
from nrbench.engine import Part, Plan, Request, Session, Step, chosen_classes, nothing_to_measure
from nrbench.parts.pools.plan import PARTS, Planner, make_plan
from nrbench.parts.pools.table import full_report
from nrbench.parts.pools.verdict import all_verdicts
from nrbench.stats import Line, Results, summarize

BUDGET_S, QUICK_BUDGET_S = 395.0, 85.0
TIMEOUTS_MAX = 2


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
    about = {
        "rounds": made.rounds,
        "scale": made.scale,
        "missing": missing,
        "skipped": skipped,
        "pools": {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools},
    }
    return Plan(made.steps, Asker(driver), about, budget_s=budget_s)


def measure(session: Session) -> None:
    plan = prepare(session.request, session.driver("bench.log"))
    session.begin(plan.about)
    session.take(plan)


def report(results: Results) -> Iterator[str]:
    summaries = summarize(results.all)
    yield from full_report(results.host, summaries)
    yield from [
        "",
        "Verdicts:",
        *(f"  {verdict}" for verdict in all_verdicts(summaries, results.host["cores"])),
    ]


def draw(results: Results, out: Path) -> list[str]:
    from nrbench.parts.pools.plots import draw_all  # loads for a second

    return draw_all(results.host, summarize(results.all), out)


PART = Part("pools", report, measure=measure, draw=draw, stem="results", text="report.txt")
