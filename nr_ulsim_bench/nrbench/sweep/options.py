# SPDX-License-Identifier: BSD-3-Clause
"""What the command line of `nrbench sweep` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Empty or None: as the scenario, or else the sweep, has it."""

    program: Path  # ws-bench
    data: Path  # folder of recorded slots
    out: Path
    old: Path | None = None
    new: Path | None = None
    cases: str | None = None
    threads: tuple[int, ...] = ()
    spins: tuple[str, ...] = ()
    repeats: int | None = None
    trials: int | None = None
    limit_s: float | None = None
    cpus: str | None = None
    environment: tuple[tuple[str, str], ...] = ()  # of runs with the new pool
    seed: int = 1  # of the order
    noise_seed: int | None = None
    oai: str | None = None
    label: str | None = None
    fresh: bool = False
    any_pool: bool = False
    dry_run: bool = False
    backends: tuple[str, ...] = ()
    sched_class: str | None = None
    short: bool = False  # two files of recorded slots only
