# SPDX-License-Identifier: BSD-3-Clause
"""Records a command, or for some seconds all programs of this user, in an LTTng session."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import Any, Iterator, Sequence

from nrbench import host
from nrbench.needed import STATUS
from nrbench.trace import lttng
from nrbench.trace.lttng import HELD, PROVIDER, Session, TraceError

RECORD_FILE = "recorded.json"  # describes the recording, beside the trace
FULL_BYTES = 1 << 20  # a disk with less free space has no room for the next sub-buffer
LOOK_S = 1.0  # for the child, whatever signals come
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


def check(session: Session, command: Sequence[str], seconds: float | None) -> None:
    """Finds errors before anything is started."""
    if not command and seconds is None:
        raise TraceError("nothing to record: name a command after --, or use --seconds")
    if command and shutil.which(command[0]) is None:
        raise TraceError(f"{command[0]}: command not found, or not executable")
    session.check_memory()
    session.out.mkdir(parents=True, exist_ok=True)
    if any(session.out.iterdir()):
        raise TraceError(f"--out {session.out}: the folder is not empty; name another one")


def record(session: Session, command: Sequence[str], seconds: float | None, follow_forks: bool) -> int:
    """@return the command's exit status; 2 if the command succeeded and no event of the pool was recorded"""
    check(session, command, seconds)
    # Signals are held until the session is destroyed. They interrupt only the wait for the command.
    with held(), lttng.ends_with_block(), session:
        say(f"recording into {session.out}")
        process = _start(command, follow_forks) if command else None
        status = _run(session, process, seconds)
        session.stop()
    about = {"command": shlex.join(command), "pid": process.pid if process else None, "seconds": seconds}
    _write_about(session, about)
    return _judge(session, status)


def _write_about(session: Session, about: dict[str, Any]) -> None:
    """Describes the machine and the recording for the report."""
    losses = session.losses
    about = host.facts() | about
    about["buffers"] = f"{lttng.SUBBUFS} x {session.subbuf_bytes >> 10} KiB for each CPU"
    about |= {f"lost_{name}": count for name, count in losses._asdict().items()} if losses else {}
    del about["bench"]
    path = session.out / RECORD_FILE
    try:
        path.write_text(json.dumps(about, indent=1) + "\n")
    except OSError as error:
        say(f"{path}: {error.strerror}; the report will not describe the machine and the recording")


@contextmanager
def held() -> Iterator[None]:
    """Signals wait until they are asked for, and are forgotten at the end.

    No handler raises anything: an exception in the middle of a wait for a child would lose its exit status.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        while signal.sigtimedwait(HELD, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _wait(
    process: subprocess.Popen[bytes] | None, end_s: float | None = None, deaf: bool = False
) -> int | None:
    """Inside held(): for the end of a child, a signal, or a time, whatever comes first.
    @param deaf  signals are ignored
    @return the child's exit status as shells have it; a signal's number, negative; None: the time has come"""
    while True:
        code = process.poll() if process is not None else None
        if code is not None:
            return code if code >= 0 else 128 - code
        left_s = LOOK_S if end_s is None else end_s - time.monotonic()
        if left_s <= 0:
            return None
        came = signal.sigtimedwait(HELD, min(left_s, LOOK_S))
        if came is not None and came.si_signo != signal.SIGCHLD and not deaf:
            return -came.si_signo


def _run(session: Session, process: subprocess.Popen[bytes] | None, seconds: float | None) -> int:
    """Waits for the command, or for the time. @return the exit status

    Meanwhile programs report at DUMPS_S the libraries that they have loaded. The names of functions in
    libraries that a program loads with dlopen() come from these reports.
    """
    begin_s = time.monotonic()
    ends_s = [begin_s + at_s for at_s in DUMPS_S if seconds is None or at_s < seconds]
    try:
        for end_s in (*ends_s, seconds and begin_s + seconds):
            came = _wait(process, end_s)
            if came is None or process is None:
                session.dump_state()
            if came is not None:
                break
        if process is None:  # Ctrl-C is a way to end such a recording
            return 0 if came in (None, -signal.SIGINT) else 128 - came
        if came is None:
            session.stop()
            say(f"{seconds:g} s are recorded; waiting for the command to end")
            came = _wait(process)
        return _end(process, -came) if came and came < 0 else came or 0
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()


def _start(command: Sequence[str], follow_forks: bool) -> subprocess.Popen[bytes]:
    environment = os.environ | lttng.WANTED
    if follow_forks:
        library = "liblttng-ust-fork.so.1"
        environment["LD_PRELOAD"] = " ".join(filter(None, [library, environment.get("LD_PRELOAD")]))
    try:
        return subprocess.Popen(list(command), env=environment, preexec_fn=lttng.let_through)
    except OSError as error:
        raise TraceError(f"{command[0]}: {error.strerror}") from error


def _end(process: subprocess.Popen[bytes], number: int) -> int:
    """Passes a signal on, and ignores further ones. A Ctrl-C has most likely reached the command already.
    @return the exit status"""
    status = _wait(process, time.monotonic() + 1, deaf=True) if number == signal.SIGINT else None
    if status is None:
        process.send_signal(number)
        status = _wait(process, time.monotonic() + GRACE_S, deaf=True)
    if status is None:
        say(f"the command has not ended {GRACE_S:g} s after the signal; killing it")
        process.kill()
        status = _wait(process, deaf=True)
    return status or 0


def _judge(session: Session, status: int) -> int:
    """Says whether the recording is complete."""
    out, losses = session.out, session.losses
    if shutil.disk_usage(out).free < FULL_BYTES:
        say(f"the disk of {out} is full: the trace is not complete")
    # These files declare the events of each program that the recorder has seen.
    if not any(f"{PROVIDER}:".encode() in file.read_bytes() for file in out.rglob("metadata")):
        say(f"{out}: no event of {PROVIDER} was recorded. {REMEDY}")
        return status or STATUS
    if losses is not None and any(losses):
        lost = f"{losses.events} events and {losses.packets} packets were LOST: the buffers were full"
        say(f"{lost}. Record again with larger ones: --subbuf-size={session.subbuf_bytes * 2 >> 10}k")
    say(f"recorded; next: tpool-ws-trace report {out}")
    return status
