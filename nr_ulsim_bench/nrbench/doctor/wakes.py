# SPDX-License-Identifier: BSD-3-Clause
"""Runs ws-wakes, which measures how long this host takes to wake a thread."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from nrbench.doctor.finding import Target
from nrbench.system import CPU, System

PROGRAM = Path(__file__).resolve().parents[3] / "build-bench" / "nr_ulsim_bench" / "bin" / "ws-wakes"
LIMIT_S = 60.0
SAMPLES, MEASURE_MS = 300, 200  # of a series
TAIL_SAMPLES = 100  # fewer have no percentile 99
BUSY_TICKS = 2  # of 10 ms, in a second
REALTIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
KERNEL_THREAD = 0x00200000  # of a thread's flags


SOURCES = ("wakes/main.c", "wakes/series.c", "src/words.c", "src/report.c", "src/process.c")
COMPILERS = ("cc", "gcc", "clang")


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
    for pid in filter(str.isdigit, system.names("/proc")):
        for thread in system.names(f"/proc/{pid}/task") if pid != str(os.getpid()) else ():
            _, _, rest = (system.text(f"/proc/{pid}/task/{thread}/stat") or "").rpartition(")")
            fields = rest.split()  # from the third on, the state
            if len(fields) < 39 or int(fields[38]) not in REALTIME or int(fields[6]) & KERNEL_THREAD:
                continue
            ticks[f"{pid}/{thread}"] = int(fields[11]) + int(fields[12])
    return ticks


def busy_realtime(target: Target) -> list[str]:
    """Programs with busy real-time threads, which the threads of a measurement would delay."""
    before = _realtime_ticks(target.system)
    if not before:
        return []
    target.wait(1.0)
    after = _realtime_ticks(target.system)
    busy = (thread for thread, ticks in after.items() if ticks - before.get(thread, 0) >= BUSY_TICKS)
    return sorted({target.system.text(f"/proc/{thread.split('/')[0]}/comm") or thread for thread in busy})


def _node(system: System, cpu: int) -> str:
    names = (name for name in system.names(f"{CPU}/cpu{cpu}") if re.fullmatch(r"node\d+", name))
    return next(names, "")


def chosen_cpus(target: Target) -> list[str]:
    """The last of the workers' CPUs is woken, by another core of its node, a worker's if possible."""
    system, cpu = target.system, max(target.cpus)
    siblings = system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list") or frozenset()

    def distance(other: int) -> tuple[bool, bool, bool, int]:
        far = _node(system, other) != _node(system, cpu)
        return other in siblings, far, other not in target.cpus, -other

    callers = (target.cpus | system.affinity()) & system.online() - {cpu}
    return [f"cpu={cpu}"] + ([f"caller_cpu={min(callers, key=distance)}"] if callers else [])


def _compile(folder: Path) -> Path:
    """Makes ws-wakes from its sources beside this package, which an installed package does not have."""
    here = Path(__file__).resolve().parents[2]
    names = filter(None, (os.environ.get("CC"), *COMPILERS))
    compiler = next(filter(None, map(shutil.which, names)), None)
    reason = f"{PROGRAM} is not built"
    if compiler is None or not (here / SOURCES[0]).is_file():
        lack = f"no C compiler ({', '.join(COMPILERS)})" if compiler is None else "its sources are not here"
        raise WakesError(f"{reason}, and {lack}; build it with ci/bench, or name another one: --wakes PATH")
    program = folder / PROGRAM.name
    options = ["-O2", "-pthread", "-D_GNU_SOURCE", f"-I{here / 'src'}", "-o", str(program)]
    output([compiler, *options, *(str(here / source) for source in SOURCES), "-lm"])
    return program


@contextmanager
def ready(program: Path) -> Iterator[Path]:
    """The program. Where ci/bench has not built it, one that is compiled now and removed afterwards."""
    if os.access(program, os.X_OK):
        yield program
    elif program != PROGRAM:
        raise WakesError(f"--wakes {program}: no such program, or not executable")
    else:
        with TemporaryDirectory(prefix="nrbench-") as folder:
            yield _compile(Path(folder))


def measure(target: Target, program: Path, sched_class: str = "all") -> Wakes:
    size = [f"samples={SAMPLES}", f"measure_ms={MEASURE_MS}", f"class={sched_class}"]
    with ready(program) as built:
        return parse(output([str(built), *size, *chosen_cpus(target)]))
