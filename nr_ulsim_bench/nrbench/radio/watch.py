# SPDX-License-Identifier: BSD-3-Clause
"""What a pair of programs costs and how steady the machine is meanwhile: CPU time and context switches by
thread, time that the hypervisor took, and how far the clocks and sleeps of a thread of its own are off."""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import struct
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from nrbench import facts
from nrbench.host import OAI_PRIORITY
from nrbench.radio.record import Clock
from nrbench.system import System

PERIOD_S = 0.01  # of the samples
TRIES, TOGETHER_S = 5, 1e-4
RADIO_UNIT, SAMPLE_CLOCK = "ru_thread", "sample clock"  # threads of a gNB
LARGEST = 5  # of which so many are recorded

_CLOCK = struct.Struct("<Q")  # samples since the start
_CLOCK_AT = 16  # of the shared memory of vrtsim
_SWITCHES = re.compile(r"^(non)?voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)


class Thread(NamedTuple):
    name: str
    cpu_ns: int
    voluntary: int  # context switches
    involuntary: int


def threads(pid: int, proc: Path = Path("/proc")) -> dict[str, Thread]:
    """Those of a process, by their ids. Threads that end meanwhile are left out."""
    found = {}
    with contextlib.suppress(OSError):
        for task in (proc / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                switches = {m[1]: int(m[2]) for m in _SWITCHES.finditer((task / "status").read_text())}
                cpu_ns = int((task / "schedstat").read_text().split()[0])
                name = (task / "comm").read_text().strip()
                found[task.name] = Thread(name, cpu_ns, switches[None], switches["non"])
    of_radio = [task for task, one in found.items() if one.name == RADIO_UNIT]
    if len(of_radio) > 1:  # vrtsim's clock is made by the thread of the radio unit, and has its name
        clock = max(of_radio, key=int)
        found[clock] = found[clock]._replace(name=SAMPLE_CLOCK)
    return found


def kind(name: str) -> str:
    """Of threads that differ only in a number: Tpool3_-1 and Tpool0_-1 are both Tpool."""
    return re.sub(r"[\d_-]+$", "", name) or name


def spent(before: dict[str, Thread], after: dict[str, Thread]) -> dict[str, object]:
    """Fields of a record's side. What a thread spent before both readings of it does not count."""
    cpu_s: Counter[str] = Counter()
    voluntary = involuntary = 0
    for task, now in after.items():
        then = before.get(task, Thread(now.name, 0, 0, 0))
        cpu_s[kind(now.name)] += (now.cpu_ns - then.cpu_ns) / 1e9  # type: ignore[assignment]
        voluntary += now.voluntary - then.voluntary
        involuntary += now.involuntary - then.involuntary
    times = {name: round(seconds, 4) for name, seconds in cpu_s.most_common() if seconds >= 0.001}
    return {"cpu_s": times, "voluntary": voluntary, "involuntary": involuntary}


def cpu_times(system: System) -> tuple[int, int]:
    """Of all CPUs since the boot, in ticks: all, and those that the hypervisor gave to other machines."""
    found = facts.cpu_times(system).get("cpu")
    return (sum(found), found.steal) if found else (0, 0)


def steal_share(before: tuple[int, int], after: tuple[int, int]) -> float | None:
    total = after[0] - before[0]
    return min(1.0, max(0, after[1] - before[1]) / total) if total > 0 else None


class Sample(NamedTuple):
    real_s: float  # CLOCK_REALTIME, which the sample clock follows
    monotonic_s: float
    late_s: float  # after the end of the sleep that was asked for
    clock: int | None  # samples


class Sampler(threading.Thread):
    """Sleeps and looks at the clocks, where it may above OAI's priorities. Only the machine makes its sleeps
    late then: an interrupt, the hypervisor, another real-time program."""

    def __init__(self, shared_memory: Path) -> None:
        super().__init__(daemon=True)
        self.samples: list[Sample] = []
        self._shared_memory = shared_memory
        self._ended = threading.Event()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(OAI_PRIORITY + 1))
        with contextlib.ExitStack() as stack:
            memory = None
            with contextlib.suppress(OSError):
                memory = stack.enter_context(open(self._shared_memory, "rb")).fileno()
            while not self._ended.is_set():
                wanted = time.monotonic() + PERIOD_S
                time.sleep(PERIOD_S)
                self.samples.append(self._look(wanted, memory))

    @staticmethod
    def _look(wanted: float, memory: int | None) -> Sample:
        """All three clocks at once: a reading that was interrupted is taken again."""
        late_s = time.monotonic() - wanted
        for _ in range(TRIES):
            before = time.monotonic()
            data = b"" if memory is None else os.pread(memory, _CLOCK.size, _CLOCK_AT)
            real_s, after = time.time(), time.monotonic()
            if after - before < TOGETHER_S:
                break
        clock = _CLOCK.unpack(data)[0] if len(data) == _CLOCK.size else None
        return Sample(real_s, after, late_s, clock)

    def end(self) -> Clock:
        self._ended.set()
        self.join()
        return judge(self.samples)


def _largest_ms(values: list[float]) -> tuple[float, ...]:
    return tuple(round(1000 * value, 3) for value in sorted(values, reverse=True)[:LARGEST])


def _behind_s(samples: list[Sample]) -> list[float]:
    """How far the sample clock is behind CLOCK_REALTIME, above the least of all samples: it will jump by as
    much. Its rate is that between the first and the last sample."""
    first, last = samples[0], samples[-1]
    if first.clock is None or last.clock is None or last.clock <= first.clock:
        return []
    rate = (last.clock - first.clock) / (last.real_s - first.real_s)
    behind = [
        s.real_s - first.real_s - (s.clock - first.clock) / rate for s in samples if s.clock is not None
    ]
    least = min(behind)
    return [value - least for value in behind]


def judge(samples: list[Sample]) -> Clock:
    if len(samples) < 2:
        return Clock()
    offsets = [sample.real_s - sample.monotonic_s for sample in samples]
    moves = [abs(after - before) for before, after in zip(offsets, offsets[1:])]
    late = [max(0.0, sample.late_s) for sample in samples]
    return Clock(
        jumps_ms=_largest_ms(_behind_s(samples)),
        realtime_jumps_ms=_largest_ms([move for move in moves if move > 1e-3]),
        late_sleep_us_p99=round(1e6 * statistics.quantiles(late, n=100, method="inclusive")[98], 1),
    )
