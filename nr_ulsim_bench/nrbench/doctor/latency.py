# SPDX-License-Identifier: BSD-3-Clause
"""Measures the wakes of this host, and what they mean: the possible gain of pre-wake, and of idle states that
are held off. cyclictest of rt-tests, where it is installed, shows the second, too."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nrbench import facts, host
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Level, Target, Unseen, named, note, unseen
from nrbench.doctor.wakes import TAIL_SAMPLES, Series, Wakes, WakesError, busy_realtime, measure, output

DMA_LATENCY = facts.DMA_LATENCY.name
SLOT_US = 1000  # the verdicts are on a pause of one slot, 1 ms
NEAR = 0.1  # medians that differ by less than this share, or 2 us, count as equal: the samples are few
NEAR_US = 2.0
LITTLE_US = 5.0  # a gain below this is not worth a worker's time
CYCLES, CYCLE_US = 1000, 1000
WHY = (
    f"Without options cyclictest holds {DMA_LATENCY} at 0. It then shows a machine without deep idle "
    "states, on which the gNB does not run. With --latency=1000000 it holds nothing."
)


def same(one_us: float, other_us: float) -> bool:
    return abs(one_us - other_us) <= max(NEAR_US, NEAR * max(one_us, other_us))


def _us(value: float) -> str:
    return f"{value:.2f} us" if value < 1 else f"{value:.1f} us" if value < 100 else f"{value:.0f} us"


def _tail(series: Series) -> str:
    p99 = f"p99 {_us(series.p99_us)}, " if series.samples >= TAIL_SAMPLES else ""
    return f"{p99}most {_us(series.max_us)}"


def _holding(asleep: Series, held: Series | None, awake_us: float) -> str:
    """The share of pre-wake's possible gain that /dev/cpu_dma_latency held at 0 would bring."""
    if held is None:
        return "Whether holding idle states off would gain as much could not be measured."
    gain_us, possible_us = asleep.p50_us - held.p50_us, asleep.p50_us - awake_us
    numbers = f"with {DMA_LATENCY} held at 0 the wake takes {_us(held.p50_us)} ({_tail(held)})"
    if same(asleep.p50_us, held.p50_us):
        return (
            f"Holding idle states off gains nothing that so short a measurement shows: {numbers}. On a busy "
            "machine it cannot gain anything: CPUs that work have no idle state to leave."
        )
    if gain_us < 0:
        return f"Holding idle states off makes it slower here: {numbers}."
    if gain_us >= 0.8 * possible_us:
        return f"Holding idle states off gains about as much, but costs energy on all CPUs: {numbers}."
    share = 100 * gain_us / possible_us
    return f"Holding idle states off gains {share:.0f} % of that: {numbers}; the kernel takes the rest."


def _burst(wakes: Wakes, gap_us: int, held: str) -> Finding | None:
    """How long the first task of a burst waits for a worker, and what helps."""
    sched_class = wakes.best_class
    asleep, look = (wakes.find(kind, sched_class, gap_us) for kind in ("futex", "look"))
    look = look or next((series for series in wakes.series if series.kind == "look"), None)
    if asleep is None or look is None or asleep.call_us is None:
        return None
    gain_us = max(0.0, asleep.p50_us - look.p50_us)
    seen = (
        f"a worker that slept {gap_us / 1000:g} ms starts {_us(asleep.p50_us)} after the call that wakes it "
        f"({_tail(asleep)}; {asleep.samples} wakes, "
        f"{'real-time' if sched_class == 'fifo' else 'normal'} class), and the call costs its caller "
        f"{_us(asleep.call_us)}; a worker that is awake sees work in {_us(look.p50_us)}"
    )
    slow = asleep.tail_us >= SLOT_US / 10
    why = f"Pre-wake can typically gain {_us(gain_us)} a burst"
    if gain_us < LITTLE_US:
        why += ": next to nothing, so it will not wake workers early."
        if slow:
            why += " But some wakes are late: another program has the CPU then, or an idle state is deep."
        return Finding(Level.WARN if slow else Level.GOOD, seen, why + held)
    why += ", and the cost of the call. "
    why += _holding(asleep, wakes.find("futex", sched_class, gap_us, hold=True), look.p50_us)
    on = do.advice("pre-wake is on by default (TPOOL_WS_SPIN=auto); TPOOL_WS_REPORT=1 shows what it does")
    return Finding(Level.WARN if slow else Level.NOTE, seen, why + held, (on,))


def _timers(wakes: Wakes, gap_us: int) -> Finding | None:
    series = wakes.find("timer", wakes.best_class, gap_us)
    if series is None:
        return None
    why = (
        "Pre-wake wakes workers with their own timers and learns how late these are. Their spread costs CPU "
        "time or lateness, not their median."
    )
    level = Level.WARN if series.tail_us >= SLOT_US / 5 else Level.NOTE
    return Finding(level, f"{_us(series.p50_us)} late ({_tail(series)})", why, check="own timer")


def _growth(wakes: Wakes) -> Finding | None:
    """How the wake depends on the length of the sleep: deep idle states, or a host that takes the CPU."""
    found = [s for s in wakes.series if (s.kind, s.sched_class, s.hold) == ("futex", wakes.best_class, False)]
    if len(found) < 2:
        return None
    steps = ", ".join(f"{_us(s.p50_us)} after {s.gap_us / 1000:g} ms" for s in found)
    why = (
        "The longer a CPU sleeps, the deeper: TDD patterns with few uplink slots wake slower than full load."
    )
    return replace(note(f"p50 {steps}", why), check="wake by pause")


def judge(wakes: Wakes, held_us: int | None = None, holders: str = "") -> Iterator[Finding]:
    """`held_us`: the limit at which `holders` held cpu_dma_latency meanwhile."""
    held = (
        ""
        if held_us is None
        else (
            f" {DMA_LATENCY} was already held at {held_us} us by {holders}: this is the gain in that state. "
            "Without that program wakes may be slower."
        )
    )
    gaps = sorted({series.gap_us for series in wakes.series if series.kind == "futex"})
    gap_us = min(gaps, key=lambda gap: abs(gap - SLOT_US), default=SLOT_US)
    for finding in (_burst(wakes, gap_us, held), _timers(wakes, gap_us), _growth(wakes)):
        if finding:
            yield finding if finding.check else replace(finding, check="wake latency")
    for reason in wakes.skipped:
        yield unseen("wake latency", reason)


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
    @named("cyclictest")
    def compare(target: Target) -> Finding:
        program = shutil.which("cyclictest")
        if not program:
            install = do.command("apt install rt-tests", lasts=True)
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


def examine(target: Target, program: Path) -> list[Finding]:
    busy = busy_realtime(target)
    findings = []
    if busy:
        reason = f"{', '.join(busy)} would be delayed by a measurement in the real-time class"
        findings.append(unseen("wake latency", f"{reason}; the measurements below are of the normal class"))
    held_us = facts.held_latency_us(target.system)
    by = facts.latency_holders(target.system) if held_us is not None else ""
    try:
        wakes = measure(target, program, "other" if busy else "all")
    except WakesError as error:
        return [*findings, unseen("wake latency", str(error)), *cyclictest(target, realtime=False)]
    realtime = wakes.best_class == "fifo"
    return [*findings, *judge(wakes, held_us, by), *cyclictest(target, realtime)]
