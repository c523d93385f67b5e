# SPDX-License-Identifier: BSD-3-Clause
"""How tables look on the terminal and in the text file."""

from __future__ import annotations

import io
import re
import sys
from typing import Iterable, Iterator

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from nrbench.tables import Table, is_good

WIDTH, WIDTH_MIN, WIDTH_MAX = 110, 80, 120
COLOURS = {True: "green", False: "red", None: ""}


def rich_table(table: Table) -> RichTable:
    """A group's heading stands above its first column, a word a line."""
    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    lines = max(len(column.group.split()) for column in table.columns)
    seen = ""
    for column in table.columns:
        words = column.group.split() if column.group != seen else []
        seen = column.group
        heading = Text("\n".join([*words, *[""] * (lines - len(words)), column.name]))
        shown.add_column(heading, justify="left" if column.has_words else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell, style=COLOURS[is_good(cell)]) for cell in row))
    return shown


def table_width(table: Table) -> int:
    return Console(width=10_000).measure(rich_table(table)).maximum


def indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 2), expand=False)


def parts(table: Table) -> Iterator[RenderableType]:
    yield Text(table.title, style="bold")
    yield rich_table(table)
    for note in table.notes:
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
