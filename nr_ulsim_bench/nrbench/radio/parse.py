# SPDX-License-Identifier: BSD-3-Clause
"""From what a gNB and a UE print, and from the gNB's statistics file, to fields of a record."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from nrbench.radio.record import BUDGET_BINS, Blocks, Radio, Step
from nrbench.sweep.parse import ANSI, NUMBER, last_line, pool_of

MAC_STATISTICS = "nrMAC_stats.log"  # in the gNB's working directory, written anew each second
STEP_STATISTICS = {"gnb": "nrL1_stats.log", "ue": "nrL1_UE_stats-0.log"}  # as MAC_STATISTICS, of each side
_STEP = re.compile(rf"^ *(\S[^:\n]*): +({NUMBER}) us; +(\d+); +({NUMBER}) us;", re.MULTILINE)
_PERCENT = r"(-?nan|[\d.]+)\s*%"
_LATE = re.compile(rf"Realtime issues: TX {_PERCENT}, RX {_PERCENT}")
_EARLY = re.compile(r"too early[^\n]*TX: (\d+), RX: (\d+)")
_BUDGET = re.compile(rf"Average TX budget ({NUMBER})")
_BIN = re.compile(r"Bin (\d+)\s+\[[^]\n]*\]:\s*(\d+)")
_DOWNLINK = re.compile(r"dlsch_rounds ([\d/]+), dlsch_errors (\d+), pucch0_DTX (\d+)")
_UPLINK = re.compile(r"ulsch_rounds ([\d/]+), ulsch_errors (\d+), ulsch_DTX (\d+)")
_BYTES = re.compile(r"MAC:\s+TX\s+(\d+)\s+RX\s+(\d+) bytes")
_ASSERTION = re.compile(r"^Assertion \((.*)\) failed!\nIn .*\n(.*)", re.MULTILINE)
_REFUSED = re.compile(r"pthread_create\(\).*ret: 1\b|pthread_setschedparam.*not permitted")
_REPORTED = {
    "bursts": r"bursts +(\d+) after",
    "expected_bursts": r"after a pause, (\d+) of them",
    "prewakes_in_time": r"pre-wakes +in time (\d+)",
    "prewakes_late": r"pre-wakes [^\n]*too late (\d+)",
    "prewakes_for_nothing": r"pre-wakes [^\n]*for no burst (\d+)",
    "busy_poll_ms": r"busy-poll +([\d.]+) ms",
}


class Direction(NamedTuple):
    """Transport blocks since the start."""

    rounds: tuple[int, ...]
    errors: int
    dtx: int
    bytes: int


class Traffic(NamedTuple):
    """The gNB's MAC statistics of its only UE."""

    dl: Direction
    ul: Direction

    @property
    def is_attached(self) -> bool:
        """A block of the UE has been decoded."""
        return self.ul.bytes > 0


def plain(text: str) -> str:
    return ANSI.sub("", text.replace("\r", ""))


def _share(percent: str) -> float:
    """Of no samples at all, none was late."""
    value = float(percent)
    return 0.0 if math.isnan(value) else min(1.0, value / 100)


def radio(text: str) -> Radio | None:
    """What the radio device prints at its end. None: the program did not come that far.

    @param text  plain"""
    late, early, budget = (pattern.search(text) for pattern in (_LATE, _EARLY, _BUDGET))
    bins = {int(number): int(count) for number, count in _BIN.findall(text)}
    if not (late and early) or set(bins) != set(range(BUDGET_BINS)):
        return None
    mean = float(budget[1]) if budget else math.nan
    return Radio(
        tx_late=_share(late[1]),
        rx_late=_share(late[2]),
        tx_early=int(early[1]),
        rx_early=int(early[2]),
        budget_us_mean=mean if math.isfinite(mean) else None,
        budget_bins=tuple(bins[number] for number in range(BUDGET_BINS)),
    )


def _direction(match: re.Match[str], size: str) -> Direction:
    rounds = tuple(int(count) for count in match[1].split("/") if count)
    return Direction(rounds, int(match[2]), int(match[3]), int(size))


def traffic(text: str) -> Traffic | None:
    """@param text  of MAC_STATISTICS; cut off while it is written: None"""
    downlink, uplink, sizes = (pattern.search(text) for pattern in (_DOWNLINK, _UPLINK, _BYTES))
    if not (downlink and uplink and sizes):
        return None
    return Traffic(_direction(downlink, sizes[1]), _direction(uplink, sizes[2]))


def blocks(begin: Direction | None, end: Direction | None, last: Direction | None) -> Blocks | None:
    """@param begin, end  at the steady stretch's ends; None: it was not reached"""
    if last is None:
        return None
    whole = Blocks(rounds=last.rounds, errors=last.errors)
    if not (begin and end):
        return whole
    first, again = (after - before for before, after in zip(begin.rounds[:2], end.rounds[:2]))
    return whole.model_copy(
        update={
            "bler": min(1.0, again / first) if first > 0 else None,
            "blocks_after_attach": first,
            "failed_after_attach": end.errors - begin.errors,
            "bytes_after_attach": end.bytes - begin.bytes,
            "dtx": end.dtx - begin.dtx,
        }
    )


def steps(text: str) -> dict[str, Step]:
    """Those since the program's start.

    @param text  of a file of STEP_STATISTICS; what a shorter text has not written over is older"""
    found: dict[str, Step] = {}
    for name, mean, count, largest in _STEP.findall(text):
        found.setdefault(name, Step(count=int(count), us_mean=float(mean), us_max=float(largest)))
    return found


def steps_since(before: dict[str, Step], after: dict[str, Step]) -> dict[str, Step]:
    """Those between two readings, and the largest time until the second."""
    found = {}
    for name, last in after.items():
        first = before.get(name, Step(count=0, us_mean=0, us_max=0))
        if last.count > first.count:
            count = last.count - first.count
            us = last.us_mean * last.count - first.us_mean * first.count
            mean = round(max(0.0, us / count), 3)
            found[name] = Step(count=count, us_mean=mean, us_max=last.us_max)
    return found


def pool(text: str) -> dict[str, str | float] | None:
    """The line by which this pool names itself, and what its pools report at their end, added up. None: OAI's
    own pool."""
    line = pool_of(text)
    if line is None:
        return None
    reported = {name: [float(value) for value in re.findall(one, text)] for name, one in _REPORTED.items()}
    return {"line": line, **{name: sum(values) for name, values in reported.items() if values}}


def cause(text: str) -> str:
    """Why a program ended: what it said of an error, else its last line.

    @param text  plain"""
    if _REFUSED.search(text):
        return (
            "the kernel refused real-time threads (EPERM): run as root, in a control group that may have them"
        )
    found = _ASSERTION.search(text)
    if found:
        return f"it gave up: {found[2].strip() or found[1]}"[:200]
    return f"last line: {last_line(text) or 'none'}"
