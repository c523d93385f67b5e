# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench sweep`."""

from __future__ import annotations

from nrbench.options import command_of
from nrbench.sweep import nr_ulsim, replay
from nrbench.sweep.options import Options


@command_of(Options)
def sweep(options: Options) -> int | None:
    """Compare OAI's pool with this one.

    Over thread counts: nr_ulsim of two builds (--old, --new), or recorded slots. Each run is written at once.
    After an interruption the same command goes on. Exit status: 0; 1 = some runs gave no figures, each is
    named; 2 = the sweep could not be done; 130 = interrupted."""
    options.check()
    return nr_ulsim.run(options) if options.old or options.new else replay.run(options)
