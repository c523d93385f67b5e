# SPDX-License-Identifier: BSD-3-Clause
"""Where matplotlib keeps its settings and its list of fonts while a report is drawn."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator

from nrbench.scratch import scratch_folder


@contextmanager
def matplotlib_apart() -> Iterator[None]:
    """A folder for the time being: its own may not be writable, which it complains about, and a report's
    is the user's. Who has set MPLCONFIGDIR is obeyed. Import matplotlib inside."""
    if "MPLCONFIGDIR" in os.environ:
        yield
        return
    with scratch_folder("matplotlib") as folder:
        os.environ["MPLCONFIGDIR"] = str(folder)
        try:
            yield
        finally:
            del os.environ["MPLCONFIGDIR"]
