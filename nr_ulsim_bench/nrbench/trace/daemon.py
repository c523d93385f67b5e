# SPDX-License-Identifier: BSD-3-Clause
"""LTTng's session daemon. `lttng create` starts one where none runs, and it stays: every program that is
linked with lttng-ust then starts with a wait for it. So a daemon that a recording has started ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Iterator

from nrbench.trace.errors import TraceError
from nrbench.trace.lttng import run_lttng

NAME = "lttng-sessiond"
ROOTS_FOLDER = Path("/var/run/lttng")
END_S = 10.0


def run_folder() -> Path:
    """Where lttng-sessiond of this user has its sockets."""
    if os.geteuid() == 0:
        return ROOTS_FOLDER
    return Path(os.environ.get("LTTNG_HOME") or os.environ.get("HOME", "/"), ".lttng")


def running() -> int | None:
    """@return the process number of this user's daemon; None where none runs"""
    try:
        pid = int((run_folder() / f"{NAME}.pid").read_text())
        comm = Path("/proc", str(pid), "comm").read_text()
    except (OSError, ValueError):
        return None
    return pid if comm.strip() == NAME else None


def _is_needed() -> bool:
    """Whether somebody has a session; also when that cannot be told."""
    try:
        root = ElementTree.fromstring(run_lttng("--mi=xml", "list"))
    except (TraceError, ElementTree.ParseError):
        return True
    return any(element.tag.rpartition("}")[2] == "session" for element in root.iter())


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError:
        return
    end = time.monotonic() + END_S
    while running() == pid and time.monotonic() < end:
        time.sleep(0.02)


@contextlib.contextmanager
def ends_with_block() -> Iterator[None]:
    """A daemon that runs before is left alone, and one that others record with."""
    was_running = running() is not None
    try:
        yield
    finally:
        pid = running()
        if not was_running and pid is not None and not _is_needed():
            _end(pid)
