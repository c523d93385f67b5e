# SPDX-License-Identifier: BSD-3-Clause
"""The machine that is examined, the CPUs of the workers on it, what happens there within a second, and what a
check sees of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nrbench import facts
from nrbench.facts import File
from nrbench.system import Cpus, System, format_cpus

T = TypeVar("T")
WINDOW_S = 1.0
MANAGED_IRQ_SINCE = (5, 6)  # a kernel that does not know a flag of isolcpus ignores all of it
FIELDS = 8  # of a CPU's times; those behind are in user time already
KERNEL_THREAD = 0x00200000  # of a thread's flags
REALTIME = {1: "SCHED_FIFO", 2: "SCHED_RR", 6: "SCHED_DEADLINE"}


class Level(str, Enum):
    """BAD: slots will be late. WARN: some will. NOTE: worth knowing. GOOD: as it should be."""

    GOOD = "good"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


class Seen(NamedTuple):
    """What a check sees: its text, and which texts of its row belong to it, with values for these."""

    level: Level
    text: str
    case: str = ""
    values: dict[str, Any] = {}
    checked: bool = True  # False: the text is the reason why it cannot be checked here


def _seen(level: Level, text: str, case: str = "", /, **values: Any) -> Seen:
    return Seen(level, text, case, values)


good, note, warn, bad = (partial(_seen, level) for level in Level)


def unseen(reason: str) -> Seen:
    return Seen(Level.NOTE, f"cannot be checked here: {reason}", checked=False)


class Unseen(Exception):
    """Something cannot be checked here. Its message is the reason."""


def visible(value: T | None, reason: str) -> T:
    """The value. None raises Unseen."""
    if value is None:
        raise Unseen(reason)
    return value


class Thread(NamedTuple):
    """A real-time thread."""

    ids: str  # of process and thread
    name: str
    sched_class: str
    cpu: int
    of_kernel: bool
    ticks: int  # of CPU time


class Second(NamedTuple):
    """What happened within a second."""

    ticks: np.ndarray  # of the workers' CPUs: user, nice, system, idle, ...
    threads: list[Thread]
    clocks_ns: np.ndarray | None

    @property
    def share(self) -> np.ndarray:
        if not self.ticks.size:
            raise Unseen(f"{facts.CPU_TIMES.label} does not show the workers' CPUs")
        share: np.ndarray = self.ticks / max(self.ticks.sum(), 1)
        return share


@dataclass(frozen=True)
class Target:
    """The machine, and the CPUs for the workers of a pool."""

    system: System
    cpus: Cpus
    wakes: Path | None = None  # the program ws-wakes; None: wakes are not measured

    @property
    def names(self) -> str:
        return format_cpus(self.cpus)

    @property
    def others(self) -> Cpus:
        """CPUs for the rest of the system."""
        return self.system.online() - self.cpus

    @property
    def values(self) -> dict[str, Any]:
        """For the texts of all checks. Some are there only where the system has another CPU, or has none."""
        each = " ".join(map(str, sorted(self.cpus)))
        found = {"cpus": self.names, "each": each, "limit": facts.RESUME_LATENCY.at("$n")}
        if not self.others:
            return found | {"leave": "leave a CPU to the rest of the system: --cpus"}
        # With its full path, because sudo does not look where a virtual environment has its programs.
        write = f'sudo "$(command -v nrbench)" doctor --cpus {self.names} --tuned /etc/tuned/nrbench'
        return found | {
            "rest": format_cpus(self.others),
            "nohz_full": f"nohz_full={self.names}",
            "rcu_nocbs": f"rcu_nocbs={self.names}",
            "isolcpus": self.isolcpus,
            "tuned": f"{write} && sudo tuned-adm profile nrbench",
        }

    @property
    def isolcpus(self) -> str:
        """With domain, without which flags leave other threads there."""
        flags = "managed_irq,domain," if facts.kernel_number(self.system) >= MANAGED_IRQ_SINCE else ""
        return f"isolcpus={flags}{self.names}"

    def where(self, cpus: Iterable[int]) -> str:
        """The workers' CPUs among these, as text."""
        found = frozenset(cpus) & self.cpus
        return f"CPU{'s' if len(found) > 1 else ''} {format_cpus(found)}"

    def each(self, fact: File[str | None]) -> list[str]:
        """Values on the workers' CPUs, each once."""
        return sorted(set(filter(None, (fact(self.system, cpu) for cpu in self.cpus))))

    def see(self, fact: File[T | None]) -> T:
        """The fact. A file that is not there, or that is empty, raises Unseen."""
        value = fact(self.system)
        return visible(None if value in ("", [], {}) else value, f"{fact.label} is not visible")

    @cached_property
    def second(self) -> Second:
        """Is measured once, when it is first asked for, without the time that looking at threads takes."""
        before, clocks_ns, ticks = self._threads(), facts.clocks_ns(self.system), self._ticks()
        time.sleep(WINDOW_S)
        spent, now_ns = self._ticks() - ticks, facts.clocks_ns(self.system)
        clocks = np.subtract(now_ns, clocks_ns) if now_ns and clocks_ns else None
        threads = [
            now._replace(ticks=now.ticks - before.get(ids, now).ticks) for ids, now in self._threads().items()
        ]
        return Second(spent, threads, clocks)

    def _ticks(self) -> np.ndarray:
        """Sums over the workers' CPUs since boot."""
        names = {f"cpu{cpu}" for cpu in self.cpus}
        rows = [line.split() for line in (facts.CPU_TIMES(self.system) or "").splitlines()]
        found = [row[1 : FIELDS + 1] for row in rows if row[0] in names and len(row) > FIELDS]
        return np.sum(np.array(found, dtype=int), axis=0) if found else np.array([], dtype=int)

    def _threads(self) -> dict[str, Thread]:
        found = {}
        for ids, name, about in facts.threads(self.system, os.getpid()):
            if len(about) >= 39 and (policy := REALTIME.get(int(about[38]))):
                of_kernel, ticks = bool(int(about[6]) & KERNEL_THREAD), int(about[11]) + int(about[12])
                sched_class = f"{policy} {int(about[37]) or ''}".strip()
                found[ids] = Thread(ids, name, sched_class, int(about[36]), of_kernel, ticks)
        return found
