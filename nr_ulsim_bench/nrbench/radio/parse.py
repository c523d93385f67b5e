# SPDX-License-Identifier: BSD-3-Clause
"""From what a gNB and a UE print, and from their statistics files, to fields of a record."""

import re
from typing import NamedTuple

from nrbench.progress import say_unread
from nrbench.radio.record import Step
from nrbench.sweep.parse import NUMBER, last_words

MAC_STATISTICS = "nrMAC_stats.log"  # in the gNB's working directory, written anew each second
STEP_STATISTICS = {"gnb": "nrL1_stats.log", "ue": "nrL1_UE_stats-0.log"}  # as MAC_STATISTICS, of each side
# v2.0.0 to v2.4.0: mean, trials, maximum. Later: mean, maximum, standard deviation, trials, and quantiles.
_STEP = re.compile(
    rf" *(\S[^:\n]*): +({NUMBER}) us;(?: +(?P<max>{NUMBER}) us; +{NUMBER} us;)? +(\d+);(?P<rest>.*)"
)
_TIME = re.compile(rf"({NUMBER}) us;")
DECILES = 10  # of the later form: the minimum before them
_STATISTIC = re.compile(rf"^ *\S[^:\n]*: +{NUMBER} \w?s\b[^\n]*;", re.MULTILINE)
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
    for line in _STATISTIC.findall(text.rpartition("\n")[0]):
        if step := _STEP.match(line):
            found.setdefault(step[1], _step(step))
        else:
            say_unread(line)
    return found


def _step(found: re.Match[str]) -> Step:
    rest = [float(us) for us in _TIME.findall(found["rest"])]
    is_newer = found["max"] is not None
    tail = {"us_max": [float(found["max"])] if is_newer else rest[:1]}
    tail["us_p90"] = rest[DECILES - 1 : DECILES] if is_newer else []
    there = {name: us[0] for name, us in tail.items() if us and us[0] >= 0}
    return Step(count=int(found[4]), us_mean=float(found[2]), **there)


def steps_since(before: dict[str, Step], after: dict[str, Step]) -> dict[str, Step]:
    """Those between two readings."""
    found = {}
    for name, last in after.items():
        first = before.get(name, Step(count=0, us_mean=0))
        count = last.count - first.count
        if count > 0:
            us = last.us_mean * last.count - first.us_mean * first.count
            found[name] = last.model_copy(update={"count": count, "us_mean": round(max(0.0, us / count), 3)})
    return found


def cause(text: str) -> str:
    """Why a program ended."""
    if _REFUSED.search(text):
        why = "the kernel refused real-time threads (EPERM)"
        return f"{why}: run as root, in a control group that may have them"
    return last_words(text)
