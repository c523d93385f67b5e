# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench sweep`."""

from __future__ import annotations

from argparse import Namespace
from enum import Enum
from pathlib import Path
from typing import Annotated, Callable

import typer
from pydantic import ValidationError

from nrbench.plan import CLASSES
from nrbench.sweep import nr_ulsim, replay
from nrbench.sweep.scenario import SweepDefaults

Class = Enum("Class", {name: name for name in CLASSES})  # type: ignore[misc]


Old = Annotated[Path | None, typer.Option(help="build folder of OAI with its own pool, or its nr_ulsim")]
New = Annotated[Path | None, typer.Option(help="build folder of OAI with thread_pool_ws, or its nr_ulsim")]
Cases = Annotated[
    str | None,
    typer.Option(help="scenarios or their files, SCENARIO:CASE,CASE for some cases; else recorded slots"),
]
Threads = Annotated[str | None, typer.Option(help="of the pool, as in 1,2,4,8 (the scenario's)")]
Spin = Annotated[str | None, typer.Option(help="pre-wake: off, auto, fixed:MICROSECONDS (the scenario's)")]
Repeats = Annotated[
    int | None, typer.Option(help="rounds; from 5 on there are verdicts (the scenario's)", min=1)
]
Trials = Annotated[int | None, typer.Option(help="slots a run (the scenario's)", min=2)]
Limit = Annotated[
    float | None,
    typer.Option(help="seconds after which a run counts as hung (the scenario's)", min=0.1),
]
Cpus = Annotated[str | None, typer.Option(help="bind the runs to these CPUs, as in 2-5")]
Env = Annotated[list[str] | None, typer.Option(help="NAME=VALUE for runs with the new pool; repeatable")]
Seed = Annotated[int, typer.Option(help="of the order within the rounds")]
NoiseSeed = Annotated[int | None, typer.Option(help="of nr_ulsim's noise (OAI_RNGSEED)", min=1)]
Oai = Annotated[str | None, typer.Option(help="version of OAI, where the sources do not tell it: v2.3.0")]
Label = Annotated[str | None, typer.Option(help="what reports call this machine (CPU model and count)")]
Fresh = Annotated[bool, typer.Option("--fresh", help="put earlier results aside instead of going on")]
AnyPool = Annotated[
    bool,
    typer.Option("--any-pool", help="go on although --old or --new has the other pool; reports say so"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="show the runs, in order, and run nothing")]
Backends = Annotated[str | None, typer.Option(help="without builds: these pools only")]
SchedClass = Annotated[
    Class | None,
    typer.Option("--class", help="without builds: scheduling class (other)"),
]
Program = Annotated[
    Path, typer.Option(help="without builds: ws-bench (where ci/bench builds)", show_default=False)
]
Data = Annotated[Path, typer.Option(help="folder of recorded slots (this project's)", show_default=False)]
Out = Annotated[Path, typer.Option(help="folder of results")]


def words(text: str | None) -> tuple[str, ...]:
    """Separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def numbers(text: str | None, name: str) -> tuple[int, ...]:
    for word in words(text):
        if not word.isdecimal() or not 1 <= int(word) <= 1024:
            raise ValueError(f"{name} {text}: {word!r} is no number from 1 to 1024")
    return tuple(sorted({int(word) for word in words(text)}))


def spins(text: str | None) -> tuple[str, ...]:
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


def _refuse(given: Namespace, names: tuple[str, ...], when: str) -> None:
    for name in names:
        if getattr(given, name):
            raise ValueError(f"--{name.removeprefix('sched_').replace('_', '-')} says nothing {when}")


def _recorded_slots(given: Namespace) -> int:
    _refuse(given, ("trials", "limit", "env", "noise_seed", "oai", "any_pool"), "without --old or --new")
    options = replay.Options(
        program=given.program,
        data=given.data,
        out=given.out,
        threads=numbers(given.threads, "--threads"),
        spins=spins(given.spin) or replay.SPINS,
        cases=given.cases,
        backends=words(given.backends),
        sched_class=given.sched_class.value if given.sched_class else replay.CLASS,
        repeats=given.repeats or replay.REPEATS,
        seed=given.seed,
        cpus=given.cpus,
        label=given.label,
        fresh=given.fresh,
    )
    return replay.run(options, given.dry_run)


def _builds_of_oai(given: Namespace) -> int:
    _refuse(given, ("backends", "sched_class"), "with --old or --new")
    options = nr_ulsim.Options(
        old=given.old,
        new=given.new,
        out=given.out,
        cases=given.cases or nr_ulsim.SCENARIO,
        threads=numbers(given.threads, "--threads") or None,
        spins=spins(given.spin) or None,
        repeats=given.repeats,
        trials=given.trials,
        limit_s=given.limit,
        cpus=given.cpus,
        order_seed=given.seed,
        noise_seed=given.noise_seed,
        environment=tuple(pair(word) for word in given.env or ()),
        oai=given.oai,
        label=given.label,
        fresh=given.fresh,
        any_pool=given.any_pool,
    )
    return nr_ulsim.run(options, given.dry_run)


def make_command(program: Path, data: Path) -> Callable[..., int]:
    """@param program, data  defaults of the options of that name"""

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
        program: Program = program,
        data: Data = data,
        out: Out = Path("out/sweep"),
    ) -> int:
        """Old pool against new over thread counts: nr_ulsim of two builds of OAI, or recorded slots.

        Runs are taken in shuffled rounds and written one by one: after an interruption the same command
        goes on. Exit status: 0; 1 = some runs gave no figures, each is named; 2 = it could not
        be done; 130 = interrupted."""
        given = Namespace(**ctx.params)
        return _builds_of_oai(given) if given.old or given.new else _recorded_slots(given)

    return sweep
