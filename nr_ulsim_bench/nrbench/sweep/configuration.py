# SPDX-License-Identifier: BSD-3-Clause
"""Which runs of a case may stand in one table, being of one configuration, and what that is called."""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from nrbench.sweep.record import INLINE, ResultsError, Run

OF_EACH_RUN = ("TPOOL_WS_SPIN", "OAI_RNGSEED")  # told by the variant and by the seed
SHARED = (
    "oai",
    "environment",
    "seed",
)  # told wherever a report has several; hosts with another one beside it
ALL_POOLS = "program"  # of recorded slots
Programs = dict[str, frozenset[str]]  # hashes by pool
SweepKey = tuple[str, str, str]  # host, kind, sweep


class Configuration(NamedTuple):
    """What all runs in a table share, whatever their pool. The old build and the new one are two programs of
    one configuration: a sweep has both."""

    oai: str
    cpus: str
    environment: str  # of the new pool
    seed: str
    programs: tuple[tuple[str, str], ...]  # by pool
    began: str  # its first run


class _Sweeps(NamedTuple):
    """Sweeps whose runs may be put together: the same version and environment, and no pool has two builds."""

    oai: str
    environment: str
    programs: Programs
    began: list[str]

    def takes(self, other: _Sweeps) -> bool:
        """A sweep without a pool that the others have is welcome: --old and --new may have been run apart."""
        return (self.oai, self.environment) == (other.oai, other.environment) and all(
            self.programs[pool] == hashes for pool, hashes in other.programs.items() if pool in self.programs
        )


def sweep_key(run: Run) -> SweepKey:
    return run.host.id, run.kind, run.sweep


def _settings(run: Run) -> str:
    return " ".join(
        f"{name}={value}" for name, value in sorted(run.environment.items()) if name not in OF_EACH_RUN
    )


def _of_sweep(runs: Sequence[Run]) -> _Sweeps:
    versions = {run.build.oai for run in runs if run.build and run.build.oai}
    programs: dict[str, set[str]] = {}
    for run in runs:
        if run.pool != INLINE and run.program:  # inline runs are of both builds
            pool = run.pool if run.kind == "nr_ulsim" else ALL_POOLS
            programs.setdefault(pool, set()).add(run.program)
    return _Sweeps(
        " and ".join(sorted(versions)),
        " | ".join(sorted({text for run in runs if (text := _settings(run))})),
        {pool: frozenset(hashes) for pool, hashes in programs.items()},
        [min(run.began for run in runs)],
    )


def _together(runs: Sequence[Run]) -> dict[SweepKey, _Sweeps]:
    by_sweep: dict[SweepKey, list[Run]] = {}
    for run in runs:
        by_sweep.setdefault(sweep_key(run), []).append(run)
    found: dict[SweepKey, _Sweeps] = {}
    for key, members in by_sweep.items():
        one = _of_sweep(members)
        earlier = (there for (host, kind, _), there in found.items() if (host, kind) == key[:2])
        kept = next((there for there in earlier if there.takes(one)), None)
        found[key] = kept or one
        if kept:
            kept.programs.update(one.programs)
            kept.began.extend(one.began)
    return found


def configurations(runs: Sequence[Run]) -> list[Configuration]:
    """One a run."""
    sweeps = _together(runs)
    found = []
    for run in runs:
        of = sweeps[sweep_key(run)]
        programs = tuple((pool, " and ".join(sorted(hashes))) for pool, hashes in sorted(of.programs.items()))
        seed = "" if run.seed is None else str(run.seed)
        found.append(Configuration(of.oai, run.cpus or "", of.environment, seed, programs, min(of.began)))
    return found


def _builds(one: Configuration, others: Sequence[Configuration]) -> str:
    """The programs that tell it from the others, with the day on which it was first run."""
    pools = [
        pool for pool, text in one.programs if any(dict(other.programs).get(pool) != text for other in others)
    ]
    hashes = dict(one.programs)
    return ", ".join(f"{pool} {hashes[pool]}" for pool in pools) + f" of {one.began[:10]}"


def _facts(one: Configuration) -> dict[str, str]:
    return {
        "oai": f"OAI {one.oai}" if one.oai else "OAI of an unknown version",
        "cpus": f"CPUs {one.cpus}" if one.cpus else "not bound to CPUs",
        "environment": one.environment or "nothing set for the pool",
        "seed": f"noise seed {one.seed}" if one.seed else "noise not seeded",
    }


def _told(of_hosts: Mapping[str, Sequence[Configuration]]) -> list[str]:
    """Facts of which the configurations of a case have several. Each host may have CPUs of its own."""
    every = [one for members in of_hosts.values() for one in members]
    names = [name for name in SHARED if len({getattr(one, name) for one in every}) > 1]
    if any(len({one.cpus for one in members}) > 1 for members in of_hosts.values()):
        names.append("cpus")
    return names


def _text(one: Configuration, told: Sequence[str]) -> str:
    return "".join(f", {_facts(one)[name]}" for name in told)


def labels(
    of_hosts: Mapping[str, Sequence[Configuration]],
) -> Iterator[tuple[tuple[str, Configuration], str]]:
    """What is added to a case's name, by host and configuration; nothing where there is but one.

    @param of_hosts  the configurations of a case by host, each once
    """
    told = _told(of_hosts)
    for host, members in of_hosts.items():
        for one in members:
            alike = [other for other in members if other != one and other[:4] == one[:4]]
            yield (host, one), _text(one, told) + (f", {_builds(one, alike)}" if alike else "")


def labels_of_sides(sides: Mapping[str, Sequence[Run]]) -> list[list[str]]:
    """
    What is added to the case's name of each run, for sides that are compared. The same facts are told on all
    of them: those of which one side has several. Not the programs: other ones may be what is compared.

    Raises ResultsError if a side has runs of one configuration with two builds of a pool.
    """
    of_runs = {side: configurations(runs) for side, runs in sides.items()}
    cases: dict[tuple[str, ...], dict[str, dict[Configuration, None]]] = {}
    for side, runs in sides.items():
        for run, one in zip(runs, of_runs[side]):
            cases.setdefault(_case(run), {}).setdefault(side, {})[one] = None
    told: dict[tuple[str, ...], list[str]] = {}
    for case, by_side in cases.items():
        found = [name for side, members in by_side.items() for name in _told({side: list(members)})]
        told[case] = list(dict.fromkeys(found))
        for side, members in by_side.items():
            _check_builds(side, list(members), told[case])
    return [[_text(one, told[_case(run)]) for run, one in zip(sides[side], of_runs[side])] for side in sides]


def _case(run: Run) -> tuple[str, ...]:
    return run.kind, run.scenario, run.case


def _check_builds(side: str, members: Sequence[Configuration], told: Sequence[str]) -> None:
    if len({_text(one, told) for one in members}) < len(members):
        texts = " and ".join(_builds(one, [other for other in members if other != one]) for one in members)
        raise ResultsError(f"{side}: holds several builds ({texts}); compare one at a time")
