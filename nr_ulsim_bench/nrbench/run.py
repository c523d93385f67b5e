# SPDX-License-Identifier: BSD-3-Clause
"""Takes the measurements of a plan and writes each as a line."""

from __future__ import annotations

import json
from collections import Counter
from typing import IO, Any

from nrbench.driver import Driver
from nrbench.plan import Measurement, Plan
from nrbench.progress import Progress

TIMEOUTS_MAX = 2


def time_limit_s(measurement: Measurement) -> float:
    """Generous, because a real-time pool may starve the producer for a while and still end."""
    return 2.0 + 4 * measurement.seconds


class Runner:
    def __init__(self, driver: Driver, out: IO[str], budget_s: float) -> None:
        self.driver = driver
        self.out = out
        self.budget_s = budget_s
        self.timeouts: Counter[Measurement] = Counter()
        self.lines: list[dict[str, Any]] = []

    def write(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self.out.write(json.dumps(line) + "\n")

    def _measure(self, measurement: Measurement) -> dict[str, Any]:
        if self.timeouts[measurement] >= TIMEOUTS_MAX:
            return {"error": f"left out: {TIMEOUTS_MAX} rounds before did not end in time"}
        answer = self.driver.ask([*measurement.words, f"limit_s={time_limit_s(measurement):.2f}"])
        self.timeouts[measurement] += "killed" in answer.get("error", "")
        return answer

    def run(self, plan: Plan) -> str | None:
        """@return what was left out and why, if anything"""
        with Progress(len(plan.steps), plan.seconds) as progress:
            for number, measurement in plan.steps:
                if progress.elapsed_s > self.budget_s:
                    return (
                        f"stopped after {progress.elapsed_s:.0f} s: {progress.done} of {progress.count}"
                        " measurements taken (the machine is slower than planned; --budget gives more time)"
                    )
                self.write({**measurement.labels(), "round": number, **self._measure(measurement)})
                what = f"{measurement.bench} {measurement.case} {measurement.backend}"
                progress.step(measurement.seconds, what)
        taken = f"{progress.done} of {progress.count} measurements taken"
        return f"interrupted: {taken}" if progress.interrupted else None
