# SPDX-License-Identifier: BSD-3-Clause
"""LTTng: one user-space session by its command line, and its session daemon.

`lttng create` starts a daemon where none runs, and it stays: every program that loads lttng-ust then waits
for it. So a daemon that a recording has started ends with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.system import System
from nrbench.trace.events import PROVIDER, STATEDUMP, TraceError
from nrbench.trace.signals import let_through

CHANNEL = "tpool_ws"
WANTED = {"TPOOL_WS_TRACE": "1"}  # the environment in which a program loads the pool's provider of events
SYSTEM = System()
SHARED_MEMORY = Path("/dev/shm")
WAIT_S = 120.0
ENDING = "another instance is running"  # error of a new daemon while the one before still ends
ENDING_LOOKS, ENDING_S = 60, 0.5
DUMP_WAIT_S = 10.0
DUMP_S = 0.2  # in which the programs write down their state
NOT_INSTALLED = "lttng is not installed: Debian and Ubuntu packages lttng-tools, liblttng-ust-dev"
STATES = ("procname", "bin_info")  # others have arrays, whose length is not checked when a trace is damaged
COUNTS = ("discarded_events", "lost_packets")
OVERFLOW = 1 << 63  # LTTng adds it where a count seems to have shrunk
DAEMON_HELP = (
    "Start a session daemon by hand to see its errors: lttng-sessiond --verbose. A daemon that runs as "
    "root serves root and the group 'tracing'. $LTTNG_HOME or $HOME must be writable"
)
SESSIOND = "lttng-sessiond"
SESSIOND_END_S = 10.0


@dataclass(frozen=True)
class Buffers:
    """Of each CPU, and with --per-process of each process. Eight of 1 MiB hold some 150 000 events: what a
    CPU makes in half a second of full load, in which the consumer need not run at all."""

    subbuf_bytes: int = 1 << 20
    count: int = 8

    @property
    def bytes(self) -> int:
        """On all CPUs, those that may be plugged in later, too; with --per-process for one process."""
        return self.subbuf_bytes * self.count * (max(SYSTEM.possible()) + 1)


class Losses(NamedTuple):
    events: int
    packets: int


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
        lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
        reason = next((line for line in lines if line.lower().startswith("error")), lines[-1])
        remedy = f". {DAEMON_HELP}" if "session daemon" in text or "sessiond" in text else ""
        raise TraceError(f"'lttng {words[0]}' failed: {reason}{remedy}")
    return answer.stdout


def listed(*words: str) -> list[tuple[str, str]] | None:
    """Tags and texts of LTTng's XML answer; None if there is no answer."""
    try:
        root = ElementTree.fromstring(run_lttng("--mi=xml", *words))
    except (TraceError, ElementTree.ParseError):
        return None
    return [(element.tag.rpartition("}")[2], element.text or "") for element in root.iter()]


class Session:
    """A recording session. It is stopped and destroyed when its block ends, also by an error."""

    def __init__(self, name: str, out: Path, buffers: Buffers, per_process: bool = False) -> None:
        self.name, self.out, self.buffers, self.per_process = name, out, buffers, per_process
        self.losses: Losses | None = None  # counted by LTTng; None if it does not answer
        self._recording = False

    def check_memory(self) -> None:
        """The buffers lie in shared memory, of which containers have little. Without room nothing is
        recorded.

        With `per_process` there must be room for one process; how many there will be is not known.
        """
        count, each_bytes, all_bytes = self.buffers.count, self.buffers.subbuf_bytes, self.buffers.bytes
        free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else all_bytes
        if all_bytes > free:
            of = " for each process" if self.per_process else ""
            raise TraceError(
                f"{SHARED_MEMORY} has {free >> 20} MiB free, the buffers need {all_bytes >> 20} MiB{of} "
                f"({count} of {each_bytes >> 10} KiB for each CPU). Use a smaller --subbuf-size or "
                "--num-subbuf, or give a container more: --shm-size"
            )

    def _create(self) -> None:
        """Starts a daemon where none runs. A daemon that still ends prevents that for a while."""
        for look in range(1, ENDING_LOOKS + 1):
            try:
                run_lttng("create", self.name, f"--output={self.out.resolve()}")
                return
            except TraceError as error:
                if ENDING not in str(error) or look == ENDING_LOOKS:
                    raise
            time.sleep(ENDING_S)

    def __enter__(self) -> Session:
        self._create()
        buffers, states = self.buffers, ",".join(f"{STATEDUMP}:{name}" for name in STATES)
        owner = "pid" if self.per_process else "uid"
        steps = (
            f"enable-channel {CHANNEL} --buffers-{owner} --subbuf-size={buffers.subbuf_bytes} "
            f"--num-subbuf={buffers.count}",
            f"enable-event --channel={CHANNEL} {PROVIDER}:*",
            f"enable-event --channel={CHANNEL} {states}",
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
        if (found := listed("list", self.name, f"--channel={CHANNEL}")) is not None:
            counts = {name: [text for tag, text in found if tag == name and text] for name in COUNTS}
            self.losses = Losses(*(sum(int(text) % OVERFLOW for text in counts[name]) for name in COUNTS))

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
        sessions = None if was_running or pid is None else listed("list")
        if pid is not None and sessions is not None and "session" not in dict(sessions):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + SESSIOND_END_S
            while running() == pid and time.monotonic() < end:
                time.sleep(0.02)
