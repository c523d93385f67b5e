# SPDX-License-Identifier: BSD-3-Clause
"""Runs ws-wakes, which measures how long this host takes to wake a thread, and judges the possible gain
of pre-wake, and of idle states that are held off."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, Field

from nrbench import facts
from nrbench.doctor.target import Seen, Target, Unseen, good, note, warn
from nrbench.places import PROGRAMS, ROOT
from nrbench.programs import COMPILERS, compiler, run

PROGRAM = PROGRAMS / "ws-wakes"
SOURCES = ("wakes/main.c", "src/words.c", "src/report.c", "src/process.c")
LIMIT_S = 60.0
SAMPLES, MEASURE_MS = 300, 200  # of a series
BUSY_TICKS = 2  # of 10 ms, in a second
SLOT_US = 1000  # how long a thread sleeps before each wake
NEAR, NEAR_US = 0.1, 2.0  # medians that differ by less count as equal: the samples are few
LITTLE_US = 5.0  # a gain below this is not worth a worker's time


class Series(BaseModel):
    """One line of ws-wakes."""

    kind: str
    sched_class: str = Field(alias="class")
    hold: bool
    samples: int = 0
    p50_us: float = 0
    p99_us: float = 0
    max_us: float = 0
    call_us: float = Field(0, alias="call_p50_us")  # median time of the call that wakes
    skipped: str = ""  # why it could not be measured

    @property
    def tail(self) -> str:
        return f"p99 {_us(self.p99_us)}, most {_us(self.max_us)}"


def _us(value: float) -> str:
    return f"{value:.2f} µs" if value < 1 else f"{value:.1f} µs" if value < 100 else f"{value:.0f} µs"


def parse(text: str) -> list[Series]:
    try:
        return [Series.model_validate(json.loads(line)) for line in text.splitlines() if line]
    except ValueError as error:
        raise Unseen(f"ws-wakes printed {text[-200:]!r}") from error


def _output(*words: str) -> str:
    status, text = run(*words, seconds=LIMIT_S)
    if status:  # negative: it was killed
        raise Unseen(f"{Path(words[0]).name}: {text.strip()[:300] or status}")
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("{"))


def chosen_cpus(target: Target) -> list[str]:
    """The last of the workers' CPUs is woken, by another core of its node, a worker's if possible."""
    system, cpu = target.system, max(target.cpus)
    siblings = facts.siblings(system, cpu) or frozenset()
    near = next((cpus for cpus in facts.nodes(system).values() if cpu in cpus), system.possible())
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
    chosen = compiler("CC", *COMPILERS)
    if program != PROGRAM or chosen is None or not (ROOT / SOURCES[0]).is_file():
        raise Unseen(f"{program} is not there; build it with ci/bench, or name another one: --wakes PATH")
    with TemporaryDirectory(prefix="nrbench-") as folder:
        made, sources = Path(folder) / program.name, [str(ROOT / source) for source in SOURCES]
        options = ["-O2", "-pthread", "-D_GNU_SOURCE", f"-I{ROOT / 'src'}", "-o", str(made)]
        _output(chosen, *options, *sources, "-lm")
        yield made


def wake_latency(target: Target) -> Seen:
    """Not in the real-time class beside a program that runs in it, which would be delayed."""
    running = {thread.process for thread in target.second.threads if thread.ticks >= BUSY_TICKS}
    busy = sorted(target.system.process_name(process) or process for process in running)
    held_us = facts.held_latency_us(target.system)
    words = [f"samples={SAMPLES}", f"measure_ms={MEASURE_MS}", f"gap_us={SLOT_US}"]
    words.append(f"class={'other' if busy else 'all'}")
    with ready(target.wakes or PROGRAM) as program:
        found = judge(parse(_output(str(program), *words, *chosen_cpus(target))))
    text = found.text
    if busy:
        text += f"; not measured in the real-time class, which would delay {', '.join(busy)}"
    if held_us is not None:
        text += f"; a program held {facts.DMA_LATENCY} at {held_us} µs, without which wakes may be slower"
    return found._replace(text=text)


def judge(found: list[Series]) -> Seen:
    """How long the first task of a burst waits for a worker, and what helps."""
    series = [one for one in found if not one.skipped]
    skipped = "; ".join(dict.fromkeys(one.skipped for one in found if one.skipped))
    realtime = any(one.sched_class == "fifo" for one in series)  # as OAI's workers are, where that is allowed
    best, of_class = ("fifo", "real-time") if realtime else ("other", "normal")
    by = {(one.kind, one.hold): one for one in series if one.sched_class == best}
    asleep, look, timer = (by.get((kind, False)) for kind in ("futex", "look", "timer"))
    if asleep is None or look is None:
        raise Unseen(skipped or "ws-wakes printed too little")
    text = (
        f"a worker that slept {SLOT_US / 1000:g} ms starts {_us(asleep.p50_us)} after the call that wakes it "
        f"({asleep.tail}; {asleep.samples} wakes, {of_class} class), and the call costs its caller "
        f"{_us(asleep.call_us)}; a worker that is awake sees work in {_us(look.p50_us)}"
    )
    text += f"; a timer of its own wakes it {_us(timer.p50_us)} late ({timer.tail})" if timer else ""
    text += f"; in part not measured: {skipped}" if skipped else ""
    gain_us = max(0.0, asleep.p50_us - look.p50_us)
    late = asleep.p99_us >= SLOT_US / 10 or timer is not None and timer.p99_us >= SLOT_US / 5
    if gain_us < LITTLE_US:
        about = ": next to nothing. But another program or a deep idle state delays some wakes"
    else:
        about = f", and the cost of the call. {_holding(asleep, by.get(('futex', True)), gain_us)}"
    level = warn if late else good if gain_us < LITTLE_US else note
    return level(text, gain=_us(gain_us), about=about)


def _holding(asleep: Series, held: Series | None, possible_us: float) -> str:
    """The share of pre-wake's possible gain that /dev/cpu_dma_latency held at 0 would bring."""
    if held is None:
        return "Whether holding idle states off would gain as much could not be measured"
    gain_us = asleep.p50_us - held.p50_us
    numbers = f"with {facts.DMA_LATENCY} held at 0 the wake takes {_us(held.p50_us)} ({held.tail})"
    if gain_us <= max(NEAR_US, NEAR * asleep.p50_us):
        return f"Holding idle states off gains nothing that so short a measurement shows: {numbers}"
    share = min(100, 100 * gain_us / possible_us)
    return f"Holding idle states off gains {share:.0f} % of that, at the energy of all CPUs: {numbers}"
