# SPDX-License-Identifier: BSD-3-Clause
"""The report as one page of HTML that needs no other file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from nrbench import host
from nrbench.render import data_uri, is_good, write_page
from nrbench.trace.summary import Summary
from nrbench.trace.text import losses, tables

SLOT = (
    "Each thread has a row. Tasks are bars with their length in µs; a task that runs inside another one is "
    "smaller, on top of it. The phases are above the threads. A thin line in the colour of a phase is the "
    "phase's own thread while it neither runs tasks nor waits. The arrow of a wake goes from the call that "
    "wakes to the worker's first instruction."
)
TAILS = "Share of all that are at least that long. The point at the right end is the longest."
LABELS = {
    **host.TEXT,
    "load": "load after recording",
    "date": "recorded",
    "commit": "version of the tool",
    "command": "command",
    "pid": "process id of the command",
    "seconds": "seconds asked for",
    "buffers": "LTTng buffers",
    "lost_events": "lost events, by LTTng's count",
    "lost_packets": "lost packets, by LTTng's count",
}


class Picture(NamedTuple):
    title: str
    words: str
    path: Path


def facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    shown = ((LABELS.get(key, key), host.fact_text(value)) for key, value in about.items())
    return [(title, text) for title, text in shown if text]


def write(path: Path, trace: Path, summary: Summary, about: dict[str, Any], pictures: list[Picture]) -> None:
    write_page(
        path,
        Path(__file__).parent,
        trace=trace.resolve().name,
        summary=summary,
        warnings=[*summary["warnings"], *losses(summary)],
        tables=list(tables(summary)),
        facts=facts(about),
        pictures=[(picture.title, picture.words, data_uri(picture.path)) for picture in pictures],
        is_good=is_good,
    )
