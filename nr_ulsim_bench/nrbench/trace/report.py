# SPDX-License-Identifier: BSD-3-Clause
"""Report: reads a trace once for the figures, and once more, a short stretch of it, for the picture of a
slot."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator

from nrbench.trace import hist
from nrbench.trace.analysis import Analysis
from nrbench.trace.errors import TraceError
from nrbench.trace.events import PROVIDER
from nrbench.trace.reader import Trace
from nrbench.trace.record import RECORD_FILE
from nrbench.trace.scene import Scene
from nrbench.trace.slots import SlotName, parse_name
from nrbench.trace.summary import Names, Summary, summarize
from nrbench.trace.text import text

if TYPE_CHECKING:
    from nrbench.trace.page import Picture


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
    wanted = parse_name(options.slot) if options.slot is not None else None
    with Trace(options.trace) as trace:
        begin = time.monotonic()
        analysis = read(trace, options, wanted)
        if wanted is not None:
            analysis.ledger.slots.chosen()  # is it there?
        seconds = time.monotonic() - begin
        names = Names(analysis, trace.recorded)
        summary = summarize(analysis, names, set(options.phases))
        summary["events"] = trace.event_count
        summary["warnings"] = trace.warnings
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
        return 2 if trace.warnings else 0


def show(summary: Summary, options: Options) -> None:
    if options.as_json:
        print(json.dumps(summary, indent=1))
    else:
        print("\n".join(text(summary, summary["warnings"])))


def draw(trace: Trace, analysis: Analysis, names: Names, summary: Summary, options: Options) -> None:
    """Pictures, page and JSON."""
    out = options.out
    assert out is not None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"--out {out}: {error.strerror}") from error
    os.environ.setdefault("MPLCONFIGDIR", str(out / ".matplotlib"))
    try:
        from nrbench.trace import page, plots
    except ModuleNotFoundError as error:
        raise TraceError(
            f"no pictures: the Python package {error.name} is missing; run ci/setup bench"
        ) from error
    pictures = [*draw_slot(trace, analysis, names, out)]
    kinds = [(names.whole(*key), figures) for key, figures in analysis.figures.items()]
    if plots.draw_tails(kinds, out / "tails.png"):
        pictures.append(page.Picture("Distributions", page.TAILS, out / "tails.png"))
    (out / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
    page.write(out / "report.html", options.trace, summary, about(options.trace), pictures)
    print(
        f"written to {out}/: report.html report.json {' '.join(p.path.name for p in pictures)}",
        file=sys.stderr,
    )


def draw_slot(trace: Trace, analysis: Analysis, names: Names, out: Path) -> Iterator[Picture]:
    from nrbench.trace import gantt, page

    window = analysis.ledger.slots.chosen()
    if window is None:
        return
    scene = Scene(window)
    scene.build(trace.events(scene.begin_ns, scene.end_ns))
    scene.add_sleepers(names.workers(window.pid))
    gantt.draw(scene, names, out / "slot.png")
    what = "Burst" if window.name.frame < 0 else "Slot"
    yield page.Picture(f"{what} {window.name}".replace("Burst burst", "Burst"), page.SLOT, out / "slot.png")


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
