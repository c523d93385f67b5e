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


Only = Annotated[Names, Given(list[Part], _values), Option(help="this part only; repeatable")]
Classes = Annotated[Names, Given(list[Class], _values), Option("--class", help="this class only; repeatable")]
PROGRAM = Option(help="ws-bench (default: the one that ci/bench builds)", show_default=False)
BUDGET = Option("--budget", help="seconds for slot, stream, coliseum and wake together; for contest")


@dataclass(frozen=True)
class Run(Request):
    program: Annotated[Path, PROGRAM] = PROGRAMS / "ws-bench"
    data: Data = DATA
    out: Out = Path("out")
    only: Only = ()
    classes: Classes = ()
    quick: Annotated[bool, Option("--quick", help="fewer settings, shorter")] = False
    rounds: Annotated[int | None, Option(min=1, help="rounds of every part")] = None
    backends: Annotated[Names, Given(TEXT, words), Option(help="these pools only, such as ws,onetbb")] = ()
    budget_s: Annotated[float | None, BUDGET] = None
    threads: Annotated[int | None, Option(min=1, max=1024, help="of the contest (default: 8)")] = None
    tasks: Annotated[int | None, Option(min=1, help="of the contest: so many of fib(19) alone")] = None
    seed: Seed = 1
    fresh: Annotated[bool, Option("--fresh", help="begin anew after an interruption")] = False


@program.command()
@command_of(Run)
def run(options: Run) -> int:
    """Measure all built-in pools, then report.

    ci/bench runs this command after it has built the pools. After an interruption it goes on."""
    return bench.run(options, options.fresh)


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
