# SPDX-License-Identifier: BSD-3-Clause
"""The command `nrbench compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from nrbench.sweep.record import ResultsError, read_runs

if TYPE_CHECKING:
    from nrbench.sweep.compare import Comparison

# pandas takes a second to load, which other commands need not wait for: so it is imported where it is needed.
Threshold = Annotated[float, typer.Option(help="share by which a time must differ to count: 0.02 for 2 %")]


def show(comparison: Comparison) -> None:
    from nrbench.sweep.compare import NOTE, comparison_tables, summary
    from nrbench.sweep.show import console, indented, parts

    terminal = console()
    for warning in comparison.warnings:
        terminal.print(Text(f"WARNING: {warning}", style="yellow"))
    for table in comparison_tables(comparison):
        for part in parts(table, terminal.width):
            terminal.print(part)
    terminal.print(indented(NOTE, "dim"))
    for side, rows in (("before", comparison.only_before), ("after", comparison.only_after)):
        for row in rows:
            terminal.print(Text(f"only {side}: {row}"))
    terminal.print(Text(summary(comparison), style="bold"))


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="results, as *.ndjson, or their folder")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="results, as *.ndjson, or their folder")],
    threshold: Threshold = 0.0,
) -> int:
    """Verdict a row: scenario, case, pool, threads, figure.

    Exit status: 0; 1 = a time is slower, or is only in the first file, or more of a row's runs fail; 2 = the
    files cannot be compared."""
    from nrbench.sweep.compare import CANNOT
    from nrbench.sweep.compare import compare as compared
    from nrbench.sweep.rounds import results_file

    try:
        comparison = compared(read_runs(results_file(before)), read_runs(results_file(after)), threshold)
    except (ResultsError, ValueError) as error:
        typer.echo(f"nrbench compare: {error}", err=True)
        return CANNOT
    show(comparison)
    return comparison.status
