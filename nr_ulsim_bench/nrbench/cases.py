# SPDX-License-Identifier: BSD-3-Clause
"""Slot cases: their names, their period, and what no pool can beat."""

import math
import re

BURST_CASES = ("12x6", "22x28", "12x6+22x28", "4x20", "50x5", "100x100")
TINY_CASE = "38x0.5"  # so little work that a pool may cost more than it brings
SLOT_CASES = (*BURST_CASES, "13x97.5", TINY_CASE)
PERIOD_STEP_US = 500
SHAPES = {  # files of data/, with words for ws-bench
    "ticks": ("shapes/ticks.slots", {"tasks": 36, "period_us": 5700}),
    "groups": ("shapes/groups.slots", {"tasks": 3, "period_us": 1000}),
}
NAMED: dict[str, dict[str, object]] = {  # with words for ws-bench
    "encoder": {"bursts": "5x40"},  # of nr_dlsim, v2.3.0: 273 PRB, MCS 25, one user
    "encoder, 16 users": {"bursts": "16x30"},  # that share these PRBs: a small task each
    "22x28 by chance": {"bursts": "22x28", "arrivals": "exponential"},
    "22x28 in trains": {"bursts": "22x28", "arrivals": "onoff", "varied": 1},
}


def parse_case(case: str) -> list[tuple[int, float]]:
    """Bursts of a case such as "12x6+22x28": tasks x µs, chained in one slot."""
    bursts = []
    for text in case.split("+"):
        match = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)", text)
        if not match or int(match[1]) == 0:
            raise ValueError(f"slot case {case!r}: {text!r} is not TASKSxMICROSECONDS")
        bursts.append((int(match[1]), float(match[2])))
    return bursts


def work_us(case: str) -> float:
    return sum(tasks * task_us for tasks, task_us in parse_case(case))


def bound_us(case: str, cores: int) -> float:
    """Graham's lower bound: the longest task, or all cores busy all the time."""
    return sum(max(task_us, tasks * task_us / cores) for tasks, task_us in parse_case(case))


def period_us(case: str, cores: int) -> int:
    """Smallest multiple of 500 µs in which the case fits with room to sleep, on all cores and on one."""
    work = work_us(case)
    wanted = max(1.5 * work / cores + 100, 1.2 * work)
    return PERIOD_STEP_US * max(1, math.ceil(wanted / PERIOD_STEP_US))
