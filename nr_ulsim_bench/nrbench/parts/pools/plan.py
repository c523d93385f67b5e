# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, how long each measurement takes, and in which order."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Iterable, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, OWN, Present
from nrbench.cases import SHAPES, SLOT_CASES, TINY_CASE, period_us
from nrbench.driver import Calibration
from nrbench.engine import Request, Step, words
from nrbench.session import shuffled

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
SHAPE_RIVALS = ("mutex-per-worker",)
REALTIME_RIVALS = ("mutex-queue", "mutex-per-worker", "onetbb", "openmp-gcc")
CONTEST_RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc", "glib", "asio", "eigen")
CONTEST_REALTIME_RIVALS = ("mutex-per-worker", "onetbb", "asio")
ROUNDS = {"slot": 3, "stream": 3, "coliseum": 9, "wake": 2}
QUICK_ROUNDS = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ROUNDS_MIN = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ALONE_ROUNDS = {"coliseum": 25}  # of a part that is measured by itself, and has time for more
SCALE_MIN = 0.4
# The rest of the budget is for a machine that is slower than the estimates.
PLANNED_SHARE = 0.93


class Config(NamedTuple):
    """A pool with its settings."""

    pool: Present
    workers: int
    sched_class: str
    mode: str = "default"
    hog: bool = False

    def step(self, bench: str, case: str, given: Iterable[str], seconds: float, **labels: object) -> Step:
        backend = self.pool.backend
        of_pool = {"backend": backend.name, "workers": self.workers}
        of_pool |= {"class": self.sched_class, "mode": self.mode, "hog": self.hog}
        environment = (f"env={word}" for word in backend.environment(self.mode))
        every = (*words(**of_pool | {"hog": int(self.hog)}), *environment, *given)
        labels = {"bench": bench, "case": case} | of_pool | labels
        return Step(labels, every, seconds + OVERHEAD_S, f"{bench} {case} {backend.name}")

    def paced(
        self, bench: str, case: str, period_s: float, scale: float, given: Iterable[str], *more: str
    ) -> Step:
        """The start, the rest of the time in which the pool settles, then what counts: one life of a pool."""
        start = max(2, round(START_S / period_s))
        warm = max(0, math.ceil(self.pool.backend.settle_s / period_s) - start)
        steady = max(STEADY_SLOTS_MIN, round(STEADY_S * scale / period_s))
        life = words(start=start, warm=warm, slots=steady)
        return self.step(bench, case, (*given, *life, *more), (start + warm + steady) * period_s)


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
        own = pool.backend.name == OWN and mode == "default"
        more = {cores} if normal and (own or (mode == "default" and not quick)) else set()
        if own and not quick:
            more |= {1, 8, 2} if normal else {1, 8}
        return sorted({pool.fair_workers(cores)} | more)

    def slot_configs(self) -> Iterator[Config]:
        realtime = self.request.usual(REALTIME_RIVALS, ())
        for pool, sched_class in self._own_faces():
            if sched_class == "other" or self._takes_part(pool, realtime):
                for mode in self._modes(pool, sched_class):
                    for count in self._workers(pool, sched_class, mode):
                        yield Config(pool, count, sched_class, mode)

    def slot(self) -> Iterator[Step]:
        request, cores = self.request, self.request.cores

        def slots(config: Config, case: str) -> Step:
            period = period_us(case, cores)
            given = words(bench="slot", period_us=period)
            return config.paced("slot", case, period * 1e-6, self.scale, given, f"bursts={case}")

        for config in self.slot_configs():
            yield from (slots(config, case) for case in request.usual(SLOT_CASES, QUICK_CASES))
        if request.quick or "other" not in request.classes:
            return
        for pool in (p for p, c in self._own_faces() if c == "other" and self._takes_part(p, HOG_RIVALS)):
            hog = Config(pool, cores if pool.has_workers else 1, "other", hog=True)
            yield from (slots(hog, case) for case in HOG_CASES)
            config = Config(pool, pool.fair_workers(cores) if pool.has_workers else 1, "other")
            for name, (path, shape) in SHAPES.items() if self._takes_part(pool, SHAPE_RIVALS) else ():
                given = words(bench="replay", file=request.data / path, **shape)
                yield config.paced("slot", name, shape["period_us"] * 1e-6, self.scale, given)

    def stream(self) -> Iterator[Step]:
        """As many threads as cores: the producer polls on one, and no waiter helps."""
        quick, rivals = self.request.quick, HOG_RIVALS[: self.request.usual(None, 1)]
        for pool, sched_class in self._own_faces():
            if self._takes_part(pool, rivals) or (sched_class == "other" and not quick):
                workers = max(1, self.request.cores - 1) if pool.has_workers else 1
                for mode in self._modes(pool, sched_class):
                    config = Config(pool, workers, sched_class, mode)
                    paces = [(STREAM_CASE, STREAM_PERIOD_NS, 0)]
                    if pool.nested_push and sched_class == "other" and mode == "default":
                        paces.append((FAN_CASE, FAN_PERIOD_NS, FAN))
                    for case, period_ns, fan in paces:
                        given = words(bench="stream", bursts=STREAM_CASE, period_ns=period_ns)
                        yield config.paced("stream", case, period_ns * 1e-9, self.scale, given, f"fan={fan}")

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

    def coliseum(self) -> Iterator[Step]:
        core_s = 0.3 * self.scale
        for config in self.contest_configs():
            thorough = config.sched_class == "other" and not self.request.quick
            jobs = [(case, core_s, 1000) for case in (FIB_CASES if thorough else FIB_CASES[:1])]
            jobs += [("nested", 0.7 * core_s, 100)] if config.pool.nests else []
            counts = {c: max(n, round(s * 1e9 / self.calibration.task_ns(c))) for c, s, n in jobs}
            counts["empty"] = max(10000, round(400000 * self.scale))
            parallel = config.workers + config.pool.waiter_helps if config.pool.has_workers else 1
            for case, seconds, _ in [*jobs, ("empty", 0.06 * self.scale, 0)]:
                given = words(bench="coliseum", work=case, tasks=counts[case])
                yield config.step("coliseum", case, given, seconds / min(self.request.cores, parallel))

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
        found += [step.of_round(number) for step in shuffled(due, order, _unit)]
    return Made(found, rounds, planner.scale)


def make_plan(planner: Planner, budget_s: float) -> Made:
    """The plan that fits the time: by shorter measurements first, then fewer rounds, never fewer settings."""
    request = planner.request
    usual = request.usual(ROUNDS | (ALONE_ROUNDS if len(request.only) == 1 else {}), QUICK_ROUNDS)
    rounds = dict.fromkeys(ROUNDS, request.rounds) if request.rounds else usual
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
