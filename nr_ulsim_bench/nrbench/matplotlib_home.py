# SPDX-License-Identifier: BSD-3-Clause
"""What matplotlib reads while a report is drawn: no settings of the user's."""

import os
from contextlib import contextmanager
from typing import Iterator

from nrbench.scratch import scratch_folder


@contextmanager
def matplotlib_apart() -> Iterator[None]:
    """Imports matplotlib with its own settings, and not those of MPLBACKEND, MATPLOTLIBRC or a matplotlibrc.
    Its list of fonts goes to a folder of this call, because a user's home may not be writable. A user's
    MPLCONFIGDIR stays. Import matplotlib inside this context."""
    with scratch_folder("matplotlib") as folder:
        home = os.path.abspath(os.environ.get("MPLCONFIGDIR", folder))
        ours = {"MPLBACKEND": "Agg", "MPLCONFIGDIR": home}
        before = {name: os.environ.get(name) for name in ours}
        (folder / "matplotlibrc").touch()
        os.environ |= ours
        try:
            here = os.open(".", os.O_RDONLY)
            os.chdir(folder)  # where it looks for settings first
            try:
                import matplotlib  # noqa: F401
            finally:
                os.fchdir(here)
                os.close(here)
            yield
        finally:
            for name, value in before.items():
                del os.environ[name]
                if value is not None:
                    os.environ[name] = value
