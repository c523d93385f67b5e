# SPDX-License-Identifier: BSD-3-Clause
"""Report: reads a trace once for the figures, and once more, a short stretch of it, for the picture of a
slot."""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from nrbench.matplotlib_home import matplotlib_apart
from nrbench.needed import how_to_install, missing
from nrbench.trace import hist
from nrbench.trace.analysis import Analysis
from nrbench.trace.errors import TraceError
from nrbench.trace.events import PROVIDER
from nrbench.trace.reader import Trace
from nrbench.trace.record import RECORD_FILE
from nrbench.trace.scene import Scene
from nrbench.trace.slots import SlotName, parse_name
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
    phases: tuple[str, ...] = ()
    process: str | None = None
    as_json: bool = False


def read(trace: Trace, options: Options, wanted: SlotName | None) -> Analysis:
    analysis = Analysis(wanted, recorded_cores(about(options.trace)))
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
    return analysis


def keep(analysis: Analysis, wanted: str) -> None:
    """Forget all processes but those of that name or id."""
    known = {process.pid: process.name for process in analysis.processes.values() if process.pools}
    chosen = {pid for pid, name in known.items() if wanted in (str(pid), name)}
    if not chosen:
        there = ", ".join(f"{name or 'process'}[{pid}]" for pid, name in known.items())
        raise TraceError(f"--process {wanted}: no such process with a pool in the trace; there are: {there}")
    analysis.keep(chosen)


def report(options: Options) -> int:
    """@return 0; 2 if the trace was damaged and only a part of it is in the report"""
    hist.check()
    without = missing(("jinja2", "matplotlib")) if options.out is not None else []
    if without:  # told before a long reading, not after it
        raise TraceError(how_to_install(without))
    wanted = parse_name(options.slot) if options.slot is not None else None
    with Trace(options.trace) as trace:
        begin = time.monotonic()
        analysis = read(trace, options, wanted)
        if wanted is not None:
            analysis.ledger.slots.chosen()  # is it there?
        seconds = time.monotonic() - begin
        names = Names(analysis, trace.recorded)
        summary = summarize(analysis, names, options.phases)
        summary["events"] = trace.event_count
        summary["warnings"] = list(trace.warnings)  # the second reading comes upon the same again
        summary["notes"] = recorded_command(analysis, about(options.trace))
        if options.phases and not summary["phases"]:
            known = ", ".join(sorted({names.whole(*key) for key in analysis.figures}))
            raise TraceError(
                f"--phase {' '.join(options.phases)}: the trace has no such phase; there are: {known}"
            )
        show(summary, options)
        rate = trace.event_count / max(seconds, 1e-3) / 1e3
        print(
            f"{trace.event_count} events read in {seconds:.1f} s ({rate:.0f} 000 a second)", file=sys.stderr
        )
        if options.out is not None:
            draw(trace, analysis, names, summary, options)
        return 2 if summary["warnings"] else 0


def recorded_command(analysis: Analysis, found: dict[str, Any]) -> list[str]:
    """Which process it is, where the trace has several."""
    pools = {process.pid: process for process in analysis.processes.values() if process.pools}
    pid = found.get("pid")
    if type(pid) is not int or pid not in pools or len(pools) == 1:
        return []
    return [
        f"The trace has {len(pools)} processes with a pool. The recorded command is"
        f" {process_label(pools[pid], alone=False)}: --process {pid} shows it alone"
    ]


def show(summary: Summary, options: Options) -> None:
    width = WIDTH
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size((WIDTH, 0)).columns, NARROWEST)
    said = json.dumps(summary, indent=1) if options.as_json else "\n".join(text(summary, width))
    try:
        print(said, flush=True)
    except OSError as error:
        with suppress(OSError):
            sys.stdout.close()  # or the interpreter tries again when it ends
        if isinstance(error, BrokenPipeError):
            raise
        raise TraceError(f"standard output: {error.strerror}") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What goes wrong then is told in one line."""
    try:
        yield
    except OSError as error:
        raise TraceError(f"--out {path}: {error.strerror or error}") from error


def draw(trace: Trace, analysis: Analysis, names: Names, summary: Summary, options: Options) -> None:
    """Pictures, page and JSON."""
    out = options.out
    assert out is not None
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    with matplotlib_apart():
        try:
            from nrbench.trace import page

            pictures = [*draw_pictures(trace, analysis, names, options.phases, out)]
        except ModuleNotFoundError as error:
            raise TraceError(
                f"no pictures: the Python package {error.name} is missing; run ci/setup bench"
            ) from error
    with writing(out / "report.json"):
        (out / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
    with writing(out / "report.html"):
        page.write(out / "report.html", options.trace, summary, about(options.trace), pictures)
    print(
        f"written to {out}/: report.html report.json {' '.join(p.path.name for p in pictures)}",
        file=sys.stderr,
    )


def draw_pictures(
    trace: Trace, analysis: Analysis, names: Names, wanted: Sequence[str], out: Path
) -> Iterator[Picture]:
    """The slot, and the distributions of what the tables have, in the same colours."""
    from nrbench.trace import gantt, page, plots

    figures = analysis.figures
    shown = [kind for kind in kinds(analysis, names, wanted) if plots.has_tail(figures[kind].durations)]
    colors = gantt.palette(dict.fromkeys([*shown, *kinds(analysis, names, ())]))
    yield from draw_slot(trace, analysis, names, colors, out / "slot.png")
    curves = [plots.Curve(names.whole(*kind), figures[kind], colors[kind]) for kind in shown[: len(colors)]]
    with writing(out / "tails.png"):
        if plots.draw_tails(curves, out / "tails.png"):
            yield page.Picture("Distributions", page.TAILS, out / "tails.png")


def draw_slot(
    trace: Trace, analysis: Analysis, names: Names, colors: Mapping[Kind, str], path: Path
) -> Iterator[Picture]:
    from nrbench.trace import gantt, page

    window = analysis.ledger.slots.chosen()
    if window is None:
        return
    scene = Scene(window)
    scene.build(trace.events(scene.begin_ns, scene.end_ns))
    scene.add_sleepers(names.workers(window.pid))
    with writing(path):
        gantt.draw(scene, names, path, colors)
    what = "Burst" if window.name.frame < 0 else "Slot"
    yield page.Picture(f"{what} {window.name}".replace("Burst burst", "Burst"), page.SLOT, path)


def recorded_cores(found: dict[str, Any]) -> int:
    """CPUs that the recorder could use; 0 = not known."""
    cores = found.get("cores")
    return cores if type(cores) is int and cores > 0 else 0


def about(trace: Path) -> dict[str, Any]:
    """What `record` has written down beside the trace."""
    try:
        found = json.loads((trace / RECORD_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
