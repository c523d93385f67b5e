# SPDX-License-Identifier: BSD-3-Clause
"""Traces of thread_pool_ws: `record` makes one with LTTng, `report` says what it shows."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Sequence

from nrbench.trace.errors import TraceError
from nrbench.trace.lttng import Buffers

PROGRAM = "tpool-ws-trace"
UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """Bytes, a power of two as LTTng wants it."""
    match = re.fullmatch(r"(\d+)([kMG]?)", text)
    size = int(match[1]) * UNITS[match[2]] if match else 0
    if size < 4096 or size & (size - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no power of two from 4k; for example 512k, 1M")
    return size


def parse_count(text: str) -> int:
    if not text.isdigit() or int(text) < 2 or int(text) & (int(text) - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no power of two from 2")
    return int(text)


def parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of seconds")
    return seconds


def parse_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: letters, digits, dot, hyphen and underscore only")
    return text


def add_record(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    record = commands.add_parser(
        "record",
        help="run a command, or wait, and record what the pools of this user's programs do",
        usage=f"{PROGRAM} record [options] [-- command [argument...]]",
    )
    record.add_argument(
        "--out", type=Path, metavar="DIR", help="new or empty folder (default: trace-<date>-<time>)"
    )
    record.add_argument("--name", type=parse_name, help="of LTTng's session (default: tpool-ws-<process id>)")
    record.add_argument(
        "--seconds",
        type=parse_seconds,
        metavar="N",
        help="without a command: how long; with one: the most that is recorded of it",
    )
    _add_buffers(record)
    record.add_argument(
        "--per-process",
        action="store_true",
        help="buffers of their own for each process: when one that crashes must not take the others' events; "
        "each process needs the memory of all buffers",
    )
    record.add_argument(
        "--follow-forks",
        action="store_true",
        help="also record children that a traced program forks without exec (preloads liblttng-ust-fork)",
    )
    record.add_argument("command_line", nargs="*", metavar="command", help=argparse.SUPPRESS)


def _add_buffers(record: argparse.ArgumentParser) -> None:
    defaults = Buffers()
    record.add_argument(
        "--subbuf-size",
        type=parse_size,
        default=defaults.subbuf_bytes,
        metavar="BYTES",
        help="of one buffer, a power of two (default: 1M)",
    )
    record.add_argument(
        "--num-subbuf",
        type=parse_count,
        default=defaults.count,
        metavar="N",
        help=f"buffers a CPU, a power of two (default: {defaults.count})",
    )


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report", help="tables of a recorded trace; with --out also pictures and a page"
    )
    report.add_argument("trace", type=Path, metavar="TRACE_DIR", help="what was recorded into")
    report.add_argument(
        "--out", type=Path, metavar="DIR", help="write report.html, report.json and pictures there"
    )
    report.add_argument(
        "--slot",
        metavar="FRAME.SLOT[#n]",
        help="draw this slot, the n-th of that name from 0, or #n, a burst (default: the longest)",
    )
    report.add_argument(
        "--phase",
        action="append",
        default=[],
        metavar="NAME",
        help="only symbol_processing, ulsch_decoding, burst, or a part of a name; may be given several times",
    )
    report.add_argument(
        "--process",
        metavar="NAME|ID",
        help="only processes of that name or id (default: all of the trace)",
    )
    report.add_argument("--json", action="store_true", help="print the figures as JSON")


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
    except BrokenPipeError:
        sys.stderr.close()
        return 141
