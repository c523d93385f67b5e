# SPDX-License-Identifier: BSD-3-Clause
"""The report: tables as text or JSON, and with --out a page and a picture of the distributions."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.trace.events import PROVIDER, TraceError
from nrbench.trace.figures import Figures, Summary, is_wanted, summarize
from nrbench.trace.process import Process, processes_of
from nrbench.trace.reader import Table, Trace, table
from nrbench.trace.record import RECORD_FILE
from nrbench.trace.text import WIDTH, losses, tables, text

NARROWEST = 40  # columns of text


def read(trace: Trace, wanted: str | None) -> tuple[Table, list[Process]]:
    """@param wanted name or id of the processes; None = all"""
    found = table(trace.events())
    processes = processes_of(found, trace.recorded)
    with_pool = [process for process in processes if process.pools]
    if not with_pool:
        if trace.warnings:
            raise TraceError(f"{trace.path}: no event of the pool was read. {'. '.join(trace.warnings)}")
        if trace.event_count == 0:
            raise TraceError(f"{trace.path}: the trace is empty: no event was recorded")
        raise TraceError(
            f"{trace.path}: none of its {trace.event_count} events is of {PROVIDER}: the program was built"
            " without tracing, does not use the pool, or another session was recorded"
        )
    if wanted is None:
        return found, processes
    chosen = [process for process in with_pool if wanted in (str(process.pid), process.name)]
    if not chosen:
        there = ", ".join(process.label for process in with_pool)
        raise TraceError(f"--process {wanted}: no such process with a pool in the trace; there are: {there}")
    for process in chosen:
        process.alone = len(chosen) == 1
    return found, chosen


def report(
    folder: Path,
    out: Path | None = None,
    phases: Sequence[str] = (),
    wanted: str | None = None,
    as_json: bool = False,
) -> int:
    """@param phases, wanted  show only these, and processes of that name or id
    @return 0; 2 if the trace was damaged and only a part of it is in the report"""
    trace, recording = Trace(folder), about(folder)
    begin = time.monotonic()
    found, processes = read(trace, wanted)
    cores = recording.get("cores")
    summary, figures = summarize(found, processes, phases, cores if type(cores) is int else 0)
    summary["events"] = trace.event_count
    summary["warnings"] = trace.warnings
    summary["notes"] = recorded_command(processes, recording.get("pid"))
    if phases and not summary["phases"]:
        known = ", ".join(sorted({kind.name for kind in figures}))
        raise TraceError(f"--phase {' '.join(phases)}: no such phase in the trace; there are: {known}")
    show(summary, as_json)
    print(f"{trace.event_count} events read in {time.monotonic() - begin:.1f} s", file=sys.stderr)
    if out is not None:
        write(out, folder, summary, [kind for kind in figures if is_wanted(kind, phases)], recording)
    return 2 if summary["warnings"] else 0


def recorded_command(processes: Sequence[Process], pid: object) -> list[str]:
    """Names the process of the recorded command, where the trace has several."""
    pools = {process.pid: process for process in processes if process.pools}
    if type(pid) is not int or pid not in pools or len(pools) == 1:
        return []
    return [
        f"The trace has {len(pools)} processes with a pool. The recorded command is {pools[pid].label}: "
        f"--process {pid} shows it alone"
    ]


def show(summary: Summary, as_json: bool) -> None:
    width = WIDTH
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size((WIDTH, 0)).columns, NARROWEST)
    print(json.dumps(summary, indent=1) if as_json else "\n".join(text(summary, width)), flush=True)


def write(
    out: Path, trace: Path, summary: Summary, figures: list[Figures], recording: dict[str, Any]
) -> None:
    """The page, the picture in it, and the JSON file."""
    from nrbench.html import data_uri, write_page
    from nrbench.matplotlib_home import matplotlib_apart
    from nrbench.tables import is_good

    try:
        out.mkdir(parents=True, exist_ok=True)
        with matplotlib_apart():
            from nrbench.trace.tails import draw_tails

            has_picture = draw_tails(figures, out / "tails.png")
        (out / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
        facts = [
            (host.TEXT.get(key, key.replace("_", " ")), host.fact_text(value))
            for key, value in recording.items()
        ]
        write_page(
            out / "report.html",
            Path(__file__).parent,
            trace=trace.resolve().name,
            summary=summary,
            warnings=[*summary["warnings"], *losses(summary)],
            tables=list(tables(summary)),
            facts=[fact for fact in facts if fact[1]],
            picture=data_uri(out / "tails.png") if has_picture else "",
            is_good=is_good,
        )
    except OSError as error:
        raise TraceError(f"--out {out}: {error.strerror or error}") from error
    written = "report.html report.json" + (" tails.png" if has_picture else "")
    print(f"written to {out}/: {written}", file=sys.stderr)


def about(trace: Path) -> dict[str, Any]:
    """The description that `record` has written beside the trace."""
    try:
        found = json.loads((trace / RECORD_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
