# SPDX-License-Identifier: BSD-3-Clause
"""Runs ws-wakes, which measures how long this host takes to wake a thread."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from nrbench import facts
from nrbench.doctor.finding import Target
from nrbench.places import PROGRAMS, ROOT
from nrbench.programs import COMPILERS, compiler, which
from nrbench.scratch import scratch_folder
from nrbench.system import System

PROGRAM = PROGRAMS / "ws-wakes"
LIMIT_S = 60.0
SAMPLES, MEASURE_MS = 300, 200  # of a series
TAIL_SAMPLES = 100  # fewer have no percentile 99
BUSY_TICKS = 2  # of 10 ms, in a second
REALTIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
KERNEL_THREAD = 0x00200000  # of a thread's flags
SOURCES = ("wakes/main.c", "src/words.c", "src/report.c", "src/process.c")


class WakesError(Exception):
    """There is no measurement. Its message is the reason."""


class Series(BaseModel):
    """One line of ws-wakes."""

    kind: str
    sched_class: str = Field(alias="class")
    gap_us: int
    hold: bool
    samples: int
    p50_us: float
    p99_us: float
    max_us: float
    call_us: float | None = Field(None, alias="call_p50_us")  # median time of the call that wakes

    @property
    def tail_us(self) -> float:
        """Percentile 99; of too few samples the longest."""
        return self.p99_us if self.samples >= TAIL_SAMPLES else self.max_us


class Wakes(NamedTuple):
    series: tuple[Series, ...]
    skipped: tuple[str, ...]  # what could not be measured, and why

    def find(self, kind: str, sched_class: str, gap_us: int, hold: bool = False) -> Series | None:
        wanted = (kind, sched_class, gap_us, hold)
        found = (s for s in self.series if (s.kind, s.sched_class, s.gap_us, s.hold) == wanted)
        return next(found, None)

    @property
    def best_class(self) -> str:
        """The class of OAI's workers where it is allowed."""
        return "fifo" if any(series.sched_class == "fifo" for series in self.series) else "other"


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
                series.append(Series.model_validate(line))
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise WakesError(f"ws-wakes printed an unknown line: {row[:200]!r}") from error
    return Wakes(tuple(series), tuple(skipped))


def output(words: list[str]) -> str:
    """Standard output of a program."""
    name = Path(words[0]).name
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WakesError(f"{name}: {error}") from error
    if answer.returncode < 0:
        raise WakesError(f"{name}: ended by signal {-answer.returncode}: it took too long, or was killed")
    if answer.returncode != 0:
        reason = (answer.stderr or answer.stdout).strip() or f"status {answer.returncode}"
        raise WakesError(f"{name}: {reason[:300]}")
    return answer.stdout


def _realtime_ticks(system: System) -> dict[str, int]:
    """CPU time of each real-time thread, without those of the kernel and this process."""
    ticks = {}
    for thread, fields in facts.threads(system, os.getpid()):
        if len(fields) >= 39 and int(fields[38]) in REALTIME and not int(fields[6]) & KERNEL_THREAD:
            ticks[thread] = int(fields[11]) + int(fields[12])
    return ticks


def busy_realtime(target: Target) -> list[str]:
    """Programs with busy real-time threads, which the threads of a measurement would delay."""
    before = _realtime_ticks(target.system)
    if not before:
        return []
    target.wait(1.0)
    after = _realtime_ticks(target.system)
    busy = (thread for thread, ticks in after.items() if ticks - before.get(thread, 0) >= BUSY_TICKS)
    return sorted({target.system.process_name(thread.split("/")[0]) or thread for thread in busy})


def chosen_cpus(target: Target) -> list[str]:
    """The last of the workers' CPUs is woken, by another core of its node, a worker's if possible."""
    system, cpu = target.system, max(target.cpus)
    siblings = facts.SIBLINGS(system, cpu) or frozenset()
    near = next((cpus for cpus in facts.NODES(system).values() if cpu in cpus), system.possible())

    def distance(other: int) -> tuple[bool, bool, bool, int]:
        return other in siblings, other not in near, other not in target.cpus, -other

    callers = (target.cpus | system.affinity()) & system.online() - {cpu}
    return [f"cpu={cpu}"] + ([f"caller_cpu={min(callers, key=distance)}"] if callers else [])


def _compile(folder: Path) -> Path:
    """Makes ws-wakes from its sources beside this package, which an installed package does not have."""
    chosen = compiler("CC") or which(*COMPILERS)
    reason = f"{PROGRAM} is not built"
    if chosen is None or not (ROOT / SOURCES[0]).is_file():
        lack = f"no C compiler ({', '.join(COMPILERS)})" if chosen is None else "its sources are not here"
        raise WakesError(f"{reason}, and {lack}; build it with ci/bench, or name another one: --wakes PATH")
    program = folder / PROGRAM.name
    options = ["-O2", "-pthread", "-D_GNU_SOURCE", f"-I{ROOT / 'src'}", "-o", str(program)]
    output([chosen, *options, *(str(ROOT / source) for source in SOURCES), "-lm"])
    return program


@contextmanager
def ready(program: Path) -> Iterator[Path]:
    """The program. Where ci/bench has not built it, one that is compiled now and removed afterwards."""
    if os.access(program, os.X_OK):
        yield program
    elif program != PROGRAM:
        raise WakesError(f"--wakes {program}: no such program, or not executable")
    else:
        with scratch_folder("wakes") as folder:
            yield _compile(folder)


def measure(target: Target, program: Path, sched_class: str = "all") -> Wakes:
    size = [f"samples={SAMPLES}", f"measure_ms={MEASURE_MS}", f"class={sched_class}"]
    with ready(program) as built:
        return parse(output([str(built), *size, *chosen_cpus(target)]))
