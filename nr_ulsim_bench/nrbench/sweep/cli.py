# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench sweep`."""

from __future__ import annotations

from argparse import Namespace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from nrbench.backends import CLASSES
from nrbench.places import DATA, PROGRAMS
from nrbench.sweep import nr_ulsim, replay
from nrbench.sweep.options import Options
from nrbench.sweep.scenario import SweepDefaults

Class = Enum("Class", {name: name for name in CLASSES})  # type: ignore[misc]

Old = Annotated[Path | None, typer.Option(help="build folder of OAI with its own pool, or its nr_ulsim")]
New = Annotated[Path | None, typer.Option(help="build folder of OAI with thread_pool_ws, or its nr_ulsim")]
Cases = Annotated[
    str | None,
    typer.Option(help="scenarios or their files, or SCENARIO:CASE,CASE; without builds: recorded slots"),
]
Threads = Annotated[
    str | None, typer.Option(help="numbers of threads, such as 1,2,4,8 (default: the scenario's)")
]
Spin = Annotated[
    str | None, typer.Option(help="pre-wake modes: off, auto, fixed:MICROSECONDS (default: the scenario's)")
]
Repeats = Annotated[
    int | None, typer.Option(help="runs of each setting; verdicts need 5 (default: the scenario's)", min=1)
]
Trials = Annotated[int | None, typer.Option(help="slots a run (default: the scenario's)", min=2)]
Limit = Annotated[
    float | None,
    typer.Option(help="seconds after which a run counts as hung (default: the scenario's)", min=0.1),
]
Cpus = Annotated[str | None, typer.Option(help="bind the runs to these CPUs, such as 2-5")]
Env = Annotated[list[str] | None, typer.Option(help="NAME=VALUE for runs with the new pool; repeatable")]
Seed = Annotated[int, typer.Option(help="seed of the order within the rounds")]
NoiseSeed = Annotated[int | None, typer.Option(help="seed of nr_ulsim's noise (OAI_RNGSEED)", min=1)]
Oai = Annotated[str | None, typer.Option(help="version of OAI, if its sources do not show it: v2.3.0")]
Label = Annotated[
    str | None, typer.Option(help="name of this machine in reports (default: CPU model and count)")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="put earlier results aside instead of going on")]
AnyPool = Annotated[
    bool, typer.Option("--any-pool", help="go on although --old or --new has the other pool; reports warn")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="show the runs, in order, and run nothing")]
Backends = Annotated[str | None, typer.Option(help="without builds: these pools only, such as ws,onetbb")]
SchedClass = Annotated[
    Class | None, typer.Option("--class", help="without builds: scheduling class (default: other)")
]
Program = Annotated[
    Path,
    typer.Option(help="without builds: ws-bench (default: the one that ci/bench builds)", show_default=False),
]
Data = Annotated[
    Path, typer.Option(help="folder of recorded slots (default: this project's)", show_default=False)
]
Out = Annotated[Path, typer.Option(help="folder of results")]


def words(text: str | None) -> tuple[str, ...]:
    """Separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def numbers(text: str | None, name: str) -> tuple[int, ...]:
    for word in words(text):
        if not word.isdecimal() or not 1 <= int(word) <= 1024:
            raise ValueError(f"{name} {text}: {word!r} is no number from 1 to 1024")
    return tuple(sorted({int(word) for word in words(text)}))


def spin_modes(text: str | None) -> tuple[str, ...]:
    modes = tuple(dict.fromkeys(words(text)))
    try:
        SweepDefaults(spin=modes)
    except ValidationError as error:
        raise ValueError(f"--spin {text}: a mode is off, auto or fixed:MICROSECONDS") from error
    return modes


def pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise ValueError(f"--env {word}: not NAME=VALUE")
    return name, value


def _options(given: Namespace) -> Options:
    of_builds = ("trials", "limit", "env", "noise_seed", "oai", "any_pool")
    of_slots = ("backends", "sched_class")
    has_build = bool(given.old or given.new)
    for name in of_slots if has_build else of_builds:
        if getattr(given, name):
            option = name.removeprefix("sched_").replace("_", "-")
            raise ValueError(f"--{option} is only for sweeps {'without' if has_build else 'with'} builds")
    return Options(
        given.program, given.data, given.out, given.old, given.new, given.cases,
        numbers(given.threads, "--threads"), spin_modes(given.spin), given.repeats, given.trials, given.limit,
        given.cpus, tuple(pair(word) for word in given.env or ()), given.seed, given.noise_seed, given.oai,
        given.label, given.fresh, given.any_pool, given.dry_run, words(given.backends),
        given.sched_class.value if given.sched_class else None,
    )  # fmt: skip


def sweep(
    ctx: typer.Context,
    old: Old = None,
    new: New = None,
    cases: Cases = None,
    threads: Threads = None,
    spin: Spin = None,
    repeats: Repeats = None,
    trials: Trials = None,
    limit: Limit = None,
    cpus: Cpus = None,
    env: Env = None,
    seed: Seed = 1,
    noise_seed: NoiseSeed = None,
    oai: Oai = None,
    label: Label = None,
    fresh: Fresh = False,
    any_pool: AnyPool = False,
    dry_run: DryRun = False,
    backends: Backends = None,
    sched_class: SchedClass = None,
    program: Program = PROGRAMS / "ws-bench",
    data: Data = DATA,
    out: Out = Path("out/sweep"),
) -> int:
    """Compare OAI's pool with this one.

    Over thread counts: nr_ulsim of two builds (--old, --new), or recorded slots. Each run is written at once.
    After an interruption the same command goes on. Exit status: 0; 1 = some runs gave no figures, each is
    named; 2 = the sweep could not be done; 130 = interrupted."""
    options = _options(Namespace(**ctx.params))
    return nr_ulsim.run(options) if old or new else replay.run(options)
