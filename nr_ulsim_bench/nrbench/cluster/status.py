# SPDX-License-Identifier: BSD-3-Clause
"""How far a session on a cluster is: a small file beside its results, which `nrbench status` reads."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, Iterator

from nrbench.driver import BenchError
from nrbench.progress import clock_text
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.sweep.record import RUNS

STATUS = "status.json"
STALE_S = 30.0


def write_status(folder: Path, status: dict[str, Any]) -> None:
    """As a whole or not at all. A full disk is told by the results, not here."""
    part = folder / f"{STATUS}.{os.getpid()}"
    with contextlib.suppress(OSError):
        try:
            part.write_text(json.dumps(status | {"pid": os.getpid(), "written_s": time.time()}))
            part.replace(folder / STATUS)
        finally:
            part.unlink(missing_ok=True)


def _lines(path: Path) -> int:
    try:
        with open(path, "rb") as file:
            return sum(line.endswith(b"\n") for line in file)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from error


def _results(path: Path) -> Path:
    if not path.is_dir():
        return path
    return next((path / name for name in (RUNS, RADIO_RUNS) if (path / name).is_file()), path / RUNS)


def _state(status: dict[str, Any]) -> str:
    age_s = time.time() - status["written_s"]
    if status.get("over"):
        return f"{status['over']}, {clock_text(age_s)} ago"
    if age_s > STALE_S:
        return f"no news for {clock_text(age_s)}: its command has ended or hangs; the same command goes on"
    return f"about {clock_text(status['left_s'])} left" if status["count"] else "hosts are in preparation"


def status_lines(path: Path) -> Iterator[str]:
    """@param path  a results file, or its folder
    @raise BenchError  there are no results"""
    results = _results(path)
    yield f"{results}: {_lines(results)} runs"
    try:
        status = json.loads((results.parent / STATUS).read_text())
    except (OSError, ValueError):
        return
    taken = f"{status['done']} of {status['count']} runs of this call taken, {status['failed']} failed"
    yield f"{taken}; {_state(status)}"
    if status.get("dashboard") and not status.get("over"):
        yield f"dashboard: {status['dashboard']}"
    width = max((len(host["name"]) for host in status["hosts"]), default=0)
    for host in status["hosts"]:
        yield f"  {host['name']:{width}}  {host['done']:>5} runs  {host['text']}"
