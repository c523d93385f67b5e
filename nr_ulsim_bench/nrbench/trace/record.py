# SPDX-License-Identifier: BSD-3-Clause
"""Record: a session around a command, or around what runs already."""

from __future__ import annotations

import datetime
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Sequence

from nrbench import host
from nrbench.trace import ctf_files, signals
from nrbench.trace.errors import TraceError
from nrbench.trace.events import PROVIDER
from nrbench.trace.lttng import Buffers, Losses, Session, check_installed, check_memory

RECORD_FILE = "recorded.json"  # beside the trace
GRACE_S = 10.0  # for a command to end after it has been told to


@dataclass(frozen=True)
class Options:
    out: Path
    name: str
    command: Sequence[str]
    seconds: float | None = None
    buffers: Buffers = field(default_factory=Buffers)
    per_process: bool = False
    follow_forks: bool = False


def say(text: str) -> None:
    print(f"tpool-ws-trace: {text}", file=sys.stderr, flush=True)


def default_out() -> Path:
    return Path(f"trace-{datetime.datetime.now():%Y%m%d-%H%M%S}")


def check(options: Options) -> None:
    """What can be known before anything is started."""
    if not options.command and options.seconds is None:
        raise TraceError(
            "nothing to record: name a command after --, or --seconds to record what runs already"
        )
    if options.command and shutil.which(options.command[0]) is None:
        raise TraceError(f"{options.command[0]}: command not found, or it may not be executed")
    if options.out.exists() and not options.out.is_dir():
        raise TraceError(f"--out {options.out}: is a file")
    if options.out.is_dir() and any(options.out.iterdir()):
        raise TraceError(f"--out {options.out}: the folder is not empty; name another one")
    check_installed()
    check_memory(options.buffers, options.per_process)


def record(options: Options) -> int:
    """@return the command's exit status; 2 if it succeeded and nothing of the pool has been recorded"""
    check(options)
    options.out.mkdir(parents=True, exist_ok=True)
    with signals.held():  # until the session is gone; only the wait for the command can be broken off
        with Session(options.name, options.out, options.buffers, options.per_process) as session:
            say(f"recording into {options.out}")
            status = _run(options, session)
            session.stop()
    _write_about(options, session.losses)
    return _judge(options, session.losses, status)


def _write_about(options: Options, losses: Losses | None) -> None:
    """What the report says of the machine and the recording."""
    about = host.facts() | {
        "command": shlex.join(options.command),
        "seconds": options.seconds,
        "buffers": f"{options.buffers.count} x {options.buffers.subbuf_bytes >> 10} KiB a CPU"
        + (" and process" if options.per_process else ""),
        "lost_events": losses.events if losses else None,
        "lost_packets": losses.packets if losses else None,
    }
    del about["bench"]
    (options.out / RECORD_FILE).write_text(json.dumps(about, indent=1) + "\n")


def _run(options: Options, session: Session) -> int:
    """The command, or the time. @return the exit status"""
    process = _start(options) if options.command else None
    try:
        event = signals.wait(process, options.seconds)
        if process is not None and event == signals.Event():
            session.stop()
            say(f"{options.seconds:g} s are recorded; waiting for the command to end")
            event = signals.wait(process, None)
        if event.status is not None:
            return event.status
        return 0 if event.signal is None else _end(process, event.signal)
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _start(options: Options) -> subprocess.Popen[bytes]:
    environment = os.environ.copy()
    if options.follow_forks:
        library = "liblttng-ust-fork.so.1"
        environment["LD_PRELOAD"] = " ".join(filter(None, [library, environment.get("LD_PRELOAD")]))
    try:
        return subprocess.Popen(list(options.command), env=environment, preexec_fn=signals.let_through)
    except OSError as error:
        raise TraceError(f"{options.command[0]}: {error.strerror}") from error


def _end(process: subprocess.Popen[bytes] | None, number: int) -> int:
    """Pass a signal on; a Ctrl-C has most likely reached the command by itself."""
    if process is None:
        return 0 if number == signal.SIGINT else 128 + number  # Ctrl-C is a way to end such a recording
    if number == signal.SIGINT:
        status = _status(process, 1)
        if status is not None:
            return status
    process.send_signal(number)
    status = _status(process, GRACE_S)
    if status is None:
        say(f"the command has not ended {GRACE_S:g} s after the signal; it is killed")
        process.kill()
        status = _status(process, None)
    return status or 0


def _status(process: subprocess.Popen[bytes], seconds: float | None) -> int | None:
    """Its exit status, whatever signals come; None if it goes on after that time."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        event = signals.wait(process, None if end is None else end - time.monotonic())
        if event.signal is None:
            return event.status


def _judge(options: Options, losses: Losses | None, status: int) -> int:
    """Say what has been recorded."""
    missing = what_is_missing(options.out)
    if missing:
        say(f"{options.out}: {missing}")
        return status or 2
    if losses is None:
        say("whether events were lost is not known; the report says it")
    elif losses.events or losses.packets:
        say(
            f"{losses.events} events and {losses.packets} packets were LOST: the buffers were full. Record "
            f"again with larger ones: --subbuf-size={options.buffers.subbuf_bytes * 2 >> 10}k or more "
            "--num-subbuf"
        )
    say(f"recorded; next: tpool-ws-trace report {options.out}")
    return status


def what_is_missing(out: Path) -> str | None:
    """Why there is no event of the pool in a folder, if so."""
    remedy = (
        "Was the program built with tracing (liblttng-ust-dev there when it was configured; its log says so)?"
        " Is liblttng-ust on this machine? Does it run as this user? Does it use the pool?"
    )
    if not ctf_files.trace_folders(out):
        return f"nothing was recorded: no program with LTTng tracepoints has run. {remedy}"
    if not ctf_files.provider_declared(out, PROVIDER):
        return f"no event of {PROVIDER} was recorded: programs with other tracepoints have run. {remedy}"
    return None
