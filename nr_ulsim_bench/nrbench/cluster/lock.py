# SPDX-License-Identifier: BSD-3-Clause
"""One measurement at a time on a machine: a lock that clusters of several users share.

The lock is flock(2) on a file that anyone may open for reading and only its maker may write. It ends with the
process that holds it, however that ends. A container has a lock of its own unless the folder is mounted."""

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Iterator

from nrbench.session import MachineLost

FOLDERS = (Path("/run/lock"), Path("/tmp"))
NAME = "nrbench-machine.lock"
VARIABLE = "NRBENCH_MACHINE_LOCK"  # names another file; for tests with several made-up machines on one
LOOK_S = 0.2
WAIT_S = 3600.0  # for another measurement to end
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_SHARED = stat.S_ISVTX | stat.S_IWOTH


def lock_path() -> Path:
    """The first folder in which every user may make a file, and none may remove another's."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    shared = (one for one in FOLDERS if one.is_dir() and one.stat().st_mode & _SHARED == _SHARED)
    return next(shared, FOLDERS[-1]) / NAME


def _try(path: Path) -> int | None:
    """Never O_CREAT on a file that is there: in shared folders Linux refuses that for another user's file
    (fs.protected_regular). Another user may have made a pipe of that name: without O_NONBLOCK, to open it
    would block until a process writes to it. A pipe serves as well as a file.

    @return None: another measurement holds it, or the file was replaced and others lock another one"""
    with contextlib.suppress(FileExistsError):
        made = os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, 0o444)
        os.fchmod(made, 0o444)  # whatever the umask
        os.close(made)
    with contextlib.ExitStack() as stack, contextlib.suppress(BlockingIOError, FileNotFoundError):
        handle = os.open(path, FLAGS)
        stack.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False)):
            stack.pop_all()
            return handle
    return None


@contextlib.contextmanager
def machine_lock(path: Path | None = None) -> Iterator[None]:
    """Blocks until no other measurement holds this machine.

    @raise MachineLost  another one holds it for longer than WAIT_S"""
    path, end = path or lock_path(), time.monotonic() + WAIT_S
    while (handle := _try(path)) is None:
        if time.monotonic() > end:
            raise MachineLost(f"another measurement holds this host ({path}) for more than {WAIT_S:.0f} s")
        time.sleep(LOOK_S)
    try:
        yield
    finally:
        os.close(handle)
