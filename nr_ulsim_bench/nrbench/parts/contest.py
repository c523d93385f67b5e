# SPDX-License-Identifier: BSD-3-Clause
"""The contest of the slides: millions of tasks on eight threads, and what the CPUs counted. Then this pool
and two others on 1 to 24 threads: measured as far as there are CPUs, and simulated."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Iterator

from nrbench.backends import ALONE, Present
from nrbench.driver import BenchError, chosen, there
from nrbench.engine import Ask, Item, Part, Plan, Request, Step, asks, shown, table, words
from nrbench.parts import scale
from nrbench.parts.pools import JOBS, Config, pool_order
from nrbench.parts.pools_judge import FIB_CASES, duels
from nrbench.stats import Line, Results, groups, read_lines, select

THREADS, TASKS, BUDGET_S = 8, 8_388_608, 600.0
SERIES, SERIES_S = (1, 2, 4, 8, 16, 24), 1.0
TASK_S = {case: seconds / tasks for case, (tasks, seconds) in JOBS.items() if case in FIB_CASES}
SIMULATED = "--machine epyc-64 --workload 240x20 --producers 1 --runs 1 --quick --cpus".split(), 20.0
FIGURES = "wall_s cpu_s ctx_switches ipc retiring bad_speculation frontend_bound backend_bound".split()
COLUMNS = (
    "case{case}; pool{pool}; wall, s{wall_s:.2f}; x CPUs / work{ideal:.2f}; CPU, s{cpu_s:.2f};"
    " switches{ctx_switches:.0f}; instructions a cycle{ipc:.2f}; slots: retiring, %{retiring:.0f};"
    " bad speculation{bad_speculation:.0f}; front end{frontend_bound:.0f}; back end{backend_bound:.0f};"
    " this pool / it [95 %]{ratio}"
)


def steps(request: Request, pools: list[Present], count: int) -> Iterator[Step]:
    runs = [("coliseum", case, pool, THREADS, count) for case in FIB_CASES for pool in pools]
    for pool in (pool for pool in pools if pool.backend.name in scale.POOLS):
        tasks = {n: math.ceil(SERIES_S * n / TASK_S["fib19"]) for n in SERIES if n <= request.cores}
        runs += [("series", "fib19", pool, threads, tasks[threads]) for threads in tasks]
    for bench, case, pool, threads, number in runs:
        given = words(bench="coliseum", work=case, tasks=number, seed=request.seed)
        config = Config(pool, threads - pool.waiter_helps, "other")
        seconds = number * TASK_S[case] / min(threads, request.cores)
        yield config.step(bench, case, given, seconds, threads=threads)


def simulated() -> list[Line]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "points"
        try:
            scale.simulate([*SIMULATED[0], ",".join(map(str, SERIES)), "--out"], path)
        except BenchError as error:
            return [{"error": str(error)}]
        return [line for line in read_lines(path) if line["bench"] == scale.POINT]


def plan(request: Request) -> Plan:
    """All pools have the same tasks: the slides' number, or so many that all of it fits into the budget."""
    pools, missing = chosen(there(request.program), request.backends)
    pools = [p for p in pools if p.backend.name != ALONE and (request.backends or not p.backend.part)]
    cpu_s = min(request.cores, THREADS) * (request.budget_s or request.usual(BUDGET_S, BUDGET_S / 20))
    count = min(TASKS, math.ceil(cpu_s / sum(TASK_S.values()) / len(pools)))
    simulation = Step({"backend": "simulated"}, (), SIMULATED[1], "simulated")
    every, program = [*steps(request, pools, count), simulation], asks(request.program)
    ask: Ask = lambda step: simulated() if not step.words else program(step)  # noqa: E731
    return Plan(every, ask, {"tasks": count, "missing": missing}, request.rounds or 1, ("bench", "case"))


def contest(results: Results, cpus: int) -> Iterator[Line]:
    every = groups(results.only(bench="coliseum"))
    ratios = {duel.rival: duel.ratio for duel in duels(every, "wall_s")}
    for key, at in sorted(select(every).items(), key=lambda item: (item[0].case, pool_order(item[0]))):
        line = {"case": key.case, "pool": key.pool(), "ratio": ratios.get(key, "")}
        line |= {name: at.get(name, math.nan) for name in FIGURES}
        yield line | {"ideal": line["wall_s"] * cpus / at["work_s"]}


def threads(results: Results) -> Iterator[list[str]]:
    """Of each pool how far it is from the ideal, on so many threads."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for (pool, count), at in results.only(bench="series").by("backend", "threads").items():
        if at.lines:
            found.setdefault((pool, "measured"), {})[count] = at["wall_s"] * count / at["work_s"]
    for point in results.only(bench=scale.POINT).lines:
        found.setdefault((point["pool"], "simulated"), {})[point["cpus"]] = point["time"] / point["bound_us"]
    for (pool, how), of in sorted(found.items(), key=lambda item: scale.POOLS.index(item[0][0])):
        yield [pool, how, *(f"{of[count]:.2f}" if count in of else "" for count in SERIES)]


def report(results: Results) -> Iterator[Item]:
    cpus = min(results.host["cores"], THREADS)
    title = f"{results.host['tasks']} tasks on {THREADS} threads, {cpus} CPUs"
    yield from shown(title, COLUMNS, contest(results, cpus))
    if why := results.last("counters_missing", ""):
        yield f"nan: the CPUs did not count ({why})"
    title = "fib(19) on 1 to 24 threads: time x threads / work; simulated: 240 tasks a burst on epyc-64"
    yield from table(title, ["pool", "", *map(str, SERIES)], threads(results))


PART = Part("contest", "the workloads of the slides, 8 threads", report, "backend", plan)
