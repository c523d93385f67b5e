# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, how long each measurement takes, and in which order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Iterator, Sequence

from nrbench.backends import ALONE, OWN, Present
from nrbench.cases import SLOT_CASES, period_us

PARTS = ("slot", "coliseum", "wake")
CLASSES = ("other", "rr", "rrall")
FIB_CASES = ("fib19", "fib17-19", "fib19x1-3")
IDLE_US = (250, 500, 1000, 2000, 5000)
IDLE_CASE = "idle-cpu"
# Process start, loading the module, starting the threads, the end.
OVERHEAD_S = 0.02


@dataclass(frozen=True)
class Measurement:
    """One line of the results, before it is taken."""

    bench: str
    case: str
    backend: str
    workers: int
    sched_class: str
    mode: str
    hog: bool
    words: tuple[str, ...]
    seconds: float

    def labels(self) -> dict[str, object]:
        return {
            "bench": self.bench,
            "case": self.case,
            "backend": self.backend,
            "workers": self.workers,
            "class": self.sched_class,
            "mode": self.mode,
            "hog": self.hog,
        }


@dataclass(frozen=True)
class Calibration:
    """Lengths of the coliseum's work on this machine, in ns."""

    fib17_ns: float
    fib18_ns: float
    fib19_ns: float
    nested_ns: float

    def task_ns(self, case: str) -> float:
        return {
            "fib19": self.fib19_ns,
            "fib17-19": (self.fib17_ns + self.fib18_ns + self.fib19_ns) / 3,
            "fib19x1-3": 2 * self.fib19_ns,
            "nested": self.nested_ns,
        }[case]


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...] = PARTS
    quick: bool = False
    classes: tuple[str, ...] = CLASSES
    rounds: int | None = None
    seed: int = 1
    budget_s: float = 360.0


@dataclass
class Plan:
    """All measurements, in order, each with its round."""

    steps: list[tuple[int, Measurement]] = field(default_factory=list)
    rounds: dict[str, int] = field(default_factory=dict)
    scale: float = 1.0

    @property
    def seconds(self) -> float:
        return sum(measurement.seconds for _, measurement in self.steps)


@dataclass(frozen=True)
class Machine:
    cores: int
    pools: tuple[Present, ...]
    calibration: Calibration


@dataclass(frozen=True)
class Config:
    """A pool with its settings."""

    pool: Present
    workers: int
    sched_class: str
    mode: str
    hog: bool = False

    def measurement(self, bench: str, case: str, words: Sequence[str], seconds: float) -> Measurement:
        environment = tuple(f"env={word}" for word in self.pool.backend.environment(self.mode))
        head = (
            f"backend={self.pool.backend.name}",
            f"workers={self.workers}",
            f"class={self.sched_class}",
            f"mode={self.mode}",
            f"hog={int(self.hog)}",
        )
        return Measurement(
            bench,
            case,
            self.pool.backend.name,
            self.workers,
            self.sched_class,
            self.mode,
            self.hog,
            head + environment + tuple(words),
            seconds + OVERHEAD_S,
        )


def _own_workers(options: Options, cores: int) -> list[int]:
    return (
        sorted({1, 2, cores - 1, cores} - {0})
        if options.quick
        else sorted({1, 2, 4, 8, cores - 1, cores} - {0})
    )


def _rival_workers(options: Options, pool: Present, cores: int, sched_class: str) -> list[int]:
    """All counts that tell something in the normal class; else the fair one, for the time."""
    if not pool.has_workers:
        return [1]
    fair = pool.fair_workers(cores)
    return [fair] if options.quick or sched_class != "other" else sorted({1, fair, cores})


def slot_configs(machine: Machine, options: Options, hogs: bool) -> Iterator[Config]:
    for pool in machine.pools:
        own = pool.backend.name == OWN
        for sched_class in options.classes:
            if options.quick and sched_class != "other" and pool.backend.name not in (OWN, ALONE):
                continue
            workers = (
                _own_workers(options, machine.cores)
                if own
                else _rival_workers(options, pool, machine.cores, sched_class)
            )
            for mode, _ in pool.backend.modes:
                for count in workers:
                    yield Config(pool, count, sched_class, mode)
        if hogs and "other" in options.classes:
            for mode, _ in pool.backend.modes:
                yield Config(pool, machine.cores if pool.has_workers else 1, "other", mode, hog=True)


def _paced(config: Config, bench: str, case: str, period: int, slots: int, words: list[str]) -> Measurement:
    warm = 10 if period <= 2000 else 2
    words = [f"bench={bench}", f"period_us={period}", f"slots={slots}", f"warm={warm}", *words]
    return config.measurement(bench, case, words, (slots + warm) * period * 1e-6)


def plan_slot(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    for config in slot_configs(machine, options, hogs=not options.quick):
        for case in SLOT_CASES:
            period = period_us(case, machine.cores)
            slots = max(8, min(round(160 * scale), round(0.1 * scale / (period * 1e-6))))
            yield _paced(config, "slot", case, period, slots, [f"bursts={case}"])


def plan_coliseum(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    core_s = 0.3 * scale
    for config in slot_configs(machine, options, hogs=False):
        own = config.pool.backend.name == OWN
        if own and config.workers not in (1, 2, machine.cores - 1, machine.cores):
            continue
        for case in FIB_CASES:
            tasks = max(1000, round(core_s * 1e9 / machine.calibration.task_ns(case)))
            yield _contest(config, machine, case, tasks, core_s)
        yield _contest(config, machine, "empty", max(10000, round(400000 * scale)), 0.06 * scale)
        if config.pool.nests:
            roots = max(100, round(core_s * 0.7e9 / machine.calibration.task_ns("nested")))
            yield _contest(config, machine, "nested", roots, core_s * 0.7)


def _contest(config: Config, machine: Machine, case: str, tasks: int, core_s: float) -> Measurement:
    parallel = config.workers + config.pool.waiter_helps if config.pool.has_workers else 1
    seconds = core_s / min(machine.cores, parallel)
    return config.measurement("coliseum", case, ["bench=coliseum", f"work={case}", f"tasks={tasks}"], seconds)


def plan_wake(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    slots = max(10, round(30 * scale))
    for config in slot_configs(machine, options, hogs=False):
        if (
            not config.pool.has_workers
            or config.workers != 1
            and config.pool.waiter_helps
            or not config.pool.waiter_helps
            and config.workers != config.pool.fair_workers(machine.cores)
        ):
            continue
        for idle_us in IDLE_US:
            words = ["bench=wake", f"idle_us={idle_us}", f"slots={slots}", "warm=3"]
            yield config.measurement("wake", f"idle{idle_us}us", words, (slots + 3) * (idle_us + 50) * 1e-6)
        if config.sched_class == "other":
            yield config.measurement("wake", IDLE_CASE, ["bench=idle", "idle_us=100000"], 0.32)


PLANNERS = {"slot": plan_slot, "coliseum": plan_coliseum, "wake": plan_wake}
ROUNDS = {"slot": 5, "coliseum": 3, "wake": 3}
QUICK_ROUNDS = {"slot": 3, "coliseum": 2, "wake": 2}
ROUNDS_MIN = {"slot": 3, "coliseum": 2, "wake": 2}
SCALE_MIN = 0.4
# The rest of the budget is for a machine that is slower than the estimates.
PLANNED_SHARE = 0.93


def _assemble(machine: Machine, options: Options, rounds: dict[str, int], scale: float) -> Plan:
    plan = Plan(rounds=rounds, scale=scale)
    order = random.Random(options.seed)
    measurements = {part: list(PLANNERS[part](machine, options, scale)) for part in options.parts}
    for number in range(max(rounds[part] for part in options.parts)):
        this_round = [m for part in options.parts if number < rounds[part] for m in measurements[part]]
        order.shuffle(this_round)
        plan.steps += [(number, measurement) for measurement in this_round]
    return plan


def make_plan(machine: Machine, options: Options) -> Plan:
    """The plan that fits the time: by shorter measurements first, then fewer rounds, never fewer settings."""
    rounds = dict(QUICK_ROUNDS if options.quick else ROUNDS)
    if options.rounds is not None:
        rounds = {part: options.rounds for part in rounds}
    plan = _assemble(machine, options, rounds, 0.5 if options.quick else 1.0)
    while plan.seconds > PLANNED_SHARE * options.budget_s:
        if plan.scale > SCALE_MIN:
            plan = _assemble(machine, options, rounds, max(SCALE_MIN, plan.scale * 0.9))
        elif options.rounds is None and any(rounds[part] > ROUNDS_MIN[part] for part in options.parts):
            rounds = {part: max(ROUNDS_MIN[part], rounds[part] - 1) for part in rounds}
            plan = _assemble(machine, options, rounds, plan.scale)
        else:
            break  # the run itself stops at the budget, and says what it left out
    return plan
