# SPDX-License-Identifier: BSD-3-Clause
"""Runs ws-wakes, which measures how long this host takes to wake a thread, and judges the possible gain
of pre-wake, and of idle states that are held off."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, Field

from nrbench import facts
from nrbench.doctor.target import Seen, Target, Unseen, good, note, unseen, warn
from nrbench.places import PROGRAMS, ROOT
from nrbench.programs import COMPILERS, compiler, which
from nrbench.scratch import scratch_folder

PROGRAM = PROGRAMS / "ws-wakes"
SOURCES = ("wakes/main.c", "src/words.c", "src/report.c", "src/process.c")
LIMIT_S = 60.0
SAMPLES, MEASURE_MS = 300, 200  # of a series
TAIL_SAMPLES = 100  # fewer have no percentile 99
BUSY_TICKS = 2  # of 10 ms, in a second
SLOT_US = 1000  # the verdicts are on a pause of one slot, 1 ms
NEAR, NEAR_US = 0.1, 2.0  # medians that differ by less count as equal: the samples are few
LITTLE_US = 5.0  # a gain below this is not worth a worker's time


class Series(BaseModel):
    """One line of ws-wakes."""

    kind: str
    sched_class: str = Field(alias="class")
    gap_us: int
    hold: bool
    samples: int = 0
    p50_us: float = 0
    p99_us: float = 0
    max_us: float = 0
    call_us: float = Field(0, alias="call_p50_us")  # median time of the call that wakes
    skipped: str = ""  # why it could not be measured

    @property
    def tail_us(self) -> float:
        """Percentile 99; of too few samples the longest."""
        return self.p99_us if self.samples >= TAIL_SAMPLES else self.max_us

    @property
    def tail(self) -> str:
        p99 = f"p99 {_us(self.p99_us)}, " if self.samples >= TAIL_SAMPLES else ""
        return f"{p99}most {_us(self.max_us)}"


def _us(value: float) -> str:
    return f"{value:.2f} us" if value < 1 else f"{value:.1f} us" if value < 100 else f"{value:.0f} us"


def parse(text: str) -> list[Series]:
    found = []
    for row in filter(None, text.splitlines()):
        try:
            line = json.loads(row)
            if "error" in line:
                raise Unseen(f"ws-wakes: {line['error']}")
            found.append(Series.model_validate(line))
        except (TypeError, ValueError) as error:
            raise Unseen(f"ws-wakes printed an unknown line: {row[:200]!r}") from error
    return found


def _output(words: list[str]) -> str:
    """Standard output of a program."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
    except subprocess.CalledProcessError as error:  # a negative status: it took too long, or was killed
        reason = (error.stderr or error.stdout).strip() or str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    raise Unseen(f"{Path(words[0]).name}: {reason[:300]}")


def chosen_cpus(target: Target) -> list[str]:
    """The last of the workers' CPUs is woken, by another core of its node, a worker's if possible."""
    system, cpu = target.system, max(target.cpus)
    siblings = facts.SIBLINGS(system, cpu) or frozenset()
    near = next((cpus for cpus in facts.NODES(system).values() if cpu in cpus), system.possible())

    callers = (target.cpus | system.affinity()) & system.online() - {cpu}
    ordered = sorted(callers, key=lambda c: (c in siblings, c not in near, c not in target.cpus, -c))
    return [f"cpu={cpu}", *(f"caller_cpu={caller}" for caller in ordered[:1])]


@contextmanager
def ready(program: Path) -> Iterator[Path]:
    """The program. Where ci/bench has not built it, one that is compiled now from the sources beside this
    package, which an installed package does not have, and removed afterwards."""
    if os.access(program, os.X_OK):
        yield program
        return
    if program != PROGRAM:
        raise Unseen(f"--wakes {program}: no such program, or not executable")
    chosen = compiler("CC") or which(*COMPILERS)
    if chosen is None or not (ROOT / SOURCES[0]).is_file():
        lack = f"no C compiler ({', '.join(COMPILERS)})" if chosen is None else "its sources are not here"
        raise Unseen(
            f"{program} is not built, and {lack}; build it with ci/bench, or name another one: --wakes PATH"
        )
    with scratch_folder("wakes") as folder:
        made, sources = folder / program.name, [str(ROOT / source) for source in SOURCES]
        options = ["-O2", "-pthread", "-D_GNU_SOURCE", f"-I{ROOT / 'src'}", "-o", str(made)]
        _output([chosen, *options, *sources, "-lm"])
        yield made


def wake_latency(target: Target) -> Iterator[Seen]:
    running = [t for t in target.second.threads if not t.of_kernel and t.ticks >= BUSY_TICKS]
    processes = {thread.ids.partition("/")[0] for thread in running}
    busy = sorted({target.system.process_name(process) or process for process in processes})
    if busy:
        reason = f"{', '.join(busy)} would be delayed by a measurement in the real-time class"
        yield unseen(f"{reason}; the measurements below are of the normal class")
    held_us = facts.held_latency_us(target.system)
    by = facts.latency_holders(target.system) if held_us is not None else ""
    words = [f"samples={SAMPLES}", f"measure_ms={MEASURE_MS}", f"class={'other' if busy else 'all'}"]
    with ready(target.wakes or PROGRAM) as program:
        series = parse(_output([str(program), *words, *chosen_cpus(target)]))
    yield from judge(series, held_us, by)


def judge(found: list[Series], held_us: int | None = None, holders: str = "") -> Iterator[Seen]:
    """`held_us`: the limit at which `holders` held cpu_dma_latency meanwhile."""
    series = [one for one in found if not one.skipped]
    classes = {one.sched_class for one in series}
    best = "fifo" if "fifo" in classes else "other"  # OAI's, where it is allowed
    looks = sorted((one for one in series if one.kind == "look"), key=lambda one: one.sched_class != best)
    sleeps = [one for one in series if (one.kind, one.hold, one.sched_class) == ("futex", False, best)]
    gap_us = min((one.gap_us for one in sleeps), key=lambda gap: abs(gap - SLOT_US), default=SLOT_US)
    of_gap = {(one.kind, one.hold): one for one in series if (one.sched_class, one.gap_us) == (best, gap_us)}
    asleep, timer = of_gap.get(("futex", False)), of_gap.get(("timer", False))
    if asleep and looks:
        already = (
            f" {facts.DMA_LATENCY.name} was already held at {held_us} us by {holders}: this is the gain in "
            "that state. Without that program wakes may be slower."
        )
        yield _burst(asleep, looks[0], of_gap.get(("futex", True)), already if held_us is not None else "")
    if timer:
        level = warn if timer.tail_us >= SLOT_US / 5 else note
        yield level(f"{_us(timer.p50_us)} late ({timer.tail})", "timer")
    if len(sleeps) > 1:
        steps = ", ".join(f"{_us(one.p50_us)} after {one.gap_us / 1000:g} ms" for one in sleeps)
        yield note(f"p50 {steps}", "pause")
    skipped = (
        f"{s.kind}, {s.sched_class}{', idle states held off' * s.hold}: {s.skipped}"
        for s in found
        if s.skipped
    )
    yield from map(unseen, dict.fromkeys(skipped))


def _burst(asleep: Series, look: Series, held: Series | None, already: str) -> Seen:
    """How long the first task of a burst waits for a worker, and what helps."""
    gain_us = max(0.0, asleep.p50_us - look.p50_us)
    text = (
        f"a worker that slept {asleep.gap_us / 1000:g} ms starts {_us(asleep.p50_us)} after the call "
        f"that wakes it ({asleep.tail}; {asleep.samples} wakes, "
        f"{'real-time' if asleep.sched_class == 'fifo' else 'normal'} class), and the call costs its caller "
        f"{_us(asleep.call_us)}; a worker that is awake sees work in {_us(look.p50_us)}"
    )
    slow, values = asleep.tail_us >= SLOT_US / 10, {"gain": _us(gain_us), "already": already}
    if gain_us < LITTLE_US:
        late = " But some wakes are late: another program has the CPU then, or an idle state is deep."
        return (warn if slow else good)(text, "little", late=late if slow else "", **values)
    return (warn if slow else note)(text, holding=_holding(asleep, held, look.p50_us), **values)


def _holding(asleep: Series, held: Series | None, awake_us: float) -> str:
    """The share of pre-wake's possible gain that /dev/cpu_dma_latency held at 0 would bring."""
    if held is None:
        return "Whether holding idle states off would gain as much could not be measured."
    gain_us, possible_us = asleep.p50_us - held.p50_us, asleep.p50_us - awake_us
    numbers = f"with {facts.DMA_LATENCY.name} held at 0 the wake takes {_us(held.p50_us)} ({held.tail})"
    if abs(gain_us) <= max(NEAR_US, NEAR * max(asleep.p50_us, held.p50_us)):
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
