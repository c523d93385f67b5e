# SPDX-License-Identifier: BSD-3-Clause
"""Pools against pools: slots, streams, the coliseum and wakes. ws-bench in rounds that mix them."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from operator import itemgetter
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, BACKENDS, CLASSES, OWN, Present
from nrbench.cases import NAMED, SHAPES, SLOT_CASES, TINY_CASE, period_us
from nrbench.driver import chosen, there
from nrbench.engine import Item, Part, Plan, Request, Step, asks, chosen_classes, shown, words
from nrbench.judge import judge
from nrbench.parts.pools_judge import FIB_CASES, IDLE_CASE, duels, verdicts
from nrbench.render import Table
from nrbench.session import shuffled
from nrbench.stats import Groups, Key, Line, Results, groups, select

BUDGET_S, QUICK_BUDGET_S = 400.0, 85.0
ROUNDS = {"slot": 3, "stream": 3, "coliseum": 9, "wake": 2}
QUICK_ROUNDS = {"slot": 2, "stream": 2, "coliseum": 5, "wake": 2}
ALONE_ROUNDS = {"coliseum": 25}  # measured by itself it has time for more
OVERHEAD_S = 0.02  # start of a process, of its module and threads, and their end
STEADY_US, STEADY_SLOTS_MIN = 50_000, 8  # what counts of a slot measurement, after the pool has settled
QUICK_CASES = ("12x6", "22x28", "12x6+22x28", TINY_CASE)
# A task a symbol, 14 of them in a slot of 500 µs, pushed by a thread that never joins.
STREAM_CASE, STREAM_PERIOD_NS = "1x10", 35714
# Tasks, and how long one core takes for them, about.
JOBS = {"fib19": (7500, 0.15), "fib17-19": (11000, 0.15), "fib19x1-3": (3700, 0.15)}
JOBS |= {"nested": (700, 0.15), "empty": (200_000, 0.02)}
IDLE_US = (250, 500, 1000, 2000, 5000)
WAKES, WARM_WAKES = 15, 3
# Besides no pool; where time is short, unless pools are chosen by name.
RIVALS = ("mutex-per-worker", "onetbb", "openmp-gcc")
CLASS_TEXT = {
    "other": "all threads in the normal class",
    "rr": "workers real-time, producer normal",
    "rrall": "workers and producer real-time",
}


class Config(NamedTuple):
    """A pool with its settings."""

    pool: Present
    workers: int
    sched_class: str
    mode: str = "default"

    def step(self, bench: str, case: str, given: Iterable[str], seconds: float, **labels: object) -> Step:
        backend = self.pool.backend
        of_pool = {"backend": backend.name, "workers": self.workers}
        of_pool |= {"class": self.sched_class, "mode": self.mode}
        environment = (f"env={word}" for word in backend.environment(self.mode))
        every = (*words(**of_pool), *environment, *given)
        labels = {"bench": bench, "case": case} | of_pool | labels
        return Step(labels, every, seconds + OVERHEAD_S, f"{bench} {case} {backend.name}")

    def paced(self, bench: str, case: str, period_us: float, *given: str) -> Step:
        """One life of a pool: the time in which it settles, then what counts."""
        warm = math.ceil(self.pool.backend.settle_s * 1e6 / period_us)
        slots = max(STEADY_SLOTS_MIN, round(STEADY_US / period_us))
        seconds = (warm + slots) * period_us * 1e-6
        return self.step(bench, case, (*given, *words(warm=warm, slots=slots)), seconds)


Pools = Sequence[Present]


def configs(request: Request, pools: Pools, part: str = "", *, modes: bool = True) -> Iterator[Config]:
    """With as many computing threads as cores. In the normal class all pools, if there is time."""
    for pool, sched_class in itertools.product(pools, request.classes):
        name, normal, quick = pool.backend.name, sched_class == "other", request.quick
        wanted = pool.backend.part == part if pool.backend.part else not quick or name in RIVALS
        if request.backends or (normal and wanted) or name in (OWN, ALONE, *request.usual(RIVALS, ())):
            workers = pool.fair_workers(request.cores) if pool.has_workers else 1
            for mode, _ in pool.backend.modes if modes and (normal or not quick) else pool.backend.modes[:1]:
                yield Config(pool, workers, sched_class, mode)


def slots(request: Request, pools: Pools) -> Iterator[Step]:
    """The own pool with one thread too many, too."""
    for config in configs(request, pools):
        name, cores = config.pool.backend.name, request.cores
        thorough = not request.quick and (config.sched_class, config.mode) == ("other", "default")
        several = sorted({config.workers, cores}) if thorough and name == OWN else [config.workers]
        for workers, case in itertools.product(several, request.usual(SLOT_CASES, QUICK_CASES)):
            period = period_us(case, cores)
            given = words(bench="slot", period_us=period, bursts=case)
            yield config._replace(workers=workers).paced("slot", case, period, *given)
        if thorough and (request.backends or name in (OWN, ALONE, RIVALS[0])):
            for case, (path, shape) in SHAPES.items():
                given = words(bench="replay", file=request.data / path, **shape)
                yield config.paced("slot", case, shape["period_us"], *given)
            for case, burst in NAMED.items():
                period = period_us(str(burst["bursts"]), cores)
                given = words(bench="slot", period_us=period, **burst)
                yield config.paced("slot", case, period, *given)


def streams(request: Request, pools: Pools) -> Iterator[Step]:
    """The producer polls on one core, and no waiter helps."""
    given = words(bench="stream", bursts=STREAM_CASE, period_ns=STREAM_PERIOD_NS)
    for config in configs(request, pools):
        if config.pool.has_workers:
            config = config._replace(workers=max(1, request.cores - 1))
        yield config.paced("stream", STREAM_CASE, STREAM_PERIOD_NS * 1e-3, *given)


def jobs(request: Request, pools: Pools) -> Iterator[Step]:
    for config in configs(request, pools, "coliseum" * (request.only == ("coliseum",)), modes=False):
        threads = min(request.cores, config.workers + config.pool.waiter_helps)
        cases = [*FIB_CASES, "empty", *(["nested"] if config.pool.nests else [])]
        for case, (tasks, seconds) in ((case, JOBS[case]) for case in cases):
            given = words(bench="coliseum", work=case, tasks=tasks)
            yield config.step("coliseum", case, given, seconds / threads)


def wakes(request: Request, pools: Pools) -> Iterator[Step]:
    for config in (config for config in configs(request, pools, "wake") if config.pool.has_workers):
        one = config._replace(workers=1) if config.pool.waiter_helps else config
        for idle_us in IDLE_US:
            given = words(bench="wake", idle_us=idle_us, slots=WAKES, warm=WARM_WAKES)
            seconds = (WAKES + WARM_WAKES) * (idle_us + 50) * 1e-6
            yield one.step("wake", f"idle{idle_us}us", given, seconds, idle_us=idle_us)
        if config.sched_class == "other":
            given = words(bench="idle", idle_us=100000)
            yield one.step("wake", IDLE_CASE, given, 0.32, idle_us=100000)


SAME = itemgetter("bench", "case", "class")
PARTS = {"slot": slots, "stream": streams, "coliseum": jobs, "wake": wakes}


def steps_of(request: Request, pools: Pools) -> tuple[list[Step], dict[str, int]]:
    """All rounds, in which what is compared lies side by side, and how many each part has."""
    usual = request.usual(ROUNDS | (ALONE_ROUNDS if len(request.only) == 1 else {}), QUICK_ROUNDS)
    rounds = {part: request.rounds or usual[part] for part in request.only}
    steps = {part: list(PARTS[part](request, pools)) for part in rounds}
    order, drawn = random.Random(request.seed), list[Step]()
    for number in range(max(rounds.values())):
        due = [step for part in steps if number < rounds[part] for step in steps[part]]
        drawn += [step.of_round(number) for step in shuffled(due, order, lambda step: SAME(step.labels))]
    return drawn, rounds


def plan(request: Request) -> Plan:
    pools, missing = chosen(there(request.program), request.backends)
    classes, skipped = chosen_classes(request.classes)
    parts = tuple(part for part in PARTS if not request.only or part in request.only)
    steps, rounds = steps_of(replace(request, only=parts, classes=classes), pools)
    about: Line = {"rounds": ", ".join(f"{part} {count}" for part, count in rounds.items())}
    about |= {"missing": missing, "skipped": skipped}
    about["pools"] = {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools}
    budget_s = request.budget_s or request.usual(BUDGET_S, QUICK_BUDGET_S)
    return Plan(steps, asks(request.program), about, budget_s=budget_s)


CASES = (*SLOT_CASES, *NAMED, *SHAPES)
# Of figures that are medians over the rounds, and the number of cores.
DERIVED: dict[str, Callable[[Results, int], float]] = {
    "cpu_per_work": lambda at, _: at.cpu_per_work,
    "to_ideal": lambda at, cores: at["wall_s"] * cores / at["work_s"],
    "inline": lambda at, _: 100 * at["inline_tasks"] / at["tasks"],
    "overtaken": lambda at, _: 100 * at["overtaken"] / at["slots"],
    "elsewhere": lambda at, _: 100 * at["other_cpu_starts"] / at["slots"],
    "cpu_us": lambda at, _: 1e6 * at["cpu_s"],
    # without the producer's, which polls all the time, and without the tasks' work
    "cpus": lambda at, _: max(0.0, (at["cpu_s"] - at["work_s"]) / at["wall_s"] - 1),
}


CPU_PER_WORK = "CPU time ÷ work {cpu_per_work:.2f}"
GRIDS = (  # a table for each class: its title, cases and figures
    ("slot", "Slots in the steady state: makespan ÷ bound", CASES,
     "p50 {ratio_p50:.2f}; p99 {ratio_p99:.2f}; " + CPU_PER_WORK),
    ("stream", "Stream: from push to start", (STREAM_CASE,),
     "p50, µs {lag_p50_us:.1f}; p99, µs {lag_p99_us:.1f}; overtaken, % {overtaken:.1f}; "
     "CPUs beside producer and work {cpus:.2f}"),
    ("coliseum", "Coliseum: wall time x cores ÷ work", (*FIB_CASES, "nested"),
     "wall time {to_ideal:.2f}; " + CPU_PER_WORK),
    ("coliseum", "Coliseum: empty tasks", ("empty",),
     "ns a task {ns_per_task:.1f}; run in the push, % {inline:.0f}"),
    ("wake", "After idleness: from push to start", tuple(f"idle{us}us" for us in IDLE_US),
     "p50, µs {p50_us:.1f}; p99, µs {p99_us:.1f}; on another CPU, % {elsewhere:.0f}"),
    ("wake", "An idle pool", (IDLE_CASE,), "CPU time, µs {cpu_us:.0f}; context switches {ctx_switches:.0f}"),
)  # fmt: skip
DUELS = (
    "class{of.sched_class}; case{of.case}; pool{of.backend} {of.workers}w; verdict{word}; ratio [95 %]{ratio}"
)


def pool_order(key: Key) -> tuple[int, str, int]:
    """The own pool first, then in the order of the list of backends."""
    names = [backend.name for backend in BACKENDS]
    return names.index(key.backend) if key.backend in names else len(names), key.mode, key.workers


class Why(str):
    """In place of a figure, whatever its format."""

    def __format__(self, _: str) -> str:
        return str(self)


class Row(dict[str, Any]):
    """Labels, and figures as they are asked for."""

    def __init__(self, labels: dict[str, Any], at: Results, cores: int) -> None:
        super().__init__(labels)
        self.at, self.cores = at, cores

    def __missing__(self, name: str) -> Any:
        if self.at.lines:
            return DERIVED[name](self.at, self.cores) if name in DERIVED else self.at[name]
        error = self.at.failed[0]["error"]
        return Why("n/a" if error.startswith("n/a") else "killed" if "killed" in error else "error")


def grids(every: Groups, host: Line) -> Iterator[Table]:
    """Of each class a row a case, pool and setting."""
    helps = {name: "helps" if pool["waiter_helps"] else "sleeps" for name, pool in host["pools"].items()}
    for (bench, title, cases, columns), sched_class in itertools.product(GRIDS, CLASSES):
        found = select(every, has_result=False, bench=bench, case=cases, sched_class=sched_class)
        rows, before = list[Row](), ""
        for key in sorted(found, key=lambda key: (cases.index(key.case), *pool_order(key))):
            case, before = key.case if key.case != before else "", key.case
            of = {"case": case, "pool": key.pool(), "waiter": helps.get(key.backend, "")}
            rows.append(Row(of, found[key], host["cores"]))
        head = "case {case}; pool {pool}; waiting thread {waiter}; "
        yield from shown(f"{title}; {CLASS_TEXT[sched_class]}", head + columns, rows)


def report(results: Results) -> Iterator[Item]:
    every = groups(results)
    yield "1w: with one worker; hot: busy-polls"
    yield from grids(every, results.host)
    found = sorted(duels(every, "wall_s"), key=lambda duel: pool_order(duel.rival))
    rows = [{"of": d.rival, "ratio": d.ratio, "word": judge(d.ratio.interval)} for d in found]
    yield from shown("Coliseum: wall time of this pool ÷ another's", DUELS, rows)
    yield from verdicts(every, results.host["cores"])


ABOUT = "slots, streams, jobs and wakes, all pools"
PART = Part("pools", ABOUT, report, "backend", plan, stem="results", text="report.txt")
