# SPDX-License-Identifier: BSD-3-Clause
"""What a sweep runs, in which order, and which runs of it are there already."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Sequence

from nrbench.sweep.record import Host, Kind, Run, identity, variant_of

Taken = dict[str, Any]  # what a run gave: fields of a Run


@dataclass(frozen=True)
class Setting:
    """All that repeats of a run share."""

    scenario: str
    case: str
    options: tuple[str, ...]
    pool: str
    spin: str | None
    threads: int
    program: str = ""  # sha256, as in Build
    environment: tuple[tuple[str, str], ...] = ()
    cpus: str | None = None
    seed: int | None = None
    at_once: int | None = None
    repeats: int = 1
    limit_s: float = 120.0
    guess_s: float = 1.0

    @property
    def variant(self) -> str:
        return variant_of(self)

    def __str__(self) -> str:
        return f"{self.scenario}:{self.case} {self.variant} {self.threads} threads"


@dataclass(frozen=True)
class Sweep:
    """Which sweep, and how to take a run of it."""

    id: str
    kind: Kind
    host: Host
    settings: Sequence[Setting]
    seed: int
    take: Callable[[Setting], Taken]


def sweep_id(host: Host, kind: str, what: dict[str, Any]) -> str:
    """Runs that share it may be continued: same machine, same programs, same way to run them."""
    text = json.dumps({"host": host.id, "kind": kind, **what}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def in_order(settings: Sequence[Setting], seed: int) -> Iterator[tuple[int, Setting]]:
    """Rounds of all settings, each in an order of its own, so that what changes here hits all alike. It does
    not depend on the number of rounds: a longer sweep continues a shorter one."""
    for repeat in range(max((setting.repeats for setting in settings), default=0)):
        this_round = list(settings)
        random.Random(f"{seed} {repeat}").shuffle(this_round)
        yield from ((repeat, setting) for setting in this_round if repeat < setting.repeats)


def still_to_do(settings: Sequence[Setting], seed: int, runs: Iterable[Run]) -> list[tuple[int, Setting]]:
    """Failed runs are tried again."""
    there = {identity(run, run.repeat) for run in runs if run.status == "ok"}
    steps = in_order(settings, seed)
    return [(repeat, setting) for repeat, setting in steps if identity(setting, repeat) not in there]
