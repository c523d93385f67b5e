# SPDX-License-Identifier: BSD-3-Clause
"""The contest of the slides: millions of tasks on eight threads, and what kernel and CPUs counted. Then this
pool and two others on 1 to 24 threads, as far as there are CPUs."""

import math
from typing import Iterator

from nrbench.backends import ALONE, Present
from nrbench.driver import chosen, there
from nrbench.engine import Item, Part, Plan, Request, Step, asks, shown, table, words
from nrbench.parts import scale
from nrbench.parts.pools import JOBS, Config, pool_order
from nrbench.parts.pools_judge import FIB_CASES, duels
from nrbench.stats import Line, Results, groups, select

THREADS, TASKS, BUDGET_S = 8, 8_388_608, 600.0
SERIES, SERIES_S = (1, 2, 4, 8, 16, 24), 1.0
TASK_S = {case: seconds / tasks for case, (tasks, seconds) in JOBS.items() if case in FIB_CASES}
FIGURES = (
    "wall_s user_s system_s ctx_voluntary ctx_involuntary migrations page_faults ipc branch_misses".split()
)
FIGURES += "retiring bad_speculation frontend_bound backend_bound".split()
TIMES = (
    "case{case}; pool{pool}; wall, s{wall_s:.2f}; x CPUs / work{ideal:.2f}; user, s{user_s:.2f};"
    " system, s{system_s:.3f}; this pool / it [95 %]{ratio}"
)
COUNTS = (
    "case{case}; pool{pool}; switches: voluntary{ctx_voluntary:.0f}; involuntary{ctx_involuntary:.0f};"
    " migrations{migrations:.0f}; page faults{page_faults:.0f}; instructions a cycle{ipc:.2f};"
    " branch misses, %{branch_misses:.2f}; slots: retiring, %{retiring:.0f};"
    " bad speculation{bad_speculation:.0f}; front end{frontend_bound:.0f}; back end{backend_bound:.0f}"
)


def steps(request: Request, pools: list[Present], most: int, count: int) -> Iterator[Step]:
    cases = ("fib19",) if request.tasks else FIB_CASES
    runs = [("coliseum", case, pool, most, count) for case in cases for pool in pools]
    for pool in (pool for pool in pools if pool.backend.name in scale.POOLS and not request.tasks):
        tasks = {n: math.ceil(SERIES_S * n / TASK_S["fib19"]) for n in SERIES if n <= request.cores}
        runs += [("series", "fib19", pool, threads, tasks[threads]) for threads in tasks]
    for bench, case, pool, threads, number in runs:
        given = words(bench="coliseum", work=case, tasks=number, seed=request.seed)
        config = Config(pool, threads - pool.waiter_helps, "other")
        seconds = number * TASK_S[case] / min(threads, request.cores)
        yield config.step(bench, case, given, seconds, threads=threads)


def plan(request: Request) -> Plan:
    """All pools have the same tasks: as many as are asked for, of fib(19); else the slides' number, or so
    many that all of it fits into the budget."""
    pools, missing = chosen(there(request.program), request.backends)
    pools = [p for p in pools if p.backend.name != ALONE and (request.backends or not p.backend.part)]
    most = request.threads or THREADS
    cpu_s = min(request.cores, most) * (request.budget_s or request.usual(BUDGET_S, BUDGET_S / 20))
    count = request.tasks or min(TASKS, math.ceil(cpu_s / sum(TASK_S.values()) / len(pools)))
    about = {"tasks": count, "threads": most, "missing": missing}
    every = list(steps(request, pools, most, count))
    return Plan(every, asks(request.program), about, request.rounds or 1, ("bench", "case"))


def contest(results: Results, cpus: int) -> Iterator[Line]:
    every = groups(results.only(bench="coliseum"))
    ratios = {duel.rival: duel.ratio for duel in duels(every, "wall_s")}
    for key, at in sorted(select(every).items(), key=lambda item: (item[0].case, pool_order(item[0]))):
        line = {"case": key.case, "pool": key.pool(), "ratio": ratios.get(key, "")}
        line |= {name: at.get(name, math.nan) for name in FIGURES}
        line["ctx_voluntary"] = at.get("ctx_switches", math.nan) - line["ctx_involuntary"]
        yield line | {"ideal": line["wall_s"] * cpus / at["work_s"]}


def series(results: Results) -> Iterator[list[str]]:
    """Of each pool how far it is from the ideal, on so many threads."""
    found: dict[str, dict[int, float]] = {}
    for (pool, count), at in results.only(bench="series").by("backend", "threads").items():
        if at.lines:
            found.setdefault(pool, {})[count] = at["wall_s"] * count / at["work_s"]
    for pool, of in sorted(found.items(), key=lambda item: scale.POOLS.index(item[0])):
        yield [pool, *(f"{of[count]:.2f}" if count in of else "" for count in SERIES)]


def report(results: Results) -> Iterator[Item]:
    most = results.host.get("threads", THREADS)
    cpus = min(results.host["cores"], most)
    rows = list(contest(results, cpus))
    yield from shown(f"{results.host['tasks']} tasks on {most} threads, {cpus} CPUs", TIMES, rows)
    yield from shown("What the kernel counted, and the CPUs", COUNTS, rows)
    if why := results.last("counters_missing", ""):
        yield f"nan: it was not counted (by the CPUs: {why})"
    title = "fib(19) on 1 to 24 threads: time x threads / work"
    yield from table(title, ["pool", *map(str, SERIES)], series(results))


PART = Part("contest", "the workloads of the slides", report, "backend", plan)
