# SPDX-License-Identifier: BSD-3-Clause
"""The user's builds: which gNBs and UEs there are, and which of them run together."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.progress import say
from nrbench.radio import pair
from nrbench.radio.plan import NO_SPIN, Cell, Step
from nrbench.radio.record import SIDES, Pool, RadioRun, SideName
from nrbench.radio.softmodem import BusyError, find_softmodem
from nrbench.record import Host, ResultsError
from nrbench.sweep.configuration import OAI_POOL
from nrbench.sweep.simulator import BuildError, Simulator, refuse

OLD: Pool = "old"
NEW: Pool = "new"
MARK = b"TPOOL_WS_SPIN"  # what only a program with this pool contains


class Kind(NamedTuple):
    version: str | None
    side: SideName
    pool: Pool


Programs = Mapping[Kind, Simulator]


def pool_of(program: Path) -> Pool:
    return NEW if MARK in program.read_bytes() else OLD


def _pool(option: str, program: Path, any_pool: bool) -> Pool:
    """As the option says; the UEs of --ue may have either."""
    has = pool_of(program)
    if option == "--ue":
        return has
    wanted = NEW if option == "--new" else OLD
    if has != wanted:
        name = {OLD: OAI_POOL, NEW: "thread_pool_ws"}[has]
        refuse(f"{option} {program} has {name}: name it as --{has}", any_pool)
    return wanted


def find_all(
    old: Sequence[Path], new: Sequence[Path], ue: Sequence[Path], oai: str | None, any_pool: bool
) -> Programs:
    """@param ue  builds whose UEs are taken instead of those of the other builds
    @raise BuildError  a build lacks a program, has the other pool, or is given twice"""
    wanted: list[tuple[Path, str, SideName]] = [(path, "--ue", "ue") for path in ue]
    for option, paths in (("--old", old), ("--new", new)):
        wanted += [(path, option, "gnb") for path in paths]
        wanted += [(path, option, "ue") for path in paths if not ue]
    found: dict[Kind, Simulator] = {}
    for path, option, side in wanted:
        simulator = find_softmodem(path, option, side, oai)
        kind = Kind(simulator.build.oai, side, _pool(option, simulator.program, any_pool))
        if kind in found:
            version = f"OAI {kind.version}" if kind.version else "OAI, of an unknown version,"
            raise BuildError(
                f"{option} {path}: {SIDES[side]} of {version} with this pool is already {found[kind].program}"
            )
        found[kind] = simulator
    return _compared(found) if max(map(len, (old, new, ue))) < 2 else found


def _compared(found: Programs) -> Programs:
    """Builds that are named once each are compared, whatever their versions."""
    versions = sorted({kind.version for kind in found if kind.version})
    if len(versions) > 1:
        say(f"the builds are of different versions of OAI: {', '.join(versions)}")
    of_all = " and ".join(versions) or None
    return {kind._replace(version=of_all): simulator for kind, simulator in found.items()}


def cells(
    programs: Programs,
    spins: Iterable[str],
    prbs: Iterable[int],
    placements: Iterable[str],
    noise: str,
    pools: Iterable[tuple[str, str]] = (),
) -> Iterator[Cell]:
    """All combinations of a gNB and a UE of one version.

    @param pools  only these combinations, as pools of the gNB and the UE; empty: all"""
    sides = {side: [kind for kind in programs if kind.side == side] for side in ("gnb", "ue")}
    both = [(gnb, ue) for gnb in sides["gnb"] for ue in sides["ue"] if gnb.version == ue.version]
    for gnb, ue in both:
        if pools and (gnb.pool, ue.pool) not in pools:
            continue
        own = spins if NEW in (gnb.pool, ue.pool) else (NO_SPIN,)
        for spin, prb, placement in product(own, prbs, placements):
            yield Cell(gnb.version, prb, placement, noise, gnb.pool, ue.pool, spin)


@dataclass(frozen=True)
class Take:
    """Takes runs of these programs."""

    programs: Programs
    session: str
    host: Host
    commit: str | None
    seconds: float

    def _taken(self, cell: Cell, timescale: float) -> dict[str, Any]:
        pools: dict[SideName, Pool] = {"gnb": cell.gnb, "ue": cell.ue}
        programs = {side: self.programs[Kind(cell.version, side, pool)] for side, pool in pools.items()}
        try:
            return pair.take(
                pair.Pair(programs, pools, cell.spin, cell.prb, timescale, cell.placement, self.seconds)
            )
        except BusyError as error:
            raise ResultsError(f"{error}; the same command goes on") from error

    def __call__(self, step: Step) -> RadioRun:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        values = {
            "sweep": self.session,
            "round": step.round,
            "began": began,
            **step.cell._asdict(),
            "timescale": step.timescale,
            "seconds": self.seconds,
            "commit": self.commit,
            "host": self.host,
        }
        return RadioRun.model_validate(values | self._taken(step.cell, step.timescale))
