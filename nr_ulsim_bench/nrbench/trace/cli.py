# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tpool-ws-trace."""

import datetime
import os
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from nrbench.needed import require
from nrbench.options import Program
from nrbench.trace import record as recorder
from nrbench.trace.record import SUBBUF_KIB, Session, TraceError

program = Program(
    "tpool-ws-trace",
    "Record traces of thread_pool_ws with LTTng, report where the time went, export them for Perfetto.",
    (TraceError,),
)


Folder = Annotated[Path, Argument(metavar="TRACE_DIR", help="folder of the recording")]
PROCESS = "only processes of that name or id (default: all)"
OneProcess = Annotated[str | None, Option(metavar="NAME|ID", help=PROCESS)]
OUT = "new or empty folder (default: trace-<date>-<time>)"
FORKS = "also record children that a traced program forks without exec (preloads liblttng-ust-fork)"
SIZE = "size of a buffer, of which each CPU has eight; rounded up to a power of two"
BEGIN = "only from here on, in seconds after the begin of the recording"
DEADLINE = "slots that take longer are late (default: 1.25 x the median of those with the same phases)"
SLOT = (
    "only this slot and what is around it; #n is the n-th of that name, from 0. #SECONDS is a burst "
    "(default: the whole trace)"
)


Begin = Annotated[float, Option(min=0, metavar="SECONDS", help=BEGIN)]
End = Annotated[float | None, Option(min=0, metavar="SECONDS", help="only up to here")]


@program.command(allow_interspersed_args=False)
def record(
    words: Annotated[list[str] | None, Argument(metavar="-- COMMAND [ARGUMENT]", show_default=False)] = None,
    out: Annotated[Path | None, Option(metavar="DIR", help=OUT)] = None,
    seconds: Annotated[float | None, Option(min=0.001, max=1e6, help="how long, without a command")] = None,
    follow_forks: Annotated[bool, Option("--follow-forks", help=FORKS)] = False,
    subbuf_kib: Annotated[int, Option(min=4, metavar="KIB", help=SIZE)] = SUBBUF_KIB,
) -> int:
    """Record the thread pools of all programs of this user, while a command runs or for some seconds."""
    folder = out or Path(f"trace-{datetime.datetime.now():%Y%m%d-%H%M%S}")
    session = Session(f"tpool-ws-{os.getpid()}", folder, subbuf_kib)
    return recorder.record(session, words or (), seconds, follow_forks)


def part_of(trace: Path, begin_s: float, end_s: float | None) -> tuple[int, int] | None:
    """In ns of the epoch; None = all of it."""
    from nrbench.trace.reader import FOREVER
    from nrbench.trace.rings import open_trace

    if end_s is not None and end_s <= begin_s:
        raise TraceError(f"--end {end_s:g} is not after --begin {begin_s:g}")
    first_ns = open_trace(trace).first_ns
    end_ns = FOREVER if end_s is None else first_ns + round(end_s * 1e9)
    return (first_ns + round(begin_s * 1e9), end_ns) if begin_s or end_s is not None else None


@program.command()
def report(
    trace: Folder,
    out: Annotated[Path | None, Option(metavar="DIR", help="also write report.html into this folder")] = None,
    process: OneProcess = None,
    begin: Begin = 0,
    end: End = None,
    deadline_us: Annotated[float | None, Option(min=0.001, help=DEADLINE)] = None,
    as_json: Annotated[bool, Option("--json", help="print the figures as JSON")] = False,
) -> int:
    """Print the tables of a recorded trace; with --out also write a page."""
    require(program.name)
    from nrbench.trace.report import report as run

    return run(trace, out, process, part_of(trace, begin, end), deadline_us, as_json)


@program.command()
def export(
    trace: Folder,
    perfetto: Annotated[Path, Option(metavar="FILE", help="write this file for https://ui.perfetto.dev")],
    slot: Annotated[str | None, Option(metavar="FRAME.SLOT[#n]", help=SLOT)] = None,
    process: OneProcess = None,
    begin: Begin = 0,
    end: End = None,
) -> int:
    """Write a recorded trace for Perfetto's viewer."""
    require(program.name)
    try:
        from nrbench.trace.perfetto import export as run
    except ImportError as error:
        raise TraceError(f"{error}; run ci/setup bench, or pip install perfetto") from error
    return run(trace, perfetto, slot, process, part_of(trace, begin, end))
