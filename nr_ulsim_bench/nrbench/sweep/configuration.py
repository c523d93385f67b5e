# SPDX-License-Identifier: BSD-3-Clause
"""Which runs of a case may stand in one table, being of one configuration, and what that is called;
which runs had another pool than their side names."""

from collections import defaultdict
from typing import Iterable, Iterator, NamedTuple, Sequence

from nrbench.sweep.record import INLINE, Run

OF_EACH_RUN = ("TPOOL_WS_SPIN",)  # shown by the variant
SHARED = ("oai", "environment")  # compared between hosts, too; each host may have CPUs of its own
ALL_POOLS = "program"  # of recorded slots
OLD, NEW, PATCHED = "old", "new", "patched"  # builds of nr_ulsim; the pool of a patched one is the new
OAI_POOL = "OAI's own pool"


class Configuration(NamedTuple):
    """What all runs in a table share, whatever their pool. The old build and the new one are two programs of
    one configuration: a sweep has both."""

    oai: str
    cpus: str
    environment: str  # without what each pool has for itself
    programs: tuple[tuple[str, str], ...]  # by pool
    began: str  # its first run

    def fact(self, name: str) -> str:
        return {
            "oai": f"OAI {self.oai}" if self.oai else "OAI of an unknown version",
            "cpus": f"CPUs {self.cpus}" if self.cpus else "not bound to CPUs",
            "environment": self.environment or "nothing set for the pool",
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
        found.append(Configuration(oai, run.cpus or "", environment, tuple(sorted(programs.items())), began))
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


def keys_of(runs: Sequence[Run]) -> list[Key]:
    """The table of each. Of a case that has several configurations, with the facts in which they differ."""
    cases = [(run.kind, run.scenario, run.case) for run in runs]
    placed = list(zip(cases, (run.host.id for run in runs), configurations(runs)))
    members: dict[object, dict[str, dict[Configuration, None]]] = defaultdict(lambda: defaultdict(dict))
    for case, host, one in placed:
        members[case][host][one] = None
    texts = {}
    for case, host, one in dict.fromkeys(placed):
        each = list(members[case].values())
        names = [name for name in SHARED if _differ(name, [one for of_host in each for one in of_host])]
        names += ["cpus"] if any(_differ("cpus", of_host) for of_host in each) else []
        alike = [other for other in members[case][host] if other != one and other[:3] == one[:3]]
        more = [one.fact(name) for name in names] + ([_builds(one, alike)] if alike else [])
        texts[case, host, one] = "".join(f", {text}" for text in more)
    return [Key(host, *case, texts[case, host, one]) for case, host, one in placed]


def _differ(name: str, members: Iterable[Configuration]) -> bool:
    return len({getattr(one, name) for one in members}) > 1


def is_wrong(side: str, pool: str | None) -> bool:
    """
    @param side  the option that names the build: old is OAI's pool, new and patched are thread_pool_ws
    @param pool  the line in which thread_pool_ws names itself; None = there is none
    """
    return (pool is not None) != (side != OLD)


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
