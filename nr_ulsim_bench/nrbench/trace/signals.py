# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, hang-up and kill, held back and asked for where they may break off what is done.

No handler raises anything: an exception in the middle of a wait for a child would lose its exit status.
"""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import contextmanager
from typing import Iterator, NamedTuple

NUMBERS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
HELD = (*NUMBERS, signal.SIGCHLD)
LOOK_S = 1.0  # whatever signals come


class Event(NamedTuple):
    """What ended a wait; nothing of it = the time is over."""

    status: int | None = None  # of the child, as shells have it
    signal: int | None = None


@contextmanager
def held() -> Iterator[None]:
    """They wait. What has come in the meantime, and has not been asked for, is forgotten at the end."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    before = {number: signal.getsignal(number) for number in NUMBERS}
    try:
        yield
    finally:
        for number in NUMBERS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def wait(process: subprocess.Popen[bytes] | None, seconds: float | None, deaf: bool = False) -> Event:
    """Inside held(): for the end of a child, a signal, or the end of the time, whatever comes first.
    @param deaf  signals are ignored"""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        code = process.poll() if process is not None else None
        if code is not None:
            return Event(status=code if code >= 0 else 128 - code)
        left = LOOK_S if end is None else end - time.monotonic()
        if left <= 0:
            return Event()
        came = signal.sigtimedwait(HELD, min(left, LOOK_S))
        if came is not None and came.si_signo != signal.SIGCHLD and not deaf:
            return Event(signal=came.si_signo)


def let_through() -> None:
    """For a child, before its program begins: signals do what they do by default."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
