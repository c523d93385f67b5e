# SPDX-License-Identifier: BSD-3-Clause
"""The sweep over real nr_ulsim: the user's own builds with the old pool and with the new one."""

import functools
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator

from nrbench import host
from nrbench.cluster.machines import system_here
from nrbench.driver import limit_s
from nrbench.facts import memory
from nrbench.progress import say
from nrbench.record import Host
from nrbench.session import session_id
from nrbench.sweep.configuration import NEW, OLD, PATCHED
from nrbench.sweep.options import Options
from nrbench.sweep.record import INLINE, Kind, Setting, cores_for
from nrbench.sweep.scenario import UPLINK, Case, Scenario, select, trials_of
from nrbench.sweep.session import Sweep, carry_out
from nrbench.sweep.simulator import Simulator, find, judge, refuse, side_of, take, try_out
from nrbench.system import parse_cpus

KIND: Kind = "nr_ulsim"
SCENARIO = "slides"
HINT = "hint"  # auto in a patched build: OAI says when bursts come
RUN_MIB = 1024  # more than a run needs
START_S, SLOT_S = 1.6, 0.004  # of a run; of a slot of 273 PRB and one layer, transmitter and channel included


@dataclass(frozen=True)
class Campaign:
    """A sweep, whatever the machine."""

    options: Options
    builds: dict[str, Simulator]  # as Builds
    cases: list[tuple[Scenario, Case]]

    def id_for(self, machine: str) -> str:
        what = {
            "programs": sorted(build.build.sha256 for build in self.builds.values()),
            "cpus": self.options.cpus,
            "seed": self.options.seed,
            "environment": sorted(self.options.environment),
        }
        return session_id(machine, KIND, what)

    def settings(self, at_once: int) -> list[Setting]:
        """Of each case: inline runs once a program, alone and side by side, then each build with each mode
        and number of threads.

        @param at_once  how many inline runs go side by side"""
        return [one for scenario, case in self.cases for one in self._of_case(scenario, case, at_once)]

    def _of_case(self, scenario: Scenario, case: Case, at_once: int) -> Iterator[Setting]:
        options, sweep = self.options, scenario.sweep
        programs = {side_of(key): self.builds[key].build.sha256 for key in _keys(case) if key in self.builds}
        counts = (None, at_once) if at_once > 1 else (None,)
        variants: list[tuple[str, str, str | None, int, int | None]] = []
        variants += [(one, INLINE, None, 0, n) for one in dict.fromkeys(programs.values()) for n in counts]
        for side, program in programs.items():
            spins = {OLD: (None,), PATCHED: (HINT,)}.get(side, options.spins or sweep.spin)
            pool, threads = OLD if side == OLD else NEW, options.threads or sweep.threads
            variants += [(program, pool, spin, number, None) for spin in spins for number in threads]
        for program, pool, spin, number, count in variants:
            environment = {"TPOOL_WS_SPIN": "auto" if spin == HINT else str(spin)} if pool == NEW else {}
            environment |= dict(options.environment)
            guess_s = START_S + SLOT_S * trials_of(case.words)
            yield Setting(
                scenario=scenario.name, case=case.name, options=case.options(number), pool=pool, spin=spin,
                threads=number, program=program, environment=environment, cpus=options.cpus,
                at_once=count, repeats=options.repeats or sweep.repeats,
                limit_s=options.limit_s or max(sweep.limit_s, limit_s(guess_s)), guess_s=guess_s,
            )  # fmt: skip

    def sweep(
        self, name: str, about: Host, builds: dict[str, Simulator],
        run: Callable[..., Any] = lambda function, *words: function(*words),
    ) -> Sweep:  # fmt: skip
        """On a machine, whose builds are tried.

        @param builds  as they are there. @param run  runs a function there and waits for its result"""
        bound = sorted(parse_cpus(self.options.cpus)) if self.options.cpus else None
        settings = self.settings(run(at_once, about, self.options.cpus))
        judge(run(try_out, builds, bound, settings), builds, self.options.any_pool)
        taken = functools.partial(run, take, builds, bound)
        return Sweep(name, KIND, about, settings, self.options.seed, taken)


def _keys(case: Case) -> Iterator[str]:
    """Of its builds."""
    return (side if case.program == UPLINK else f"{side}/{case.program}" for side in (OLD, NEW, PATCHED))


def _builds(options: Options, cases: Iterable[Case]) -> dict[str, Simulator]:
    """Those that the cases need. Of a program that is given by its path, others lie beside it."""
    builds = {}
    for key in dict.fromkeys(key for case in cases for key in _keys(case)):
        side, _, program = key.partition("/")
        if (path := getattr(options, side)) is not None:
            path = path.parent if program and path.is_file() else path
            builds[key] = find(path, f"--{side}", options.oai, program or UPLINK)
    versions = {build.build.oai for build in builds.values() if build.build.oai}
    if len(versions) > 1:
        say(f"--old and --new are of different versions of OAI: {', '.join(sorted(versions))}")
    if len({build.build.sha256 for build in builds.values()}) < len(builds):
        paths = ", ".join(f"--{side_of(key)} {build.program}" for key, build in builds.items())
        refuse(f"one and the same program is given twice: {paths}", options.any_pool)
    return builds


def at_once(about: Host, cpus: str | None) -> int:
    """How many inline runs go side by side here: one a core; 1 where memory might not hold them."""
    cores, free = cores_for(about, cpus), memory(system_here(), "MemAvailable")
    if cores > 1 and free is not None and cores * RUN_MIB > free / 1024:
        say(f"no parallel bound: memory for {cores} runs at once, {RUN_MIB} MiB each, is not free")
        return 1
    return cores


def planned(options: Options) -> Campaign:
    scenarios = select(options.cases or SCENARIO)
    cases = [(of, case.with_trials(options.trials)) for of in scenarios for case in of.cases]
    return Campaign(options, _builds(options, [case for _, case in cases]), cases)


def run(campaign: Campaign) -> int:
    """On this machine. @return exit status: see session.carry_out()"""
    about = host.describe(campaign.options.label)
    return carry_out(campaign.sweep(campaign.id_for(about.id), about, campaign.builds), campaign.options)
