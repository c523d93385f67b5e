# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tpool-ws-trace."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option

from nrbench.needed import require
from nrbench.options import Program
from nrbench.trace import record as recorder
from nrbench.trace.lttng import SUBBUF_BYTES, Session, TraceError

UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
program = Program(
    "tpool-ws-trace",
    "Record traces of thread_pool_ws with LTTng, report where the time went, export them for Perfetto.",
    (TraceError,),
)


def power_of_two(text: str | int) -> int:
    """LTTng wants the size of its buffers so. @param text or the default"""
    match = re.fullmatch(r"(\d+)([kMG]?)", str(text))
    value = int(match[1]) * UNITS[match[2]] if match else 0
    if value < 2 or value & (value - 1):
        raise BadParameter(f"{text!r}: expected a power of two, for example 512k or 4M")
    return value


Command = Annotated[list[str] | None, Argument(metavar="-- COMMAND [ARGUMENT]", show_default=False)]
RecordOut = Annotated[
    Path | None, Option(metavar="DIR", help="new or empty folder (default: trace-<date>-<time>)")
]
LENGTH = "length of the recording; required without a command. With a command: its longest length"
Seconds = Annotated[float | None, Option(min=0.001, max=1e6, metavar="N", help=LENGTH)]
FORKS = "also record children that a traced program forks without exec (preloads liblttng-ust-fork)"
FollowForks = Annotated[bool, Option("--follow-forks", help=FORKS)]
SIZE = "size of a buffer, of which each CPU has eight: a power of two"
Size = Annotated[int, Option(parser=power_of_two, metavar="BYTES", help=SIZE, show_default="1M")]

Folder = Annotated[Path, Argument(metavar="TRACE_DIR", help="folder of the recording")]
OneProcess = Annotated[
    str | None, Option(metavar="NAME|ID", help="only processes of that name or id (default: all)")
]
ReportOut = Annotated[Path | None, Option(metavar="DIR", help="also write report.html into this folder")]
PHASE = "show only symbol_processing, ulsch_decoding, burst, or names with this part; repeatable"
Phases = Annotated[list[str] | None, Option(metavar="NAME", help=PHASE)]
Json = Annotated[bool, Option("--json", help="print the figures as JSON")]
Perfetto = Annotated[Path, Option(metavar="FILE", help="write this file for https://ui.perfetto.dev")]
SLOT = (
    "only this slot and what is around it; #n is the n-th of that name, from 0. #n alone is a burst "
    "(default: the whole trace)"
)
Slot = Annotated[str | None, Option(metavar="FRAME.SLOT[#n]", help=SLOT)]


@program.command(allow_interspersed_args=False)
def record(
    words: Command = None,
    out: RecordOut = None,
    seconds: Seconds = None,
    follow_forks: FollowForks = False,
    subbuf_size: Size = SUBBUF_BYTES,
) -> int:
    """Record the thread pools of all programs of this user, while a command runs or for some seconds."""
    folder = out or Path(f"trace-{datetime.datetime.now():%Y%m%d-%H%M%S}")
    session = Session(f"tpool-ws-{os.getpid()}", folder, subbuf_size)
    return recorder.record(session, words or (), seconds, follow_forks)


@program.command()
def report(
    trace: Folder,
    out: ReportOut = None,
    phase: Phases = None,
    process: OneProcess = None,
    as_json: Json = False,
) -> int:
    """Print the tables of a recorded trace; with --out also write a page."""
    require(program.name)
    from nrbench.trace.report import report as run

    return run(trace, out, phase or (), process, as_json)


@program.command()
def export(trace: Folder, perfetto: Perfetto, slot: Slot = None, process: OneProcess = None) -> int:
    """Write a recorded trace for Perfetto's viewer."""
    require(program.name)
    try:
        from nrbench.trace.perfetto import export as run
    except ImportError as error:
        raise TraceError(f"{error}; run ci/setup bench, or pip install perfetto") from error
    return run(trace, perfetto, slot, process)
