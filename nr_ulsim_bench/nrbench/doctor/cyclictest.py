# SPDX-License-Identifier: BSD-3-Clause
"""cyclictest of rt-tests, where it is installed: without options, and with idle states as they are."""

from __future__ import annotations

import os
import re
import shutil
from typing import NamedTuple

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, Unseen, check
from nrbench.doctor.gain import same
from nrbench.doctor.power import DMA_LATENCY
from nrbench.doctor.remedy import command
from nrbench.doctor.wakes import WakesError, output

CYCLES, CYCLE_US = 1000, 1000
WHY = (
    f"Without options cyclictest holds {DMA_LATENCY} at 0. It then shows a machine without deep idle "
    "states, on which the gNB does not run. With --latency=1000000 it holds nothing."
)


class Cycles(NamedTuple):
    """How late the timers of a run were."""

    mean_us: int
    max_us: int

    def __str__(self) -> str:
        return f"{self.mean_us} us late in the mean, {self.max_us} us at most"


def _run(program: str, target: Target, options: list[str], realtime: bool) -> Cycles:
    timing = ["-q", "-m", "-t", "1", "-a", str(max(target.cpus)), "-i", str(CYCLE_US), "-l", str(CYCLES)]
    priority = ["-p", str(host.OAI_PRIORITY)] if realtime else ["--policy=other"]
    found = re.search(r"Avg: *(\d+).*Max: *(\d+)", output([program, *timing, *priority, *options]))
    if not found:
        raise WakesError("cyclictest printed no latencies")
    return Cycles(int(found[1]), int(found[2]))


def cyclictest(target: Target, realtime: bool) -> list[Finding]:
    @check("cyclictest")
    def compare(target: Target) -> Finding:
        program = shutil.which("cyclictest")
        if not program:
            install = command("apt install rt-tests", lasts=True)
            why = "Not needed: ws-wakes measures more."
            return Finding(Level.NOTE, "not installed", why, (install,), checked=False)
        try:
            asleep = _run(program, target, ["--latency=1000000"], realtime)
            held = _run(program, target, [], realtime) if os.access(DMA_LATENCY, os.W_OK) else None
        except WakesError as error:
            raise Unseen(str(error)) from error
        seen = f"idle states as they are: {asleep}" + (f"; without options: {held}" if held else "")
        hidden = held and not same(asleep.mean_us, held.mean_us) and held.mean_us < asleep.mean_us
        return Finding(Level.WARN if hidden else Level.NOTE, seen, WHY)

    return compare(target)
