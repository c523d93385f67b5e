# SPDX-License-Identifier: BSD-3-Clause
"""LTTng's command line: one user-space session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from nrbench.trace.errors import TraceError
from nrbench.trace.events import PROVIDER, STATEDUMP
from nrbench.trace.signals import let_through

CHANNEL = "tpool_ws"
SHARED_MEMORY = Path("/dev/shm")
POSSIBLE_CPUS = Path("/sys/devices/system/cpu/possible")
WAIT_S = 120.0
ENDING = "another instance is running"  # said by a new daemon while the one before still ends
ENDING_LOOKS, ENDING_S = 60, 0.5
DUMP_WAIT_S = 10.0
DUMP_S = 0.2  # in which the programs write down their state
OWN_NAME = "tpool-ws-"  # and the recorder's process id
FULL_BYTES = 1 << 20  # a disk with less has no room for the next sub-buffer
NOT_INSTALLED = "lttng is not installed: Debian and Ubuntu packages lttng-tools, liblttng-ust-dev"
STATES = ("procname", "bin_info")  # others have arrays, whose length nobody checks when a trace is damaged
OVERFLOW = 1 << 63  # LTTng adds it where a count seems to have shrunk


def possible_cpus() -> int:
    """LTTng makes buffers for CPUs that may be plugged in later, too."""
    try:
        last = re.search(r"(\d+)\s*$", POSSIBLE_CPUS.read_text())
    except OSError:
        last = None
    return int(last[1]) + 1 if last else os.cpu_count() or 1


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
    """@return its standard output. In a session of its own: a Ctrl-C is not for it."""
    try:
        answer = subprocess.run(
            ["lttng", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=let_through,  # a daemon that it starts must not inherit what is held here
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
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next(
        (line for line in lines if line.startswith(("Error", "error"))),
        lines[-1] if lines else "no reason given",
    )
    message = f"'lttng {words[0]}' failed: {said}"
    if "session daemon" in text or "sessiond" in text:
        message += (
            ". Start a session daemon by hand and see what it says: lttng-sessiond --verbose; one that "
            "runs as root is for root and the group 'tracing'; $LTTNG_HOME or $HOME must be writable"
        )
    return message


def check_installed() -> None:
    if shutil.which("lttng") is None:
        raise TraceError(NOT_INSTALLED)


def free_memory() -> int | None:
    """Bytes for buffers; None where shared memory is not a folder."""
    return shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else None


def is_full(folder: Path) -> bool:
    """Whether there is no room left on its disk."""
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False


def check_memory(buffers: Buffers, per_process: bool = False) -> None:
    """The buffers lie in shared memory, of which containers have little; without room there would be no
    event. With `per_process` there must be room for one process; how many will come is not known."""
    free = free_memory()
    if free is not None and buffers.bytes > free:
        each = " for each process" if per_process else ""
        raise TraceError(
            f"{SHARED_MEMORY} has {free >> 20} MiB free, the buffers need {buffers.bytes >> 20} MiB{each} "
            f"({buffers.count} of {buffers.subbuf_bytes >> 10} KiB a CPU): smaller --subbuf-size or --num-"
            "subbuf, or, in a container, --shm-size"
        )


def left_behind() -> list[str]:
    """Sessions of recorders that are no more: one that was killed cannot end its own."""
    try:
        root = ElementTree.fromstring(run_lttng("--mi=xml", "list"))
    except (TraceError, ElementTree.ParseError):
        return []
    names = {element.text or "" for element in root.iter() if element.tag.rpartition("}")[2] == "name"}
    numbers = {name: name.removeprefix(OWN_NAME) for name in names if name.startswith(OWN_NAME)}
    return sorted(name for name, pid in numbers.items() if pid.isdigit() and not Path("/proc", pid).exists())


class Session:
    """A recording session. Whatever happens inside `with`, it is stopped and destroyed."""

    def __init__(self, name: str, out: Path, buffers: Buffers, per_process: bool = False) -> None:
        self.name, self.out, self.buffers, self.per_process = name, out, buffers, per_process
        self.losses: Losses | None = None
        self.left_behind: list[str] = []
        self._recording = False

    def _create(self) -> None:
        """Starts a daemon where none runs. One that is just ending lets no other start."""
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
            self.left_behind = left_behind()
            self._configure()
        except BaseException:
            self._destroy()
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
        """No event is recorded from now on; all that were are on disk."""
        if not self._recording:
            return
        self._recording = False
        self._run("stop", self.name)
        self.losses = self._read_losses()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._destroy()

    def _destroy(self) -> None:
        self._run("destroy", self.name)

    def _run(self, *words: str) -> None:
        try:
            run_lttng(*words)
        except TraceError as error:
            if is_full(self.out):
                raise TraceError(f"{error}. The disk of {self.out} is full") from None
            raise

    def dump_state(self) -> None:
        """Programs say again what they have loaded: libraries that came later have no names otherwise."""
        if not self._recording:
            return
        try:
            run_lttng("regenerate", "statedump", f"--session={self.name}", wait_s=DUMP_WAIT_S)
        except TraceError:
            return  # a trace without those names is of use, too
        time.sleep(DUMP_S)

    def _read_losses(self) -> Losses | None:
        """What the consumer has counted; None = it cannot be asked."""
        try:
            root = ElementTree.fromstring(run_lttng("--mi=xml", "list", self.name, f"--channel={CHANNEL}"))
        except (TraceError, ElementTree.ParseError):
            return None
        sums = {"discarded_events": 0, "lost_packets": 0}
        for element in root.iter():
            tag = element.tag.rpartition("}")[2]
            if tag in sums and element.text:
                sums[tag] += int(element.text) % OVERFLOW
        return Losses(sums["discarded_events"], sums["lost_packets"])
