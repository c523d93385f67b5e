# SPDX-License-Identifier: BSD-3-Clause
"""The findings of checks, and the machine that they examine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from nrbench.doctor.remedy import Remedy
from nrbench.system import Cpus, System, format_cpus, parse_cpus

T = TypeVar("T")


class Level(str, Enum):
    """BAD: slots will be late. WARN: some will. NOTE: worth knowing. GOOD: as it should be."""

    GOOD = "good"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    level: Level
    seen: str
    why: str = ""
    remedies: tuple[Remedy, ...] = ()
    check: str = ""
    checked: bool = True  # False: `seen` is the reason why it cannot be checked here


def good(seen: str, why: str = "") -> Finding:
    return Finding(Level.GOOD, seen, why)


def note(seen: str, why: str = "", *remedies: Remedy) -> Finding:
    return Finding(Level.NOTE, seen, why, remedies)


def warn(seen: str, why: str, *remedies: Remedy) -> Finding:
    return Finding(Level.WARN, seen, why, remedies)


def bad(seen: str, why: str, *remedies: Remedy) -> Finding:
    return Finding(Level.BAD, seen, why, remedies)


class Unseen(Exception):
    """Something cannot be checked here. Its message is the reason."""


def unseen(check: str, reason: str) -> Finding:
    return Finding(Level.NOTE, f"cannot be checked here: {reason}", check=check, checked=False)


def listed(text: str | None) -> Cpus:
    return parse_cpus(text) if text else frozenset()


def visible(value: T | None, reason: str) -> T:
    """The value. None raises Unseen."""
    if value is None:
        raise Unseen(reason)
    return value


@dataclass(frozen=True)
class Target:
    """The machine, and the CPUs for the workers of a pool."""

    system: System
    cpus: Cpus
    wait: Callable[[float], None] = field(default=time.sleep)  # tests replace it

    @property
    def list(self) -> str:
        return format_cpus(self.cpus)

    @property
    def others(self) -> Cpus:
        """CPUs for the rest of the system."""
        return self.system.online() - self.cpus

    @property
    def apply_command(self) -> str:
        """With its full path, because sudo does not look where a virtual environment has its programs."""
        return f'sudo "$(command -v nrbench)" doctor --cpus {self.list} --apply --yes'

    def where(self, cpus: Iterable[int]) -> str:
        """The workers' CPUs among these, as text."""
        found = frozenset(cpus) & self.cpus
        return f"CPU{'s' if len(found) > 1 else ''} {format_cpus(found)}"


Check = Callable[[Target], list[Finding]]


def check(name: str) -> Callable[[Callable[[Target], Finding | list[Finding]]], Check]:
    """Makes a check of a function: names its findings, and turns Unseen into one."""

    def decorate(look: Callable[[Target], Finding | list[Finding]]) -> Check:
        def run(target: Target) -> list[Finding]:
            try:
                found = look(target)
            except Unseen as error:
                return [unseen(name, str(error))]
            findings = [found] if isinstance(found, Finding) else found
            return [finding if finding.check else replace(finding, check=name) for finding in findings]

        return run

    return decorate
