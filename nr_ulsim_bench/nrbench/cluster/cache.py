# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a host in which builds are kept, and the output of a run while it lasts. Runs on a host."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Iterator

from nrbench.scratch import left, scratch_folder

TAIL_BYTES = 2000
OUTPUTS = "nrbench-output-"  # folders of outputs, on the host's own disk: hosts may share a home folder


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "nrbench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def outputs_kept() -> Iterator[None]:
    """Outputs of runs inside have names: if the host is lost, their ends are found when it is back."""
    from nrbench.sweep import process

    with scratch_folder("of-runs", OUTPUTS) as folder:
        process.OUTPUT_FOLDER[:] = [folder]
        try:
            yield
        finally:
            process.OUTPUT_FOLDER.clear()


def last_output() -> str:
    """The end of what was printed by a run during which this host was lost; empty: none, or nothing."""
    ends = []
    for path in (path for folder in left(OUTPUTS) for path in sorted(folder.glob("*.out"))):
        with contextlib.suppress(OSError):
            ends.append(path.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip())
    return "\n".join(filter(None, ends))
