# SPDX-License-Identifier: BSD-3-Clause
"""Writes settings, each verified, and takes them back: what was there before is in a file first."""

from __future__ import annotations

import datetime
import errno
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nrbench.doctor.settings import WRITABLE, Change, SettingsError, same
from nrbench.system import System

FORMAT = 1
BOOT_ID = "/proc/sys/kernel/random/boot_id"
Outcome = Literal["set", "refused", "restored", "as before", "changed since", "gone"]


@dataclass(frozen=True)
class Refusal:
    why: str
    number: int | None = None  # errno


@dataclass(frozen=True)
class Result:
    """What became of a change."""

    change: Change
    outcome: Outcome
    refused: Refusal | None = None
    detail: str = ""

    @property
    def good(self) -> bool:
        """Interrupts that the kernel or a device keeps for itself are no failure."""
        if self.refused:
            return self.change.is_irq and self.refused.number in (errno.EIO, errno.EPERM)
        return self.outcome in ("set", "restored", "as before")


def require_root(system: System) -> None:
    if system.is_real and os.geteuid() != 0:
        raise SettingsError("settings of the kernel are changed by root only: run it with sudo")


def _write(system: System, path: str, text: str) -> Refusal | None:
    """None = it was not refused."""
    try:
        descriptor = os.open(system.path(path), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode() + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        return Refusal(error.strerror or str(error), error.errno)
    return None


def _set(system: System, change: Change, value: str) -> Refusal | None:
    """Write and read back."""
    refused = _write(system, change.path, value)
    if refused:
        return refused
    now = system.text(change.path)
    if now is None or not same(change.kind, now, value):
        return Refusal(f"was taken, and reads {now!r} afterwards")
    return None


def _result(change: Change, done: Outcome, refused: Refusal | None) -> Result:
    return Result(change, "refused", refused, refused.why) if refused else Result(change, done)


def write_undo(path: Path, system: System, changes: Sequence[Change]) -> None:
    """On the disk when this returns. A file that is there is never overwritten."""
    record = {
        "nrbench_doctor_undo": FORMAT,
        "written": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "boot_id": system.text(BOOT_ID),
        "changes": [asdict(change) for change in changes],
    }
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
    """Set one after the other, after all old values are on the disk."""
    require_root(system)
    write_undo(undo_file, system, changes)
    for change in changes:
        refused = _set(system, change, change.new)
        yield _result(change, "set", refused)


def _read_change(entry: dict[str, Any], where: str) -> Change:
    try:
        change = Change(**entry)
    except TypeError as error:
        raise SettingsError(f"{where}: {error}") from error
    texts = (change.path, change.old, change.new)
    if not all(isinstance(text, str) for text in texts) or not WRITABLE.fullmatch(change.path):
        raise SettingsError(f"{where}: {change.path!r} is no setting that this program writes")
    if change.kind not in ("list", "mask", "text"):
        raise SettingsError(f"{where}: unknown kind {change.kind!r}")
    return change


def read_undo(path: Path, system: System) -> list[Change]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"{path}: not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("nrbench_doctor_undo") != FORMAT:
        raise SettingsError(f"{path}: not written by nrbench doctor --apply")
    if record.get("boot_id") != system.text(BOOT_ID):
        raise SettingsError(
            f"{path}: of another machine, or from before a reboot, which undoes all; nothing was changed"
        )
    entries = record.get("changes")
    if not isinstance(entries, list):
        raise SettingsError(f"{path}: it has no list of changes")
    return [_read_change(entry, f"{path}: change {n}") for n, entry in enumerate(entries, start=1)]


def undo(system: System, changes: Sequence[Change]) -> Iterator[Result]:
    """Restore what still has the value that was set, the last one first."""
    require_root(system)
    for change in reversed(changes):
        now = system.text(change.path)
        if now is None:
            yield Result(change, "gone")
        elif same(change.kind, now, change.old):
            yield Result(change, "as before")
        elif not same(change.kind, now, change.new):
            yield Result(change, "changed since", detail=f"somebody set it to {now!r}; left alone")
        else:
            refused = _set(system, change, change.old)
            yield _result(change, "restored", refused)
