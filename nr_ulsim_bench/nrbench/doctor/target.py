# SPDX-License-Identifier: BSD-3-Clause
"""The machine that is examined, the CPUs of the workers on it, what happens there within a second, and what a
check sees of it."""

import os
import shlex
import sys
import time
from collections.abc import Iterable
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nrbench import facts
from nrbench.facts import Thread, Ticks
from nrbench.places import ROOT
from nrbench.system import CPU, Cpus, System, format_cpus

T = TypeVar("T")
WINDOW_S = 1.0
MANAGED_IRQ_SINCE = (5, 6)  # a kernel that does not know a flag of isolcpus ignores all of it


class Level(str, Enum):
    """BAD: slots will be late. WARN: some will. NOTE: worth knowing. GOOD: as it should be. UNSEEN: cannot be
    checked here."""

    UNSEEN = "?"
    GOOD = "good"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


class Seen(NamedTuple):
    """What a check sees: its text, and values for the other texts of its row."""

    level: Level
    text: str
    values: dict[str, Any] = {}


def _seen(level: Level, text: str, /, **values: Any) -> Seen:
    return Seen(level, text, values)


good, note, warn, bad = (partial(_seen, level) for level in Level if level is not Level.UNSEEN)


class Unseen(Exception):
    """Something cannot be checked here. Its message is the reason."""


def visible(value: T | None, reason: str) -> T:
    """The value. None raises Unseen."""
    if value is None:
        raise Unseen(reason)
    return value


def this_program() -> str:
    """As it was started, and as sudo runs it: that looks neither where a virtual environment has its programs
    nor at PYTHONPATH."""
    if (program := Path(sys.argv[0]).absolute()).name == "nrbench":
        return shlex.quote(str(program))
    return f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)} -m nrbench"


class Second(NamedTuple):
    """What happened within a second."""

    ticks: Ticks  # of the workers' CPUs
    threads: list[Thread]  # real-time ones

    def share(self, ticks: int) -> float:
        return ticks / max(sum(self.ticks), 1)


class Target:
    """The machine, and the CPUs for the workers of a pool.

    others  CPUs for the rest of the system
    wakes   the program ws-wakes; None: wakes are not measured"""

    def __init__(self, system: System, cpus: Cpus, wakes: Path | None = None) -> None:
        self.system, self.cpus, self.wakes = system, cpus, wakes
        self.names, self.others = format_cpus(cpus), system.online() - cpus

    @property
    def values(self) -> dict[str, Any]:
        """For the texts of all checks. Some are there only where the system has another CPU, or has none."""
        each = " ".join(map(str, sorted(self.cpus)))
        found = {"cpus": self.names, "each": each, "cpu": CPU}
        if not self.others:
            return found | {"leave": "leave a CPU to the rest of the system: --cpus"}
        write = f"sudo {this_program()} doctor --cpus {self.names} --tuned /etc/tuned/nrbench"
        tuned = f"{write} && sudo tuned-adm profile nrbench"
        flags = "managed_irq,domain," if facts.kernel_number(self.system) >= MANAGED_IRQ_SINCE else ""
        isolcpus = f"isolcpus={flags}{self.names}"  # without domain, flags leave other threads there
        kept = {"kept": self.names, "rest": format_cpus(self.others)}
        return found | kept | {"isolcpus": isolcpus, "tuned": tuned}

    def where(self, cpus: Iterable[int]) -> str:
        """The workers' CPUs among these, as text."""
        found = frozenset(cpus) & self.cpus
        return f"CPU{'s' if len(found) > 1 else ''} {format_cpus(found)}"

    @cached_property
    def second(self) -> Second:
        """Is measured once, when it is first asked for, without the time that looking at threads takes."""
        before, begin = self._threads(), self._ticks()
        time.sleep(WINDOW_S)
        # A counter may go back, as when a CPU goes offline, or a virtual machine moves to another host.
        each = [zip(now, begin[cpu]) for cpu, now in self._ticks().items() if cpu in begin]
        grown = [[max(now - then, 0) for now, then in of_cpu] for of_cpu in each]
        spent = Ticks(*map(sum, zip((0, 0, 0), *grown)))
        known = {ids: thread.ticks for ids, thread in before.items()}
        now = self._threads().items()
        return Second(spent, [t._replace(ticks=t.ticks - known.get(ids, t.ticks)) for ids, t in now])

    def _ticks(self) -> dict[int, Ticks]:
        times = facts.cpu_times(self.system)
        found = {cpu: times[f"cpu{cpu}"] for cpu in self.cpus if f"cpu{cpu}" in times}
        return visible(found or None, "/proc/stat does not show the workers' CPUs")

    def _threads(self) -> dict[tuple[str, str], Thread]:
        threads = facts.realtime_threads(self.system, os.getpid())
        return {(thread.process, thread.number): thread for thread in threads}
