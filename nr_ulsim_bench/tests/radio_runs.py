# SPDX-License-Identifier: BSD-3-Clause
"""Made-up runs of a gNB and a UE."""

from __future__ import annotations

from typing import Any

from sweep_runs import HOST, NEW_POOL, at

from nrbench.radio.plan import NO_SPIN, Cell
from nrbench.radio.record import BUDGET_BINS, RadioRun
from nrbench.radio.watch import SAMPLE_CLOCK

OLD = Cell("v2.3.0", 106, "floating", "quiet", "old", "old", NO_SPIN)
OFF = OLD._replace(gnb="new", ue="new", spin="off")
AUTO = OFF._replace(spin="auto")
CELLS = (OLD, OFF, AUTO)
POWER = {OLD: 0.27, OFF: 0.42, AUTO: 0.55}  # capacities
ONE_NEW = 0.34
PROGRAMS = {"old": "0" * 12, "new": "1" * 12}


def radio(late: float, bin_: int = 8) -> dict[str, Any]:
    """Of 10,000 writes: those that are late in the first bin, the others in one bin."""
    counts = [0] * BUDGET_BINS
    counts[0], counts[bin_] = round(late * 10_000), 10_000 - round(late * 10_000)
    return {"tx_late": late, "rx_late": 0.0, "tx_early": 0, "rx_early": 0, "budget_bins": counts}


def side(pool: str, late: float) -> dict[str, Any]:
    return {
        "program": PROGRAMS[pool],
        "exit_code": 0,
        "radio": radio(min(1.0, late + 0.004)),  # the attach is part of the whole run
        "steady": radio(late),
        "cpu_s": {"Tpool0_-1": 30.0, "L1_rx_thread": 12.0, SAMPLE_CLOCK: 54.0},
        "steps": {"DLSCH encoding": {"count": 9000, "us_mean": 130.5, "us_max": 1200.0}},
        "voluntary": 60_000,
        "involuntary": 600,
        "pool": {"line": NEW_POOL} if pool == "new" else None,
    }


def run(
    cell: Cell = OLD, timescale: float = 0.3, number: int = 0, late: float = 0.001, **changes: Any
) -> RadioRun:
    blocks = {"blocks_after_attach": 1000, "failed_after_attach": 0, "bler": 0.02, "dtx": 3}
    blocks["bytes_after_attach"] = 75_000_000
    values = {
        "sweep": "a" * 12,
        "round": number,
        "began": at(75 * number),
        **cell._asdict(),
        "timescale": timescale,
        "seconds": 60.0,
        "steady_s": 60.0,
        "outcome": "ok",
        "attach_s": 4.0,
        "commit": "abc",
        "host": HOST,
        "sides": {"gnb": side(cell.gnb, late), "ue": side(cell.ue, late / 2)},
        "ul": blocks,
        "dl": blocks,
        "clock": {"jumps_ms": (1.5, 0.8), "realtime_jumps_ms": (0.1,), "late_sleep_us_p99": 70.0},
        "steal_share": 0.01,
        "load": 0.3,
    }
    return RadioRun.model_validate(values | changes)


def by_power(cell: Cell, timescale: float, number: int = 0) -> RadioRun:
    """A run that lives below the capacity of its cell."""
    ratio = timescale / POWER.get(OLD._replace(gnb=cell.gnb, ue=cell.ue, spin=cell.spin), ONE_NEW)
    return run(cell, timescale, number, late=0.002 * ratio if ratio < 1 else 0.05 * ratio)
