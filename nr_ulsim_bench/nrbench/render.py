# SPDX-License-Identifier: BSD-3-Clause
"""Tables and notes as text on a terminal, as text in a file, and on a page of HTML."""

from __future__ import annotations

import io
import re
import sys
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, Iterable, Iterator, Literal, NamedTuple, Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from nrbench.host import is_busy
from nrbench.judge import is_good
from nrbench.record import ResultsError

WORDS = {"variant", "verdict", "cause", "host", "case", "figure", "options", "runs of", "line", "environment",
         "class", "CPU", "level", "check", "finding", "kernel", "governor", "quiet",
         "pool", "waiting thread", "class, case"}  # fmt: skip


def has_words(column: str) -> bool:
    return column.rpartition(": ")[2] in WORDS


class Table(NamedTuple):
    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str]

    @property
    def all_rows(self) -> list[list[str]]:
        """The headings first."""
        return [self.columns, *self.rows]


def grouped(columns: Iterable[tuple[str, str]]) -> list[str]:
    """@param columns  group and name of each: the first of a group has it before its name"""
    found, before = list[str](), ""
    for group, name in columns:
        found.append(name if group in ("", before) else f"{group}: {name}")
        before = group
    return found


WIDTH, WIDTH_MIN, WIDTH_MAX = 110, 80, 120
COLOURS = {True: "green", False: "red", None: ""}


def rich_table(table: Table) -> RichTable:
    """No word is broken."""
    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, cells in zip(table.columns, zip(*table.rows, strict=True) if table.rows else repeat(())):
        least = max(map(len, " ".join([column, *cells]).split()), default=0)
        justify: Literal["left", "right"] = "left" if has_words(column) else "right"
        shown.add_column(Text(column), justify=justify, overflow="fold", min_width=least)
    for row in table.rows:
        shown.add_row(*(Text(cell, style=COLOURS[is_good(cell)]) for cell in row))
    return shown


def indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 2), expand=False)


def parts(table: Table) -> Iterator[RenderableType]:
    yield Text(table.title, style="bold")
    yield rich_table(table)
    for note in table.notes:
        yield indented(note, "dim")
    yield Text()


class Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process with status 1. The command has a status of its own for that."""
        raise BrokenPipeError


def console() -> Terminal:
    """For the tables: as wide as the terminal, within reason."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± must not end the report
    found = Terminal(highlight=False)
    width = min(max(found.width, WIDTH_MIN), WIDTH_MAX) if found.is_terminal else WIDTH
    return Terminal(highlight=False, width=width)


def to_text(shown: Iterable[RenderableType], width: int = WIDTH) -> str:
    out = io.StringIO()
    plain = Console(file=out, width=width, color_system=None, force_terminal=False, highlight=False)
    for part in shown:
        plain.print(part, crop=False)
    return re.sub(r"[ ]+$", "", out.getvalue(), flags=re.MULTILINE)


def layout(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need; the first flush left, the others flush right."""
    rows = [row for row in rows if row]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths))
        yield "  ".join([row[0].ljust(widths[0]), *others]).rstrip()


def markdown(table: Table) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in table.all_rows]
    lines.insert(1, "|" + "---|" * len(table.columns))
    return "\n".join([*lines, *(["", "; ".join(table.notes) + "."] if table.notes else [])])


def number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def machine_line(host: dict[str, Any]) -> str:
    return (
        f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}, "
        f"commit {host['commit'] or 'unknown'}, load {host['load']} at the start"
    )


def busy_lines(host: dict[str, Any]) -> Iterator[str]:
    """A note, if other programs were running at the start."""
    if is_busy(host["load"], host["cores"]):
        yield f"note: load {host['load']} at the start: the figures show other programs, too"


class Line(NamedTuple):
    """Of a summary."""

    of: str
    sentence: str
    word: str = ""  # of its verdict


class Section(NamedTuple):
    name: str  # empty: as its table's title says
    tables: Sequence[Table]
    picture: str = ""  # as drawing.save() gives it; after the first table
    note: str = ""  # below the picture
    top: str = ""  # a heading above


class Page(NamedTuple):
    """A report."""

    title: str
    lead: str
    sections: Sequence[Section]
    summary: Sequence[Line] = ()
    rule: str = ""  # how to read the summary
    warnings: Sequence[str] = ()
    facts: Sequence[tuple[str, Iterable[tuple[str, str]]]] = ()  # each with its title
    notes: Sequence[str] = ()  # how it was measured
    words: Sequence[Table] = ()  # of long texts


def text_of(page: Page) -> Iterator[RenderableType]:
    """In the order of the page, but the summary where the eye ends."""
    for section in page.sections:
        if section.top:
            yield Text(f"{section.top}\n", style="bold underline")
        if section.name not in ("", *(table.title for table in section.tables)):
            yield Text(f"{section.name}\n", style="underline")
        for table in section.tables:
            yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in page.warnings)
    if page.summary:
        yield Text("Summary", style="bold")
    yield from (indented(f"{line.of}: {line.sentence}") for line in page.summary)
    yield indented(page.rule, "dim")


def show(page: Page) -> None:
    """On the terminal."""
    terminal = console()
    for part in text_of(page):
        terminal.print(part, crop=False)


def write_report(out: Path, page: Page) -> list[str]:
    """As a text and as a page. @return their names"""
    (out / "report.txt").write_text(to_text(text_of(page)), encoding="utf-8")
    write_page(out / "report.html", page)
    return ["report.html", "report.txt"]


@contextmanager
def written_to(out: Path) -> Iterator[None]:
    """A folder for a report. @raise ResultsError  names what cannot be written"""
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error


def write_page(path: Path, page: Page) -> None:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("page.html.j2").render(page=page, is_good=is_good, has_words=has_words)
    path.write_text(text, encoding="utf-8")
