# SPDX-License-Identifier: BSD-3-Clause
"""What measured wakes mean: what pre-wake or held idle states can gain on this host."""

from __future__ import annotations

from collections.abc import Iterator

from nrbench.doctor.finding import Finding, Level, advice, unseen
from nrbench.doctor.power import DMA_LATENCY
from nrbench.doctor.wakes import TAIL_SAMPLES, Series, Wakes

SLOT_US = 1000  # the gap that verdicts speak of: a slot of 1 ms
NEAR = 0.1  # two medians that are nearer than this share, or 2 us, are not told apart by so few samples
NEAR_US = 2.0
LITTLE_US = 5.0  # less than this is not worth a worker's time


def same(one_us: float, other_us: float) -> bool:
    return abs(one_us - other_us) <= max(NEAR_US, NEAR * max(one_us, other_us))


def _us(value: float) -> str:
    return f"{value:.2f} us" if value < 1 else f"{value:.1f} us" if value < 100 else f"{value:.0f} us"


def _tail(series: Series) -> str:
    p99 = f"p99 {_us(series.p99_us)}, " if series.samples >= TAIL_SAMPLES else ""
    return f"{p99}most {_us(series.max_us)}"


def _holding(asleep: Series, held: Series | None, awake_us: float) -> str:
    """What /dev/cpu_dma_latency held at 0 would gain of what pre-wake can gain."""
    if held is None:
        return "Whether holding idle states off would gain as much could not be measured."
    gain_us, possible_us = asleep.p50_us - held.p50_us, asleep.p50_us - awake_us
    numbers = f"with {DMA_LATENCY} held at 0 the wake takes {_us(held.p50_us)} ({_tail(held)})"
    if same(asleep.p50_us, held.p50_us):
        seen = f"Holding idle states off gains nothing that so short a measurement shows: {numbers}."
        return f"{seen} On a busy machine it cannot: CPUs that work have no idle state to leave."
    if gain_us < 0:
        return f"Holding idle states off makes it slower here: {numbers}."
    if gain_us >= 0.8 * possible_us:
        return f"Holding idle states off gains about as much, for the energy of all CPUs: {numbers}."
    share = 100 * gain_us / possible_us
    return f"Holding idle states off gains {share:.0f} % of that: {numbers}; the rest is the kernel's way."


def _burst(wakes: Wakes, gap_us: int, held: str) -> Finding | None:
    """What the first task of a burst waits for, and what can be done about it."""
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
    if gain_us < LITTLE_US:
        why = f"Pre-wake can typically gain {_us(gain_us)} a burst: next to nothing; its gate will stay shut."
        if slow:
            why += " But some wakes are late: something else has the CPU then, or an idle state."
        return Finding("wake latency", Level.WARN if slow else Level.GOOD, seen, why + held)
    why = f"Pre-wake can typically gain {_us(gain_us)} a burst, and the cost of the call. " + _holding(
        asleep, wakes.find("futex", sched_class, gap_us, hold=True), look.p50_us
    )
    remedies = (
        advice("pre-wake is on as it comes (TPOOL_WS_SPIN=auto); TPOOL_WS_REPORT=1 shows what it does"),
    )
    return Finding("wake latency", Level.WARN if slow else Level.NOTE, seen, why + held, remedies)


def _timers(wakes: Wakes, gap_us: int) -> Finding | None:
    series = wakes.find("timer", wakes.best_class, gap_us)
    if series is None:
        return None
    seen = f"{_us(series.p50_us)} late ({_tail(series)})"
    why = (
        "Pre-wake gets workers up by their own timers and learns how late these are: it is the spread that "
        "costs CPU time or lateness, not the median."
    )
    level = Level.WARN if series.tail_us >= SLOT_US / 5 else Level.NOTE
    return Finding("own timer", level, seen, why)


def _growth(wakes: Wakes) -> Finding | None:
    """How the wake depends on how long the worker slept: deep idle states, or a host that takes the CPU."""
    found = [s for s in wakes.series if (s.kind, s.sched_class, s.hold) == ("futex", wakes.best_class, False)]
    if len(found) < 2:
        return None
    steps = ", ".join(f"{_us(s.p50_us)} after {s.gap_us / 1000:g} ms" for s in found)
    why = (
        "The longer a CPU sleeps, the deeper: TDD patterns with few uplink slots wake slower than full load."
    )
    return Finding("wake by pause", Level.NOTE, f"p50 {steps}", why)


def judge(wakes: Wakes, held_us: int | None = None, holders: str = "") -> Iterator[Finding]:
    """`held_us`: what cpu_dma_latency was held at while it was measured, and by whom."""
    held = (
        f" {DMA_LATENCY} was already held at {held_us} us by {holders}: this is the gain in that state, and "
    )
    held = f"{held}without that program wakes may be slower." if held_us is not None else ""
    gaps = sorted({series.gap_us for series in wakes.series if series.kind == "futex"})
    gap_us = min(gaps, key=lambda gap: abs(gap - SLOT_US), default=SLOT_US)
    for finding in (_burst(wakes, gap_us, held), _timers(wakes, gap_us), _growth(wakes)):
        if finding:
            yield finding
    for reason in wakes.skipped:
        yield unseen("wake latency", reason)
