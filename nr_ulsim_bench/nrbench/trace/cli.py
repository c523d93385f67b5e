# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tpool-ws-trace."""

from __future__ import annotations

import functools
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Callable

import typer
from typer import Argument, BadParameter, Option

from nrbench.needed import STATUS, require
from nrbench.options import program
from nrbench.trace import record as recorder
from nrbench.trace.events import TraceError
from nrbench.trace.lttng import Buffers, Session

PROGRAM = "tpool-ws-trace"
UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
app = program(
    "Record traces of thread_pool_ws with LTTng, report where the time went, export them for Perfetto."
)


def power_of_two(text: str | int) -> int:
    """LTTng wants the size and the number of its buffers so. @param text or the default"""
    match = re.fullmatch(r"(\d+)([kMG]?)", str(text))
    value = int(match[1]) * UNITS[match[2]] if match else 0
    if value < 2 or value & (value - 1):
        raise BadParameter(f"{text!r}: expected a power of two, for example 8 or 512k")
    return value


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Makes the function a command of the program; its result is the exit status. Errors that the user can
    mend become one line."""

    @functools.wraps(function)
    def guarded(**given: Any) -> None:
        try:
            raise typer.Exit(function(**given))
        except TraceError as error:
            message = str(error)
        except OSError as error:
            if error.filename is None:
                with suppress(OSError):
                    sys.stdout.close()  # or the interpreter writes again when it ends
            if isinstance(error, BrokenPipeError):
                raise typer.Exit(141) from None
            message = f"{error.filename or 'standard output'}: {error.strerror}"
        print(f"{PROGRAM}: {message}", file=sys.stderr)
        raise typer.Exit(STATUS)

    settings = {"allow_interspersed_args": False} if function.__name__ == "record" else {}
    return app.command(context_settings=settings)(guarded)


Command = Annotated[list[str] | None, Argument(metavar="-- COMMAND [ARGUMENT]", show_default=False)]
RecordOut = Annotated[
    Path | None, Option(metavar="DIR", help="new or empty folder (default: trace-<date>-<time>)")
]
Name = Annotated[str | None, Option(help="name of the LTTng session (default: tpool-ws-<process id>)")]
LENGTH = "length of the recording; required without a command. With a command: its longest length"
Seconds = Annotated[float | None, Option(min=0.001, max=1e6, metavar="N", help=LENGTH)]
FORKS = "also record children that a traced program forks without exec (preloads liblttng-ust-fork)"
FollowForks = Annotated[bool, Option("--follow-forks", help=FORKS)]
SIZE = "size of one buffer, a power of two"
Size = Annotated[int, Option(parser=power_of_two, metavar="BYTES", help=SIZE, show_default="1M")]
COUNT = "number of buffers for each CPU, a power of two"
Count = Annotated[int, Option(parser=power_of_two, metavar="N", help=COUNT)]
SEPARATE = (
    "separate buffers for each process: if one crashes, the events of the others are kept; each process "
    "needs the memory of all buffers"
)
PerProcess = Annotated[bool, Option("--per-process", help=SEPARATE)]

Folder = Annotated[Path, Argument(metavar="TRACE_DIR", help="folder of the recording")]
OneProcess = Annotated[
    str | None, Option(metavar="NAME|ID", help="only processes of that name or id (default: all)")
]
FILES = "write report.html, report.json and a picture into this folder"
ReportOut = Annotated[Path | None, Option(metavar="DIR", help=FILES)]
PHASE = "show only symbol_processing, ulsch_decoding, burst, or names with this part; repeatable"
Phases = Annotated[list[str] | None, Option(metavar="NAME", help=PHASE)]
Json = Annotated[bool, Option("--json", help="print the figures as JSON")]
Perfetto = Annotated[Path, Option(metavar="FILE", help="write this file for https://ui.perfetto.dev")]
SLOT = (
    "only this slot and what is around it; #n is the n-th of that name, from 0. #n alone is a burst "
    "(default: the whole trace)"
)
Slot = Annotated[str | None, Option(metavar="FRAME.SLOT[#n]", help=SLOT)]


@command
def record(
    words: Command = None,
    out: RecordOut = None,
    name: Name = None,
    seconds: Seconds = None,
    follow_forks: FollowForks = False,
    subbuf_size: Size = Buffers.subbuf_bytes,
    num_subbuf: Count = Buffers.count,
    per_process: PerProcess = False,
) -> int:
    """Record the thread pools of all programs of this user, while a command runs or for some seconds."""
    folder, buffers = out or recorder.default_out(), Buffers(subbuf_size, num_subbuf)
    session = Session(name or f"tpool-ws-{os.getpid()}", folder, buffers, per_process)
    return recorder.record(session, words or (), seconds, follow_forks)


@command
def report(
    trace: Folder,
    out: ReportOut = None,
    phase: Phases = None,
    process: OneProcess = None,
    as_json: Json = False,
) -> int:
    """Print the tables of a recorded trace; with --out also write a page."""
    require(PROGRAM)
    from nrbench.trace.report import report as run

    return run(trace, out, phase or (), process, as_json)


@command
def export(trace: Folder, perfetto: Perfetto, slot: Slot = None, process: OneProcess = None) -> int:
    """Write a recorded trace for Perfetto's viewer."""
    require(PROGRAM)
    try:
        from nrbench.trace.perfetto import export as run
    except ImportError as error:
        raise TraceError(f"{error}; run ci/setup bench, or pip install perfetto") from error
    return run(trace, perfetto, slot, process)


def main() -> None:
    app(prog_name=PROGRAM)
