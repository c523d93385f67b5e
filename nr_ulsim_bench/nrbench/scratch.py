# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders of this program. A process that is killed leaves its folder behind: the next one that
makes a folder removes it."""

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


def remove_left() -> None:
    """The folders of processes that have ended: the kernel gives up a process's lock when it ends."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        descriptor = _lock(folder)
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


@contextlib.contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A folder for the time being, below TMPDIR. @param purpose  part of its name"""
    remove_left()
    new = Path(tempfile.mkdtemp(prefix=UNLOCKED))
    descriptor = _lock(new)  # before it has the name by which others would take it for one that was left
    folder = new.rename(new.with_name(f"{PREFIX}{purpose}-{new.name.removeprefix(UNLOCKED)}"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)
