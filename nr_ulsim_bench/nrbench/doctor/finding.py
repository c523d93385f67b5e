# SPDX-License-Identifier: BSD-3-Clause
"""The findings of checks, and the machine that the checks examine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from nrbench.doctor import remedy as do
from nrbench.doctor.remedy import Remedy
from nrbench.facts import File
from nrbench.system import Cpus, System, format_cpus

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
    wait: Callable[[float], None] = field(default=lambda seconds: time.sleep(seconds))  # tests replace it

    @property
    def list(self) -> str:
        return format_cpus(self.cpus)

    @property
    def others(self) -> Cpus:
        """CPUs for the rest of the system."""
        return self.system.online() - self.cpus

    @property
    def apply_command(self) -> Remedy:
        """With its full path, because sudo does not look where a virtual environment has its programs."""
        return do.command(f'sudo "$(command -v nrbench)" doctor --cpus {self.list} --apply --yes')

    def where(self, cpus: Iterable[int]) -> str:
        """The workers' CPUs among these, as text."""
        found = frozenset(cpus) & self.cpus
        return f"CPU{'s' if len(found) > 1 else ''} {format_cpus(found)}"

    def see(self, fact: File[T | None], *which: object) -> T:
        """The fact. A file that is not there, or that is empty, raises Unseen."""
        value = fact(self.system, *which)
        return visible(None if value in ("", [], {}) else value, f"{fact.label} is not visible")


Look = Callable[[Target], Finding | list[Finding]]
Check = Callable[[Target], list[Finding]]
CHECKS: dict[str, list[Check]] = {}  # by area, in the order of the report


def named(name: str) -> Callable[[Look], Check]:
    """Makes a check of a function: names its findings, and turns Unseen into one."""

    def decorate(look: Look) -> Check:
        def run(target: Target) -> list[Finding]:
            try:
                found = look(target)
            except Unseen as error:
                return [unseen(name, str(error))]
            findings = [found] if isinstance(found, Finding) else found
            return [finding if finding.check else replace(finding, check=name) for finding in findings]

        return run

    return decorate


def area(title: str) -> Callable[[str], Callable[[Look], Check]]:
    """Makes a decorator with which the checks of an area enter the list."""

    def check(name: str) -> Callable[[Look], Check]:
        def enter(look: Look) -> Check:
            CHECKS.setdefault(title, []).append(named(name)(look))
            return CHECKS[title][-1]

        return enter

    return check
