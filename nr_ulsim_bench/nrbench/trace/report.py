# SPDX-License-Identifier: BSD-3-Clause
"""The report. Reads a trace for the figures, and a short stretch again for the picture of a slot."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.needed import how_to_install, missing
from nrbench.trace.analysis import Analysis
from nrbench.trace.ctf_files import RECORD_FILE
from nrbench.trace.events import PROVIDER, TraceError
from nrbench.trace.reader import Trace
from nrbench.trace.scene import Scene
from nrbench.trace.slots import SlotName, Window, parse_name
from nrbench.trace.summary import Kind, Names, Summary, kinds, process_label, summarize
from nrbench.trace.text import WIDTH, text

if TYPE_CHECKING:
    from nrbench.trace.page import Picture

NARROWEST = 40  # columns of text


@dataclass(frozen=True)
class Options:
    trace: Path
    out: Path | None = None
    slot: str | None = None
    phases: Sequence[str] = ()
    process: str | None = None
    as_json: bool = False


def read(trace: Trace, options: Options, wanted: SlotName | None) -> Analysis:
    cores = about(options.trace).get("cores")
    analysis = Analysis(cores if type(cores) is int else 0)
    analysis.feed(trace.events())
    analysis.finish()
    if options.process is not None:
        keep(analysis, options.process)
    if not any(process.pools for process in analysis.processes.values()):
        if trace.warnings:
            raise TraceError(f"{options.trace}: no event of the pool was read. {'. '.join(trace.warnings)}")
        if trace.event_count == 0:
            raise TraceError(f"{options.trace}: the trace is empty: no event was recorded")
        raise TraceError(
            f"{options.trace}: none of its {trace.event_count} events is of {PROVIDER}: the program was built"
            " without tracing, does not use the pool, or another session was recorded"
        )
    analysis.ledger.slots.chosen(wanted)  # raises if it is not in the trace
    return analysis


def keep(analysis: Analysis, wanted: str) -> None:
    """Drops all processes but those of that name or id."""
    known = {process.pid: process.name for process in analysis.processes.values() if process.pools}
    chosen = {pid for pid, name in known.items() if wanted in (str(pid), name)}
    if not chosen:
        there = ", ".join(f"{name or 'process'}[{pid}]" for pid, name in known.items())
        raise TraceError(f"--process {wanted}: no such process with a pool in the trace; there are: {there}")
    analysis.keep(chosen)


def report(options: Options) -> int:
    """@return 0; 2 if the trace was damaged and only a part of it is in the report"""
    without = missing(("jinja2", "matplotlib")) if options.out is not None else []
    if without:  # before the trace is read, which takes long
        raise TraceError(how_to_install(without))
    wanted = parse_name(options.slot)
    with Trace(options.trace) as trace:
        begin = time.monotonic()
        analysis = read(trace, options, wanted)
        seconds = time.monotonic() - begin
        names = Names(analysis, trace.recorded)
        summary = summarize(analysis, names, options.phases)
        summary["events"] = trace.event_count
        summary["warnings"] = list(trace.warnings)  # the second reading finds the same again
        summary["notes"] = recorded_command(analysis, about(options.trace).get("pid"))
        if options.phases and not summary["phases"]:
            known = ", ".join(sorted({names.whole(*key) for key in analysis.figures}))
            raise TraceError(
                f"--phase {' '.join(options.phases)}: no such phase in the trace; there are: {known}"
            )
        show(summary, options)
        print(f"{trace.event_count} events read in {seconds:.1f} s", file=sys.stderr)
        if options.out is not None:
            draw(trace, analysis, names, summary, options)
        return 2 if summary["warnings"] else 0


def recorded_command(analysis: Analysis, pid: object) -> list[str]:
    """Names the process of the recorded command, where the trace has several."""
    pools = {process.pid: process for process in analysis.processes.values() if process.pools}
    if type(pid) is not int or pid not in pools or len(pools) == 1:
        return []
    label = process_label(pools[pid], alone=False)
    return [
        f"The trace has {len(pools)} processes with a pool. The recorded command is {label}: "
        f"--process {pid} shows it alone"
    ]


def show(summary: Summary, options: Options) -> None:
    width = WIDTH
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size((WIDTH, 0)).columns, NARROWEST)
    shown = json.dumps(summary, indent=1) if options.as_json else "\n".join(text(summary, width))
    print(shown, flush=True)


def draw(trace: Trace, analysis: Analysis, names: Names, summary: Summary, options: Options) -> None:
    """Writes the pictures, the page and the JSON file."""
    out = options.out
    assert out is not None
    try:
        out.mkdir(parents=True, exist_ok=True)
        with matplotlib_apart():
            from nrbench.trace import page

            pictures = [*draw_pictures(trace, analysis, names, options, out)]
        (out / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
        page.write(out / "report.html", options.trace, summary, about(options.trace), pictures)
    except OSError as error:
        raise TraceError(f"--out {out}: {error.strerror or error}") from error
    written = " ".join(picture.path.name for picture in pictures)
    print(f"written to {out}/: report.html report.json {written}", file=sys.stderr)


def draw_pictures(
    trace: Trace, analysis: Analysis, names: Names, options: Options, out: Path
) -> Iterator[Picture]:
    """The slot, and the distributions of the figures in the tables, in the same colours."""
    from nrbench.trace import gantt, page, plots

    figures = analysis.figures
    shown = [
        kind for kind in kinds(analysis, names, options.phases) if plots.has_tail(figures[kind].durations)
    ]
    colors = gantt.palette(dict.fromkeys([*shown, *kinds(analysis, names, ())]))
    window = analysis.ledger.slots.chosen(parse_name(options.slot))
    if window is not None:
        yield draw_slot(trace, window, names, colors, out / "slot.png")
    curves = [plots.Curve(names.whole(*kind), figures[kind], colors[kind]) for kind in shown[: len(colors)]]
    if plots.draw_tails(curves, out / "tails.png"):
        yield page.Picture("Distributions", page.TAILS, out / "tails.png")


def draw_slot(trace: Trace, window: Window, names: Names, colors: Mapping[Kind, str], path: Path) -> Picture:
    from nrbench.trace import gantt, page

    scene = Scene(window)
    scene.build(trace.events(scene.begin_ns, scene.end_ns))
    scene.add_sleepers(names.workers(window.pid))
    gantt.draw(scene, names, path, colors)
    title = f"Slot {window.name}" if window.name.frame >= 0 else str(window.name).capitalize()
    return page.Picture(title, page.SLOT, path)


def about(trace: Path) -> dict[str, Any]:
    """The description that `record` has written beside the trace."""
    try:
        found = json.loads((trace / RECORD_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
