# SPDX-License-Identifier: BSD-3-Clause
"""cyclictest of rt-tests, where it is installed: as it comes, and with idle states as they are."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, command, unseen
from nrbench.doctor.gain import same
from nrbench.doctor.power import DMA_LATENCY
from nrbench.doctor.wakes import WakesError, output

CYCLES, CYCLE_US, HISTOGRAM_US = 1000, 1000, 2000


@dataclass(frozen=True)
class Cycles:
    """A run of cyclictest."""

    samples: int
    p50_us: int
    p99_us: int
    max_us: int


def parse_cyclictest(text: str) -> Cycles:
    """Of its histogram; what lies above it counts as late as the latest."""
    counts = {int(us): int(count) for us, count in re.findall(r"^(\d+)\s+(\d+)\s*$", text, re.MULTILINE)}
    latest = re.search(r"^# Max Latencies: (\d+)", text, re.MULTILINE)
    above = re.search(r"^# Histogram Overflows: (\d+)", text, re.MULTILINE)
    total = sum(counts.values()) + (int(above[1]) if above else 0)
    if not latest or not total:
        raise WakesError("cyclictest printed no histogram")
    rows = [*sorted(counts.items()), (int(latest[1]), total)]

    def percentile(share: float) -> int:
        seen = 0
        for us, count in rows:
            seen += count
            if seen >= share * total:
                return us
        return rows[-1][0]

    return Cycles(total, percentile(0.5), percentile(0.99), int(latest[1]))


def _cyclictest(program: str, target: Target, options: list[str], realtime: bool) -> Cycles:
    timing = ["-q", "-m", "-t", "1", "-a", str(max(target.cpus)), "-i", str(CYCLE_US), "-l", str(CYCLES)]
    priority = ["-p", str(host.OAI_PRIORITY)] if realtime else ["--policy=other"]
    return parse_cyclictest(output([program, *timing, "-h", str(HISTOGRAM_US), *priority, *options]))


def cyclictest(target: Target, realtime: bool) -> list[Finding]:
    name = "cyclictest"
    program = shutil.which(name)
    if not program:
        install = command("apt install rt-tests")
        return [
            Finding(
                name, Level.NOTE, "not installed", "Not needed: ws-wakes measures more.", (install,), False
            )
        ]
    try:
        asleep = _cyclictest(program, target, ["--latency=1000000"], realtime)
        held = _cyclictest(program, target, [], realtime) if os.access(DMA_LATENCY, os.W_OK) else None
    except WakesError as error:
        return [unseen(name, str(error))]
    seen = f"idle states as they are: {asleep.p50_us} us (p99 {asleep.p99_us}, most {asleep.max_us})"
    if held:
        seen += f"; as it comes: {held.p50_us} us (p99 {held.p99_us}, most {held.max_us})"
    why = (
        f"As it comes cyclictest holds {DMA_LATENCY} at 0: it shows a machine without deep idle states, "
        "which is not the one that the gNB runs on. With --latency=1000000 it holds nothing."
    )
    hidden = held is not None and not same(asleep.p50_us, held.p50_us) and held.p50_us < asleep.p50_us
    return [Finding(name, Level.WARN if hidden else Level.NOTE, seen, why)]
