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
LIMITS = """
Recording costs time: about 0.1 µs an event in the traced thread, four or five events a task. Tasks of a
microsecond look longer than they are, and so do the parts find and finish of the critical path.

All times are by the clock, not CPU time. A thread that loses its CPU in a task makes that task long, and
counts as busy. Only a trace of the kernel can tell the two apart.

With fewer than a few hundred values, p99 is nearly the longest.

A burst is the tasks of one function that a thread pushes to one pool outside any phase, until it has waited
for them. A program that marks no phases has bursts only.

The critical path shows, from the end of a phase backwards, what each moment waited for. A part that becomes
some microseconds shorter shortens the phase by no more than that, and by less where another path is nearly
as long.
""".strip().split("\n\n")


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
    notes = recorded_command(processes, recording.get("pid"))
    summary |= {"events": trace.event_count, "warnings": trace.warnings, "notes": notes}
    if phases and not summary["phases"]:
        known = ", ".join(sorted({kind.summary["name"] for kind in figures}))
        raise TraceError(f"--phase {' '.join(phases)}: no such phase in the trace; there are: {known}")
    columns = shutil.get_terminal_size((WIDTH, 0)).columns
    width = max(columns, NARROWEST) if sys.stdout.isatty() else WIDTH
    print(json.dumps(summary, indent=1) if as_json else "\n".join(text(summary, width)), flush=True)
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


def write(
    out: Path, trace: Path, summary: Summary, figures: list[Figures], recording: dict[str, Any]
) -> None:
    """The page, the picture in it, and the JSON file."""
    from nrbench.matplotlib_home import matplotlib_apart
    from nrbench.render import Page, Section, data_uri, write_page

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
        sections = [Section("", [table], top=table.title) for table in tables(summary)]
        if has_picture:
            picture = data_uri(out / "tails.png")
            sections.insert(0, Section("Distributions", (), picture, "Share of all that are longer."))
        longest = summary["longest_slot"]
        lead = f"{summary['events']} events, {summary['slots']} slots."
        lead += f" Longest: {longest['name']}, {longest['duration_us']:.1f} µs." if longest else ""
        warned = [*summary["warnings"], *losses(summary)]
        page = Page(
            title=f"Thread pool trace {trace.resolve().name}",
            lead=lead if warned else f"{lead} No event was lost.",
            sections=sections,
            warnings=[*warned, *summary["notes"]],
            notes=LIMITS,
            facts=[("Machine and recording", [fact for fact in facts if fact[1]])],
        )
        write_page(out / "report.html", page)
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
