# SPDX-License-Identifier: BSD-3-Clause
"""The command nrbench."""

from __future__ import annotations

import functools
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Callable, Optional

import typer
from pydantic import ValidationError

from nrbench import bench, host
from nrbench.driver import BenchError
from nrbench.plan import CLASSES, PARTS
from nrbench.prewake import run as prewake
from nrbench.prewake.plan import KINDS
from nrbench.prewake.plan import Options as PrewakeOptions
from nrbench.slots import SlotFileError
from nrbench.sweep import nr_ulsim, replay, scenario

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
PROGRAMS = ROOT.parent / "build-bench" / "nr_ulsim_bench" / "bin"  # where ci/bench builds

Part = Enum("Part", {name: name for name in (*PARTS, bench.REPLAY, bench.PREWAKE, bench.TRACE)})  # type: ignore[misc]
Class = Enum("Class", {name: name for name in CLASSES})  # type: ignore[misc]
Kind = Enum("Kind", {name: name for name in KINDS})  # type: ignore[misc]

Out = Annotated[Path, typer.Option(help="folder of results")]
Seed = Annotated[int, typer.Option(help="of the order within the rounds")]
Quick = Annotated[bool, typer.Option("--quick", help="fewer settings, shorter")]
Data = Annotated[Path, typer.Option(help="folder of recorded slots [this project's]", show_default=False)]
Classes = Annotated[
    Optional[list[Class]], typer.Option("--class", help="this scheduling class only; repeatable")
]

app = typer.Typer(
    help=__doc__,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _values(chosen: list[Enum] | None) -> tuple[str, ...]:
    return tuple(str(one.value) for one in chosen or ())


def words(text: str | None) -> tuple[str, ...]:
    """Separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    found = []
    for word in words(text):
        if not word.isdigit() or not 1 <= int(word) <= 1024:
            raise ValueError(f"{option} {text}: {word!r} is no number from 1 to 1024")
        found.append(int(word))
    return tuple(sorted(set(found))) or None


def spins(text: str | None) -> tuple[str, ...] | None:
    modes = tuple(dict.fromkeys(words(text)))
    try:
        scenario.SweepDefaults(spin=modes)
    except ValidationError as error:
        raise ValueError(f"--spin {text}: a mode is off, auto or fixed:MICROSECONDS") from error
    return modes or None


def pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise ValueError(f"--env {word}: not NAME=VALUE")
    return name, value


def _refuse(given: dict[str, object], when: str) -> None:
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} says nothing {when}")


def command(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """
    Make it a command of the program; what it returns is the exit status. Errors that the user can mend become one
    line, anything else is a defect and keeps its traceback.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            code = function(*args, **kwargs)
        except (BenchError, SlotFileError, ValueError, OSError) as error:
            print(f"nrbench: {error}", file=sys.stderr)
            raise typer.Exit(1) from error
        if code:
            raise typer.Exit(code)

    return app.command(name)(guarded)


@command
def run(
    program: Annotated[
        Path,
        typer.Option(help="ws-bench, with its modules beside it [where ci/bench builds]", show_default=False),
    ] = PROGRAMS / "ws-bench",
    only: Annotated[Optional[list[Part]], typer.Option(help="this part only; repeatable")] = None,
    classes: Classes = None,
    quick: Quick = False,
    rounds: Annotated[Optional[int], typer.Option(min=1, help="rounds of every part")] = None,
    seed: Seed = 1,
    backends: Annotated[Optional[str], typer.Option(help="these pools only, separated by commas")] = None,
    budget: Annotated[Optional[float], typer.Option(help="seconds for pools against pools")] = None,
    data: Data = DATA,
    out: Out = Path("out"),
) -> None:
    """Measure the pools that are built in, part by part, then report: what ci/bench does."""
    bench.run(
        bench.Request(
            program=program,
            data=data,
            out=out,
            only=_values(only),
            classes=_values(classes),
            quick=quick,
            rounds=rounds,
            seed=seed,
            backends=words(backends),
            budget_s=budget,
        )
    )


@functools.partial(command, name="prewake")
def run_prewake(
    program: Annotated[
        Path, typer.Option(help="ws-prewake [where ci/bench builds]", show_default=False)
    ] = PROGRAMS / "ws-prewake",
    env: Annotated[
        Optional[list[str]], typer.Option(help="regret in this environment only; repeatable")
    ] = None,
    scenario: Annotated[
        Optional[list[str]],
        typer.Option(
            help="regret in this scenario only: a name, or slot_us:pattern:jitter_us:bursts[:key=value]"
        ),
    ] = None,
    kind: Annotated[Optional[list[Kind]], typer.Option(help="this only; repeatable")] = None,
    seconds: Annotated[
        Optional[float], typer.Option(help="of one regret measurement [5.8, quick 4.5]")
    ] = None,
    seed: Seed = 1,
    quick: Quick = False,
    data: Data = DATA,
    out: Out = Path("out"),
) -> None:
    """Measure pre-wake alone, against leads set by hand, then report."""
    options = PrewakeOptions(
        cores=host.cores(),
        data=data,
        quick=quick,
        envs=tuple(env or ()),
        scenarios=tuple(scenario or ()),
        kinds=_values(kind) or KINDS,
        seconds=seconds,
        realtime=host.realtime_allowed(),
        seed=seed,
    )
    prewake.run(program, options, out)


@command
def sweep(
    old: Annotated[
        Optional[Path], typer.Option(help="build folder of OAI with its own pool, or its nr_ulsim")
    ] = None,
    new: Annotated[Optional[Path], typer.Option(help="build folder of OAI with thread_pool_ws")] = None,
    cases: Annotated[
        Optional[str],
        typer.Option(help="scenarios or their files, SCENARIO:CASE,CASE for some cases; else recorded slots"),
    ] = None,
    threads: Annotated[
        Optional[str], typer.Option(help="of the pool, as in 1,2,4,8 [as the scenario says]")
    ] = None,
    spin: Annotated[
        Optional[str], typer.Option(help="pre-wake: off, auto, fixed:MICROSECONDS [off,auto]")
    ] = None,
    repeats: Annotated[
        Optional[int], typer.Option(min=1, help="rounds; 5 or more for intervals [as the scenario]")
    ] = None,
    trials: Annotated[Optional[int], typer.Option(min=2, help="slots a run [as the scenario says]")] = None,
    limit: Annotated[
        Optional[float], typer.Option(min=0.1, help="seconds after which a run counts as hung")
    ] = None,
    cpus: Annotated[Optional[str], typer.Option(help="bind the runs to these CPUs, as in 2-5")] = None,
    env: Annotated[
        Optional[list[str]], typer.Option(help="NAME=VALUE for runs with the new pool; repeatable")
    ] = None,
    seed: Seed = 1,
    noise_seed: Annotated[
        Optional[int], typer.Option(help="of nr_ulsim's random numbers (OAI_RNGSEED)")
    ] = None,
    oai: Annotated[
        Optional[str], typer.Option(help="version of OAI, where the sources do not tell: v2.3.0")
    ] = None,
    label: Annotated[
        Optional[str], typer.Option(help="what reports call this machine [CPU model and count]")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="put earlier results aside instead of going on")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show the runs, in order, and run nothing")
    ] = False,
    backends: Annotated[Optional[str], typer.Option(help="without builds: these pools only")] = None,
    sched_class: Annotated[
        Optional[Class],
        typer.Option("--class", help="without builds: scheduling class [rr, as nr_ulsim for root]"),
    ] = None,
    program: Annotated[
        Path, typer.Option(help="without builds: ws-bench [where ci/bench builds]", show_default=False)
    ] = PROGRAMS / "ws-bench",
    data: Data = DATA,
    out: Out = Path("out/sweep"),
) -> int:
    """Old pool against new over thread counts: nr_ulsim of two builds of OAI, or recorded slots on all pools.

    Runs are taken in shuffled rounds and written one by one: after an interruption the same command goes on.
    Exit status: 0; 1 = some runs gave no figures, each is named; 2 = wrong usage; 130 = interrupted."""
    if old is None and new is None:
        only_builds = {
            "--trials": trials,
            "--limit": limit,
            "--env": env,
            "--noise-seed": noise_seed,
            "--oai": oai,
        }
        _refuse(only_builds, "without --old or --new")
        replay_options = replay.Options(
            program=program,
            data=data,
            out=out,
            threads=numbers(threads, "--threads") or (),
            spins=spins(spin) or replay.SPINS,
            cases=cases,
            backends=words(backends),
            sched_class=sched_class.value if sched_class else bench.default_class(),
            repeats=repeats or replay.REPEATS,
            seed=seed,
            cpus=cpus,
            label=label,
            fresh=fresh,
        )
        return replay.run(replay_options, dry_run)
    _refuse({"--backends": backends, "--class": sched_class}, "with --old or --new")
    options = nr_ulsim.Options(
        old=old,
        new=new,
        out=out,
        cases=cases or nr_ulsim.SCENARIO,
        threads=numbers(threads, "--threads"),
        spins=spins(spin),
        repeats=repeats,
        trials=trials,
        limit_s=limit,
        cpus=cpus,
        order_seed=seed,
        noise_seed=noise_seed,
        environment=tuple(pair(word) for word in env or ()),
        oai=oai,
        label=label,
        fresh=fresh,
    )
    return nr_ulsim.run(options, dry_run)


@command
def scenarios(
    name: Annotated[Optional[str], typer.Argument(help="show the cases of this one, or of a file")] = None,
) -> None:
    """List the scenarios that come with the tool, or the cases of one."""
    if name is None:
        for each in scenario.names():
            loaded = scenario.load(each)
            print(f"{each:16} {len(loaded.cases):3} cases  {loaded.title}")
        return
    for case in scenario.load(name).cases:
        print(f"{case.name:24} {' '.join(case.options(0)[:-1])}{'  # ' + case.note if case.note else ''}")


@command
def report(
    files: Annotated[
        Optional[list[Path]], typer.Argument(help="results of sweeps, of one host or several")
    ] = None,
    out: Out = Path("out"),
) -> None:
    """Tables, plots and one HTML page of sweeps; without files, of all that is in the folder of results."""
    if not files:
        bench.report_again(out)
        return
    from nrbench.sweep.report import report_files  # loads pandas and matplotlib: a second

    names = report_files(files, out)
    print(f"\nwritten to {out}/: {' '.join(names)}")


def main() -> None:
    app()
