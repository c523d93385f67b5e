# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench radio`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from nrbench import host
from nrbench.options import Given, command_of
from nrbench.radio.capacity import Limits
from nrbench.radio.plan import Plan
from nrbench.radio.record import Pool
from nrbench.radio.softmodem import CARRIERS
from nrbench.sweep.options import TEXT, OfSessions, Out, modes, words

POOLS: tuple[Pool, ...] = ("old", "new")
PAIRS = {f"{gnb}-{ue}": (gnb, ue) for gnb in POOLS for ue in POOLS}
LOWEST, HIGHEST = 0.02, 4.0
LIMITS = "0.1:1.0"


def _pairs(text: str) -> tuple[tuple[Pool, Pool], ...]:
    if any(word not in PAIRS for word in words(text)):
        raise ValueError(f"--pools {text}: gNB-UE, of {', '.join(PAIRS)}")
    return tuple(PAIRS[word] for word in PAIRS if word in words(text))


@dataclass(frozen=True)
class Options(OfSessions):
    old: Annotated[Path | None, Option(help="build folder of OAI with its own pool")] = None
    new: Annotated[Path | None, Option(help="build folder of OAI with thread_pool_ws")] = None
    pools: Annotated[
        tuple[tuple[Pool, Pool], ...],
        Given(TEXT, _pairs),
        Option(help="pools of gNB and UE, such as old-old,new-new (default: all that the builds allow)"),
    ] = tuple(PAIRS.values())
    spins: Annotated[
        tuple[str, ...],
        Given(TEXT, modes),
        Option("--spin", help="pre-wake modes: off, auto, fixed:MICROSECONDS (default: off,auto)"),
    ] = ("off", "auto")
    prb: Annotated[int, Option(help="carrier: 106 or 273")] = 106
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
        tuple[Path, ...],
        Given(list[Path] | None, tuple),
        Option(help="only report, on these results or their folders; repeatable"),
    ] = ()
    out: Out = Path("out/radio")

    def timescales(self) -> tuple[float, ...]:
        """With --capacity the limits of the search."""
        text = self.timescale or (LIMITS if self.capacity else "")
        try:
            found = tuple(map(float, text.split(":") if self.capacity else words(text)))
        except ValueError:
            found = ()
        in_order = not self.capacity or (len(found) == 2 and found[0] < found[1])
        if not found or not in_order or min(found) < LOWEST or max(found) > HIGHEST:
            raise ValueError(
                f"--timescale {text}: give numbers from {LOWEST:g} to {HIGHEST:g}, such as 0.2,0.3; "
                f"with --capacity LOW:HIGH, such as {LIMITS}"
            )
        return tuple(dict.fromkeys(found))

    def check(self) -> None:
        if self.report and (self.old or self.new):
            raise ValueError("--report: reports on runs that are there; give no --old and no --new")
        if not self.report and not (self.old or self.new):
            raise ValueError("--old, --new: name at least one build folder, or --report the results")
        if self.prb not in CARRIERS:
            raise ValueError(f"--prb {self.prb}: a carrier has 106 or 273 PRB")
        if (self.per or self.leave_out) and not self.cluster:
            raise ValueError("--per, --leave-out: only with --cluster")


@command_of(Options)
def radio(options: Options) -> int | None:
    """Compare the pools in real time: gNB and UE on vrtsim.

    nr-softmodem and nr-uesoftmodem of your builds run on OAI's radio in shared memory, whose clock does not
    wait. Each run is written at once. After an interruption the same command goes on. Exit status: 0; 1 = no
    run came to its end; 2 = it could not be done; 130 = interrupted."""
    options.check()
    return _report(options) if options.report else _measure(options)


def _report(options: Options) -> int:
    from nrbench.radio.report import report_files  # loads matplotlib: a second

    names = report_files(options.report, options.out)
    print(f"\nwritten to {options.out}/: {' '.join(names)}")
    return 0


def _measure(options: Options) -> int:
    from nrbench.radio import builds, session, softmodem
    from nrbench.session import session_id
    from nrbench.system import System

    timescales = options.timescales()
    programs = builds.find_all(options.old, options.new, options.oai, options.any_pool)
    cells = builds.cells(programs, options.pools, options.spins, options.prb, options.noise)
    if not cells:
        raise ValueError("--old, --new: no gNB and UE of the pools of --pools")
    choice = (() if options.capacity else timescales, Limits(*timescales) if options.capacity else None)
    plan = Plan(cells, options.runs, options.seed, options.seconds, *choice)
    what = {
        "programs": sorted({program.build.sha256 for program in programs.values()}),
        "search": options.capacity,
        "seconds": options.seconds,
        "seed": options.seed,
    }
    if options.cluster and not options.dry_run:
        from nrbench.cluster import ways

        ways.require_packages(options.cluster)
        from nrbench.cluster import work  # loads Dask

        machines = work.Wanted(options.cluster, options.per, options.leave_out)
        name = session_id("cluster", "radio", what)
        return work.radio(machines, name, plan, programs, options.out, options.fresh)
    softmodem.check_privileges(System())
    about = host.describe(options.label)
    name = session_id(about.id, "radio", what)
    take = builds.Take(programs, name, about, host.commit(Path(__file__).parent), options.seconds)
    return session.carry_out(name, plan, take, options.out, options.fresh, options.dry_run)
