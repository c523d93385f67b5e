# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, how long each measurement takes, and in which order."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, OWN, Present
from nrbench.cases import SLOT_CASES, TINY_CASE, period_us
from nrbench.driver import Calibration
from nrbench.engine import Request, Step, shuffled, words

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
# A task a slot of which a worker pushes eight more.
FAN, FAN_PERIOD_NS = 8, 500000
FAN_CASE = f"{STREAM_CASE}+{FAN}"
STREAM_RING = 128  # of the arguments of such tasks: see src/stream.c
# For the time: where not all pools can be measured, these can, unless pools are chosen by name.
HOG_CASES = ("12x6", "22x28")
HOG_RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc")
REALTIME_RIVALS = ("mutex-queue", "mutex-per-worker", "onetbb", "openmp-gcc")
CONTEST_RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc", "glib", "asio", "eigen")
CONTEST_REALTIME_RIVALS = ("mutex-per-worker", "onetbb", "asio")


class Config(NamedTuple):
    """A pool with its settings."""

    pool: Present
    workers: int
    sched_class: str
    mode: str = "default"
    hog: bool = False

    def step(self, bench: str, case: str, given: Sequence[str], seconds: float, **labels: object) -> Step:
        backend = self.pool.backend
        of_pool = {"backend": backend.name, "workers": self.workers}
        of_pool |= {"class": self.sched_class, "mode": self.mode, "hog": self.hog}
        environment = (f"env={word}" for word in backend.environment(self.mode))
        every = (*words(**of_pool | {"hog": int(self.hog)}), *environment, *given)
        labels = {"bench": bench, "case": case} | of_pool | labels
        return Step(labels, every, seconds + OVERHEAD_S, f"{bench} {case} {backend.name}")


@dataclass(frozen=True)
class Planner:
    """@param request  its classes and parts are those that can be measured here"""

    request: Request
    pools: tuple[Present, ...]
    calibration: Calibration
    scale: float = 1.0  # of the length of a measurement

    @property
    def chosen(self) -> bool:
        """The pools were chosen by name: then all of them are measured everywhere."""
        return bool(self.request.backends)

    def _takes_part(self, pool: Present, rivals: Sequence[str]) -> bool:
        return self.chosen or pool.backend.name in (OWN, ALONE, *rivals)

    def _own_faces(self) -> Iterator[tuple[Present, str]]:
        """The pools, each by its own interface only, unless they were chosen by name; and each class."""
        pools = (pool for pool in self.pools if self.chosen or not pool.backend.facade)
        yield from ((pool, sched_class) for pool in pools for sched_class in self.request.classes)

    def _modes(self, pool: Present, sched_class: str) -> list[str]:
        briefly = self.request.quick and sched_class != "other"
        return ["default"] if briefly else [mode for mode, _ in pool.backend.modes]

    def _workers(self, pool: Present, sched_class: str, mode: str) -> list[int]:
        """As many threads as cores; in the normal class a pool whose waiter helps with one too many, too. The
        own pool with still other numbers."""
        if not pool.has_workers:
            return [1]
        cores, normal, quick = self.request.cores, sched_class == "other", self.request.quick
        fair = {pool.fair_workers(cores)}
        if pool.backend.name == OWN and mode == "default":
            return sorted(
                fair | ({cores} if normal else set()) | (set() if quick else {1, 8, 2} if normal else {1, 8})
            )
        return sorted(fair | ({cores} if normal and mode == "default" and not quick else set()))

    def slot_configs(self) -> Iterator[Config]:
        realtime = self.request.usual(REALTIME_RIVALS, ())
        for pool, sched_class in self._own_faces():
            if sched_class == "other" or self._takes_part(pool, realtime):
                for mode in self._modes(pool, sched_class):
                    for count in self._workers(pool, sched_class, mode):
                        yield Config(pool, count, sched_class, mode)

    def hog_configs(self) -> Iterator[Config]:
        for pool, sched_class in self._own_faces():
            if not self.request.quick and sched_class == "other" and self._takes_part(pool, HOG_RIVALS):
                yield Config(pool, self.request.cores if pool.has_workers else 1, "other", hog=True)

    def _slot(self, config: Config, case: str) -> Step:
        """The start, the rest of the time in which the pool settles, then what counts: one life of a pool."""
        period = period_us(case, self.request.cores)
        slot_s = period * 1e-6
        start = max(2, round(START_S / slot_s))
        warm = max(0, math.ceil(config.pool.backend.settle_s / slot_s) - start)
        steady = max(STEADY_SLOTS_MIN, round(STEADY_S * self.scale / slot_s))
        given = words(bench="slot", period_us=period, start=start, warm=warm, slots=steady, bursts=case)
        return config.step("slot", case, given, (start + warm + steady) * slot_s)

    def slot(self) -> Iterator[Step]:
        cases = self.request.usual(SLOT_CASES, QUICK_CASES)
        yield from (self._slot(config, case) for config in self.slot_configs() for case in cases)
        yield from (self._slot(config, case) for config in self.hog_configs() for case in HOG_CASES)

    def stream_configs(self) -> Iterator[Config]:
        """As many threads as cores: the producer polls on one, and no waiter helps."""
        quick, rivals = self.request.quick, HOG_RIVALS[: self.request.usual(None, 1)]
        for pool, sched_class in self._own_faces():
            if self._takes_part(pool, rivals) or (sched_class == "other" and not quick):
                workers = max(1, self.request.cores - 1) if pool.has_workers else 1
                for mode in self._modes(pool, sched_class):
                    yield Config(pool, workers, sched_class, mode)

    def stream(self) -> Iterator[Step]:
        for config in self.stream_configs():
            yield self._stream(config, STREAM_CASE, STREAM_PERIOD_NS, 0)
            if config.pool.nested_push and config.sched_class == "other" and config.mode == "default":
                yield self._stream(config, FAN_CASE, FAN_PERIOD_NS, FAN)

    def _stream(self, config: Config, case: str, period_ns: int, fan: int) -> Step:
        tasks_a_s = 1e9 / period_ns
        start = round(START_S * tasks_a_s)
        steady = max(STEADY_SLOTS_MIN, round(STEADY_S * self.scale * tasks_a_s))
        warm = max(0, round(config.pool.backend.settle_s * tasks_a_s) - start)
        pace = words(period_ns=period_ns, start=start, warm=warm, slots=steady, fan=fan)
        given = (*words(bench="stream", bursts=STREAM_CASE), *pace)
        return config.step("stream", case, given, (start + warm + steady) / tasks_a_s)

    def contest_configs(self) -> Iterator[Config]:
        """As many computing threads as cores, and the own pool with one more. Facades, if there is time."""
        cores, facades = self.request.cores, self.chosen or len(self.request.only) == 1
        for pool, sched_class in ((p, c) for p in self.pools for c in self.request.classes):
            normal = sched_class == "other"
            rivals = CONTEST_RIVALS if normal else CONTEST_REALTIME_RIVALS
            if not (facades and normal if pool.backend.facade else self._takes_part(pool, rivals)):
                continue
            fair = pool.fair_workers(cores) if pool.has_workers else 1
            more = {cores} if pool.backend.name == OWN and normal and not self.request.quick else set()
            yield from (Config(pool, workers, sched_class) for workers in sorted({fair} | more))

    def _contest(self, config: Config, case: str, tasks: int, core_s: float) -> Step:
        parallel = config.workers + config.pool.waiter_helps if config.pool.has_workers else 1
        given = words(bench="coliseum", work=case, tasks=tasks)
        return config.step("coliseum", case, given, core_s / min(self.request.cores, parallel))

    def _tasks(self, case: str, core_s: float, least: int) -> int:
        return max(least, round(core_s * 1e9 / self.calibration.task_ns(case)))

    def coliseum(self) -> Iterator[Step]:
        core_s = 0.3 * self.scale
        for config in self.contest_configs():
            thorough = config.sched_class == "other" and not self.request.quick
            for case in FIB_CASES if thorough else FIB_CASES[:1]:
                yield self._contest(config, case, self._tasks(case, core_s, 1000), core_s)
            yield self._contest(config, "empty", max(10000, round(400000 * self.scale)), 0.06 * self.scale)
            if config.pool.nests:
                yield self._contest(config, "nested", self._tasks("nested", 0.7 * core_s, 100), 0.7 * core_s)

    def wake(self) -> Iterator[Step]:
        slots = max(10, round(30 * self.scale))
        for config in self.slot_configs():
            wanted = 1 if config.pool.waiter_helps else config.pool.fair_workers(self.request.cores)
            if not config.pool.has_workers or config.workers != wanted:
                continue
            for idle_us in self.request.usual(IDLE_US, QUICK_IDLE_US):
                given = words(bench="wake", idle_us=idle_us, slots=slots, warm=3)
                seconds = (slots + 3) * (idle_us + 50) * 1e-6
                yield config.step("wake", f"idle{idle_us}us", given, seconds, idle_us=idle_us)
            if config.sched_class == "other":
                given = words(bench="idle", idle_us=100000)
                yield config.step("wake", IDLE_CASE, given, 0.32, idle_us=100000)


ROUNDS = {"slot": 3, "stream": 3, "coliseum": 9, "wake": 2}
QUICK_ROUNDS = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ROUNDS_MIN = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ALONE_ROUNDS = {"coliseum": 25}  # of a part that is measured by itself, and has time for more
SCALE_MIN = 0.4
# The rest of the budget is for a machine that is slower than the estimates.
PLANNED_SHARE = 0.93


def _unit(step: Step) -> object:
    """What is compared within a round at a percent is measured one right after the other."""
    bench, case, sched_class = (step.labels[name] for name in ("bench", "case", "class"))
    return (bench, case, sched_class) if bench == "coliseum" else id(step)


class Made(NamedTuple):
    steps: list[Step]
    rounds: dict[str, int]
    scale: float

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def _assemble(planner: Planner, rounds: dict[str, int]) -> Made:
    order, found = random.Random(planner.request.seed), list[Step]()
    steps = {part: list(getattr(planner, part)()) for part in planner.request.only}
    for number in range(max(rounds[part] for part in steps)):
        due = [step for part, of_part in steps.items() if number < rounds[part] for step in of_part]
        drawn = shuffled(due, order, _unit)
        found += [replace(step, labels=step.labels | {"round": number}) for step in drawn]
    return Made(found, rounds, planner.scale)


def _wanted_rounds(request: Request) -> dict[str, int]:
    if request.rounds is not None:
        return dict.fromkeys(ROUNDS, request.rounds)
    if request.quick:
        return QUICK_ROUNDS
    return ROUNDS | (ALONE_ROUNDS if len(request.only) == 1 else {})


def make_plan(planner: Planner, budget_s: float) -> Made:
    """The plan that fits the time: by shorter measurements first, then fewer rounds, never fewer settings."""
    request, rounds = planner.request, _wanted_rounds(planner.request)
    least = {part: min(rounds[part], ROUNDS_MIN[part]) for part in rounds}
    planner = replace(planner, scale=request.usual(1.0, 0.5))
    plan = _assemble(planner, rounds)
    while plan.seconds > PLANNED_SHARE * budget_s:
        if plan.scale > SCALE_MIN:
            planner = replace(planner, scale=max(SCALE_MIN, plan.scale * 0.9))
        elif request.rounds is None and any(rounds[part] > least[part] for part in request.only):
            rounds = {part: max(least[part], rounds[part] - 1) for part in rounds}
        else:
            break  # the run itself stops at the budget, and reports what it left out
        plan = _assemble(planner, rounds)
    return plan
