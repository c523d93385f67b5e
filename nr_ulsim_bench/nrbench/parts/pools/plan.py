# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, how long each measurement takes, and in which order."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, CLASSES, OWN, Present
from nrbench.cases import SLOT_CASES, TINY_CASE, period_us
from nrbench.driver import Calibration
from nrbench.engine import shuffled
from nrbench.stats import LABELS

PARTS = ("slot", "stream", "coliseum", "wake")
FIB_CASES = ("fib19", "fib17-19", "fib19x1-3")
IDLE_US = (250, 500, 1000, 2000, 5000)
QUICK_IDLE_US = (500, 5000)
IDLE_CASE = "idle-cpu"
# Process start, loading the module, starting the threads, the end.
OVERHEAD_S = 0.02
# The beginning of a pool's life, which a slot measurement reports apart.
START_S = 0.1
# What counts of a slot measurement, after the start and the rest of the time in which the pool settles.
STEADY_S = 0.1
STEADY_SLOTS_MIN = 8
QUICK_CASES = ("12x6", "22x28", "12x6+22x28", TINY_CASE)
# A task a symbol, 14 of them in a slot of 500 µs, pushed by a thread that never joins.
STREAM_CASE = "1x10"
STREAM_PERIOD_NS = 35714
STREAM_RING = 128  # of the arguments of such tasks: see src/stream.c
# For the time: where not all pools can be measured, these can, unless pools are chosen by name.
HOG_CASES = ("12x6", "22x28")
HOG_RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc")
REALTIME_RIVALS = ("mutex-queue", "mutex-per-worker", "onetbb", "openmp-gcc")
CONTEST_RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc", "glib", "asio", "eigen")
# The contest that the slides show. The number of threads does not count the one that pushes and waits.
FULL_TASKS = 1024 * 1024
FULL_WORKERS = (4, 8)
CONTEST_REALTIME_RIVALS = ("mutex-per-worker", "onetbb", "asio")


class Measurement(NamedTuple):
    """One line of the results, before it is taken; its first fields are those of stats.Key."""

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
        idle = [int(word.partition("=")[2]) for word in self.words if word.startswith("idle_us=")]
        return dict(zip(LABELS, self)) | ({"idle_us": idle[0]} if idle else {})

    def with_word(self, word: str) -> Measurement:
        return self._replace(words=(*self.words, word))


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...] = PARTS
    quick: bool = False
    classes: tuple[str, ...] = CLASSES
    rounds: int | None = None
    seed: int = 1
    budget_s: float = 430.0
    chosen: bool = False  # the pools were chosen by name: then all of them are measured everywhere
    full: bool = False  # the coliseum in the sizes of the contest that the slides show


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
        backend = self.pool.backend
        environment = tuple(f"env={word}" for word in backend.environment(self.mode))
        settings = (backend.name, self.workers, self.sched_class, self.mode, self.hog)
        head = (
            f"backend={backend.name}",
            f"workers={self.workers}",
            f"class={self.sched_class}",
            f"mode={self.mode}",
            f"hog={int(self.hog)}",
        )
        return Measurement(bench, case, *settings, (*head, *environment, *words), seconds + OVERHEAD_S)


def _workers(options: Options, pool: Present, cores: int, sched_class: str, mode: str) -> list[int]:
    """As many threads as cores; in the normal class a pool whose waiter helps with one too many, too. The own
    pool with still other numbers."""
    if not pool.has_workers:
        return [1]
    fair, normal = pool.fair_workers(cores), sched_class == "other"
    if pool.backend.name == OWN and mode == "default":
        more = {cores} if normal else set()
        return sorted({fair} | more if options.quick else {1, 8, fair} | more | ({2} if normal else set()))
    return sorted({fair, cores} if normal and mode == "default" and not options.quick else {fair})


def _takes_part(options: Options, pool: Present, rivals: Sequence[str]) -> bool:
    return options.chosen or pool.backend.name in (OWN, ALONE, *rivals)


def _modes(options: Options, pool: Present, sched_class: str) -> list[str]:
    briefly = options.quick and sched_class != "other"
    return ["default"] if briefly else [mode for mode, _ in pool.backend.modes]


def _cores_of(machine: Machine, options: Options) -> tuple[Present, ...]:
    """The pools, each by its own interface only, unless they were chosen by name."""
    return tuple(pool for pool in machine.pools if options.chosen or not pool.backend.facade)


def slot_configs(machine: Machine, options: Options) -> Iterator[Config]:
    realtime = () if options.quick else REALTIME_RIVALS
    for pool in _cores_of(machine, options):
        for sched_class in options.classes:
            if sched_class != "other" and not _takes_part(options, pool, realtime):
                continue
            for mode in _modes(options, pool, sched_class):
                for count in _workers(options, pool, machine.cores, sched_class, mode):
                    yield Config(pool, count, sched_class, mode)


def hog_configs(machine: Machine, options: Options) -> Iterator[Config]:
    for pool in _cores_of(machine, options):
        if not options.quick and "other" in options.classes and _takes_part(options, pool, HOG_RIVALS):
            yield Config(pool, machine.cores if pool.has_workers else 1, "other", "default", hog=True)


def _slot(config: Config, case: str, cores: int, scale: float) -> Measurement:
    """The start, the rest of the time in which the pool settles, then what counts: one life of a pool."""
    period = period_us(case, cores)
    slot_s = period * 1e-6
    start = max(2, round(START_S / slot_s))
    warm = max(0, math.ceil(config.pool.backend.settle_s / slot_s) - start)
    steady = max(STEADY_SLOTS_MIN, round(STEADY_S * scale / slot_s))
    words = [f"period_us={period}", f"start={start}", f"warm={warm}", f"slots={steady}", f"bursts={case}"]
    return config.measurement("slot", case, ["bench=slot", *words], (start + warm + steady) * slot_s)


def plan_slot(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    for config in slot_configs(machine, options):
        for case in QUICK_CASES if options.quick else SLOT_CASES:
            yield _slot(config, case, machine.cores, scale)
    for config in hog_configs(machine, options):
        for case in HOG_CASES:
            yield _slot(config, case, machine.cores, scale)


def stream_configs(machine: Machine, options: Options) -> Iterator[Config]:
    """As many threads as cores: the producer polls on one, and no waiter helps."""
    for pool in _cores_of(machine, options):
        for sched_class in options.classes:
            rivals = HOG_RIVALS[: 1 if options.quick else None]
            if (options.quick or sched_class != "other") and not _takes_part(options, pool, rivals):
                continue
            for mode in _modes(options, pool, sched_class):
                workers = max(1, machine.cores - 1) if pool.has_workers else 1
                yield Config(pool, workers, sched_class, mode)


def plan_stream(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    tasks_a_s = 1e9 / STREAM_PERIOD_NS
    start, steady = round(START_S * tasks_a_s), round(STEADY_S * scale * tasks_a_s)
    for config in stream_configs(machine, options):
        warm = max(0, round(config.pool.backend.settle_s * tasks_a_s) - start)
        words = [f"period_ns={STREAM_PERIOD_NS}", f"start={start}", f"warm={warm}", f"slots={steady}"]
        seconds = (start + warm + steady) / tasks_a_s
        words = ["bench=stream", f"bursts={STREAM_CASE}", *words]
        yield config.measurement("stream", STREAM_CASE, words, seconds)


def contest_configs(machine: Machine, options: Options) -> Iterator[Config]:
    """As many computing threads as cores, and the own pool with one more. Its facades, if there is time."""
    alone = options.chosen or len(options.parts) == 1
    for pool in machine.pools:
        for sched_class in options.classes:
            normal = sched_class == "other"
            if pool.backend.facade:
                if alone and normal:
                    yield Config(pool, pool.fair_workers(machine.cores), sched_class, "default")
                continue
            if not _takes_part(options, pool, CONTEST_RIVALS if normal else CONTEST_REALTIME_RIVALS):
                continue
            fair = pool.fair_workers(machine.cores) if pool.has_workers else 1
            more = {machine.cores} if pool.backend.name == OWN and normal and not options.quick else set()
            for workers in sorted({fair} | more):
                yield Config(pool, workers, sched_class, "default")


def plan_coliseum(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    if options.full:
        yield from plan_full(machine)
        return
    core_s = 0.3 * scale
    for config in contest_configs(machine, options):
        if config.sched_class == "other" and not options.quick:
            tasks = max(1000, round(core_s * 1e9 / machine.calibration.task_ns("fib19")))
            yield _usage(config, machine, tasks, core_s)
        for case in FIB_CASES if config.sched_class == "other" and not options.quick else FIB_CASES[:1]:
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


def _usage(config: Config, machine: Machine, tasks: int, core_s: float) -> Measurement:
    """What fib19 costs, by the kernel's counters. A measurement of its own, because they take time, too."""
    return _contest(config, machine, "fib19", tasks, core_s)._replace(bench="usage").with_word("counters=1")


def plan_full(machine: Machine) -> Iterator[Measurement]:
    for pool in (pool for pool in machine.pools if pool.has_workers):
        for workers in FULL_WORKERS:
            config = Config(pool, workers, "other", "default")
            for case in FIB_CASES:
                core_s = FULL_TASKS * machine.calibration.task_ns(case) * 1e-9
                yield _contest(config, machine, case, FULL_TASKS, core_s)._replace(bench="contest")
            core_s = FULL_TASKS * machine.calibration.task_ns("fib19") * 1e-9
            yield _usage(config, machine, FULL_TASKS, core_s)


def plan_wake(machine: Machine, options: Options, scale: float) -> Iterator[Measurement]:
    slots = max(10, round(30 * scale))
    for config in slot_configs(machine, options):
        wanted = 1 if config.pool.waiter_helps else config.pool.fair_workers(machine.cores)
        if not config.pool.has_workers or config.workers != wanted:
            continue
        for idle_us in QUICK_IDLE_US if options.quick else IDLE_US:
            words = ["bench=wake", f"idle_us={idle_us}", f"slots={slots}", "warm=3"]
            yield config.measurement("wake", f"idle{idle_us}us", words, (slots + 3) * (idle_us + 50) * 1e-6)
        if config.sched_class == "other":
            yield config.measurement("wake", IDLE_CASE, ["bench=idle", "idle_us=100000"], 0.32)


PLANNERS = {"slot": plan_slot, "stream": plan_stream, "coliseum": plan_coliseum, "wake": plan_wake}
ROUNDS = {"slot": 3, "stream": 3, "coliseum": 9, "wake": 2}
QUICK_ROUNDS = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ROUNDS_MIN = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ALONE_ROUNDS = {"coliseum": 25}  # of a part that is measured by itself, and has time for more
FULL_ROUNDS = {"coliseum": 5}  # the fewest that give an interval
SCALE_MIN = 0.4
# The rest of the budget is for a machine that is slower than the estimates.
PLANNED_SHARE = 0.93


def _unit(m: Measurement) -> object:
    """What is compared within a round at a percent is measured one right after the other."""
    return (m.bench, m.case, m.sched_class) if m.bench in ("coliseum", "usage", "contest") else m


def _assemble(machine: Machine, options: Options, rounds: dict[str, int], scale: float) -> Plan:
    plan = Plan(rounds=rounds, scale=scale)
    order = random.Random(options.seed)
    measurements = {part: list(PLANNERS[part](machine, options, scale)) for part in options.parts}
    for number in range(max(rounds[part] for part in options.parts)):
        due = [m for part in options.parts if number < rounds[part] for m in measurements[part]]
        plan.steps += [(number, measurement) for measurement in shuffled(due, order, _unit)]
    return plan


def _wanted_rounds(options: Options) -> dict[str, int]:
    if options.rounds is not None:
        return {part: options.rounds for part in ROUNDS}
    if options.quick:
        return dict(QUICK_ROUNDS)
    if options.full:
        return FULL_ROUNDS
    return ROUNDS | (ALONE_ROUNDS if len(options.parts) == 1 else {})


def make_plan(machine: Machine, options: Options) -> Plan:
    """The plan that fits the time: by shorter measurements first, then fewer rounds, never fewer settings."""
    rounds = _wanted_rounds(options)
    least = {part: min(rounds[part], ROUNDS_MIN[part]) for part in rounds}
    plan = _assemble(machine, options, rounds, 0.5 if options.quick else 1.0)
    while not options.full and plan.seconds > PLANNED_SHARE * options.budget_s:
        if plan.scale > SCALE_MIN:
            plan = _assemble(machine, options, rounds, max(SCALE_MIN, plan.scale * 0.9))
        elif options.rounds is None and any(rounds[part] > least[part] for part in options.parts):
            rounds = {part: max(least[part], rounds[part] - 1) for part in rounds}
            plan = _assemble(machine, options, rounds, plan.scale)
        else:
            break  # the run itself stops at the budget, and reports what it left out
    return plan
