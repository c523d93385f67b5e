# SPDX-License-Identifier: BSD-3-Clause
"""Which runs of a case may stand in one table, being of one configuration, and what that is called;
which runs had another pool than their side names."""

from collections import defaultdict
from typing import Iterable, Iterator, NamedTuple, Sequence

from nrbench.record import ResultsError
from nrbench.sweep.record import INLINE, Run

OF_EACH_RUN = ("TPOOL_WS_SPIN", "OAI_RNGSEED")  # shown by the variant and by the seed
SHARED = ("oai", "environment", "seed")  # compared between hosts, too; each host may have CPUs of its own
ALL_POOLS = "program"  # of recorded slots
OLD, NEW = "old", "new"  # pools of nr_ulsim
OAI_POOL = "OAI's own pool"


class Configuration(NamedTuple):
    """What all runs in a table share, whatever their pool. The old build and the new one are two programs of
    one configuration: a sweep has both."""

    oai: str
    cpus: str
    environment: str  # without what each pool has for itself
    seed: str
    programs: tuple[tuple[str, str], ...]  # by pool
    began: str  # its first run

    def fact(self, name: str) -> str:
        return {
            "oai": f"OAI {self.oai}" if self.oai else "OAI of an unknown version",
            "cpus": f"CPUs {self.cpus}" if self.cpus else "not bound to CPUs",
            "environment": self.environment or "nothing set for the pool",
            "seed": f"noise seed {self.seed}" if self.seed else "noise not seeded",
        }[name]


Programs = dict[str, str]  # hashes by pool


def _shared(runs: Sequence[Run]) -> tuple[str, str, Programs]:
    """Of the runs of a sweep: version of OAI, environment, programs."""
    versions = {run.build.oai for run in runs if run.build and run.build.oai}
    settings = {
        " ".join(f"{name}={run.environment[name]}" for name in sorted({*run.environment} - {*OF_EACH_RUN}))
        for run in runs
    }
    programs: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        if run.pool != INLINE and run.program:  # inline runs are of both builds
            programs[run.pool if run.kind == "nr_ulsim" else ALL_POOLS].add(run.program)
    hashes = {pool: " and ".join(sorted(found)) for pool, found in programs.items()}
    return " and ".join(sorted(versions)), " | ".join(sorted(settings - {""})), hashes


def configurations(runs: Sequence[Run]) -> list[Configuration]:
    """One a run. A sweep may lack a pool that another one has: --old and --new may have been run apart."""
    sweeps: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.began):
        sweeps[run.host.id, run.kind, run.sweep].append(run)
    together: dict[tuple[str, ...], list[tuple[Programs, str]]] = defaultdict(list)
    of_sweep: dict[tuple[str, ...], tuple[str, str, Programs, str]] = {}
    for key, members in sweeps.items():
        oai, environment, own = _shared(members)
        there = together[key[:2] + (oai, environment)]
        fit = [one for one in there if all(one[0].get(pool, of) == of for pool, of in own.items())]
        if not fit:
            fit = [({}, members[0].began)]
            there += fit
        programs, began = fit[0]
        programs |= own
        of_sweep[key] = oai, environment, programs, began
    found = []
    for run in runs:
        oai, environment, programs, began = of_sweep[run.host.id, run.kind, run.sweep]
        seed, hashes = "" if run.seed is None else str(run.seed), tuple(sorted(programs.items()))
        found.append(Configuration(oai, run.cpus or "", environment, seed, hashes, began))
    return found


def _builds(one: Configuration, others: Iterable[Configuration]) -> str:
    """The programs that differ from the others', with the day on which they were first run."""
    of_others = [dict(other.programs) for other in others if other != one]
    own = [f"{pool} {text}" for pool, text in one.programs if any(o.get(pool) != text for o in of_others)]
    return f"{', '.join(own)} of {one.began[:10]}"


class Key(NamedTuple):
    """What a table of its own is made for."""

    host: str
    kind: str
    scenario: str
    case: str
    configuration: str = ""  # as in ", OAI v2.1.0"; only where the report has several of this case

    @property
    def name(self) -> str:
        return f"{self.scenario} / {self.case}{self.configuration}"


def keys_of(settings: Sequence[Run], names: Sequence[str] | None = None) -> list[Key]:
    """The table of each. @param names  of the configurations, other than those in which they differ"""
    added = _labels(settings, [run.host.id for run in settings], apart=False) if names is None else names
    return [Key(run.host.id, run.kind, run.scenario, run.case, name) for run, name in zip(settings, added)]


def labels_of_sides(sides: dict[str, Sequence[Run]]) -> list[list[str]]:
    """
    What is added to the case's name of each run, for sides that are compared. All sides show the same facts:
    those of which one side has several. Not the programs: other ones may be what is compared.

    Raises ResultsError if a side has runs of one configuration with two builds of a pool.
    """
    groups = [side for side, runs in sides.items() for _ in runs]
    found = iter(_labels([run for runs in sides.values() for run in runs], groups, apart=True))
    return [[next(found) for _ in runs] for runs in sides.values()]


def _labels(runs: Sequence[Run], groups: Sequence[str], apart: bool) -> list[str]:
    """
    What is added to the case's name of each run; empty where a case has one configuration only.

    @param groups  the host or the side of each run
    @param apart   only facts that differ within a group, and builds of one configuration are refused
    """
    cases = [(run.kind, run.scenario, run.case) for run in runs]
    members: dict[object, dict[str, dict[Configuration, None]]] = defaultdict(lambda: defaultdict(dict))
    placed = list(zip(cases, groups, configurations(runs)))
    for case, group, one in placed:
        members[case][group][one] = None
    texts = {}
    for case, group, one in dict.fromkeys(placed):
        each = list(members[case].values())
        together = each if apart else [[other for of_group in each for other in of_group]]
        names = [name for name in SHARED if any(_differ(name, some) for some in together)]
        names += ["cpus"] if any(_differ("cpus", some) for some in each) else []
        alike = [other for other in members[case][group] if other != one and other[:4] == one[:4]]
        if alike and apart:
            builds = " and ".join(_builds(other, [one, *alike]) for other in [one, *alike])
            raise ResultsError(f"{group}: holds several builds ({builds}); compare one at a time")
        more = [one.fact(name) for name in names] + ([_builds(one, alike)] if alike else [])
        texts[case, group, one] = "".join(f", {text}" for text in more)
    return [texts[place] for place in placed]


def _differ(name: str, members: Iterable[Configuration]) -> bool:
    return len({getattr(one, name) for one in members}) > 1


def is_wrong(side: str, pool: str | None) -> bool:
    """
    @param side  the option that names the build: old is OAI's pool, new is thread_pool_ws
    @param pool  the line in which thread_pool_ws names itself; None = there is none
    """
    return (pool is not None) != (side == NEW)


def wrong_pools(runs: Iterable[Run]) -> Iterator[str]:
    """One line for each side whose runs had the other pool, for reports."""
    found: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for run in runs:
        of_build = run.kind == "nr_ulsim" and run.pool in (OLD, NEW) and run.status == "ok"
        if of_build and run.build and is_wrong(run.pool, run.build.pool):
            pool = (run.build.pool or OAI_POOL).split(", pool")[0]
            found[run.host.label, run.pool, run.build.sha256][pool] = None
    for (host, side, sha256), pools in found.items():
        yield f"{host}: the build given as --{side} (program {sha256}) has {', '.join(pools)}"
