# SPDX-License-Identifier: BSD-3-Clause
"""The command nrbench."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Callable, Sequence

import typer
from typer import Option

from nrbench import bench
from nrbench.doctor.cli import doctor
from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.needed import STATUS
from nrbench.options import Given, command_of, program
from nrbench.parts import lives, prewake
from nrbench.parts.pools import PARTS
from nrbench.places import DATA, PROGRAMS
from nrbench.radio.cli import radio
from nrbench.sweep import nr_ulsim, replay, scenario
from nrbench.sweep.compare_cli import Threshold, compare
from nrbench.sweep.options import TEXT, Class, Cluster, Data, Out, PerWhat, Seed, words
from nrbench.sweep.options import Options as SweepOptions

_MORE = (lives.PART, bench.REPLAY, prewake.PART, *bench.NAMED)
Part = Enum("Part", {name: name for name in (*PARTS, *(part.name for part in _MORE))})  # type: ignore[misc]
Kind = Enum("Kind", {name: name for name in prewake.KINDS})  # type: ignore[misc]

app = program("Benchmarks of thread_pool_ws against OAI's pool and others.")


def command(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """
    Makes the function a command of the program; its result is the exit status. Errors that the user can mend
    become one line; anything else is a defect and keeps its traceback.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            code = function(*args, **kwargs)
        except (BenchError, ValueError, OSError) as error:
            print(f"nrbench: {error}", file=sys.stderr)
            raise typer.Exit(STATUS) from error
        if code:
            raise typer.Exit(code)

    return app.command(name)(guarded)


def _values(chosen: Sequence[Enum]) -> tuple[str, ...]:
    return tuple(str(one.value) for one in chosen)


Names = tuple[str, ...]
WORDS = Given(list[str], tuple)


@dataclass(frozen=True)
class OfParts:
    """Of `nrbench run` and of `nrbench prewake`."""

    quick: Annotated[bool, Option("--quick", help="fewer settings, shorter")] = False
    seed: Seed = 1
    data: Data = DATA
    out: Out = Path("out")


@dataclass(frozen=True)
class Run(OfParts):
    program: Annotated[
        Path,
        Option(
            help="ws-bench, its modules beside it (default: the one that ci/bench builds)", show_default=False
        ),
    ] = PROGRAMS / "ws-bench"
    only: Annotated[Names, Given(list[Part], _values), Option(help="this part only; repeatable")] = ()
    classes: Annotated[
        Names, Given(list[Class], _values), Option("--class", help="this class only; repeatable")
    ] = ()
    rounds: Annotated[int | None, Option(min=1, help="rounds of every part")] = None
    backends: Annotated[Names, Given(TEXT, words), Option(help="these pools only, such as ws,onetbb")] = ()
    budget: Annotated[float | None, Option(help="seconds for the parts slot, stream, coliseum and wake")] = (
        None
    )
    cluster: Cluster = None
    per: PerWhat = None


@command_of(Run)
def run(options: Run) -> int:
    """Measure all built-in pools, then report.

    ci/bench runs this command after it has built the pools."""
    request = Request(
        options.program, options.data, options.out, options.only, options.classes, options.quick,
        options.rounds, options.seed, options.backends, options.budget,
    )  # fmt: skip
    if options.cluster:
        return bench.run_on_cluster(request, options.cluster, options.per or "host")
    return bench.run(request)


@dataclass(frozen=True)
class Prewake(OfParts):
    program: Annotated[
        Path, Option(help="ws-prewake (default: the one that ci/bench builds)", show_default=False)
    ] = PROGRAMS / "ws-prewake"
    env: Annotated[Names, WORDS, Option(help="kind regret, in this environment only; repeatable")] = ()
    scenario: Annotated[
        Names,
        WORDS,
        Option(
            help="kind regret, this scenario only: a name, or slot_us:pattern:jitter_us:bursts[:key=value]"
        ),
    ] = ()
    kind: Annotated[
        Names, Given(list[Kind], _values), Option(help="this kind of measurement only; repeatable")
    ] = ()
    seconds: Annotated[
        float | None, Option(help="length of one measurement of kind regret (default: 5.8; quick: 4.5)")
    ] = None


@command_of(Prewake)
def run_prewake(options: Prewake) -> int:
    """Measure pre-wake against leads set by hand, then report."""
    part = prewake.chosen(
        program=options.program, envs=options.env, scenarios=options.scenario,
        kinds=options.kind or prewake.KINDS, seconds=options.seconds,
    )  # fmt: skip
    return part.run(Request(data=options.data, out=options.out, quick=options.quick, seed=options.seed))


@command_of(SweepOptions)
def sweep(options: SweepOptions) -> int | None:
    """Compare OAI's pool with this one.

    Over thread counts: nr_ulsim of two builds (--old, --new), or recorded slots. Each run is written at once.
    After an interruption the same command goes on. Exit status: 0; 1 = some runs gave no figures, each is
    named; 2 = the sweep could not be done; 130 = interrupted."""
    options.check()
    return nr_ulsim.run(options) if options.old or options.new else replay.run(options)


command(run)
command(run_prewake, "prewake")
command(sweep)
command(radio)
command(compare)
command(doctor)


@command
def scenarios(
    name: Annotated[str | None, typer.Argument(help="show the cases of this scenario, or of a file")] = None,
) -> None:
    """List the scenarios, or the cases of one."""
    if name is None:
        for each in scenario.names():
            loaded = scenario.load(each)
            print(f"{each:16} {len(loaded.cases):3} cases  {loaded.title}")
        return
    for case in scenario.load(name).cases:
        notes = ", ".join(filter(None, ["slow" if case.slow else "", case.note]))
        print(f"{case.name:24} {' '.join(case.options(0)[:-1])}{f'  # {notes}' if notes else ''}")


@command
def report(
    files: Annotated[
        list[Path] | None, typer.Argument(help="results of sweeps, or their folders; of one host or several")
    ] = None,
    threshold: Threshold = 0.0,
    out: Annotated[
        Path | None, Option(help="folder of the report (default: out/report; without files: out)")
    ] = None,
) -> None:
    """Report on sweeps: tables, plots, an HTML page.

    Without files: report on the results of all parts of ci/bench in a folder."""
    if not files:
        bench.report_again(out or Path("out"))
        return
    from nrbench.sweep.report import report as report_files  # loads pandas and matplotlib: a second

    out = out or Path("out/report")
    names = report_files(files, out, threshold)
    print(f"\nwritten to {out}/: {' '.join(names)}")


@command
def results(
    folder: Annotated[Path, typer.Argument(help="of the raw runs; its pages lie beside and above it")],
    write: Annotated[bool, Option("--write", help="put the figures of the raw runs into the pages")] = False,
) -> int:
    """Check the figures of this project's documents against the committed raw runs."""
    from nrbench.results import stale  # loads pandas: a second

    found = stale(folder, write)
    for page in found:
        print(f"{page}: {'written' if write else 'differs from the raw runs; --write mends it'}")
    return int(bool(found) and not write)


def main() -> None:
    app()
