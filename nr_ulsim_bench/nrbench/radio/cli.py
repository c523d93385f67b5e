# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench radio`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from nrbench import host
from nrbench.options import Given, command_of
from nrbench.radio.record import Pool, read_all
from nrbench.radio.softmodem import CARRIERS
from nrbench.sweep.options import TEXT, Names, OfSessions, Out, modes, modes_option, words

POOLS: tuple[Pool, ...] = ("old", "new")
PAIRS = {f"{gnb}-{ue}": (gnb, ue) for gnb in POOLS for ue in POOLS}
LOWEST, HIGHEST = 0.02, 4.0
LIMITS = "0.1:1.0"


def _pairs(text: str) -> tuple[tuple[Pool, Pool], ...]:
    if any(word not in PAIRS for word in words(text)):
        raise ValueError(f"--pools {text}: gNB-UE, of {', '.join(PAIRS)}")
    return tuple(PAIRS[word] for word in PAIRS if word in words(text))


OF_PAIRS = Option(help="pools of gNB and UE, such as old-old,new-new (default: all that the builds allow)")
TIMESCALE = Option(help=f"such as 0.2,0.3; to search {LIMITS}; 1 is real time")
REPORT = Option(help="only report, on these results or their folders; repeatable")


@dataclass(frozen=True)
class Options(OfSessions):
    old: Annotated[Path | None, Option(help="build folder of OAI with its own pool")] = None
    new: Annotated[Path | None, Option(help="build folder of OAI with thread_pool_ws")] = None
    pools: Annotated[tuple[tuple[Pool, Pool], ...], Given(TEXT, _pairs), OF_PAIRS] = tuple(PAIRS.values())
    spins: Annotated[Names, Given(TEXT, modes), modes_option("off,auto")] = ("off", "auto")
    prb: Annotated[int, Option(help="carrier: 106 or 273")] = 106
    capacity: Annotated[bool, Option("--capacity", help="search the highest timescale that lives")] = False
    timescale: Annotated[str | None, TIMESCALE] = None
    runs: Annotated[int, Option(help="runs of each combination, at each timescale", min=1)] = 12
    seconds: Annotated[float, Option(help="steady stretch of a run, wall time", min=1)] = 60.0
    report: Annotated[tuple[Path, ...], Given(list[Path] | None, tuple), REPORT] = ()
    out: Out = Path("out/radio")

    def timescales(self) -> tuple[float, ...]:
        """With --capacity the limits of the search."""
        text = self.timescale or (LIMITS if self.capacity else "")
        try:
            found = tuple(map(float, text.split(":") if self.capacity else words(text)))
        except ValueError:
            found = ()
        in_order = not self.capacity or (len(found) == 2 and found[0] < found[1])
        if not found or not in_order or not all(LOWEST <= one <= HIGHEST for one in found):
            usual = f"give numbers from {LOWEST:g} to {HIGHEST:g}, such as 0.2,0.3"
            raise ValueError(f"--timescale {text}: {usual}; with --capacity LOW:HIGH, such as {LIMITS}")
        return tuple(dict.fromkeys(found))

    def check(self) -> None:
        if bool(self.report) == bool(self.old or self.new):
            raise ValueError("name build folders by --old and --new, or results by --report")
        if self.prb not in CARRIERS:
            raise ValueError(f"--prb {self.prb}: a carrier has 106 or 273 PRB")


@command_of(Options)
def radio(options: Options) -> int | None:
    """Compare the pools in real time: gNB and UE on vrtsim.

    nr-softmodem and nr-uesoftmodem of your builds run on OAI's radio in shared memory, whose clock does not
    wait. Each run is written at once. After an interruption the same command goes on. Exit status: 0; 1 = no
    run came to its end; 2 = it could not be done; 130 = interrupted."""
    from nrbench.radio import session, softmodem
    from nrbench.radio.report import report
    from nrbench.system import System

    options.check()
    if options.report:
        report(read_all(options.report), options.out)
        return 0
    timescales = options.timescales()
    builds = {pool: path for pool in POOLS if (path := getattr(options, pool))}
    programs = softmodem.find_all(builds, options.oai, options.any_pool)
    cells = softmodem.cells(programs, options.pools, options.spins, options.prb)
    if not cells:
        raise ValueError("--old, --new: no gNB and UE of the pools of --pools")
    of_runs = (options.runs, options.seed, options.seconds, timescales, options.capacity)
    campaign = session.Campaign(cells, *of_runs, options.environment)
    softmodem.check_privileges(System())
    about = host.describe(options.label)
    return session.carry_out(campaign, programs, about, options.out, options.fresh)
