# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench radio`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Callable, Mapping, TypeVar

from typer import Option

from nrbench import host
from nrbench.options import Given, command_of
from nrbench.radio.builds import Programs
from nrbench.radio.capacity import Limits
from nrbench.radio.plan import Cell, Plan
from nrbench.sweep.options import TEXT, OfSessions, Out, modes, words

PRBS = {"106": 106, "273": 273}
PLACEMENTS = {name: name for name in ("floating", "apart")}
PAIRS = {f"{gnb}-{ue}": (gnb, ue) for gnb in ("old", "new") for ue in ("old", "new")}
LOWEST, HIGHEST = 0.02, 4.0
LIMITS = "0.1:1.0"
PATHS = Given(list[Path] | None, tuple)
T = TypeVar("T")


def _chosen(option: str, known: Mapping[str, T], otherwise: str) -> Callable[[str], tuple[T, ...]]:
    """Reads words, each once. @param otherwise  the reason against an unknown one"""

    def read(text: str) -> tuple[T, ...]:
        if any(word not in known for word in words(text)):
            raise ValueError(f"--{option} {text}: {otherwise}")
        return tuple(known[word] for word in dict.fromkeys(words(text)))

    return read


def _timescale(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not LOWEST <= value <= HIGHEST:
        raise ValueError(f"--timescale {whole}: {text!r} is no number from {LOWEST:g} to {HIGHEST:g}")
    return value


@dataclass(frozen=True)
class Options(OfSessions):
    old: Annotated[
        tuple[Path, ...],
        PATHS,
        Option(help="build folder of OAI with its own pool; repeatable, a version each"),
    ] = ()
    new: Annotated[
        tuple[Path, ...],
        PATHS,
        Option(help="build folder of OAI with thread_pool_ws; repeatable, a version each"),
    ] = ()
    ue: Annotated[
        tuple[Path, ...],
        PATHS,
        Option(help="build folder whose UE is taken instead of those of --old and --new; repeatable"),
    ] = ()
    pools: Annotated[
        tuple[tuple[str, str], ...],
        Given(TEXT, _chosen("pools", PAIRS, f"gNB-UE, of {', '.join(PAIRS)}")),
        Option(help="pools of gNB and UE, such as old-old,new-new (default: all that the builds allow)"),
    ] = ()
    spins: Annotated[
        tuple[str, ...],
        Given(TEXT, modes),
        Option("--spin", help="pre-wake modes: off, auto, fixed:MICROSECONDS (default: off,auto)"),
    ] = ("off", "auto")
    prbs: Annotated[
        tuple[int, ...],
        Given(TEXT, _chosen("prb", PRBS, "a carrier has 106 or 273 PRB")),
        Option("--prb", help="carriers: 106, 273 (default: 106)"),
    ] = (106,)
    placements: Annotated[
        tuple[str, ...],
        Given(TEXT, _chosen("placement", PLACEMENTS, "not floating or apart")),
        Option("--placement", help="floating; apart: half of the CPUs each, 3 at least (default: floating)"),
    ] = ("floating",)
    noise: Annotated[str, Option(help="name of what else runs on the machine; start it yourself")] = "quiet"
    capacity: Annotated[
        bool, Option("--capacity", help="search the highest timescale at which each combination lives")
    ] = False
    timescale: Annotated[
        str | None,
        Option(help=f"such as 0.2,0.3; with --capacity: LOW:HIGH (default: {LIMITS}). 1 is real time"),
    ] = None
    runs: Annotated[int, Option(help="runs of each combination, at each timescale", min=1)] = 12
    seconds: Annotated[float, Option(help="steady stretch of a run, wall time", min=1)] = 60.0
    report: Annotated[
        tuple[Path, ...], PATHS, Option(help="only report, on these results or their folders; repeatable")
    ] = ()
    out: Out = Path("out/radio")

    def limits(self) -> Limits | None:
        """None: no search."""
        if not self.capacity:
            return None
        text = self.timescale or LIMITS
        low, colon, high = text.partition(":")
        found = Limits(_timescale(low, text), _timescale(high if colon else low, text))
        if not colon or found.low >= found.high:
            raise ValueError(f"--timescale {text}: --capacity needs LOW:HIGH, such as {LIMITS}")
        return found

    def timescales(self) -> tuple[float, ...]:
        """Empty: a search."""
        if self.capacity:
            return ()
        text = self.timescale or ""
        if not words(text):
            raise ValueError("--timescale: give timescales, such as 0.2,0.3, or --capacity")
        return tuple(dict.fromkeys(_timescale(word, text) for word in words(text)))

    def check(self) -> None:
        if self.report and (self.old or self.new):
            raise ValueError("--report: reports on runs that are there; give no --old and no --new")
        if not self.report and not (self.old or self.new):
            raise ValueError("--old, --new: name at least one build folder, or --report the results")


@command_of(Options)
def radio(options: Options) -> int | None:
    """Compare the pools in real time: gNB and UE on vrtsim.

    nr-softmodem and nr-uesoftmodem of your builds run on OAI's radio in shared memory, whose clock does not
    wait. Each run is written at once. After an interruption the same command goes on. Exit status: 0; 1 = no
    run came to its end; 2 = it could not be done; 130 = interrupted."""
    options.check()
    return _report(options) if options.report else _measure(options)


def _what(options: Options, programs: Programs) -> dict[str, object]:
    """Runs of one session share it."""
    return {
        "programs": sorted({program.build.sha256 for program in programs.values()}),
        "search": options.capacity,
        "seconds": options.seconds,
        "seed": options.seed,
    }


def _measure_on_cluster(options: Options, programs: Programs, cells: list[Cell]) -> int:
    from nrbench.cluster import work
    from nrbench.session import session_id

    plan = Plan(cells, options.runs, options.seed, options.seconds, options.timescales(), options.limits())
    name = session_id("cluster", "radio", _what(options, programs))
    return work.radio(
        str(options.cluster), name, plan, programs, options.placements, options.out, options.fresh
    )


def _report(options: Options) -> int:
    from nrbench.radio.report import report_files  # loads matplotlib: a second

    names = report_files(options.report, options.out)
    print(f"\nwritten to {options.out}/: {' '.join(names)}")
    return 0


def _measure(options: Options) -> int:
    from nrbench.radio import builds, session, softmodem
    from nrbench.session import session_id
    from nrbench.system import System

    limits, timescales = options.limits(), options.timescales()
    programs = builds.find_all(options.old, options.new, options.ue, options.oai, options.any_pool)
    cells = list(
        builds.cells(programs, options.spins, options.prbs, options.placements, options.noise, options.pools)
    )
    if not cells:
        raise ValueError("--old, --new, --ue: no gNB and UE of one version and of the pools of --pools")
    if options.cluster and not options.dry_run:
        return _measure_on_cluster(options, programs, cells)
    softmodem.check_privileges(System())
    for placement in options.placements:
        softmodem.cpus_of("gnb", placement, os.sched_getaffinity(0))
    about = host.describe(options.label)
    name = session_id(about.id, "radio", _what(options, programs))
    plan = Plan(cells, options.runs, options.seed, options.seconds, timescales, limits)
    take = builds.Take(programs, name, about, host.commit(Path(__file__).parent), options.seconds)
    if options.dry_run:
        return session.dry_run(session.Radio(name, plan, take), options.out, options.fresh)
    return session.carry_out(session.Radio(name, plan, take), options.out, options.fresh)
