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
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.trace import signals
from nrbench.trace.events import PROVIDER, TraceError
from nrbench.trace.lttng import WANTED, Session, ends_with_block

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


def say(text: str) -> None:
    print(f"tpool-ws-trace: {text}", file=sys.stderr, flush=True)


def default_out() -> Path:
    return Path(f"trace-{datetime.datetime.now():%Y%m%d-%H%M%S}")


def check(session: Session, command: Sequence[str], seconds: float | None) -> bool:
    """Finds errors before anything is started. @return whether the folder is new"""
    if not command and seconds is None:
        raise TraceError("nothing to record: name a command after --, or use --seconds")
    if command and shutil.which(command[0]) is None:
        raise TraceError(f"{command[0]}: command not found, or not executable")
    session.check_memory()
    is_new = not session.out.exists()
    session.out.mkdir(parents=True, exist_ok=True)
    if any(session.out.iterdir()):
        raise TraceError(f"--out {session.out}: the folder is not empty; name another one")
    return is_new


def record(
    session: Session, command: Sequence[str], seconds: float | None = None, follow_forks: bool = False
) -> int:
    """@return the command's exit status; 2 if the command succeeded and no event of the pool was recorded"""
    is_new = check(session, command, seconds)
    try:
        # Signals are held until the session is destroyed. They interrupt only the wait for the command.
        with signals.held(), ends_with_block(), session:
            say(f"recording into {session.out}")
            process = _start(command, follow_forks) if command else None
            status = _run(session, process, seconds)
            session.stop()
    except BaseException:
        if is_new:
            with suppress(OSError):
                session.out.rmdir()  # unless something was recorded
        raise
    about = {"command": shlex.join(command), "pid": process.pid if process else None, "seconds": seconds}
    _write_about(session, about)
    return _judge(session, status)


def _write_about(session: Session, about: dict[str, Any]) -> None:
    """Describes the machine and the recording for the report."""
    buffers, losses, each = session.buffers, session.losses, " and process" if session.per_process else ""
    about = host.facts() | about
    about |= {
        "buffers": f"{buffers.count} x {buffers.subbuf_bytes >> 10} KiB for each CPU{each}",
        "lost_events": losses and losses.events,
        "lost_packets": losses and losses.packets,
    }
    del about["bench"]
    path = session.out / RECORD_FILE
    try:
        path.write_text(json.dumps(about, indent=1) + "\n")
    except OSError as error:
        say(f"{path}: {error.strerror}; the report will not describe the machine and the recording")


def _run(session: Session, process: subprocess.Popen[bytes] | None, seconds: float | None) -> int:
    """Waits for the command, or for the time. @return the exit status

    Meanwhile programs report at DUMPS_S the libraries that they have loaded. The names of functions in
    libraries that a program loads with dlopen() come from these reports.
    """
    begin, looks = time.monotonic(), [at_s for at_s in DUMPS_S if seconds is None or at_s < seconds]
    try:
        for at_s in (*looks, seconds):
            event = signals.wait(process, None if at_s is None else begin + at_s - time.monotonic())
            if event == signals.Event() or process is None:
                session.dump_state()
            if event != signals.Event():
                break
        if process is None:  # Ctrl-C is a way to end such a recording
            return 0 if event.signal in (None, signal.SIGINT) else 128 + event.signal
        if event == signals.Event():
            session.stop()
            say(f"{seconds:g} s are recorded; waiting for the command to end")
            event = signals.wait(process, None)
        return (event.status or 0) if event.signal is None else _end(process, event.signal)
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _start(command: Sequence[str], follow_forks: bool) -> subprocess.Popen[bytes]:
    environment = os.environ | WANTED
    if follow_forks:
        library = "liblttng-ust-fork.so.1"
        environment["LD_PRELOAD"] = " ".join(filter(None, [library, environment.get("LD_PRELOAD")]))
    try:
        return subprocess.Popen(list(command), env=environment, preexec_fn=signals.let_through)
    except OSError as error:
        raise TraceError(f"{command[0]}: {error.strerror}") from error


def _end(process: subprocess.Popen[bytes], number: int) -> int:
    """Passes a signal on, and ignores further ones. A Ctrl-C has most likely reached the command already.
    @return the exit status"""
    status = signals.wait(process, 1, deaf=True).status if number == signal.SIGINT else None
    if status is None:
        process.send_signal(number)
        status = signals.wait(process, GRACE_S, deaf=True).status
    if status is None:
        say(f"the command has not ended {GRACE_S:g} s after the signal; killing it")
        process.kill()
        status = signals.wait(process, None, deaf=True).status
    return status or 0


def _judge(session: Session, status: int) -> int:
    """Says whether the recording is complete."""
    out, losses = session.out, session.losses
    if shutil.disk_usage(out).free < FULL_BYTES:
        say(f"the disk of {out} is full: the trace is not complete")
    metadata = [folder / "metadata" for folder in trace_folders(out)]
    # They declare the events of each program that the recorder has seen.
    if not any(f"{PROVIDER}:".encode() in file.read_bytes() for file in metadata):
        programs = "only programs with other tracepoints" if metadata else "no program with LTTng tracepoints"
        what = f"no event of {PROVIDER}" if metadata else "nothing"
        say(f"{out}: {what} was recorded: {programs} ran. {REMEDY}")
        return status or 2
    if losses is not None and any(losses):
        larger = f"--subbuf-size={session.buffers.subbuf_bytes * 2 >> 10}k or more --num-subbuf"
        lost = f"{losses.events} events and {losses.packets} packets were LOST: the buffers were full"
        say(f"{lost}. Record again with larger ones: {larger}")
    say(f"recorded; next: tpool-ws-trace report {out}")
    return status


def files_below(top: Path) -> list[Path]:
    """All files below a folder. A folder that cannot be read is an error."""

    def fail(error: OSError) -> None:
        raise error

    return [Path(folder) / name for folder, _, names in os.walk(top, onerror=fail) for name in names]


def trace_folders(top: Path) -> list[Path]:
    """Folders that hold a trace: those with a file called metadata."""
    return sorted(file.parent for file in files_below(top) if file.name == "metadata")
