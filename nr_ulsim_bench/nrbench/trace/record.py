# SPDX-License-Identifier: BSD-3-Clause
"""Records a command, or for some seconds all programs of this user, in an LTTng session."""

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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Sequence

from nrbench import host
from nrbench.trace import signals
from nrbench.trace.events import PROVIDER, TraceError
from nrbench.trace.lttng import WANTED, Buffers, Losses, Session, check_memory, ends_with_block

RECORD_FILE = "recorded.json"  # describes the recording, beside the trace
FULL_BYTES = 1 << 20  # a disk with less free space has no room for the next sub-buffer
GRACE_S = 10.0  # for the command to end after a signal
DUMPS_S = (1.0, 2.0, 4.0, 8.0, 16.0)  # after the start; nr_ulsim takes a second to load its decoder
REMEDY = (
    "Check that the program was built with tracing (its configuration finds liblttng-ust-dev), that "
    "libthread_pool_ws_lttng.so.0 lies beside it and liblttng-ust is on this machine, that the program runs "
    "as this user, that it uses the pool, and, if it ran before the recording, that it was started with "
    "TPOOL_WS_TRACE=1"
)


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


def check(options: Options) -> bool:
    """Finds errors before anything is started. @return whether the folder is new"""
    if not options.command and options.seconds is None:
        raise TraceError("nothing to record: name a command after --, or use --seconds")
    if options.command and shutil.which(options.command[0]) is None:
        raise TraceError(f"{options.command[0]}: command not found, or not executable")
    check_memory(options.buffers, options.per_process)
    is_new = not options.out.exists()
    options.out.mkdir(parents=True, exist_ok=True)
    if any(options.out.iterdir()):
        raise TraceError(f"--out {options.out}: the folder is not empty; name another one")
    return is_new


def record(options: Options) -> int:
    """@return the command's exit status; 2 if the command succeeded and no event of the pool was recorded"""
    is_new = check(options)
    try:
        # Signals are held until the session is destroyed. They interrupt only the wait for the command.
        with signals.held(), ends_with_block():
            with Session(options.name, options.out, options.buffers, options.per_process) as session:
                say(f"recording into {options.out}")
                process = _start(options) if options.command else None
                status = _run(options, session, process)
                session.stop()
    except BaseException:
        if is_new:
            with suppress(OSError):
                options.out.rmdir()  # unless something was recorded
        raise
    _write_about(options, session.losses, process.pid if process else None)
    return _judge(options, session.losses, status)


def _write_about(options: Options, losses: Losses | None, pid: int | None) -> None:
    """Describes the machine and the recording for the report."""
    buffers, each = options.buffers, " and process" if options.per_process else ""
    about = host.facts() | {
        "command": shlex.join(options.command),
        "pid": pid,
        "seconds": options.seconds,
        "buffers": f"{buffers.count} x {buffers.subbuf_bytes >> 10} KiB for each CPU{each}",
        "lost_events": losses and losses.events,
        "lost_packets": losses and losses.packets,
    }
    del about["bench"]
    path = options.out / RECORD_FILE
    try:
        path.write_text(json.dumps(about, indent=1) + "\n")
    except OSError as error:
        say(f"{path}: {error.strerror}; the report will not describe the machine and the recording")


def _wait(session: Session, process: subprocess.Popen[bytes] | None, seconds: float | None) -> signals.Event:
    """As signals.wait(). Meanwhile programs report at DUMPS_S the libraries that they have loaded.

    The names of functions in libraries that a program loads with dlopen() come from these reports.
    """
    begin = time.monotonic()
    for at_s in DUMPS_S:
        if seconds is not None and at_s >= seconds:
            break
        event = signals.wait(process, begin + at_s - time.monotonic())
        if event != signals.Event():
            return event
        session.dump_state()
    return signals.wait(process, None if seconds is None else begin + seconds - time.monotonic())


def _run(options: Options, session: Session, process: subprocess.Popen[bytes] | None) -> int:
    """Waits for the command, or for the time. @return the exit status"""
    try:
        event = _wait(session, process, options.seconds)
        if event.status is None and (process is None or event.signal is None):
            session.dump_state()
        if process is not None and event == signals.Event():
            session.stop()
            say(f"{options.seconds:g} s are recorded; waiting for the command to end")
            event = signals.wait(process, None)
        if event.signal is None:
            return event.status or 0
        if process is None:  # Ctrl-C is a way to end such a recording
            return 0 if event.signal == signal.SIGINT else 128 + event.signal
        return _end(process, event.signal)
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _start(options: Options) -> subprocess.Popen[bytes]:
    environment = os.environ | WANTED
    if options.follow_forks:
        library = "liblttng-ust-fork.so.1"
        environment["LD_PRELOAD"] = " ".join(filter(None, [library, environment.get("LD_PRELOAD")]))
    try:
        return subprocess.Popen(list(options.command), env=environment, preexec_fn=signals.let_through)
    except OSError as error:
        raise TraceError(f"{options.command[0]}: {error.strerror}") from error


def _end(process: subprocess.Popen[bytes], number: int) -> int:
    """Passes a signal on. A Ctrl-C has most likely reached the command already. @return the exit status"""
    status = _status(process, 1) if number == signal.SIGINT else None
    if status is None:
        process.send_signal(number)
        status = _status(process, GRACE_S)
    if status is None:
        say(f"the command has not ended {GRACE_S:g} s after the signal; killing it")
        process.kill()
        status = _status(process, None)
    return status or 0


def _status(process: subprocess.Popen[bytes], seconds: float | None) -> int | None:
    """The exit status; further signals are ignored. None if the command still runs after that time."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        event = signals.wait(process, None if end is None else end - time.monotonic())
        if event.signal is None:
            return event.status


def _judge(options: Options, losses: Losses | None, status: int) -> int:
    """Says whether the recording is complete."""
    if shutil.disk_usage(options.out).free < FULL_BYTES:
        say(f"the disk of {options.out} is full: the trace is not complete")
    metadata = [folder / "metadata" for folder in trace_folders(options.out)]
    # They declare the events of each program that the recorder has seen.
    if not any(f"{PROVIDER}:".encode() in file.read_bytes() for file in metadata):
        programs = "only programs with other tracepoints" if metadata else "no program with LTTng tracepoints"
        what = f"no event of {PROVIDER}" if metadata else "nothing"
        say(f"{options.out}: {what} was recorded: {programs} ran. {REMEDY}")
        return status or 2
    if losses is not None and any(losses):
        say(
            f"{losses.events} events and {losses.packets} packets were LOST: the buffers were full. Record "
            f"again with larger ones: --subbuf-size={options.buffers.subbuf_bytes * 2 >> 10}k or more "
            "--num-subbuf"
        )
    say(f"recorded; next: tpool-ws-trace report {options.out}")
    return status


def files_below(top: Path) -> list[Path]:
    """All files below a folder. A folder that cannot be read is an error."""

    def fail(error: OSError) -> None:
        raise error

    return [Path(folder) / name for folder, _, names in os.walk(top, onerror=fail) for name in names]


def trace_folders(top: Path) -> list[Path]:
    """Folders that hold a trace: those with a file called metadata."""
    return sorted(file.parent for file in files_below(top) if file.name == "metadata")
