#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Python's os.fork() in a program that has loaded the library by ctypes. Argument: the shared library.

The child makes a pool of its own, its tasks call back into Python, and it ends as Python does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

TASKS = 100
SETTINGS_BYTES_MAX = 4096  # more than ws_settings_t has
HAS_WORKED = 42
FUNC = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Task(ctypes.Structure):
    """ws_task_t"""

    _fields_ = (
        ("func", FUNC),
        ("arg", ctypes.c_void_p),
        ("group", ctypes.c_void_p),
        ("priority", ctypes.c_int),
        ("node", ctypes.c_uint32),
    )


class Pool:
    def __init__(self, library: ctypes.CDLL) -> None:
        settings = ctypes.create_string_buffer(SETTINGS_BYTES_MAX)
        self.library, self.native = library, ctypes.c_void_p()
        library.ws_settings_init(settings, ctypes.c_size_t(len(settings)))
        assert library.ws_pool_create(ctypes.byref(self.native), settings) == 0

    def push(self, func: FUNC) -> int:
        return self.library.ws_pool_push(self.native, Task(func, None, None, 0, 0))

    def wait(self) -> int:
        return self.library.ws_pool_wait(self.native)

    def destroy(self) -> None:
        self.library.ws_pool_destroy(self.native)


def work(library: ctypes.CDLL) -> None:
    """A pool that runs some functions of Python."""
    pool, ran = Pool(library), []
    func = FUNC(lambda _: ran.append(1))
    assert all(pool.push(func) == 0 for _ in range(TASKS))
    assert pool.wait() == 0 and len(ran) == TASKS
    pool.destroy()


def child(library: ctypes.CDLL, parents: Pool) -> None:
    assert parents.push(FUNC(lambda _: None)) == -errno.ESRCH
    assert parents.wait() == -errno.ESRCH
    parents.destroy()
    work(library)


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    work(library)
    parents = Pool(library)
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            child(library, parents)
            sys.exit(HAS_WORKED)
        _, status = os.waitpid(pid, 0)
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == HAS_WORKED, status
    parents.destroy()


if __name__ == "__main__":
    main()
