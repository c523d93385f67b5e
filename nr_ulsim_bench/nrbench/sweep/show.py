# SPDX-License-Identifier: BSD-3-Clause
"""Tables on the terminal, as plain text, and as CSV."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from nrbench.sweep.cells import CaseResult
from nrbench.sweep.fit import WORDS, Fitted, fitted
from nrbench.sweep.frame import CPU, OF_CONFIGURATION, WALL
from nrbench.sweep.table import GAP, WIDTH, Table

WIDTH_MIN, WIDTH_MAX = 40, 120
STYLES = (("faster", "green"), ("less", "green"), ("slower", "red"), ("more", "red"), ("no result", "red"))
CSV_HEAD = (
    "host", "host_label", "kind", "scenario", "case", "configuration", *OF_CONFIGURATION, "began", "figure",
    "unit", "threads", "cores", "variant", "baseline", "runs", "failed", "median", "half_iqr", "low", "high",
    "derived", "ratio", "ratio_low", "ratio_high", "ratio_repeats", "paired", "verdict", "bound",
    "over_bound",
)  # fmt: skip


def _cell(text: str) -> Text:
    return Text(text, style=next((style for word, style in STYLES if text == word), ""))


def rich_table(fitting: Fitted) -> RichTable:
    """A group's heading stands above its first column, a word a line."""
    table, widths = fitting
    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    lines = max(len(column.group.split()) for column in table.columns)
    seen = ""
    for column, width in zip(table.columns, widths):
        words = column.group.split() if column.group != seen else []
        seen = column.group
        head = [*words, *[""] * (lines - len(words)), column.name]
        shown.add_column(
            Text("\n".join(head)),
            justify="left" if column.name in WORDS else "right",
            vertical="top",
            overflow="fold",
            width=width,
        )
    for row in table.rows:
        shown.add_row(*(_cell(text) for text in row))
    return shown


def indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 2), expand=False)


def parts(table: Table, width: int = WIDTH) -> Iterator[RenderableType]:
    for fitting in fitted(table, width):
        yield Text(fitting.table.title, style="bold")
        yield rich_table(fitting)
        for note in fitting.table.notes:
            yield indented(note, "dim")
        yield Text()


def console() -> Console:
    """For the tables: as wide as the terminal, within reason."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± must not end the report
    found = Console(highlight=False)
    width = min(max(found.width, WIDTH_MIN), WIDTH_MAX) if found.is_terminal else WIDTH
    return Console(highlight=False, width=width)


def to_text(shown: Iterable[RenderableType], width: int = WIDTH) -> str:
    out = io.StringIO()
    plain = Console(file=out, width=width, color_system=None, force_terminal=False, highlight=False)
    for part in shown:
        plain.print(part)
    return re.sub(r"[ ]+$", "", out.getvalue(), flags=re.MULTILINE)


def csv_rows(result: CaseResult) -> Iterator[tuple[Any, ...]]:
    group = result.group
    for (threads, variant, column), cell in result.cells.items():
        ratio = cell.ratio
        yield (
            group.key.host,
            group.host.label,
            *group.key[1:4],
            group.key.configuration.removeprefix(", "),
            *(group.frame[name].iloc[0] for name in OF_CONFIGURATION),
            group.frame["began"].min(),
            column,
            "s" if column in (CPU, WALL) else "us",
            threads,
            group.cores(threads),
            variant,
            group.baseline,
            cell.count,
            cell.failed,
            cell.median,
            cell.half_iqr,
            *(cell.interval or (None, None)),
            int(cell.derived),
            *((None,) * 5 if ratio is None else (ratio.value, *(ratio.interval or (None, None)),
              ratio.repeats, int(ratio.paired))),
            None if ratio is None else str(ratio.verdict),
            cell.bound,
            cell.over_bound,
        )  # fmt: skip


def to_csv(results: Sequence[CaseResult], path: Path) -> None:
    """A line a figure, variant and number of threads; with all figures, not only those of the tables."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(CSV_HEAD)
        for result in results:
            for row in csv_rows(result):
                writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
