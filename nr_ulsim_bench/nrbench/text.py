# SPDX-License-Identifier: BSD-3-Clause
"""Text that the reports of all parts share."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Iterator, Mapping, Sequence

from nrbench.host import is_busy
from nrbench.stats import Results


def layout(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need; the first flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths))
        yield "  ".join([row[0].ljust(widths[0]), *others])


def number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def machine_line(host: dict[str, Any]) -> str:
    return (
        f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}, "
        f"commit {host['commit'] or 'unknown'}, load {host['load']} at the start"
    )


def host_line(host: dict[str, Any]) -> str:
    """In one line, for parts with a report of their own."""
    return f"{machine_line(host)}, {host['rounds']} rounds, seed {host['seed']}"


def busy_lines(host: dict[str, Any]) -> Iterator[str]:
    """A note, if other programs were running at the start."""
    if is_busy(host["load"], host["cores"]):
        yield f"note: load {host['load']} at the start: the figures show other programs, too"


def failure_lines(results: Results, label: str, program: str = "") -> Iterator[str]:
    """How often each error came. @param program  failed where a line lacks the label"""
    errors = Counter(f"{line.get(label, program)}: {line['error']}" for line in results.failed)
    yield from (f"without a result: {count} times: {error}" for error, count in sorted(errors.items()))


def ending(
    results: Results,
    verdicts: Iterable[str],
    label: str,
    notes: Iterable[str] = (),
    titles: Mapping[str, str] | None = None,
    program: str = "",
) -> Iterator[str]:
    """Of a report: its verdicts, then what limits their meaning.

    @param label   that names what failed, in the lines. @param titles  of what is missing"""
    yield from ["", "Verdicts:", *(f"  {verdict}" for verdict in verdicts), *busy_lines(results.host)]
    for name, reason in results.host.get("missing", {}).items():
        yield f"missing: {(titles or {}).get(name, name)} ({reason})"
    yield from [*notes, *failure_lines(results, label, program)]
