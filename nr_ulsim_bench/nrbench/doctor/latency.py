# SPDX-License-Identifier: BSD-3-Clause
"""Measures the wakes of this host, and judges them."""

from __future__ import annotations

from pathlib import Path

from nrbench.doctor.cyclictest import cyclictest
from nrbench.doctor.finding import Finding, Target, unseen
from nrbench.doctor.gain import judge
from nrbench.doctor.power import held_latency_us, holders
from nrbench.doctor.wakes import WakesError, busy_realtime, measure


def examine(target: Target, program: Path) -> list[Finding]:
    busy = busy_realtime(target)
    findings = []
    if busy:
        reason = f"{', '.join(busy)} would be delayed by a measurement in the real-time class"
        findings.append(unseen("wake latency", f"{reason}; the measurements below are of the normal class"))
    held_us = held_latency_us(target.system)
    by = holders(target.system) if held_us is not None else ""
    try:
        wakes = measure(target, program, "other" if busy else "all")
    except WakesError as error:
        return [*findings, unseen("wake latency", str(error)), *cyclictest(target, realtime=False)]
    realtime = wakes.best_class == "fifo"
    return [*findings, *judge(wakes, held_us, by), *cyclictest(target, realtime)]
