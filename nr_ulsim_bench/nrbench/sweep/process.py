# SPDX-License-Identifier: BSD-3-Clause
"""One run of a program: its output, how it ended, what it cost. A program that hangs is killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Iterable, Iterator, Mapping, Sequence

OUTPUT_MAX_BYTES = 4 << 20
FILE_MAX_BYTES = 1 << 30  # of what a run writes into one file, its output included
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    output: str
    exit_code: int  # negative: ended by a signal
    hung: bool
    wall_s: float
    usage: resource.struct_rusage

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1][:200] if lines else "no output"

    @property
    def signal_name(self) -> str | None:
        if self.exit_code >= 0:
            return None
        names = {number.value: number.name for number in signal.Signals}
        return names.get(-self.exit_code, f"signal {-self.exit_code}")


@contextlib.contextmanager
def bound_to(cpus: Iterable[int] | None) -> Iterator[None]:
    """Processes started inside inherit the affinity."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        raise ValueError(f"CPUs {sorted(cpus)}: {error.strerror}; usable here: {sorted(before)}") from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _tail(out: IO[bytes]) -> str:
    """Of an endless output the end, where the statistics and the last words are."""
    size = out.seek(0, os.SEEK_END)
    out.seek(max(0, size - OUTPUT_MAX_BYTES))
    return out.read().decode("utf-8", errors="replace")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _in_child() -> None:
    """Before the program begins: nothing of it may outlive the sweep, or fill the disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX_BYTES, FILE_MAX_BYTES))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> tuple[resource.struct_rusage, bool]:
    """@return what it cost, and whether it had to be killed"""
    hung = threading.Event()

    def give_up() -> None:
        hung.set()
        _kill_group(process)

    alarm = threading.Timer(limit_s, give_up)
    alarm.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:  # also when the user interrupts
        alarm.cancel()
        _kill_group(process)
    return usage, hung.is_set()


def run_program(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    limit_s: float,
    cpus: Iterable[int] | None = None,
) -> Ended:
    """
    @param environment  the whole of it
    @param limit_s      after that the run counts as hung
    @raise OSError      when it cannot be started at all
    """
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        with bound_to(cpus):
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_in_child,
            )
        usage, hung = _wait(process, limit_s)
        return Ended(_tail(out), process.returncode, hung, time.monotonic() - begin, usage)
