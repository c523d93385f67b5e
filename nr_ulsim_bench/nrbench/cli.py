# SPDX-License-Identifier: BSD-3-Clause
"""The command nrbench."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Sequence

import typer
from typer import Option

from nrbench import bench
from nrbench.doctor.cli import doctor
from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.options import Given, Program, command_of
from nrbench.parts import lives, prewake
from nrbench.parts.pools import PARTS
from nrbench.places import DATA, PROGRAMS
from nrbench.radio.cli import radio
from nrbench.sweep import nr_ulsim, replay, scenario
from nrbench.sweep.options import TEXT, Class, Data, Names, Out, Seed, words
from nrbench.sweep.options import Options as SweepOptions

_MORE = (lives.PART, bench.REPLAY, prewake.PART, *bench.NAMED)
Part = Enum("Part", {name: name for name in (*PARTS, *(part.name for part in _MORE))})  # type: ignore[misc]

program = Program(
    "nrbench", "Benchmarks of thread_pool_ws against OAI's pool and others.", (BenchError, ValueError)
)
app = program.app


def _values(chosen: Sequence[Enum]) -> tuple[str, ...]:
    return tuple(str(one.value) for one in chosen)


WORDS = Given(list[str], tuple)


BUILT = "(default: the one that ci/bench builds)"


@dataclass(frozen=True)
class OfParts(Request):
    """Of `nrbench run` and of `nrbench prewake`."""

    quick: Annotated[bool, Option("--quick", help="fewer settings, shorter")] = False
    seed: Seed = 1
    data: Data = DATA
    out: Out = Path("out")


Only = Annotated[Names, Given(list[Part], _values), Option(help="this part only; repeatable")]
Classes = Annotated[Names, Given(list[Class], _values), Option("--class", help="this class only; repeatable")]
BUDGET = Option("--budget", help="seconds for slot, stream, coliseum and wake together; for contest")


@dataclass(frozen=True)
class Run(OfParts):
    program: Annotated[Path, Option(help=f"ws-bench {BUILT}", show_default=False)] = PROGRAMS / "ws-bench"
    only: Only = ()
    classes: Classes = ()
    rounds: Annotated[int | None, Option(min=1, help="rounds of every part")] = None
    backends: Annotated[Names, Given(TEXT, words), Option(help="these pools only, such as ws,onetbb")] = ()
    budget_s: Annotated[float | None, BUDGET] = None
    fresh: Annotated[bool, Option("--fresh", help="begin anew after an interruption")] = False


@program.command()
@command_of(Run)
def run(options: Run) -> int:
    """Measure all built-in pools, then report.

    ci/bench runs this command after it has built the pools. After an interruption it goes on."""
    return bench.run(options, options.fresh)


ENVIRONMENT = Option(help="in this environment only; repeatable")
SCENARIO = Option(help="this scenario only: a name, or slot_us:pattern:jitter_us:bursts[:key=value]")
SECONDS = Option(help="length of one measurement (default: 5.8; quick: 4.5)")


@dataclass(frozen=True)
class Prewake(OfParts):
    program: Annotated[Path, Option(help=f"ws-prewake {BUILT}", show_default=False)] = PROGRAMS / "ws-prewake"
    env: Annotated[Names, WORDS, ENVIRONMENT] = ()
    scenario: Annotated[Names, WORDS, SCENARIO] = ()
    seconds: Annotated[float | None, SECONDS] = None


@program.command("prewake")
@command_of(Prewake)
def run_prewake(options: Prewake) -> int:
    """Measure pre-wake against leads set by hand, then report."""
    part = prewake.chosen(
        program=options.program, envs=options.env, scenarios=options.scenario, seconds=options.seconds
    )
    return part.run(options)


@program.command()
@command_of(SweepOptions)
def sweep(options: SweepOptions) -> int | None:
    """Compare OAI's pool with this one.

    Over thread counts: nr_ulsim of two builds (--old, --new), or recorded slots. Each run is written at once.
    After an interruption the same command goes on. Exit status: 0; 1 = some runs gave no figures, each is
    named; 2 = the sweep could not be done; 130 = interrupted."""
    options.check()
    if not (options.old or options.new):
        return replay.run(options)
    campaign = nr_ulsim.planned(options)
    if options.cluster:
        from nrbench.cluster import work  # loads Dask

        return work.sweep(campaign)
    return nr_ulsim.run(campaign)


for function in (radio, doctor):
    program.command()(function)


THRESHOLD = Option(
    min=0, max=0.99, help="smallest difference of a time that counts, as a share: 0.02 for 2 %"
)
Results = Annotated[Path, typer.Argument(help="results (*.ndjson), or their folder")]


@program.command()
def compare(before: Results, after: Results, threshold: Annotated[float, THRESHOLD] = 0.0) -> int:
    """Compare two results of sweeps.

    Each case, pool, number of threads and figure has a verdict.

    Exit status: 0; 1 = a time is slower, or is only in the first file, or more of a row's runs fail; 2 = the
    files cannot be compared."""
    from nrbench import render
    from nrbench.sweep import compare as sides  # loads pandas: a second

    comparison = sides.compare(before, after, threshold)
    render.show(sides.page_of(comparison))
    return comparison.status


@program.command()
def scenarios(name: Annotated[str | None, typer.Argument(help="show its cases; or a file")] = None) -> None:
    """List the scenarios, or the cases of one."""
    if name is None:
        for each in scenario.names():
            loaded = scenario.load(each)
            print(f"{each:16} {len(loaded.cases):3} cases  {loaded.title}")
        return
    for case in scenario.load(name).cases:
        print(f"{case.name:24} {' '.join(case.options(0)[:-1])}{case.note and f'  # {case.note}'}")


@program.command()
def report(
    files: Annotated[list[Path] | None, typer.Argument(help="results of sweeps, or their folders")] = None,
    out: Annotated[Path | None, Option(help="default: out/report; without files: out")] = None,
) -> None:
    """Report on sweeps: tables, plots, an HTML page.

    Without files: report on the results of all parts of ci/bench in a folder."""
    if not files:
        bench.report_again(out or Path("out"))
        return
    from nrbench.sweep.report import report as report_files  # loads pandas and matplotlib: a second

    names = report_files(files, out := out or Path("out/report"))
    print(f"\nwritten to {out}/: {' '.join(names)}")


@program.command()
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
