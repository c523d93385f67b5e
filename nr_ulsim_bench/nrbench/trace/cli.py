# SPDX-License-Identifier: BSD-3-Clause
"""Traces of thread_pool_ws: `record` makes one with LTTng, `report` shows where the time went."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Callable, Sequence

from nrbench.trace.errors import TraceError
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
    add = commands.add_parser(
        "record",
        help="record the thread pools of all programs of this user, while a command runs or for some seconds",
        usage=f"{PROGRAM} record [options] [-- command [argument...]]",
    ).add_argument
    add("--out", type=Path, metavar="DIR", help="new or empty folder (default: trace-<date>-<time>)")
    add("--name", type=parse_name, help="name of the LTTng session (default: tpool-ws-<process id>)")
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
    add("command_line", nargs="*", metavar="command", help=argparse.SUPPRESS)


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
    add = commands.add_parser("report", help=help_text).add_argument
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
        action="append",
        default=[],
        metavar="NAME",
        help="show only symbol_processing, ulsch_decoding, burst, or names with this part; repeatable",
    )
    add("--process", metavar="NAME|ID", help="show only processes of that name or id (default: all)")
    add("--json", action="store_true", help="print the figures as JSON")


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add_record(commands)
    add_report(commands)
    return parser.parse_args(argv)


def run_record(args: argparse.Namespace) -> int:
    from nrbench.trace import record

    return record.record(
        record.Options(
            out=args.out or record.default_out(),
            name=args.name or f"tpool-ws-{os.getpid()}",
            command=args.command_line,
            seconds=args.seconds,
            buffers=Buffers(args.subbuf_size, args.num_subbuf),
            per_process=args.per_process,
            follow_forks=args.follow_forks,
        )
    )


def run_report(args: argparse.Namespace) -> int:
    try:
        from nrbench.trace import report
    except ImportError as error:
        raise TraceError(f"a Python package is missing or broken: {error}; run ci/setup bench") from error
    return report.report(
        report.Options(args.trace, args.out, args.slot, tuple(args.phase), args.process, args.json)
    )


def main(argv: Sequence[str] | None = None) -> int:
    args = parse_args(argv)
    try:
        return run_record(args) if args.command == "record" else run_report(args)
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
