# SPDX-License-Identifier: BSD-3-Clause
"""Steal time and other programs on the workers' CPUs, measured over a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nrbench.doctor.finding import Finding, Target, Unseen, bad, check, good, warn
from nrbench.doctor.remedy import Remedy, advice

WINDOW_S = 1.0
STEAL_BAD, STEAL_WARN = 0.02, 0.002  # shares of time
BUSY_WARN = 0.1
FIELDS = 8  # of a CPU in /proc/stat; those behind are in user time already
IDLE, IOWAIT, STEAL = 3, 4, 7


def _ticks(target: Target) -> np.ndarray:
    """Sums over the workers' CPUs since boot."""
    wanted = {f"cpu{cpu}" for cpu in target.cpus}
    rows = [line.split() for line in (target.system.text("/proc/stat") or "").splitlines()]
    found = [list(map(int, row[1 : FIELDS + 1])) for row in rows if row[0] in wanted and len(row) > FIELDS]
    if not found:
        raise Unseen("/proc/stat does not show the workers' CPUs")
    total: np.ndarray = np.sum(found, axis=0)
    return total


@check("steal time")
def activity(target: Target) -> list[Finding]:
    before = _ticks(target)
    target.wait(WINDOW_S)
    spent = _ticks(target) - before
    share = spent / max(spent.sum(), 1)
    busy = 1 - share[IDLE] - share[IOWAIT] - share[STEAL] if spent.sum() else 0.0
    return [_steal(share[STEAL]), replace(_others(target, busy), check="other programs")]


def _steal(share: float) -> Finding:
    text = f"{100 * share:.1f} % over {WINDOW_S:g} s"
    if share < STEAL_WARN:
        return good(text)
    why = "The host of this virtual machine gave the CPU to another one, for milliseconds at any moment."
    remedy = advice("dedicated CPUs (pinned vCPUs, a dedicated instance), or a machine of your own")
    return (bad if share >= STEAL_BAD else warn)(text, why, remedy)


def _others(target: Target, share: float) -> Finding:
    text = f"{target.where(target.cpus)}: {100 * share:.0f} % busy over {WINDOW_S:g} s"
    if share < BUSY_WARN:
        return good(text)
    why = "Other programs share caches and CPUs with the workers. Measurements mean little meanwhile."
    return warn(text, why, advice("find them: top -1, or perf sched timehist"), *_nice(target))


def _nice(target: Target) -> tuple[Remedy, ...]:
    if not target.system.number("/proc/sys/kernel/sched_autogroup_enabled"):
        return ()
    return (advice("stop them: nice does not hold back another session's programs, see autogroups"),)


CHECKS = (activity,)
