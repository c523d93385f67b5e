# SPDX-License-Identifier: BSD-3-Clause
"""LTTng: one user-space session by its command line, and its session daemon.

`lttng create` starts a daemon where none runs, and it stays: every program that loads lttng-ust then waits
for it. So a daemon that a recording has started ends with it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.system import System

PROVIDER = "oai_tpool_ws"
STATEDUMP = "lttng_ust_statedump"
# Other events of the state have arrays, whose length is not checked when a trace is damaged.
EVENTS = (f"{PROVIDER}:*", f"{STATEDUMP}:procname", f"{STATEDUMP}:bin_info")
CHANNEL = "tpool_ws"
WANTED = {"TPOOL_WS_TRACE": "1"}  # the environment in which a program loads the pool's provider of events
SYSTEM = System()
SHARED_MEMORY = Path("/dev/shm")
# Of each CPU. They hold some 150 000 events: what a CPU makes in half a second of full load, in which the
# consumer need not run at all.
SUBBUF_BYTES, SUBBUFS = 1 << 20, 8
WAIT_S = 120.0
DUMP_WAIT_S = 10.0
DUMP_S = 0.2  # in which the programs write down their state
NOT_INSTALLED = "lttng is not installed: Debian and Ubuntu packages lttng-tools, liblttng-ust-dev"
COUNTS = ("discarded_events", "lost_packets")
OVERFLOW = 1 << 63  # LTTng adds it where a count seems to have shrunk
DAEMON_HELP = (
    "Start a session daemon by hand to see its errors: lttng-sessiond --verbose. A daemon that runs as "
    "root serves root and the group 'tracing'. $LTTNG_HOME or $HOME must be writable"
)
SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
HELD = (*SIGNALS, signal.SIGCHLD)  # by the recorder
SESSIOND = "lttng-sessiond"
SESSIOND_END_S = 10.0


class TraceError(Exception):
    """Names the input and, where there is one, the remedy."""


class Losses(NamedTuple):
    events: int
    packets: int


def let_through() -> None:
    """For a child, before its program begins: signals do what they do by default."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)


def run_lttng(*words: str, wait_s: float = WAIT_S) -> str:
    """@return its standard output. It runs in a session of its own, which Ctrl-C does not reach."""
    try:
        answer = subprocess.run(
            ["lttng", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=let_through,  # a daemon that it starts must not inherit the held signals
            timeout=wait_s,
        )
    except FileNotFoundError:
        raise TraceError(NOT_INSTALLED) from None
    except subprocess.TimeoutExpired:
        silent = f"'lttng {' '.join(words)}' has not answered for {wait_s:g} s"
        raise TraceError(f"{silent}: is lttng-sessiond stopped?") from None
    if answer.returncode != 0:
        text = answer.stderr + answer.stdout
        reason = re.search("^Error.*", text, re.MULTILINE) or re.search(".*", text.strip())
        remedy = f". {DAEMON_HELP}" if "session daemon" in text or "sessiond" in text else ""
        raise TraceError(f"'lttng {words[0]}' failed: {reason and reason[0]}{remedy}")
    return answer.stdout


def listed(*words: str) -> str:
    """LTTng's answer in XML; empty if there is none."""
    try:
        return run_lttng("--mi=xml", "list", *words)
    except TraceError:
        return ""


class Session:
    """A recording session. It is stopped and destroyed when its block ends, also by an error."""

    def __init__(self, name: str, out: Path, subbuf_bytes: int = SUBBUF_BYTES) -> None:
        self.name, self.out, self.subbuf_bytes = name, out, subbuf_bytes
        self.losses: Losses | None = None  # counted by LTTng; None if it does not answer
        self._recording = False

    def check_memory(self) -> None:
        """The buffers lie in shared memory, of which containers have little. Without room nothing is
        recorded."""
        needed = self.subbuf_bytes * SUBBUFS * (max(SYSTEM.possible()) + 1)  # also of CPUs plugged in later
        free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else needed
        if needed > free:
            raise TraceError(
                f"{SHARED_MEMORY} has {free >> 20} MiB free, the buffers need {needed >> 20} MiB "
                f"({SUBBUFS} of {self.subbuf_bytes >> 10} KiB for each CPU). Use a smaller --subbuf-size, or "
                "give a container more: --shm-size"
            )

    def __enter__(self) -> Session:
        run_lttng("create", self.name, f"--output={self.out.resolve()}")  # starts a daemon where none runs
        size = f"--subbuf-size={self.subbuf_bytes} --num-subbuf={SUBBUFS}"
        steps = (
            f"enable-channel {CHANNEL} --buffers-uid {size}",
            f"enable-event --channel={CHANNEL} {','.join(EVENTS)}",
            f"add-context --channel={CHANNEL} --type=vpid --type=vtid",
        )
        try:
            for step, *words in map(str.split, steps):
                run_lttng(step, "--userspace", f"--session={self.name}", *words)
            run_lttng("start", self.name)
        except BaseException:
            run_lttng("destroy", self.name)
            raise
        self._recording = True
        return self

    def stop(self) -> None:
        """Ends the recording. All events are on disk when this returns."""
        if not self._recording:
            return
        self._recording = False
        run_lttng("stop", self.name)
        if answer := listed(self.name, f"--channel={CHANNEL}"):
            counts = (re.findall(rf"<{name}>(\d+)<", answer) for name in COUNTS)
            self.losses = Losses(*(sum(int(count) % OVERFLOW for count in found) for found in counts))

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            run_lttng("destroy", self.name)

    def dump_state(self) -> None:
        """Programs report again what they have loaded. If that fails, the trace lacks only some names."""
        if self._recording:
            with suppress(TraceError):
                run_lttng("regenerate", "statedump", f"--session={self.name}", wait_s=DUMP_WAIT_S)
                time.sleep(DUMP_S)


def run_folder() -> Path:
    """Where lttng-sessiond of this user has its sockets."""
    if os.geteuid() == 0:
        return Path("/var/run/lttng")
    return Path(os.environ.get("LTTNG_HOME") or os.environ.get("HOME", "/"), ".lttng")


def running() -> int | None:
    """@return the process id of this user's daemon; None where none runs"""
    try:
        pid = int((run_folder() / f"{SESSIOND}.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if SYSTEM.process_name(pid) == SESSIOND else None


@contextmanager
def ends_with_block() -> Iterator[None]:
    """Ends a daemon that was started in the block, unless it has sessions of others."""
    was_running = running() is not None
    try:
        yield
    finally:
        pid = running()
        sessions = listed() if pid and not was_running else ""
        if pid and "<sessions" in sessions and not re.search("<session[ >]", sessions):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + SESSIOND_END_S
            while running() == pid and time.monotonic() < end:
                time.sleep(0.02)
