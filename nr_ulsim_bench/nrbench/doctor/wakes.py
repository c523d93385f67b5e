# SPDX-License-Identifier: BSD-3-Clause
"""Wake latency of this host, and what pre-wake or held idle states can gain on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nrbench.doctor.finding import Finding, Level, Target, advice, command, unseen
from nrbench.doctor.power import DMA_LATENCY

PROGRAM = Path(__file__).resolve().parents[3] / "build-bench" / "nr_ulsim_bench" / "bin" / "ws-wakes"
LIMIT_S = 60.0
SLOT_US = 1000  # the gap that verdicts speak of: a slot of 1 ms
SAMPLES, MEASURE_MS = 300, 200  # of a series
NEAR = 0.1  # two medians that are nearer than this share, or 2 us, are not told apart by so few samples
NEAR_US = 2.0
LITTLE_US = 5.0  # less than this is not worth a worker's time
CYCLES, CYCLE_US, HISTOGRAM_US = 1000, 1000, 2000


class WakesError(Exception):
    """There is no measurement, and why."""


@dataclass(frozen=True)
class Series:
    """One line of ws-wakes."""

    kind: str
    sched_class: str
    gap_us: int
    hold: bool
    samples: int
    p50_us: float
    p99_us: float
    max_us: float
    call_us: float | None = None  # what waking cost the caller, median


@dataclass(frozen=True)
class Wakes:
    series: tuple[Series, ...]
    skipped: tuple[str, ...]  # what could not be measured, and why

    def find(self, kind: str, sched_class: str, gap_us: int, hold: bool = False) -> Series | None:
        wanted = (kind, sched_class, gap_us, hold)
        found = (s for s in self.series if (s.kind, s.sched_class, s.gap_us, s.hold) == wanted)
        return next(found, None)

    @property
    def best_class(self) -> str:
        """That of OAI's workers where it is allowed."""
        return "fifo" if any(series.sched_class == "fifo" for series in self.series) else "other"


def _series(line: dict[str, Any]) -> Series:
    return Series(
        kind=line["kind"],
        sched_class=line["class"],
        gap_us=line["gap_us"],
        hold=line["hold"],
        samples=line["samples"],
        p50_us=line["p50_us"],
        p99_us=line["p99_us"],
        max_us=line["max_us"],
        call_us=line.get("call_p50_us"),
    )


def parse(text: str) -> Wakes:
    series: list[Series] = []
    skipped: dict[str, None] = {}
    for row in filter(None, text.splitlines()):
        try:
            line = json.loads(row)
            if "error" in line:
                raise WakesError(f"ws-wakes: {line['error']}")
            if "skipped" in line:
                idle = ", idle states held off" if line["hold"] else ""
                skipped[f"{line['kind']}, {line['class']}{idle}: {line['skipped']}"] = None
            else:
                series.append(_series(line))
        except (KeyError, TypeError, ValueError) as error:
            raise WakesError(f"ws-wakes said what is not understood: {row[:200]!r}") from error
    return Wakes(tuple(series), tuple(skipped))


def _output(words: list[str]) -> str:
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WakesError(f"{Path(words[0]).name}: {error}") from error
    if answer.returncode != 0:
        reason = (answer.stderr or answer.stdout).strip() or f"status {answer.returncode}"
        raise WakesError(f"{Path(words[0]).name}: {reason[:300]}")
    return answer.stdout


def _caller(target: Target) -> list[str]:
    """The CPU that wakes: another of the workers', else any other."""
    cpu = max(target.cpus)
    callers = sorted(target.cpus - {cpu}) or sorted(target.system.affinity() - {cpu})
    return [f"cpu={cpu}"] + ([f"caller_cpu={callers[-1]}"] if callers else [])


def measure(target: Target, program: Path) -> Wakes:
    if not os.access(program, os.X_OK):
        raise WakesError(f"{program} is not built; ci/bench builds it, or name it: --wakes PATH")
    return parse(_output([str(program), f"samples={SAMPLES}", f"measure_ms={MEASURE_MS}", *_caller(target)]))


def _same(one_us: float, other_us: float) -> bool:
    return abs(one_us - other_us) <= max(NEAR_US, NEAR * max(one_us, other_us))


def _us(value: float) -> str:
    return f"{value:.2f} us" if value < 1 else f"{value:.1f} us" if value < 100 else f"{value:.0f} us"


def _holding(asleep: Series, held: Series | None, awake_us: float) -> str:
    """What /dev/cpu_dma_latency held at 0 would gain of what pre-wake can gain."""
    if held is None:
        return "Whether holding idle states off would gain as much could not be measured."
    gain_us, possible_us = asleep.p50_us - held.p50_us, asleep.p50_us - awake_us
    numbers = f"with {DMA_LATENCY} held at 0 the wake takes {_us(held.p50_us)} (p99 {_us(held.p99_us)})"
    if _same(asleep.p50_us, held.p50_us):
        seen = f"Holding idle states off gains nothing that so short a measurement shows: {numbers}."
        return f"{seen} On a busy machine it cannot: CPUs that work have no idle state to leave."
    if gain_us < 0:
        return f"Holding idle states off makes it slower here: {numbers}."
    if gain_us >= 0.8 * possible_us:
        return f"Holding idle states off gains about as much, for the energy of all CPUs: {numbers}."
    share = 100 * gain_us / possible_us
    return f"Holding idle states off gains {share:.0f} % of that: {numbers}; the rest is the kernel's way."


def _burst(wakes: Wakes, gap_us: int) -> Finding | None:
    """What the first task of a burst waits for, and what can be done about it."""
    sched_class = wakes.best_class
    asleep, look = (wakes.find(kind, sched_class, gap_us) for kind in ("futex", "look"))
    look = look or next((series for series in wakes.series if series.kind == "look"), None)
    if asleep is None or look is None or asleep.call_us is None:
        return None
    gain_us = max(0.0, asleep.p50_us - look.p50_us)
    seen = (
        f"a worker that slept {gap_us / 1000:g} ms starts {_us(asleep.p50_us)} after the call that wakes it "
        f"(p99 {_us(asleep.p99_us)}, most {_us(asleep.max_us)}; {asleep.samples} wakes, "
        f"{'real-time' if sched_class == 'fifo' else 'normal'} class), and the call costs its caller "
        f"{_us(asleep.call_us)}; a worker that is awake sees work in {_us(look.p50_us)}"
    )
    if gain_us < LITTLE_US:
        why = f"Pre-wake can gain {_us(gain_us)} a burst: next to nothing, and its gate will stay shut."
        return Finding("wake latency", Level.GOOD, seen, why)
    why = f"Pre-wake can gain up to {_us(gain_us)} a burst, and the cost of the call. " + _holding(
        asleep, wakes.find("futex", sched_class, gap_us, hold=True), look.p50_us
    )
    slow = asleep.p99_us >= SLOT_US / 10
    remedies = (
        advice("pre-wake is on as it comes (TPOOL_WS_SPIN=auto); TPOOL_WS_REPORT=1 shows what it does"),
    )
    return Finding("wake latency", Level.WARN if slow else Level.NOTE, seen, why, remedies)


def _timers(wakes: Wakes, gap_us: int) -> Finding | None:
    series = wakes.find("timer", wakes.best_class, gap_us)
    if series is None:
        return None
    seen = f"{_us(series.p50_us)} late (p99 {_us(series.p99_us)}, most {_us(series.max_us)})"
    why = (
        "Pre-wake gets workers up by their own timers and learns how late these are: it is the spread that "
        "costs CPU time or lateness, not the median."
    )
    level = Level.WARN if series.p99_us >= SLOT_US / 5 else Level.NOTE
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


def judge(wakes: Wakes) -> Iterator[Finding]:
    gaps = sorted({series.gap_us for series in wakes.series if series.kind == "futex"})
    gap_us = min(gaps, key=lambda gap: abs(gap - SLOT_US), default=SLOT_US)
    for finding in (_burst(wakes, gap_us), _timers(wakes, gap_us), _growth(wakes)):
        if finding:
            yield finding
    for reason in wakes.skipped:
        yield unseen("wake latency", reason)


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
    if not latest or not any(counts.values()):
        raise WakesError("cyclictest printed no histogram")
    above = re.search(r"^# Histogram Overflows: (\d+)", text, re.MULTILINE)
    rows = [*sorted(counts.items()), (int(latest[1]), int(above[1]) if above else 0)]
    total = sum(count for _, count in rows)

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
    priority = ["-p", "97"] if realtime else ["--policy=other"]
    return parse_cyclictest(_output([program, *timing, "-h", str(HISTOGRAM_US), *priority, *options]))


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
    hidden = held is not None and not _same(asleep.p50_us, held.p50_us) and held.p50_us < asleep.p50_us
    return [Finding(name, Level.WARN if hidden else Level.NOTE, seen, why)]


def examine(target: Target, program: Path) -> list[Finding]:
    try:
        wakes = measure(target, program)
    except WakesError as error:
        return [unseen("wake latency", str(error)), *cyclictest(target, realtime=False)]
    return [*judge(wakes), *cyclictest(target, realtime=wakes.best_class == "fifo")]
