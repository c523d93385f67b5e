# SPDX-License-Identifier: BSD-3-Clause
"""One run of a program: its output, how it ended, what it cost, and a digest that tells which program it was.
A program that hangs is killed."""

import contextlib
import ctypes
import hashlib
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

from nrbench.sweep.parse import last_line

OUTPUT_MAX_BYTES = 4 << 20
FILE_MAX_BYTES = 1 << 30  # of what a run writes into one file, its output included
PR_SET_PDEATHSIG = 1
# A process that was forked beside other threads loads nothing: one of them may hold the loader's lock.
_PRCTL = ctypes.CDLL(None).prctl


def signal_name(exit_code: int) -> str | None:
    """@return None: no signal ended the process"""
    if exit_code >= 0:
        return None
    names = {number.value: number.name for number in signal.Signals}
    return names.get(-exit_code, f"signal {-exit_code}")


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
        return last_line(self.output)


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


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """What start() started, and all that it started itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_with_parent() -> None:
    """In a new process, before its program begins: it ends with the thread that has made it."""
    _PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)


def _in_child() -> None:
    """Before the program begins: nothing of it may outlive the sweep, or fill the disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX_BYTES, FILE_MAX_BYTES))
    end_with_parent()


def start(
    command: Sequence[str], out: IO[bytes], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """In a group of its own, which ends with this thread at the latest.

    @param environment  the whole of it"""
    return subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=out,
        stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_in_child,
    )  # fmt: skip


def run_at_once(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], limit_s: float,
    cpus_of_each: Sequence[Iterable[int] | None],
) -> list[Ended]:  # fmt: skip
    """
    Processes that run side by side, one for each set of CPUs. Wall time is that until this process and those
    before it in the list have ended.

    @param environment  the whole of it
    @param limit_s      after that a run counts as hung
    @raise OSError      when it cannot be started at all
    """
    processes: list[subprocess.Popen[bytes]] = []
    ended, hung = list[Ended](), set[int]()

    def kill_rest() -> None:
        """When they hang, or the user interrupts."""
        for process in processes:
            if process.returncode is None:
                hung.add(process.pid)
                kill_group(process)

    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [process.wait() for process in processes])
        stack.callback(kill_rest)
        outs = [stack.enter_context(tempfile.TemporaryFile()) for _ in cpus_of_each]
        begin = time.monotonic()
        for out, cpus in zip(outs, cpus_of_each):
            with bound_to(cpus):
                processes.append(start(command, out, folder, environment))
        alarm = threading.Timer(limit_s, kill_rest)
        alarm.daemon = True  # an interrupt before the next line leaves it behind
        stack.callback(alarm.cancel)
        alarm.start()
        for process, out in zip(processes, outs):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            kill_group(process)
            wall_s = time.monotonic() - begin
            ended.append(Ended(_tail(out), process.returncode, process.pid in hung, wall_s, usage))
    return ended


def sha256_of(*paths: Path) -> str:
    """The first twelve hex digits of a digest over files one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def sha256_of_program(program: Path) -> str:
    """With the shared objects beside it, which are part of what runs."""
    return sha256_of(program, *sorted(path for path in program.parent.glob("*.so*") if path.is_file()))
