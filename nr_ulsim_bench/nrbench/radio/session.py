# SPDX-License-Identifier: BSD-3-Clause
"""The runs of `nrbench radio`: which are planned, how one is taken, and the way to the report."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.host import commit
from nrbench.radio import pair
from nrbench.radio.capacity import Limits, next_timescale
from nrbench.radio.record import RUNS, Cell, RadioRun, read_runs
from nrbench.radio.report import report
from nrbench.radio.softmodem import Pair, Programs
from nrbench.record import Host, now
from nrbench.session import Lane, Session, earlier, in_rounds, results_of, session_id

START_S = 15.0  # of a run beside its steady stretch: both programs start and attach


class Step(NamedTuple):
    round: int
    cell: Cell
    timescale: float
    seconds: float = 0.0  # about

    @property
    def text(self) -> str:
        return f"{self.cell.pools}, {self.cell.prb} PRB, timescale {self.timescale:g}"


class Campaign(NamedTuple):
    """Each round has each cell at each timescale. In a search it has each cell once, at a timescale between
    two limits that the cell's runs so far decide."""

    cells: Sequence[Cell]
    rounds: int
    seed: int
    seconds: float  # the steady stretch of a run
    timescales: Sequence[float]
    search: bool = False
    environment: tuple[tuple[str, str], ...] = ()  # for both programs of all runs

    def id_for(self, machine: str, programs: Programs) -> str:
        sha256 = sorted({program.build.sha256 for program in programs.values()})
        what = {"programs": sha256, "search": self.search, "seed": self.seed}
        return session_id(machine, "radio", {**what, **self._shared})

    @property
    def _shared(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "environment": dict(self.environment)}

    def fields(self, name: str, about: Host) -> dict[str, Any]:
        """Of all runs of a machine."""
        return {"sweep": name, "host": about, "commit": commit(Path(__file__).parent), **self._shared}

    def steps(self, lines: Sequence[RadioRun]) -> Iterator[Step]:
        """Those that are left. A longer session continues a shorter one.

        @param lines  the runs that are there; it grows while steps are taken"""
        places = list(product(self.cells, (None,) if self.search else self.timescales))
        there = {(run.round, run.cell, None if self.search else run.timescale) for run in lines}
        for number, (cell, timescale) in in_rounds(places, self.rounds, self.seed):
            if (number, cell, timescale) in there:
                continue
            if timescale is None:
                of_cell = [run for run in lines if run.cell == cell]
                timescale = next_timescale(of_cell, Limits(*self.timescales))
            yield Step(number, cell, timescale, START_S + self.seconds)

    def lane(self, lines: Sequence[RadioRun], take: Callable[[Step], Sequence[RadioRun]]) -> Lane[RadioRun]:
        """Of the runs that are left. Of a search those after the next round have no timescale yet."""
        steps = list(self.steps(lines))
        return Lane("", self.steps(lines), take, len(steps), sum(step.seconds for step in steps))


def take(programs: Programs, fields: Mapping[str, Any], step: Step) -> list[RadioRun]:
    """@param fields  of all runs, as Campaign.fields() gives them"""
    asked = Pair(programs, step.cell, step.timescale, fields["seconds"], fields["environment"])
    about = {"round": step.round, "began": now(), "timescale": step.timescale}
    return [RadioRun.model_validate({**fields, **about, **step.cell._asdict(), **pair.take(asked)})]


def session_of(path: Path, name: str) -> Session[RadioRun]:
    """With the runs that an earlier call took.

    @param name  runs that share it may be continued: same machine, same programs, same way to run them"""
    return Session(path, RadioRun.model_dump_json, earlier(path, read_runs, lambda run: run.sweep == name))


def carry_out(campaign: Campaign, programs: Programs, about: Host, out: Path, fresh: bool) -> int:
    """
    On this machine: takes the runs that are not there yet, then reports on all.

    @return 0; 1 = no run came to its end, or some are left; 130 = interrupted, the same command goes on
    """
    name = campaign.id_for(about.id, programs)
    with results_of(out, RUNS, fresh) as path:
        session = session_of(path, name)
        taken = partial(take, programs, campaign.fields(name, about))
        session.take(f"{len(campaign.cells)} variants", [campaign.lane(session.lines, taken)])
        return end(session, out)


def end(session: Session[RadioRun], out: Path) -> int:
    """@return exit status, as carry_out()"""

    def failure(run: RadioRun) -> str:
        return "" if run.outcome == "ok" else run.cause

    return session.end(lambda runs, warnings: report(runs, out, warnings), failure, are_results=True)
