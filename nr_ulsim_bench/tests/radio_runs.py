# SPDX-License-Identifier: BSD-3-Clause
"""Made-up runs of a gNB and a UE."""

from made_up import NEW_POOL, RADIO, at

from nrbench.radio.record import NO_SPIN, SIDES, Cell
from nrbench.radio.watch import SAMPLE_CLOCKS

OLD = Cell("v2.3.0", 106, "old", "old", NO_SPIN)
OFF = OLD._replace(gnb="new", ue="new", spin="off")
AUTO = OFF._replace(spin="auto")
POWER = {OLD: 0.27, OFF: 0.42, AUTO: 0.55}  # capacities
ONE_NEW = 0.34
TAKEN = ("outcome", "sides", "ul", "dl", "steady_s")  # what a pair of programs gives


def side(pool, late):
    return {
        "program": {"old": "0", "new": "1"}[pool] * 12,
        "steady": {"tx_late": late, "rx_late": 0.0},
        "cpu_s": {"Tpool": 30.0, "L1_rx_thread": 12.0, **dict.fromkeys(SAMPLE_CLOCKS, 54.0)},
        "steps": {"DLSCH encoding": {"count": 9000, "us_mean": 130.5}},
        "pool": {"line": NEW_POOL} if pool == "new" else None,
    }


def run(cell=OLD, timescale=0.3, number=0, late=0.0, lost=0, blocks=1000, **changes):
    """@param late, lost  the share of the gNB's samples, twice that of the UE's; blocks of the uplink"""
    given = cell._asdict() | {"round": number, "began": at(75 * number), "timescale": timescale}
    given |= {"sides": {"gnb": side(cell.gnb, late), "ue": side(cell.ue, late / 2)}}
    given |= {"ul": {"blocks_after_attach": blocks, "failed_after_attach": lost}, "commit": "abc"}
    given |= {"dl": {"blocks_after_attach": 1000, "failed_after_attach": 0}, "seconds": 60.0}
    return RADIO | given | {"steady_s": 60.0} | changes


def by_power(cell, timescale, number=0):
    """A run that lives below the capacity of its cell."""
    ratio = timescale / POWER.get(OLD._replace(gnb=cell.gnb, ue=cell.ue, spin=cell.spin), ONE_NEW)
    return run(cell, timescale, number, late=0.002 * ratio if ratio < 1 else 0.05 * ratio)


def take(asked):
    """In the place of nrbench.radio.pair.take."""
    assert all(asked.variables.items() <= asked.environment(side).items() for side in SIDES)
    made = by_power(asked.cell, asked.timescale)
    return {name: made[name] for name in TAKEN}
