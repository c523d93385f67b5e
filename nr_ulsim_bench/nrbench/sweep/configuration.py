# SPDX-License-Identifier: BSD-3-Clause
"""Which runs of a case may stand in one table, being of one configuration, and what that is called;
which runs had another pool than their side names."""

from __future__ import annotations

from collections import defaultdict
from typing import Iterable, Iterator, NamedTuple, Sequence

from nrbench.record import ResultsError
from nrbench.sweep.record import INLINE, Run

OF_EACH_RUN = ("TPOOL_WS_SPIN", "OAI_RNGSEED")  # shown by the variant and by the seed
SHARED = ("oai", "environment", "seed")  # compared between hosts, too; each host may have CPUs of its own
ALL_POOLS = "program"  # of recorded slots
OLD, NEW = "old", "new"  # pools of nr_ulsim
OAI_POOL = "OAI's own pool"
Programs = dict[str, frozenset[str]]  # hashes by pool


class Configuration(NamedTuple):
    """What all runs in a table share, whatever their pool. The old build and the new one are two programs of
    one configuration: a sweep has both."""

    oai: str
    cpus: str
    environment: str  # of the new pool
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


class _Sweeps(NamedTuple):
    """Sweeps whose runs may be put together: the same version and environment, and no pool has two builds."""

    oai: str
    environment: str
    programs: Programs
    began: list[str]

    def takes(self, other: _Sweeps) -> bool:
        """A sweep may lack a pool that the others have: --old and --new may have been run apart."""
        return self[:2] == other[:2] and all(
            self.programs.get(pool, hashes) == hashes for pool, hashes in other.programs.items()
        )


def _of_sweep(runs: Sequence[Run]) -> _Sweeps:
    versions = {run.build.oai for run in runs if run.build and run.build.oai}
    settings = {
        " ".join(f"{name}={run.environment[name]}" for name in sorted({*run.environment} - {*OF_EACH_RUN}))
        for run in runs
    }
    programs: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        if run.pool != INLINE and run.program:  # inline runs are of both builds
            programs[run.pool if run.kind == "nr_ulsim" else ALL_POOLS].add(run.program)
    return _Sweeps(
        " and ".join(sorted(versions)),
        " | ".join(sorted(settings - {""})),
        {pool: frozenset(hashes) for pool, hashes in programs.items()},
        [min(run.began for run in runs)],
    )


def configurations(runs: Sequence[Run]) -> list[Configuration]:
    """One a run."""
    by_sweep: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        by_sweep[run.host.id, run.kind, run.sweep].append(run)
    of_sweep: dict[tuple[str, str, str], _Sweeps] = {}
    for key, members in by_sweep.items():
        one = _of_sweep(members)
        earlier = (sweeps for other, sweeps in of_sweep.items() if other[:2] == key[:2])
        of_sweep[key] = together = next((sweeps for sweeps in earlier if sweeps.takes(one)), one)
        together.programs.update(one.programs)
        together.began.extend(one.began)
    return [_of_run(run, of_sweep[run.host.id, run.kind, run.sweep]) for run in runs]


def _of_run(run: Run, sweeps: _Sweeps) -> Configuration:
    programs = tuple((pool, " and ".join(sorted(hashes))) for pool, hashes in sorted(sweeps.programs.items()))
    seed = "" if run.seed is None else str(run.seed)
    return Configuration(sweeps.oai, run.cpus or "", sweeps.environment, seed, programs, min(sweeps.began))


def _builds(one: Configuration, others: Iterable[Configuration]) -> str:
    """The programs that differ from the others', with the day on which they were first run."""
    of_others = [dict(other.programs) for other in others if other != one]
    own = [f"{pool} {text}" for pool, text in one.programs if any(o.get(pool) != text for o in of_others)]
    return f"{', '.join(own)} of {one.began[:10]}"


def _differing(names: Iterable[str], members: Iterable[Configuration]) -> list[str]:
    return [name for name in names if len({getattr(one, name) for one in members}) > 1]


def _text(one: Configuration, names: Iterable[str]) -> str:
    return "".join(f", {one.fact(name)}" for name in names)


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


Members = dict[Configuration, None]  # each once, in the order of the runs
Cases = dict[tuple[str, str, str], dict[str, Members]]  # by case, then by host or side


def _case(run: Run) -> tuple[str, str, str]:
    return run.kind, run.scenario, run.case


def labels(runs: Sequence[Run]) -> list[str]:
    """What is added to the case's name of each run; empty where a case has one configuration only."""
    of_runs = configurations(runs)
    cases: Cases = defaultdict(lambda: defaultdict(dict))
    for run, one in zip(runs, of_runs):
        cases[_case(run)][run.host.id][one] = None
    return [_label(one, run.host.id, cases[_case(run)]) for run, one in zip(runs, of_runs)]


def keys_of(settings: Sequence[Run], names: Sequence[str] | None = None) -> list[Key]:
    """The table of each. @param names  of the configurations, if other ones than labels() gives"""
    added = labels(settings) if names is None else names
    return [Key(run.host.id, run.kind, run.scenario, run.case, name) for run, name in zip(settings, added)]


def _label(one: Configuration, host: str, of_hosts: dict[str, Members]) -> str:
    names = _differing(SHARED, [other for members in of_hosts.values() for other in members])
    names += ["cpus"] if any(_differing(["cpus"], members) for members in of_hosts.values()) else []
    alike = [other for other in of_hosts[host] if other != one and other[:4] == one[:4]]
    return _text(one, names) + (f", {_builds(one, alike)}" if alike else "")


def labels_of_sides(sides: dict[str, Sequence[Run]]) -> list[list[str]]:
    """
    What is added to the case's name of each run, for sides that are compared. All sides show the same facts:
    those of which one side has several. Not the programs: other ones may be what is compared.

    Raises ResultsError if a side has runs of one configuration with two builds of a pool.
    """
    of_runs = {side: configurations(runs) for side, runs in sides.items()}
    cases: Cases = defaultdict(lambda: defaultdict(dict))
    for side, runs in sides.items():
        for run, one in zip(runs, of_runs[side]):
            cases[_case(run)][side][one] = None
    names = {}
    for case, by_side in cases.items():
        several = [name for members in by_side.values() for name in _differing((*SHARED, "cpus"), members)]
        names[case] = list(dict.fromkeys(several))
        for side, members in by_side.items():
            if len({_text(one, names[case]) for one in members}) < len(members):
                builds = " and ".join(_builds(one, members) for one in members)
                raise ResultsError(f"{side}: holds several builds ({builds}); compare one at a time")
    return [[_text(one, names[_case(run)]) for run, one in zip(sides[s], of_runs[s])] for s in sides]


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
