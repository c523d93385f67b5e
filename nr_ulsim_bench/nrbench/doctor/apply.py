# SPDX-License-Identifier: BSD-3-Clause
"""Writes settings, reads each back, and restores them. The values before are in a file first."""

from __future__ import annotations

import datetime
import errno
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from nrbench.doctor.settings import WRITABLE, Change, SettingsError, same
from nrbench.system import System

BOOT_ID = "/proc/sys/kernel/random/boot_id"
Outcome = Literal["set", "refused", "restored", "as before", "changed since", "gone"]


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
    record = asdict(Undo(list(changes), system.text(BOOT_ID))) | {"written": now}
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
    if record.boot_id != system.text(BOOT_ID):
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
