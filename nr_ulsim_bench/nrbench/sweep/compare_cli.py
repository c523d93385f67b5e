# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

Threshold = Annotated[
    float, typer.Option(help="smallest difference of a time that counts, as a share: 0.02 for 2 %")
]
Results = Annotated[Path, typer.Argument(help="results (*.ndjson), or their folder")]


def compare(before: Results, after: Results, threshold: Threshold = 0.0) -> int:
    """Compare two results of sweeps.

    Each case, pool, number of threads and figure has a verdict.

    Exit status: 0; 1 = a time is slower, or is only in the first file, or more of a row's runs fail; 2 = the
    files cannot be compared."""
    from nrbench.render import console, indented, parts
    from nrbench.sweep import compare as sides  # loads pandas: a second

    comparison = sides.compare(before, after, threshold)
    terminal = console()
    for warning in comparison.warnings:
        terminal.print(Text(f"WARNING: {warning}", style="yellow"))
    for table in sides.comparison_tables(comparison):
        for part in parts(table):
            terminal.print(part, crop=False)
    terminal.print(indented(sides.NOTE, "dim"))
    for row in sides.only_on_one_side(comparison):
        terminal.print(Text(row))
    terminal.print(Text(sides.summary(comparison), style="bold"))
    return comparison.status
