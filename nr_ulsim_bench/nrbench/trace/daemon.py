# SPDX-License-Identifier: BSD-3-Clause
"""LTTng's session daemon. `lttng create` starts one where none runs, and it stays: every program that is
linked with lttng-ust then starts with a wait for it. So a daemon that a recording has started ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Iterator

from nrbench.trace.lttng import listed

NAME = "lttng-sessiond"
ROOTS_FOLDER = Path("/var/run/lttng")
END_S = 10.0


def run_folder() -> Path:
    """Where lttng-sessiond of this user has its sockets."""
    if os.geteuid() == 0:
        return ROOTS_FOLDER
    return Path(os.environ.get("LTTNG_HOME") or os.environ.get("HOME", "/"), ".lttng")


def running() -> int | None:
    """@return the process id of this user's daemon; None where none runs"""
    try:
        pid = int((run_folder() / f"{NAME}.pid").read_text())
        comm = Path("/proc", str(pid), "comm").read_text()
    except (OSError, ValueError):
        return None
    return pid if comm.strip() == NAME else None


def _is_needed() -> bool:
    """Whether a session exists; also when LTTng does not answer."""
    elements = listed("list")
    return elements is None or any(tag == "session" for tag, _ in elements)


@contextlib.contextmanager
def ends_with_block() -> Iterator[None]:
    """Ends a daemon that was started in the block, unless it has sessions of others."""
    was_running = running() is not None
    try:
        yield
    finally:
        pid = running()
        if not was_running and pid is not None and not _is_needed():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + END_S
            while running() == pid and time.monotonic() < end:
                time.sleep(0.02)
