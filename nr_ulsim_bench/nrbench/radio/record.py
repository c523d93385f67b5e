# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file of `nrbench radio` holds: one run of a gNB and a UE.

Shares lie between 0 and 1. Sample time is wall time × timescale: divide by the timescale for wall time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from nrbench.record import Amount, Began, Count, Host, Strict, Time, Whole, read_lines

RUNS = "radio.ndjson"  # the results file
BUDGET_BINS = 30
BUDGET_BIN_US = 100.0  # sample time; the last bin has all budgets above it, too
LOST_MAX = 0.01  # of the blocks after the attach, and of the samples, in a run that lives
SideName = Literal["gnb", "ue"]
SIDES: dict[SideName, str] = {"gnb": "gNB", "ue": "UE"}  # in texts
Pool = Literal["old", "new"]  # OAI's own pool, and this one
Outcome = Literal["ok", "no-attach", "gnb-died", "ue-died", "no-report", "interrupted"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Budget = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]  # negative: written too late
Bins = Annotated[tuple[Count, ...], Field(min_length=BUDGET_BINS, max_length=BUDGET_BINS)]


class Radio(Strict):
    """What the radio device of one side counted."""

    tx_late: Share  # of the samples, written after their time
    rx_late: Share  # of the samples, read after they were overwritten
    tx_early: Count  # writes, too far ahead of their time
    rx_early: Count
    budget_us_mean: Budget | None = None  # sample time, of the last writes (exponential); None: not known
    budget_bins: Bins  # writes by their budget, sample time


class Step(Strict):
    """A step of the physical layer, as its program times it, in the steady stretch."""

    count: Count
    us_mean: Time  # wall time, as the next
    us_max: Time  # since the program's start


class Side(Strict):
    """A gNB, or a UE. None: the program did not say."""

    program: str  # sha256 of the program and the libraries beside it, first twelve hex digits
    exit_code: Whole | None = None  # negative: ended by a signal; None: was never started
    radio: Radio | None = None  # of the whole run
    steady: Radio | None = None  # of the stretch after the attach and the settling
    cpu_s: dict[str, Time] = {}  # CPU time of the steady stretch by thread name
    voluntary: Whole | None = None  # context switches of the steady stretch
    involuntary: Whole | None = None
    steps: dict[str, Step] = {}  # by OAI's name
    pool: dict[str, str | float] | None = None  # what this pool prints about itself; OAI's own prints nothing


class Blocks(Strict):
    """Transport blocks of one direction, as the gNB counts them."""

    rounds: tuple[Whole, ...] = ()  # transmissions by HARQ round, from the start to the steady stretch's end
    errors: Whole = 0  # blocks that no round could save, as long
    bler: Share | None = None  # of the first transmissions in the steady stretch, those that were sent again
    blocks_after_attach: Whole = 0  # first transmissions in the steady stretch
    failed_after_attach: Whole = 0  # blocks given up in the steady stretch
    bytes_after_attach: Whole = 0  # received in the steady stretch, or for the downlink sent
    dtx: Whole | None = None  # of the steady stretch: grants or acknowledgements of which nothing was heard

    @property
    def lost(self) -> float:
        """Share of the blocks of the steady stretch; 1 where there was no block."""
        if not self.blocks_after_attach:
            return 1.0
        return min(1.0, self.failed_after_attach / self.blocks_after_attach)


class Clock(Strict):
    """How steady the machine's clocks and sleeps were in the steady stretch, whatever the pools did."""

    jumps_ms: tuple[Time, ...] = ()  # the largest advances of the sample clock at once, wall time
    realtime_jumps_ms: tuple[Time, ...] = ()  # the largest moves of CLOCK_REALTIME against CLOCK_MONOTONIC
    late_sleep_us_p99: Time | None = None  # of sleeps of a thread above OAI's priorities, where it may be


class RadioRun(Strict):
    """One run. A run whose outcome is not ok has the reason in `error`."""

    format: Literal[1] = 1
    sweep: str  # twelve hex digits that the runs of one plan share
    round: Count
    began: Began
    version: str | None = None  # of OAI
    gnb: Pool
    ue: Pool
    spin: str  # pre-wake mode of the new pools; none: no new pool takes part
    prb: Count
    timescale: Annotated[float, Field(gt=0, le=10)]
    placement: Literal["floating", "apart"] = "floating"
    noise: str = "quiet"  # the name of what else loads the machine
    seconds: Time  # the steady stretch that was asked for
    outcome: Outcome
    error: str | None = None
    attach_s: Time | None = None  # wall time from the UE's start until its first uplink block was decoded
    steady_s: Time | None = None  # the steady stretch as it was, wall time
    commit: str | None = None  # of this project
    host: Host
    sides: dict[SideName, Side] = {}
    ul: Blocks | None = None
    dl: Blocks | None = None
    clock: Clock = Clock()
    steal_share: Share | None = None  # of all CPU time in the steady stretch
    load: Amount | None = None  # of one minute, before the run

    def radio(self, side: SideName) -> Radio | None:
        """Of the steady stretch, where it is known."""
        found = self.sides.get(side)
        return (found.steady or found.radio) if found else None

    @property
    def late(self) -> dict[str, float]:
        """Share of late samples by side; sides without a report are left out."""
        found = {name: self.radio(name) for name in self.sides}
        return {name: max(radio.tx_late, radio.rx_late) for name, radio in found.items() if radio}

    @property
    def lives(self) -> bool:
        """The UE attached; of the blocks after the attach and of the samples less than LOST_MAX were lost."""
        if self.outcome != "ok" or len(self.late) < 2 or not (self.ul and self.dl):
            return False
        return all(share < LOST_MAX for share in (*self.late.values(), self.ul.lost, self.dl.lost))


def read_runs(path: Path) -> list[RadioRun]:
    """All runs of a file. A last line that was cut off by an interruption is left out.

    @raise ResultsError  names the line that is no such run"""
    return read_lines(path, RadioRun, "run of nrbench radio")
