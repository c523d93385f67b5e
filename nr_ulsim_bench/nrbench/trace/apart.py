# SPDX-License-Identifier: BSD-3-Clause
"""What a generator yields, made in a process of its own whose memory is limited.

A library that aborts, or wants all memory because of a damaged length, ends that process and no other.
"""

from __future__ import annotations

import faulthandler
import marshal
import multiprocessing
import os
import resource
import signal
from multiprocessing.connection import Connection
from typing import Any, Callable, Iterator

DATA_BYTES = 2 << 30  # more than what the process has at its begin
VERSION = 2  # of marshal's format: later ones look for equal objects, which takes longer
END = b""


class Died(Exception):
    """The process ended before its generator did."""


def items(source: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Plain values, as marshal takes them."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(source, reading, writing), daemon=True)
    process.start()
    writing.close()
    try:
        while data := reading.recv_bytes():
            item, error = marshal.loads(data)
            if error is not None:
                raise Died(error)
            yield item
    except EOFError:
        process.join()
        raise Died(_why(process.exitcode)) from None
    finally:
        reading.close()
        process.kill()  # it may be busy with what nobody waits for any more
        process.join()
        process.close()


def _why(code: int | None) -> str:
    how = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
    return f"it crashed, or wanted more than {DATA_BYTES >> 20} MiB of memory ({how})"


def _serve(source: Callable[[], Iterator[Any]], reading: Connection, writing: Connection) -> None:
    reading.close()
    _prepare()
    try:
        for item in source():
            writing.send_bytes(marshal.dumps((item, None), VERSION))
        writing.send_bytes(END)
    except BrokenPipeError:
        return  # nobody wants the rest
    except Exception as error:
        writing.send_bytes(marshal.dumps((None, f"{type(error).__name__}: {error}"), VERSION))


def _prepare() -> None:
    """A crash leaves no core file and no message; Ctrl-C is the other process' affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = _data_bytes() + DATA_BYTES
    if most == resource.RLIM_INFINITY or limit < most:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _data_bytes() -> int:
    """Of this process, as the limit counts them."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * resource.getpagesize()
