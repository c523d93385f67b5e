# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders of this program. A process that is killed leaves its folder behind: the next one that
makes a folder of that prefix removes it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Iterator

PREFIX, UNLOCKED = "nrbench-run-", ".nrbench-new-"


def _lock(folder: Path) -> int | None:
    """@return a descriptor that holds the folder's lock; None: another process holds it, or the folder is
    another user's, or gone"""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def left(prefix: str = PREFIX) -> Iterator[Path]:
    """The folders of processes that have ended, each locked meanwhile. The kernel gives up a process's lock
    when it ends."""
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{prefix}*")):
        descriptor = _lock(folder)
        if descriptor is not None:
            try:
                yield folder
            finally:
                os.close(descriptor)


def remove_left(prefix: str = PREFIX) -> None:
    for folder in left(prefix):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def scratch_folder(purpose: str, prefix: str = PREFIX) -> Iterator[Path]:
    """A folder for the time being, below TMPDIR.

    @param purpose  part of its name
    @param prefix   its name begins with it: another one where what a process leaves is still to be read"""
    remove_left(prefix)
    new = Path(tempfile.mkdtemp(prefix=UNLOCKED))
    descriptor = _lock(new)  # before it has the name by which others would take it for one that was left
    folder = new.rename(new.with_name(f"{prefix}{purpose}-{new.name.removeprefix(UNLOCKED)}"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)
