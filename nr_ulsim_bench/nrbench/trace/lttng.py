# SPDX-License-Identifier: BSD-3-Clause
"""LTTng: one user-space session by its command line, and its session daemon.

`lttng create` starts a daemon where none runs, and it stays: every program that loads lttng-ust then waits
for it. So a daemon that a recording has started ends with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

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
OVERFLOW = 1 << 63  # LTTng adds it where a count seems to have shrunk
DAEMON_HELP = (
    "Start a session daemon by hand to see its errors: lttng-sessiond --verbose. A daemon that runs as "
    "root serves root and the group 'tracing'. $LTTNG_HOME or $HOME must be writable"
)
SESSIOND = "lttng-sessiond"
ROOTS_FOLDER = Path("/var/run/lttng")
SESSIOND_END_S = 10.0


def possible_cpus() -> int:
    """CPUs that may be plugged in later are counted: LTTng makes buffers for them, too."""
    return max(SYSTEM.possible()) + 1


@dataclass(frozen=True)
class Buffers:
    """Of each CPU, and with --per-process of each process. Eight of 1 MiB hold some 150 000 events: what a
    CPU makes in half a second of full load, in which the consumer need not run at all."""

    subbuf_bytes: int = 1 << 20
    count: int = 8

    @property
    def bytes(self) -> int:
        """On all CPUs; with --per-process for one process."""
        return self.subbuf_bytes * self.count * possible_cpus()


@dataclass(frozen=True)
class Losses:
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
        raise TraceError(
            f"'lttng {' '.join(words)}' has not answered for {wait_s:g} s: is lttng-sessiond stopped?"
        ) from None
    if answer.returncode != 0:
        raise TraceError(_explain(words, answer.stderr + answer.stdout))
    return answer.stdout


def _explain(words: tuple[str, ...], text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    reason = next((line for line in lines if line.lower().startswith("error")), lines[-1])
    message = f"'lttng {words[0]}' failed: {reason}"
    return f"{message}. {DAEMON_HELP}" if "session daemon" in text or "sessiond" in text else message


def listed(*words: str) -> list[tuple[str, str]] | None:
    """Tags and texts of LTTng's XML answer; None if there is no answer."""
    try:
        root = ElementTree.fromstring(run_lttng("--mi=xml", *words))
    except (TraceError, ElementTree.ParseError):
        return None
    return [(element.tag.rpartition("}")[2], element.text or "") for element in root.iter()]


def check_memory(buffers: Buffers, per_process: bool = False) -> None:
    """The buffers lie in shared memory, of which containers have little. Without room nothing is recorded.

    With `per_process` there must be room for one process; how many there will be is not known.
    """
    free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else buffers.bytes
    if buffers.bytes > free:
        each = " for each process" if per_process else ""
        raise TraceError(
            f"{SHARED_MEMORY} has {free >> 20} MiB free, the buffers need {buffers.bytes >> 20} MiB{each} "
            f"({buffers.count} of {buffers.subbuf_bytes >> 10} KiB for each CPU). Use a smaller "
            "--subbuf-size or --num-subbuf, or give a container more: --shm-size"
        )


class Session:
    """A recording session. It is stopped and destroyed when its block ends, also by an error."""

    def __init__(self, name: str, out: Path, buffers: Buffers, per_process: bool = False) -> None:
        self.name, self.out, self.buffers, self.per_process = name, out, buffers, per_process
        self.losses: Losses | None = None  # counted by LTTng; None if it does not answer
        self._recording = False

    def _create(self) -> None:
        """Starts a daemon where none runs. A daemon that still ends prevents that for a while."""
        for look in range(ENDING_LOOKS):
            try:
                run_lttng("create", self.name, f"--output={self.out.resolve()}")
                return
            except TraceError as error:
                if ENDING not in str(error) or look == ENDING_LOOKS - 1:
                    raise
            time.sleep(ENDING_S)

    def __enter__(self) -> Session:
        self._create()
        try:
            self._configure()
        except BaseException:
            run_lttng("destroy", self.name)
            raise
        return self

    def _configure(self) -> None:
        where = ("--userspace", f"--session={self.name}", f"--channel={CHANNEL}")
        run_lttng(
            "enable-channel",
            "--userspace",
            f"--session={self.name}",
            "--buffers-pid" if self.per_process else "--buffers-uid",
            f"--subbuf-size={self.buffers.subbuf_bytes}",
            f"--num-subbuf={self.buffers.count}",
            CHANNEL,
        )
        run_lttng("enable-event", *where, f"{PROVIDER}:*")
        run_lttng("enable-event", *where, ",".join(f"{STATEDUMP}:{name}" for name in STATES))
        run_lttng("add-context", *where, "--type=vpid", "--type=vtid")
        run_lttng("start", self.name)
        self._recording = True

    def stop(self) -> None:
        """Ends the recording. All events are on disk when this returns."""
        if self._recording:
            self._recording = False
            run_lttng("stop", self.name)
            self._read_losses()

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

    def _read_losses(self) -> None:
        elements = listed("list", self.name, f"--channel={CHANNEL}")
        if elements is not None:
            events, packets = (
                sum(int(text) % OVERFLOW for tag, text in elements if tag == name and text)
                for name in ("discarded_events", "lost_packets")
            )
            self.losses = Losses(events, packets)


def run_folder() -> Path:
    """Where lttng-sessiond of this user has its sockets."""
    if os.geteuid() == 0:
        return ROOTS_FOLDER
    return Path(os.environ.get("LTTNG_HOME") or os.environ.get("HOME", "/"), ".lttng")


def running() -> int | None:
    """@return the process id of this user's daemon; None where none runs"""
    try:
        pid = int((run_folder() / f"{SESSIOND}.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if SYSTEM.process_name(pid) == SESSIOND else None


def _is_needed() -> bool:
    """Whether a session exists; also when LTTng does not answer."""
    elements = listed("list")
    return elements is None or any(tag == "session" for tag, _ in elements)


@contextlib.contextmanager
def ends_with_block() -> Iterator[None]:
    """Ends a daemon that was started in the block, unless it has sessions of others."""
    was_running = running() is not None
    try:
        yield
    finally:
        pid = running()
        if not was_running and pid is not None and not _is_needed():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + SESSIOND_END_S
            while running() == pid and time.monotonic() < end:
                time.sleep(0.02)
