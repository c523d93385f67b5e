# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of each round, and their order."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Sequence

from nrbench.backends import OWN
from nrbench.cases import BURST_CASES, period_us

UNTRACED = "ws-untraced"
# "untraced": built without tracing. "off": as users get it, no session exists. "recorded": a session records.
STATES = ("untraced", "off", "recorded")
BACKEND = {"untraced": UNTRACED, "off": OWN, "recorded": OWN}
ROUNDS, QUICK_ROUNDS = 20, 6
STRETCH_S = 0.2  # of one measurement
SLOTS_MIN = 16
TASK_CASES = {"empty": 400_000, "nested": 200}  # tasks that do next to nothing, for the cost of each
TASKS_S = 0.04
COUNT_SLOTS = 50  # of a case, to count the events of a slot
COST_ROUNDS = 5  # in which the cost of an event is measured too
COST_EVENTS, QUICK_COST_EVENTS = 400_000, 100_000
OVERHEAD_S, SESSION_S = 0.03, 0.6


@dataclass(frozen=True)
class Options:
    cores: int
    classes: tuple[str, ...] = ("other",)
    quick: bool = False
    rounds: int | None = None
    seed: int = 1

    @property
    def round_count(self) -> int:
        return self.rounds or (QUICK_ROUNDS if self.quick else ROUNDS)

    @property
    def cost_events(self) -> int:
        return QUICK_COST_EVENTS if self.quick else COST_EVENTS


@dataclass(frozen=True)
class Stretch:
    """One measurement of one case in one state, in a process of its own."""

    case: str
    sched_class: str
    state: str
    workers: int
    period_us: int
    slots: int  # 0 = a case of TASK_CASES

    def labels(self) -> dict[str, object]:
        return {
            "bench": "trace" if self.slots else "trace-tasks",
            "case": self.case,
            "class": self.sched_class,
            "state": self.state,
            "workers": self.workers,
        }

    @property
    def words(self) -> list[str]:
        words = [
            f"backend={BACKEND[self.state]}",
            f"workers={self.workers}",
            f"class={self.sched_class}",
            f"limit_s={2 + 4 * self.seconds:.2f}",
        ]
        if not self.slots:
            return ["bench=coliseum", *words, f"work={self.case}", f"tasks={TASK_CASES[self.case]}"]
        warm = f"warm={max(2, self.slots // 8)}"
        pace = [f"period_us={self.period_us}", f"slots={self.slots}", warm]
        return ["bench=slot", *words, f"bursts={self.case}", *pace]

    @property
    def seconds(self) -> float:
        if not self.slots:
            return TASKS_S + OVERHEAD_S
        return 1.125 * self.slots * self.period_us * 1e-6 + OVERHEAD_S


def stretch(options: Options, case: str, sched_class: str, state: str, slots: int | None = None) -> Stretch:
    workers = max(1, options.cores - 1)
    if case in TASK_CASES:
        return Stretch(case, sched_class, state, workers, 0, 0)
    period = period_us(case, options.cores)
    wanted = slots or max(SLOTS_MIN, round(STRETCH_S / (period * 1e-6)))
    return Stretch(case, sched_class, state, workers, period, wanted)


def counted(options: Options) -> list[Stretch]:
    """One for each case while a session records, to count its events."""
    return [stretch(options, case, options.classes[0], "recorded", COUNT_SLOTS) for case in BURST_CASES]


@dataclass(frozen=True)
class Round:
    number: int
    quiet: tuple[Stretch, ...]  # no session exists
    recorded: tuple[Stretch, ...]  # in one session
    recorded_first: bool


def make_rounds(options: Options, states: Sequence[str] = STATES) -> list[Round]:
    """In each round a case is measured untraced and off, one right after the other, in a random order."""
    order = random.Random(options.seed)
    rounds = []
    for number in range(options.round_count):
        cases = (*BURST_CASES, *TASK_CASES)
        pairs = [(case, sched_class) for case in cases for sched_class in options.classes]
        order.shuffle(pairs)
        quiet, recorded = [], []
        for case, sched_class in pairs:
            both = [s for s in ("untraced", "off") if s in states]
            order.shuffle(both)
            quiet += [stretch(options, case, sched_class, state) for state in both]
            if "recorded" in states and case in BURST_CASES:
                recorded.append(stretch(options, case, sched_class, "recorded"))
        rounds.append(Round(number, tuple(quiet), tuple(recorded), order.random() < 0.5))
    return rounds


def plan_seconds(rounds: Sequence[Round]) -> float:
    stretches = sum(s.seconds for r in rounds for s in r.quiet + r.recorded)
    return stretches + SESSION_S * sum(bool(r.recorded) for r in rounds)
