# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file of `nrbench radio` holds: one run of a gNB and a UE. Shares lie between 0 and
1. Fields that lines of older versions have beside these are left out."""

from pathlib import Path
from typing import Annotated, Iterator, Literal, NamedTuple, Sequence

from pydantic import ConfigDict, Field

from nrbench.record import Began, Count, Host, ResultsError, Strict, Text, Time, Whole, read_lines

RUNS = "radio.ndjson"  # the results file
LOST_MAX = 0.01  # of the blocks, and of the samples, in a run that lives
NO_SPIN = "none"  # no new pool takes part
SideName = Literal["gnb", "ue"]
SIDES: dict[SideName, str] = {"gnb": "gNB", "ue": "UE"}  # in texts
Pool = Literal["old", "new"]  # OAI's own pool, and this one
Outcome = Literal["ok", "no-attach", "gnb-died", "ue-died", "no-report"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Known(Strict):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Radio(Known):
    """What the radio device of one side counted in the steady stretch."""

    tx_late: Share  # of the samples, written after their time
    rx_late: Share  # of the samples, read after they were overwritten


class Step(Known):
    """A step of the physical layer, as its program times it, in the steady stretch."""

    count: Count
    us_mean: Time  # wall time


class Side(Known):
    """A gNB, or a UE; empty: it did not come to the end of the steady stretch."""

    program: str = ""  # sha256 of the program and the libraries beside it, first twelve hex digits
    steady: Radio | None = None
    cpu_s: dict[str, Time] = {}  # CPU time of the steady stretch by thread name
    steps: dict[str, Step] = {}  # by OAI's name
    pool: dict[str, str | float] | None = None  # "line": how this pool names itself; OAI's own does not


class Blocks(Known):
    """Transport blocks of one direction in the steady stretch, as the gNB counts them."""

    blocks_after_attach: Whole = 0  # first transmissions
    failed_after_attach: Whole = 0  # blocks given up

    @property
    def lost(self) -> float:
        """The share; 1 where there was no block."""
        return self.failed_after_attach / self.blocks_after_attach if self.blocks_after_attach else 1.0


class Cell(NamedTuple):
    """What is compared: all that the runs of one row of a table share but the timescale. A field has the name
    that it has in a run."""

    version: str | None
    prb: int
    gnb: Pool
    ue: Pool
    spin: str

    @property
    def pools(self) -> str:
        return f"gNB {self.gnb}, UE {self.ue}" + ("" if self.spin == NO_SPIN else f", {self.spin}")

    @property
    def old(self) -> "Cell":
        """What it is compared with."""
        return self._replace(gnb="old", ue="old", spin=NO_SPIN)


class RadioRun(Known):
    """One run. A run whose outcome is not ok has the reason in `error`."""

    format: Literal[1] = 1
    sweep: str  # twelve hex digits that the runs of one plan share
    round: Count
    began: Began
    version: str | None = None  # of OAI
    gnb: Pool
    ue: Pool
    spin: str  # pre-wake mode of the new pools, or NO_SPIN
    prb: Count
    timescale: Annotated[float, Field(gt=0, le=10)]
    seconds: Time  # the steady stretch that was asked for
    environment: dict[str, str] = {}  # what is set for both programs, beside pre-wake
    outcome: Outcome
    error: Text | None = None
    steady_s: Time | None = None  # the steady stretch as it was, wall time
    commit: str | None = None  # of this project
    host: Host
    sides: dict[SideName, Side] = {}
    ul: Blocks | None = None
    dl: Blocks | None = None

    @property
    def cell(self) -> Cell:
        return Cell(*(getattr(self, name) for name in Cell._fields))

    def _causes(self) -> Iterator[str]:
        if self.outcome != "ok":
            yield f"{self.outcome}: {self.error or 'no reason known'}"
            return
        for side, text in SIDES.items():
            radio = self.sides.get(side, Side()).steady
            if radio is None or max(radio.tx_late, radio.rx_late) >= LOST_MAX:
                yield f"late samples of the {text}"
        for blocks, text in ((self.ul, "uplink"), (self.dl, "downlink")):
            if blocks is None or blocks.lost >= LOST_MAX:
                yield f"lost blocks of the {text}"

    @property
    def cause(self) -> str:
        """Why it did not live. Empty: the UE attached, and of the samples and of the blocks of the steady
        stretch less than LOST_MAX were late or lost."""
        return ", ".join(self._causes())

    @property
    def lives(self) -> bool:
        return not self.cause


def read_runs(path: Path) -> list[RadioRun]:
    """All runs of a file. A last line that was cut off by an interruption is left out.

    @raise ResultsError  names the line that is no such run"""
    return [*read_lines(path, RadioRun, "run of nrbench radio")]


def read_all(paths: Sequence[Path]) -> list[RadioRun]:
    """Of files, or folders of results. A run that is in two of them counts once."""
    runs: list[RadioRun] = []
    for path in (path / RUNS if path.is_dir() else path for path in paths):
        found = read_runs(path)
        if not found:
            raise ResultsError(f"{path}: holds no runs")
        runs += [run for run in found if run not in runs]
    return runs
