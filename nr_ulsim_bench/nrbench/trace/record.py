# SPDX-License-Identifier: BSD-3-Clause
"""Record: a session around a command, or around what runs already."""

from __future__ import annotations

import datetime
import errno
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
from nrbench.trace import ctf_files, daemon, signals
from nrbench.trace.errors import TraceError
from nrbench.trace.events import PROVIDER
from nrbench.trace.lttng import Buffers, Losses, Session, check_installed, check_memory, free_memory, is_full

RECORD_FILE = ctf_files.RECORD_FILE
GRACE_S = 10.0  # for a command to end after it has been told to
LOOK_S = 1.0
DUMPS_S = (1.0, 2.0, 4.0, 8.0, 16.0)  # after its begin; nr_ulsim takes a second to load its decoder


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
    check_installed()
    check_memory(options.buffers, options.per_process)


def make_folder(out: Path) -> bool:
    """It is there, empty, and can be written to. @return whether it had to be made"""
    try:
        if out.exists() and not out.is_dir():
            raise TraceError(f"--out {out}: is a file")
        if out.is_dir() and any(out.iterdir()):
            raise TraceError(f"--out {out}: the folder is not empty; name another one")
        is_new = not out.exists()
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"--out {out}: {error.strerror}") from error
    if not os.access(out, os.W_OK | os.X_OK):
        raise TraceError(f"--out {out}: {os.strerror(errno.EACCES)}")
    return is_new


def record(options: Options) -> int:
    """@return the command's exit status; 2 if it succeeded and nothing of the pool has been recorded"""
    check(options)
    is_new = make_folder(options.out)
    try:
        # until the session is gone; only the wait for the command can be broken off
        with signals.held(), daemon.ends_with_block():
            with Session(options.name, options.out, options.buffers, options.per_process) as session:
                _say_left_behind(session)
                say(f"recording into {options.out}")
                watch = Watch(session)
                status = _run(options, watch)
                session.stop()
    except BaseException:
        if is_new:
            _remove_empty(options.out)
        raise
    _write_about(options, session.losses, watch.pid)
    _warn_of_memory(options, watch)
    return _judge(options, session.losses, status)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # something is in it


def _say_left_behind(session: Session) -> None:
    for name in session.left_behind:
        say(f"a recorder that was killed has left its session behind; end it: lttng destroy {name}")


def _write_about(options: Options, losses: Losses | None, pid: int | None) -> None:
    """What the report says of the machine and the recording."""
    about = host.facts() | {
        "command": shlex.join(options.command),
        "pid": pid,
        "seconds": options.seconds,
        "buffers": f"{options.buffers.count} x {options.buffers.subbuf_bytes >> 10} KiB a CPU"
        + (" and process" if options.per_process else ""),
        "lost_events": losses.events if losses else None,
        "lost_packets": losses.packets if losses else None,
    }
    del about["bench"]
    path = options.out / RECORD_FILE
    try:
        path.write_text(json.dumps(about, indent=1) + "\n")
    except OSError as error:
        say(f"{path}: {error.strerror}; the report will not say how this was recorded")


def _warn_of_memory(options: Options, watch: Watch) -> None:
    """A process without buffers is not in the trace, and nothing else says so."""
    if options.per_process and watch.least_memory < options.buffers.bytes:
        say(
            f"shared memory had {watch.least_memory >> 20} MiB left, a process' buffers need "
            f"{options.buffers.bytes >> 20} MiB: processes may be missing. Smaller --subbuf-size or "
            "--num-subbuf helps"
        )


class Watch:
    """A session while the command runs. Programs say from time to time what they have loaded: a library that
    comes later than a program's first event, with dlopen, has its names from that. So a command that ends
    within the first second has none of those."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.pid: int | None = None
        self.least_memory = sys.maxsize
        self._begin = time.monotonic()
        self._dumps = list(DUMPS_S)

    def wait(self, process: subprocess.Popen[bytes] | None, seconds: float | None) -> signals.Event:
        """As signals.wait()."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = LOOK_S if end is None else end - time.monotonic()
            if left <= 0:
                return signals.Event()
            event = signals.wait(process, min(left, LOOK_S))
            self._look()
            if event != signals.Event():
                return event
            self._ask()

    def _look(self) -> None:
        free = free_memory()
        if free is not None:
            self.least_memory = min(self.least_memory, free)

    def _ask(self) -> None:
        if self._dumps and time.monotonic() - self._begin >= self._dumps[0]:
            del self._dumps[0]
            self.session.dump_state()


def _run(options: Options, watch: Watch) -> int:
    """The command, or the time. @return the exit status"""
    process = _start(options) if options.command else None
    watch.pid = process.pid if process is not None else None
    try:
        event = watch.wait(process, options.seconds)
        if event.status is None and (process is None or event.signal is None):
            watch.session.dump_state()
        if process is not None and event == signals.Event():
            watch.session.stop()
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
    if is_full(options.out):
        say(f"the disk of {options.out} is full: the trace is not whole")
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
    try:
        if not ctf_files.trace_folders(out):
            return f"nothing was recorded: no program with LTTng tracepoints has run. {remedy}"
        if not ctf_files.provider_declared(out, PROVIDER):
            return f"no event of {PROVIDER} was recorded: programs with other tracepoints have run. {remedy}"
    except TraceError as error:
        return str(error)
    return None
