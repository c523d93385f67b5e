# SPDX-License-Identifier: BSD-3-Clause
"""From what a gNB and a UE print, and from their statistics files, to fields of a record."""

import re
from typing import NamedTuple

from nrbench.radio.record import Step
from nrbench.sweep.parse import NUMBER, last_words

MAC_STATISTICS = "nrMAC_stats.log"  # in the gNB's working directory, written anew each second
STEP_STATISTICS = {"gnb": "nrL1_stats.log", "ue": "nrL1_UE_stats-0.log"}  # as MAC_STATISTICS, of each side
# v2.0.0 to v2.4.0: mean, trials, maximum. Later: mean, maximum, standard deviation, trials, and quantiles.
_STEP = re.compile(rf"^ *(\S[^:\n]*): +({NUMBER}) us;(?: +{NUMBER} us; +{NUMBER} us;)? +(\d+);", re.MULTILINE)
_TRAFFIC = re.compile(
    r"dlsch_rounds (\d+).*?dlsch_errors (\d+).*?ulsch_rounds (\d+).*?ulsch_errors (\d+).*?MAC: .*?RX +(\d+) ",
    re.DOTALL,
)
_REFUSED = re.compile(r"pthread_create\(\).*ret: 1\b|pthread_setschedparam.*not permitted")


class Traffic(NamedTuple):
    """The gNB's MAC statistics of its only UE, since the start."""

    dl: int  # blocks
    dl_failed: int
    ul: int
    ul_failed: int
    received: int  # bytes; more than 0: the UE has attached


def traffic(text: str) -> Traffic | None:
    """@param text  of MAC_STATISTICS; cut off while it is written: None"""
    found = _TRAFFIC.search(text)
    return Traffic(*map(int, found.groups())) if found else None


def steps(text: str) -> dict[str, Step]:
    """Those since the program's start.

    @param text  of a file of STEP_STATISTICS; what a shorter text has not written over is older"""
    found: dict[str, Step] = {}
    for name, mean_us, count in _STEP.findall(text.rpartition("\n")[0]):
        found.setdefault(name, Step(count=int(count), us_mean=float(mean_us)))
    return found


def steps_since(before: dict[str, Step], after: dict[str, Step]) -> dict[str, Step]:
    """Those between two readings."""
    found = {}
    for name, last in after.items():
        first = before.get(name, Step(count=0, us_mean=0))
        count = last.count - first.count
        if count > 0:
            us = last.us_mean * last.count - first.us_mean * first.count
            found[name] = Step(count=count, us_mean=round(max(0.0, us / count), 3))
    return found


def cause(text: str) -> str:
    """Why a program ended."""
    if _REFUSED.search(text):
        why = "the kernel refused real-time threads (EPERM)"
        return f"{why}: run as root, in a control group that may have them"
    return last_words(text)
