# SPDX-License-Identifier: BSD-3-Clause
"""The sweep over real nr_ulsim: the user's own builds with the old pool and with the new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, Sequence

from nrbench import host
from nrbench.facts import memory
from nrbench.progress import say
from nrbench.record import Host
from nrbench.session import session_id
from nrbench.sweep.configuration import NEW, OLD
from nrbench.sweep.options import Options
from nrbench.sweep.record import INLINE, cores_for, normal_cpus
from nrbench.sweep.scenario import Case, Scenario, select
from nrbench.sweep.session import Setting, Sweep, carry_out
from nrbench.sweep.simulator import KIND, Simulate, Simulator, check, find, refuse
from nrbench.system import System, parse_cpus

SCENARIO = "slides"
SEED_VARIABLE = "OAI_RNGSEED"
RUN_MIB = 1024  # more than a run needs
START_S, SLOT_S = 1.6, 0.004  # of a run; of a slot of 273 PRB and one layer, transmitter and channel included


def guess_s(case: Case) -> float:
    share = (case.prb or 50) / 273 * (case.layers or 1)
    return START_S + case.trials * SLOT_S * (0.2 + 0.8 * share) * max(1, case.snr_points / 2)


def cpus_of(options: Options, scenario: Scenario) -> str | None:
    cpus = options.cpus or scenario.sweep.cpus
    return normal_cpus(cpus) if cpus else None


def _setting(
    options: Options, scenario: Scenario, case: Case, program: str, pool: str, spin: str | None, threads: int
) -> Setting:
    seed = options.noise_seed if options.noise_seed is not None else scenario.sweep.seed
    environment = {} if seed is None else {SEED_VARIABLE: str(seed)}
    if pool == NEW:
        environment |= {"TPOOL_WS_SPIN": str(spin), **dict(options.environment)}
    return Setting(
        scenario=scenario.name,
        case=case.name,
        options=case.options(threads),
        pool=pool,
        spin=spin,
        threads=threads,
        program=program,
        environment=tuple(environment.items()),
        cpus=cpus_of(options, scenario),
        seed=seed,
        repeats=options.repeats or scenario.sweep.repeats,
        limit_s=options.limit_s or scenario.sweep.limit_s,
        guess_s=guess_s(case),
    )


def _of_case(
    options: Options, scenario: Scenario, case: Case, builds: dict[str, Simulator], at_once: int
) -> Iterator[Setting]:
    """Inline runs once a program, alone and side by side, then each build with each mode and number of
    threads."""
    programs = {side: simulator.build.sha256 for side, simulator in builds.items()}
    for program in dict.fromkeys(programs.values()):
        alone = _setting(options, scenario, case, program, INLINE, None, 0)
        yield alone
        if at_once > 1:
            yield replace(alone, at_once=at_once)
    for side, program in programs.items():
        for spin in (options.spins or scenario.sweep.spin) if side == NEW else (None,):
            for threads in options.threads or scenario.sweep.threads:
                yield _setting(options, scenario, case, program, side, spin, threads)


def _check(options: Options, scenarios: Sequence[Scenario]) -> None:
    if any("hot" in (options.spins or scenario.sweep.spin) for scenario in scenarios):
        raise ValueError("--spin hot: OAI's settings have no such mode; use off, auto or fixed:MICROSECONDS")
    if len({cpus_of(options, scenario) for scenario in scenarios}) > 1:
        raise ValueError("--cases: scenarios with different cpus; give --cpus, or sweep them one by one")


def _builds(options: Options) -> dict[str, Simulator]:
    wanted = {OLD: options.old, NEW: options.new}
    builds = {side: find(path, f"--{side}", options.oai) for side, path in wanted.items() if path is not None}
    versions = {build.build.oai for build in builds.values() if build.build.oai}
    if len(versions) > 1:
        say(f"--old and --new are of different versions of OAI: {', '.join(sorted(versions))}")
    for side in (OLD, NEW):
        if side not in builds:
            say(f"no --{side}: there will be no comparison, unless {options.out} holds runs of that pool")
    if len(builds) > 1 and len({build.build.sha256 for build in builds.values()}) == 1:
        paths = ", ".join(f"--{side} {build.program}" for side, build in builds.items())
        refuse(f"one and the same program is given twice: {paths}", options.any_pool)
    return builds


def at_once(about: Host, cpus: str | None, system: System) -> int:
    """How many inline runs go side by side: one a core; 1 where memory might not hold them."""
    cores = cores_for(about, cpus)
    free = memory(system, "MemAvailable")
    if cores > 1 and free is not None and cores * RUN_MIB > free / 1024:
        say(f"no parallel bound: memory for {cores} runs at once, {RUN_MIB} MiB each, is not free")
        return 1
    return cores


def _settings(
    options: Options, scenarios: Sequence[Scenario], builds: dict[str, Simulator], side_by_side: int
) -> Iterator[Setting]:
    for scenario in scenarios:
        for case in scenario.cases:
            if options.trials is not None:
                case = Case.model_validate(case.model_dump() | {"trials": options.trials})
            reasons = [case.reason_against(build.build.oai) for build in builds.values()]
            if any(reasons):
                say(f"left out: {scenario.name}:{case.name}: {next(filter(None, reasons))}")
            else:
                yield from _of_case(options, scenario, case, builds, side_by_side)


def what_of(options: Options, builds: dict[str, Simulator], cpus: str | None) -> dict[str, object]:
    """Runs of one sweep share it."""
    return {
        "programs": sorted(build.build.sha256 for build in builds.values()),
        "cpus": cpus,
        "seed": options.seed,
        "environment": sorted(options.environment),
    }


def run(options: Options) -> int:
    """@return exit status: see session.carry_out()"""
    scenarios = select(options.cases or SCENARIO)
    _check(options, scenarios)
    builds = _builds(options)
    cpus = cpus_of(options, scenarios[0])  # as of all
    if options.cluster:
        return _run_on_cluster(options, scenarios, builds, cpus)
    about = host.describe(options.label)
    side_by_side = at_once(about, cpus, System())
    settings = list(_settings(options, scenarios, builds, side_by_side))
    if not settings:
        raise ValueError("--cases: no case is left to run")
    bound = parse_cpus(cpus) if cpus else None
    if not options.dry_run:
        check(builds, settings, bound, options.any_pool)
    name = session_id(about.id, KIND, what_of(options, builds, cpus))
    take = Simulate(builds, bound).take
    return carry_out(Sweep(name, KIND, about, settings, options.seed), take, options)


def _run_on_cluster(
    options: Options, scenarios: Sequence[Scenario], builds: dict[str, Simulator], cpus: str | None
) -> int:
    from nrbench.cluster import ways

    ways.require_packages(str(options.cluster))
    from nrbench.cluster import work  # loads Dask

    told = list(_settings(options, scenarios, builds, 1))  # and says what is left out
    if not told:
        raise ValueError("--cases: no case is left to run")

    def settings(side_by_side: int) -> list[Setting]:
        more = (replace(one, at_once=side_by_side) for one in told if one.pool == INLINE)
        return [*told, *(more if side_by_side > 1 else ())]

    bound = tuple(sorted(parse_cpus(cpus))) if cpus else None
    name = session_id("cluster", KIND, what_of(options, builds, cpus))
    return work.sweep(work.ClusterSweep(name, builds, bound, settings, at_once, options))
