# SPDX-License-Identifier: BSD-3-Clause
"""The command nrbench."""

from __future__ import annotations

import functools
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Callable, Sequence

import typer

from nrbench import bench, host
from nrbench.doctor.cli import doctor
from nrbench.driver import BenchError
from nrbench.plan import PARTS
from nrbench.prewake import run as prewake
from nrbench.prewake.plan import KINDS
from nrbench.prewake.plan import Options as PrewakeOptions
from nrbench.slots import SlotFileError
from nrbench.sweep import scenario
from nrbench.sweep.cli import Class, words
from nrbench.sweep.cli import make_command as make_sweep
from nrbench.sweep.compare_cli import Threshold, compare

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
PROGRAMS = ROOT.parent / "build-bench" / "nr_ulsim_bench" / "bin"  # where ci/bench builds

PARTS_AND_MORE = (*PARTS, bench.REPLAY, bench.PREWAKE, bench.TRACE, bench.SCALE)
Part = Enum("Part", {name: name for name in PARTS_AND_MORE})  # type: ignore[misc]
Kind = Enum("Kind", {name: name for name in KINDS})  # type: ignore[misc]

Out = Annotated[Path, typer.Option(help="folder of results")]
Seed = Annotated[int, typer.Option(help="of the order within the rounds")]
Quick = Annotated[bool, typer.Option("--quick", help="fewer settings, shorter")]
Data = Annotated[Path, typer.Option(help="folder of recorded slots (this project's)", show_default=False)]
Program = Annotated[Path, typer.Option(help="ws-bench, its modules beside it", show_default=False)]
WakeProgram = Annotated[Path, typer.Option(help="ws-prewake (where ci/bench builds)", show_default=False)]
Only = Annotated[list[Part] | None, typer.Option(help="this part only; repeatable")]
Classes = Annotated[list[Class] | None, typer.Option("--class", help="this class only; repeatable")]
Rounds = Annotated[int | None, typer.Option(min=1, help="rounds of every part")]
Backends = Annotated[str | None, typer.Option(help="these pools only, separated by commas")]
Budget = Annotated[float | None, typer.Option(help="seconds for pools against pools")]
Kinds = Annotated[list[Kind] | None, typer.Option(help="this only; repeatable")]
Envs = Annotated[list[str] | None, typer.Option(help="regret in this environment only; repeatable")]
Seconds = Annotated[float | None, typer.Option(help="of one regret measurement (5.8, quick 4.5)")]
Scenarios = Annotated[
    list[str] | None,
    typer.Option(help="regret in this only: a name, or slot_us:pattern:jitter_us:bursts[:key=value]"),
]

app = typer.Typer(
    help=__doc__,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _values(chosen: Sequence[Enum] | None) -> tuple[str, ...]:
    return tuple(str(one.value) for one in chosen or ())


FAILED = 2  # it could not be done


def command(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """
    Make it a command of the program; what it returns is the exit status. Errors that the user can mend become
    one line, anything else is a defect and keeps its traceback.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            code = function(*args, **kwargs)
        except (BenchError, SlotFileError, ValueError, OSError) as error:
            print(f"nrbench: {error}", file=sys.stderr)
            raise typer.Exit(FAILED) from error
        if code:
            raise typer.Exit(code)

    return app.command(name)(guarded)


@command
def run(
    program: Program = PROGRAMS / "ws-bench",
    only: Only = None,
    classes: Classes = None,
    quick: Quick = False,
    rounds: Rounds = None,
    seed: Seed = 1,
    backends: Backends = None,
    budget: Budget = None,
    data: Data = DATA,
    out: Out = Path("out"),
) -> int:
    """Measure the pools that are built in, part by part, then report: what ci/bench does."""
    return bench.run(
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
    program: WakeProgram = PROGRAMS / "ws-prewake",
    env: Envs = None,
    scenario: Scenarios = None,
    kind: Kinds = None,
    seconds: Seconds = None,
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


command(make_sweep(PROGRAMS / "ws-bench", DATA))
command(compare)
command(doctor)


@command
def scenarios(
    name: Annotated[str | None, typer.Argument(help="show the cases of this one, or of a file")] = None,
) -> None:
    """List the scenarios that come with the tool, or the cases of one."""
    if name is None:
        for each in scenario.names():
            loaded = scenario.load(each)
            print(f"{each:16} {len(loaded.cases):3} cases  {loaded.title}")
        return
    for case in scenario.load(name).cases:
        notes = [*(["slow"] if case.slow else []), *([case.note] if case.note else [])]
        print(f"{case.name:24} {' '.join(case.options(0)[:-1])}{'  # ' if notes else ''}{', '.join(notes)}")


@command
def report(
    files: Annotated[
        list[Path] | None, typer.Argument(help="results of sweeps, or their folders; of one host or several")
    ] = None,
    threshold: Threshold = 0.0,
    out: Annotated[
        Path | None, typer.Option(help="folder of the report (out/report); without files: out")
    ] = None,
) -> None:
    """Tables, plots and one HTML page of sweeps; without files, of all results that are in a folder."""
    if not files:
        bench.report_again(out or Path("out"))
        return
    from nrbench.sweep.report import report_files  # loads pandas and matplotlib: a second

    out = out or Path("out/report")
    names = report_files(files, out, threshold)
    print(f"\nwritten to {out}/: {' '.join(names)}")


def main() -> None:
    app()
