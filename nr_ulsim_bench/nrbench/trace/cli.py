# SPDX-License-Identifier: BSD-3-Clause
"""Traces of thread_pool_ws: `record` makes one with LTTng, `report` shows where the time went."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Sequence

from nrbench.trace import record
from nrbench.trace.events import TraceError
from nrbench.trace.lttng import Buffers

PROGRAM = "tpool-ws-trace"
UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def power_of_two(least: int, example: str) -> Callable[[str], int]:
    """LTTng wants the size and the number of its buffers so."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"(\d+)([kMG]?)", text)
        value = int(match[1]) * UNITS[match[2]] if match else 0
        if value < least or value & (value - 1):
            raise argparse.ArgumentTypeError(
                f"{text!r}: expected a power of two from {least}, for example {example}"
            )
        return value

    return parse


def parse_seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) < 1e6:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number of seconds")


def parse_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: letters, digits, dot, hyphen and underscore only")
    return text


def add_record(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "record",
        help="record the thread pools of all programs of this user, while a command runs or for some seconds",
        usage=f"{PROGRAM} record [options] [-- command [argument...]]",
    )
    parser.set_defaults(run=run_record)
    add = parser.add_argument
    text = "new or empty folder (default: trace-<date>-<time>)"
    add("--out", type=Path, default=record.default_out(), metavar="DIR", help=text)
    text = "name of the LTTng session (default: tpool-ws-<process id>)"
    add("--name", type=parse_name, default=f"tpool-ws-{os.getpid()}", help=text)
    add(
        "--seconds",
        type=parse_seconds,
        metavar="N",
        help="length of the recording; required without a command. With a command: its longest length",
    )
    add(
        "--follow-forks",
        action="store_true",
        help="also record children that a traced program forks without exec (preloads liblttng-ust-fork)",
    )
    add_buffers(add)
    add("command", nargs="*", help=argparse.SUPPRESS)


def add_buffers(add: Callable[..., object]) -> None:
    defaults = Buffers()
    add(
        "--subbuf-size",
        type=power_of_two(4096, "512k, 1M"),
        default=defaults.subbuf_bytes,
        metavar="BYTES",
        help="size of one buffer, a power of two (default: 1M)",
    )
    add(
        "--num-subbuf",
        type=power_of_two(2, "8"),
        default=defaults.count,
        metavar="N",
        help="number of buffers for each CPU, a power of two (default: %(default)s)",
    )
    add(
        "--per-process",
        action="store_true",
        help="separate buffers for each process: if one crashes, the events of the others are kept; each "
        "process needs the memory of all buffers",
    )


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_text = "print the tables of a recorded trace; with --out also write pictures and a page"
    parser = commands.add_parser("report", help=help_text)
    parser.set_defaults(run=run_report)
    add = parser.add_argument
    add("trace", type=Path, metavar="TRACE_DIR", help="folder of the recording")
    add(
        "--out", type=Path, metavar="DIR", help="write report.html, report.json and pictures into this folder"
    )
    add(
        "--slot",
        metavar="FRAME.SLOT[#n]",
        help=(
            "draw this slot; #n is the n-th of that name, from 0. #n alone is a burst (default: the "
            "longest slot)"
        ),
    )
    add(
        "--phase",
        dest="phases",
        action="append",
        default=[],
        metavar="NAME",
        help="show only symbol_processing, ulsch_decoding, burst, or names with this part; repeatable",
    )
    add("--process", metavar="NAME|ID", help="show only processes of that name or id (default: all)")
    add("--json", dest="as_json", action="store_true", help="print the figures as JSON")


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    commands = parser.add_subparsers(dest="subcommand", required=True)
    add_record(commands)
    add_report(commands)
    return parser.parse_args(argv)


def run_record(subbuf_size: int, num_subbuf: int, **given: Any) -> int:
    return record.record(record.Options(buffers=Buffers(subbuf_size, num_subbuf), **given))


def run_report(**given: Any) -> int:
    try:
        from nrbench.trace import report
    except ImportError as error:
        raise TraceError(f"a Python package is missing or broken: {error}; run ci/setup bench") from error
    return report.report(report.Options(**given))


def main(argv: Sequence[str] | None = None) -> int:
    given = vars(parse_args(argv))
    del given["subcommand"]
    try:
        return given.pop("run")(**given)  # type: ignore[no-any-return]
    except TraceError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        with suppress(OSError):
            sys.stdout.close()  # or the interpreter writes again when it ends
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"{PROGRAM}: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 2
