# SPDX-License-Identifier: BSD-3-Clause
"""Made-up runs of a gNB and a UE."""

from __future__ import annotations

from typing import Any

from sweep_runs import HOST, NEW_POOL, at

from nrbench.radio.record import NO_SPIN, Cell, RadioRun
from nrbench.radio.watch import SAMPLE_CLOCK

OLD = Cell("v2.3.0", 106, "quiet", "old", "old", NO_SPIN)
OFF = OLD._replace(gnb="new", ue="new", spin="off")
AUTO = OFF._replace(spin="auto")
POWER = {OLD: 0.27, OFF: 0.42, AUTO: 0.55}  # capacities
ONE_NEW = 0.34
PROGRAMS = {"old": "0" * 12, "new": "1" * 12}
TAKEN = {"outcome", "sides", "ul", "dl", "steady_s"}  # what a pair of programs gives


def side(pool: str, late: float) -> dict[str, Any]:
    return {
        "program": PROGRAMS[pool],
        "steady": {"tx_late": late, "rx_late": 0.0},
        "cpu_s": {"Tpool": 30.0, "L1_rx_thread": 12.0, SAMPLE_CLOCK: 54.0},
        "steps": {"DLSCH encoding": {"count": 9000, "us_mean": 130.5}},
        "pool": {"line": NEW_POOL} if pool == "new" else None,
    }


def run(
    cell: Cell = OLD, timescale: float = 0.3, number: int = 0, late: float = 0.001, **changes: Any
) -> RadioRun:
    blocks = {"blocks_after_attach": 1000, "failed_after_attach": 0}
    values = {
        "sweep": "a" * 12,
        "round": number,
        "began": at(75 * number),
        **cell._asdict(),
        "timescale": timescale,
        "seconds": 60.0,
        "steady_s": 60.0,
        "outcome": "ok",
        "commit": "abc",
        "host": HOST,
        "sides": {"gnb": side(cell.gnb, late), "ue": side(cell.ue, late / 2)},
        "ul": blocks,
        "dl": blocks,
    }
    return RadioRun.model_validate(values | changes)


def by_power(cell: Cell, timescale: float, number: int = 0) -> RadioRun:
    """A run that lives below the capacity of its cell."""
    ratio = timescale / POWER.get(OLD._replace(gnb=cell.gnb, ue=cell.ue, spin=cell.spin), ONE_NEW)
    return run(cell, timescale, number, late=0.002 * ratio if ratio < 1 else 0.05 * ratio)
