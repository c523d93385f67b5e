# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a host in which builds are kept, and the output of a run while it lasts. Runs on a host."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Iterator

TAIL_BYTES = 2000


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "nrbench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _running() -> Path:
    return cache_folder() / "running"


@contextlib.contextmanager
def outputs_kept() -> Iterator[None]:
    """Outputs of runs inside have names: if the host is lost, their ends are found when it is back."""
    from nrbench.sweep import process

    folder = _running()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    process.OUTPUT_FOLDER[:] = [folder]
    try:
        yield
    finally:
        process.OUTPUT_FOLDER.clear()
        shutil.rmtree(folder, ignore_errors=True)


def last_output() -> str:
    """The end of what was printed by a run during which this host was lost; empty: none, or nothing."""
    ends = []
    for path in sorted(_running().glob("*.out")):
        with contextlib.suppress(OSError):
            ends.append(path.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip())
    return "\n".join(filter(None, ends))
