# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, hang-up and kill, held back except where they may break off what is done."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from types import FrameType
from typing import Iterator

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Told(Exception):
    """A signal, its argument, says to end."""


@contextmanager
def held() -> Iterator[None]:
    """They wait. What has come in the meantime is forgotten at the end."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    before = {number: signal.getsignal(number) for number in NUMBERS}
    try:
        yield
    finally:
        for number in NUMBERS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def heard() -> Iterator[None]:
    """Inside held(): the first that comes, or has come, raises Told; the others wait."""
    told = False

    def raise_told(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            raise Told(number)

    for number in NUMBERS:
        signal.signal(number, raise_told)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)
        yield
    finally:
        told = True
        signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)


def let_through() -> None:
    """For a child, before its program begins: signals do what they do by default."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)
