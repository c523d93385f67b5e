# SPDX-License-Identifier: BSD-3-Clause
"""The user's builds: which gNBs and UEs there are, and which of them run together."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Sequence

from nrbench.progress import say
from nrbench.radio import pair
from nrbench.radio.plan import Step
from nrbench.radio.record import NO_SPIN, SIDES, Cell, Pool, RadioRun, SideName
from nrbench.radio.softmodem import BusyError, find_softmodem
from nrbench.record import Host, ResultsError
from nrbench.sweep.configuration import OAI_POOL
from nrbench.sweep.simulator import Simulator, refuse

MARK = b"TPOOL_WS_SPIN"  # what only a program with this pool contains


def find_all(old: Path | None, new: Path | None, oai: str | None, any_pool: bool) -> pair.Programs:
    """@raise BuildError  a build lacks a program, or has the other pool"""
    found: dict[tuple[SideName, Pool], Simulator] = {}
    builds: dict[Pool, Path | None] = {"old": old, "new": new}
    for (pool, path), side in product(builds.items(), SIDES):
        if path is None:
            continue
        simulator = found[side, pool] = find_softmodem(path, f"--{pool}", side, oai)
        is_new = MARK in simulator.program.read_bytes()
        if is_new != (pool == "new"):
            name = "thread_pool_ws: name it as --new" if is_new else f"{OAI_POOL}: name it as --old"
            refuse(f"--{pool} {simulator.program} has {name}", any_pool)
    return found


def cells(
    programs: pair.Programs,
    pools: Sequence[tuple[Pool, Pool]],
    spins: Sequence[str],
    prb: int,
    noise: str,
) -> list[Cell]:
    """Builds are compared whatever their versions.

    @param pools  of the gNB and the UE"""
    versions = sorted({simulator.build.oai for simulator in programs.values() if simulator.build.oai})
    if len(versions) > 1:
        say(f"the builds are of different versions of OAI: {', '.join(versions)}")
    version = " and ".join(versions) or None
    return [
        Cell(version, prb, noise, gnb, ue, spin)
        for gnb, ue in pools
        if ("gnb", gnb) in programs and ("ue", ue) in programs
        for spin in (spins if "new" in (gnb, ue) else (NO_SPIN,))
    ]


@dataclass(frozen=True)
class Take:
    """Takes runs of these programs."""

    programs: pair.Programs
    session: str
    host: Host
    commit: str | None
    seconds: float

    def __call__(self, step: Step) -> RadioRun:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        try:
            taken = pair.take(pair.Pair(self.programs, step.cell, step.timescale, self.seconds))
        except BusyError as error:
            raise ResultsError(f"{error}; the same command goes on") from error
        return RadioRun(
            sweep=self.session,
            round=step.round,
            began=began,
            timescale=step.timescale,
            seconds=self.seconds,
            commit=self.commit,
            host=self.host,
            **step.cell._asdict(),
            **taken,
        )
