# SPDX-License-Identifier: BSD-3-Clause
"""The sweep over real nr_ulsim: the user's own builds with the old pool and with the new one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nrbench import host
from nrbench.progress import say
from nrbench.sweep.plan import Setting, sweep_id
from nrbench.sweep.pools import GO_ON, NEW, OLD, check
from nrbench.sweep.record import INLINE
from nrbench.sweep.run import Sweep
from nrbench.sweep.scenario import Case, Scenario, select
from nrbench.sweep.session import carry_out, show_plan
from nrbench.sweep.simulator import KIND, BuildError, Simulate, Simulator, find
from nrbench.system import format_cpus, parse_cpus

SCENARIO = "slides"
SEED_VARIABLE = "OAI_RNGSEED"
START_S, SLOT_S = 1.6, 0.004  # of a run; of a slot of 273 PRB and one layer, transmitter and channel included


@dataclass(frozen=True)
class Options:
    """None = as the scenario says."""

    old: Path | None
    new: Path | None
    out: Path
    cases: str = SCENARIO
    threads: tuple[int, ...] | None = None
    spins: tuple[str, ...] | None = None
    repeats: int | None = None
    trials: int | None = None
    limit_s: float | None = None
    cpus: str | None = None
    order_seed: int = 1
    noise_seed: int | None = None
    environment: tuple[tuple[str, str], ...] = ()  # of runs with the new pool
    oai: str | None = None
    label: str | None = None
    fresh: bool = False
    any_pool: bool = False


def normal_cpus(text: str | None) -> str | None:
    return format_cpus(parse_cpus(text)) if text else None


def guess_s(case: Case) -> float:
    share = (case.prb or 50) / 273 * (case.layers or 1)
    return START_S + case.trials * SLOT_S * (0.2 + 0.8 * share) * max(1, case.snr_points / 2)


class Settings:
    """Of all scenarios and builds."""

    def __init__(self, options: Options, builds: dict[str, Simulator]) -> None:
        self.options = options
        self.builds = builds
        self.made: list[Setting] = []

    def _add(
        self, scenario: Scenario, case: Case, build: str, pool: str, spin: str | None, threads: int
    ) -> None:
        options, sweep = self.options, scenario.sweep
        seed = options.noise_seed if options.noise_seed is not None else sweep.seed
        environment = {} if seed is None else {SEED_VARIABLE: str(seed)}
        if pool == NEW:
            environment |= {"TPOOL_WS_SPIN": str(spin), **dict(options.environment)}
        self.made.append(
            Setting(
                scenario=scenario.name,
                case=case.name,
                options=case.options(threads),
                pool=pool,
                spin=spin,
                threads=threads,
                program=self.builds[build].build.sha256,
                environment=tuple(environment.items()),
                cpus=normal_cpus(options.cpus or sweep.cpus),
                seed=seed,
                repeats=options.repeats or sweep.repeats,
                limit_s=options.limit_s or sweep.limit_s,
                guess_s=guess_s(case),
            )
        )

    def add_case(self, scenario: Scenario, case: Case) -> None:
        threads = self.options.threads or scenario.sweep.threads
        programs = set()
        for build, simulator in self.builds.items():
            if simulator.build.sha256 not in programs:
                self._add(scenario, case, build, INLINE, None, 0)
            programs.add(simulator.build.sha256)
            spins = (self.options.spins or scenario.sweep.spin) if build == NEW else (None,)
            for spin in spins:
                for count in threads:
                    self._add(scenario, case, build, build, spin, count)


def _check(options: Options, scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        if "hot" in (options.spins or scenario.sweep.spin):
            raise ValueError(
                "--spin hot: OAI's settings do not have it; there are off, auto and fixed:MICROSECONDS"
            )
    pinned = {normal_cpus(options.cpus or scenario.sweep.cpus) for scenario in scenarios}
    if len(pinned) > 1:
        raise ValueError("--cases: scenarios with different cpus; give --cpus, or sweep them one by one")


def _builds(options: Options) -> dict[str, Simulator]:
    wanted = {OLD: options.old, NEW: options.new}
    builds = {name: find(path, f"--{name}", options.oai) for name, path in wanted.items() if path is not None}
    if not builds:
        raise BuildError("neither --old nor --new names a build of OAI")
    versions = {build.build.oai for build in builds.values() if build.build.oai}
    if len(versions) > 1:
        say(f"--old and --new are of different versions of OAI: {', '.join(sorted(versions))}")
    if len(builds) > 1 and len({build.build.sha256 for build in builds.values()}) == 1:
        paths = ", ".join(f"--{name} {build.program}" for name, build in builds.items())
        text = f"one and the same program is given twice: {paths}"
        if not options.any_pool:
            raise BuildError(f"{text}; {GO_ON}")
        say(text)
    return builds


def _settings(options: Options, scenarios: list[Scenario], builds: dict[str, Simulator]) -> list[Setting]:
    settings = Settings(options, builds)
    for scenario in scenarios:
        for case in scenario.cases:
            if options.trials is not None:
                case = Case.model_validate(case.model_dump() | {"trials": options.trials})
            reasons = {build.build.oai: case.reason_against(build.build.oai) for build in builds.values()}
            reason = next((reason for reason in reasons.values() if reason), None)
            if reason:
                say(f"left out: {scenario.name}:{case.name}: {reason}")
            else:
                settings.add_case(scenario, case)
    if not settings.made:
        raise ValueError("--cases: none is left to run")
    return settings.made


def run(options: Options, dry: bool = False) -> int:
    """@return exit status: see session.carry_out()"""
    scenarios = select(options.cases)
    _check(options, scenarios)
    builds = _builds(options)
    settings = _settings(options, scenarios, builds)
    cpus = settings[0].cpus
    bound = parse_cpus(cpus) if cpus else None
    if not dry:
        check(builds, settings, bound, options.any_pool)
    about = host.describe(options.label)
    what = {
        "programs": sorted(build.build.sha256 for build in builds.values()),
        "cpus": cpus,
        "seed": options.order_seed,
        "environment": sorted(options.environment),
    }
    sweep = Sweep(
        id=sweep_id(about, KIND, what),
        kind=KIND,
        host=about,
        settings=settings,
        seed=options.order_seed,
        take=Simulate(builds, bound).take,
    )
    return (
        show_plan(sweep, options.out, options.fresh) if dry else carry_out(sweep, options.out, options.fresh)
    )
