# SPDX-License-Identifier: BSD-3-Clause
"""What a check found, and what the checks look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from nrbench.system import Cpus, System, format_cpus


class Level(str, Enum):
    """BAD: slots will be late. WARN: some will. NOTE: worth knowing. GOOD: as it should be."""

    GOOD = "good"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


RemedyKind = Literal["command", "boot", "advice"]


@dataclass(frozen=True)
class Remedy:
    """A command for root's shell, boot parameters, or advice in words."""

    text: str
    kind: RemedyKind
    lasts: bool  # over a reboot
    note: str = ""  # when it is right, or what it costs


def command(text: str, note: str = "", lasts: bool = False) -> Remedy:
    return Remedy(text, "command", lasts, note)


def boot(parameters: str, note: str = "") -> Remedy:
    return Remedy(parameters, "boot", True, note)


def sysctl(name: str, value: int, note: str = "") -> tuple[Remedy, Remedy]:
    setting = f"{name}={value}"
    lasting = f"echo {name} = {value} > /etc/sysctl.d/90-realtime-{name.rpartition('.')[2]}.conf"
    return command(f"sysctl -w {setting}", note), command(lasting, note, lasts=True)


def advice(text: str) -> Remedy:
    """Nothing that a reboot could undo."""
    return Remedy(text, "advice", True)


@dataclass(frozen=True)
class Finding:
    check: str
    level: Level
    seen: str
    why: str = ""
    remedies: tuple[Remedy, ...] = ()
    checked: bool = True  # False: it could not be looked at here, and `seen` says why


def unseen(check: str, reason: str) -> Finding:
    return Finding(check, Level.NOTE, f"cannot be checked here: {reason}", checked=False)


@dataclass(frozen=True)
class Target:
    """The machine, and the CPUs that the workers of a pool are to have."""

    system: System
    cpus: Cpus
    wait: Callable[[float], None] = field(default=time.sleep)  # how a check lets time pass

    @property
    def list(self) -> str:
        return format_cpus(self.cpus)

    @property
    def others(self) -> Cpus:
        """CPUs that are left for the rest of the system."""
        return self.system.online() - self.cpus

    @property
    def apply_command(self) -> str:
        """With its full path, because sudo does not look where a virtual environment has its programs."""
        return f'sudo "$(command -v nrbench)" doctor --cpus {self.list} --apply --yes'

    def where(self, cpus: Iterable[int]) -> str:
        """The worker CPUs among some, for a text."""
        found = frozenset(cpus) & self.cpus
        return f"CPU{'s' if len(found) > 1 else ''} {format_cpus(found)}"


Check = Callable[[Target], list[Finding]]
