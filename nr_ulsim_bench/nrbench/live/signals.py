# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command: the first of them only, so that it can clean up."""

from __future__ import annotations

import signal
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """One of them has come."""

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)


def ignore_signals() -> None:
    """The program cleans up, in bounded time, and ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, _: FrameType | None) -> None:
    ignore_signals()
    raise Stopped(number)


def raise_stopped() -> None:
    """From now on, except for those that the caller of this program ignores, as nohup does."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
