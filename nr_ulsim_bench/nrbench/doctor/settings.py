# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a running kernel that keep work off some CPUs: what --apply would write, how it is written
and read back, and how --undo restores it. The values before are in a file first."""

from __future__ import annotations

import datetime
import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from nrbench import facts
from nrbench.doctor.finding import Target
from nrbench.facts import File
from nrbench.system import Cpus, System, format_cpus, format_mask, parse_cpus, parse_mask

Kind = Literal["list", "mask", "text"]
KINDS: dict[Callable[..., object], Kind] = {System.cpus: "list", System.mask: "mask"}
Outcome = Literal["set", "refused", "restored", "as before", "changed since", "gone"]
STAT_INTERVAL_S = 120
STAT_INTERVAL_GOOD_S = 10  # and more
MANAGED_IRQ_SINCE = (5, 6)  # a kernel that does not know a flag of isolcpus ignores all of it
# The only files that are ever written, also by --undo.
WRITTEN: tuple[File[object], ...] = (
    facts.IRQ_CPUS, facts.IRQ_DEFAULT_CPUS, facts.WORKQUEUE_CPUS, facts.WORKQUEUES_CPUS, facts.GOVERNOR,
    facts.STAT_INTERVAL_S, facts.NMI_WATCHDOG, facts.WATCHDOG, facts.WATCHDOG_CPUS, facts.TIMER_MIGRATION,
)  # fmt: skip
WRITABLE = re.compile("|".join(file.pattern for file in WRITTEN))


class SettingsError(Exception):
    """Nothing can be applied or undone, and why."""


@dataclass(frozen=True)
class Change:
    """One file: what it says, and what it is to say."""

    path: str
    kind: Kind
    old: str
    new: str

    @property
    def is_irq(self) -> bool:
        return re.fullmatch(facts.IRQ_CPUS.pattern, self.path) is not None


def same(kind: Kind, one: str, other: str) -> bool:
    """The kernel writes lists and masks in its own way."""
    try:
        if kind == "list":
            return parse_cpus(one) == parse_cpus(other)
        if kind == "mask":
            return parse_mask(one) == parse_mask(other)
    except ValueError:
        return False
    return one == other


def _change(system: System, file: File[object], new: Cpus | str, *which: object) -> Iterator[Change]:
    path, kind = file.at(*which), KINDS.get(file.read, "text")
    text = new if isinstance(new, str) else format_mask(new) if kind == "mask" else format_cpus(new)
    old = system.text(path)
    if old and not same(kind, old, text):
        yield Change(path, kind, old, text)


def _narrow(target: Target, file: File[Cpus | None], *which: object) -> Iterator[Change]:
    """Takes the workers' CPUs away. The kernel refuses what leaves no CPU that is online."""
    now = file(target.system, *which) or frozenset()
    if now & target.cpus:
        left = (now - target.cpus) & target.system.online() or target.others
        yield from _change(target.system, file, left, *which)


def _interrupts(target: Target) -> Iterator[Change]:
    for irq in facts.irqs(target.system):
        if target.system.is_writable(facts.IRQ_CPUS.at(irq)):
            yield from _narrow(target, facts.IRQ_CPUS, irq)
    yield from _narrow(target, facts.IRQ_DEFAULT_CPUS)


def _workqueues(target: Target) -> Iterator[Change]:
    """The one that bounds them all, and those of writeback and others that have a mask of their own."""
    yield from _narrow(target, facts.WORKQUEUES_CPUS)
    for name in facts.WORKQUEUES(target.system):
        yield from _narrow(target, facts.WORKQUEUE_CPUS, name)


def _kernel(target: Target) -> Iterator[Change]:
    system = target.system
    if (facts.STAT_INTERVAL_S(system) or STAT_INTERVAL_S) < STAT_INTERVAL_GOOD_S:
        yield from _change(system, facts.STAT_INTERVAL_S, str(STAT_INTERVAL_S))
    yield from _change(system, facts.TIMER_MIGRATION, "0")
    yield from _change(system, facts.NMI_WATCHDOG, "0")
    if facts.WATCHDOG_CPUS(system) is None:
        yield from _change(system, facts.WATCHDOG, "0")
    yield from _narrow(target, facts.WATCHDOG_CPUS)


def _governors(target: Target) -> Iterator[Change]:
    for cpu in sorted(target.cpus):
        if "performance" in (facts.GOVERNORS(target.system, cpu) or "").split():
            yield from _change(target.system, facts.GOVERNOR, "performance", cpu)


def plan(target: Target) -> list[Change]:
    """What differs from what it should be. Files that cannot be read or are read-only are left out."""
    if not target.others:
        raise SettingsError(f"the workers' CPUs {target.list} are all there are: name fewer, with --cpus")
    if not target.cpus <= target.system.online():
        raise SettingsError(f"of --cpus {target.list} only {format_cpus(target.system.online())} are online")
    steps = (_interrupts, _workqueues, _kernel, _governors)
    return [change for step in steps for change in step(target)]


def isolcpus_parameter(target: Target) -> str:
    """With domain, without which flags leave other threads there."""
    flags = "managed_irq,domain," if facts.kernel_number(target.system) >= MANAGED_IRQ_SINCE else ""
    return f"isolcpus={flags}{target.list}"


def boot_parameters(target: Target) -> str:
    """What only the boot loader can set, for these CPUs; never written."""
    cpus, system = target.list, target.system
    words = [isolcpus_parameter(target), f"irqaffinity={format_cpus(target.others)}"]
    if not facts.built_without(system, "NO_HZ_FULL"):
        words.append(f"nohz_full={cpus}")
    if not facts.built_without(system, "RCU_NOCB_CPU"):
        words.append(f"rcu_nocbs={cpus} rcu_nocb_poll")
    return " ".join([*words, "skew_tick=1 nosoftlockup"])


@dataclass(frozen=True)
class Undo:
    """The content of an undo file."""

    changes: list[Change]
    boot_id: str | None
    nrbench_doctor_undo: Literal[1] = 1  # its format


@dataclass(frozen=True)
class Result:
    """The outcome of a change."""

    change: Change
    outcome: Outcome
    detail: str = ""
    error: int | None = None  # errno of a refused write

    @property
    def good(self) -> bool:
        """A refused interrupt is no failure where the kernel or a device manages it."""
        if self.outcome == "refused":
            return self.change.is_irq and self.error in (errno.EIO, errno.EPERM)
        return self.outcome in ("set", "restored", "as before")


def require_root(system: System) -> None:
    if system.is_real and os.geteuid() != 0:
        raise SettingsError("settings of the kernel are changed by root only: run it with sudo")


def _set(system: System, change: Change, value: str, outcome: Outcome) -> Result:
    """Writes the value and reads it back."""
    try:
        descriptor = os.open(system.path(change.path), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, value.encode() + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        return Result(change, "refused", error.strerror or str(error), error.errno)
    now = system.text(change.path)
    if now is None or not same(change.kind, now, value):
        return Result(change, "refused", f"was accepted, but reads {now!r} afterwards")
    return Result(change, outcome)


def write_undo(path: Path, system: System, changes: Sequence[Change]) -> None:
    """The file is on the disk when this returns. An existing file is never overwritten."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    record = asdict(Undo(list(changes), facts.BOOT_ID(system))) | {"written": now}
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; nothing was changed") from error


def apply(system: System, changes: Sequence[Change], undo_file: Path) -> Iterator[Result]:
    """Sets one after the other, after all values before are on the disk."""
    require_root(system)
    write_undo(undo_file, system, changes)
    for change in changes:
        yield _set(system, change, change.new, "set")


def read_undo(path: Path, system: System) -> list[Change]:
    try:
        record = TypeAdapter(Undo).validate_json(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(
            f"{path}: not written by nrbench doctor --apply: {where} {first['msg']}"
        ) from error
    if record.boot_id != facts.BOOT_ID(system):
        raise SettingsError(
            f"{path}: of another machine, or from before a reboot, which undoes all; nothing was changed"
        )
    for number, change in enumerate(record.changes, start=1):
        if not WRITABLE.fullmatch(change.path):
            raise SettingsError(
                f"{path}: change {number}: {change.path!r} is no setting that this program writes"
            )
    return record.changes


def undo(system: System, changes: Sequence[Change]) -> Iterator[Result]:
    """Restores, the last change first, what still has the value that was set."""
    require_root(system)
    for change in reversed(changes):
        now = system.text(change.path)
        if now is None:
            yield Result(change, "gone")
        elif same(change.kind, now, change.old):
            yield Result(change, "as before")
        elif not same(change.kind, now, change.new):
            yield Result(change, "changed since", f"another program set it to {now!r}; left alone")
        else:
            yield _set(system, change, change.old, "restored")
