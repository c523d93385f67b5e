# SPDX-License-Identifier: BSD-3-Clause
"""Runs a generator in a process of its own whose memory is limited.

A library that aborts, or allocates all memory because of a damaged length, ends only that process.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
from multiprocessing.connection import Connection
from typing import Any, Callable, Iterator

from nrbench.trace.events import TraceError

DATA_BYTES = 2 << 30  # more than the process has at its start


class Died(Exception):
    """The generator failed, or its process ended before it. Its message is the reason."""


def items(source: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The values that the generator yields; none may be None. Raises Died, or the TraceError that it
    raised."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(source, reading, writing), daemon=True)
    process.start()
    writing.close()
    try:
        while (item := reading.recv()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    except EOFError:
        process.join()
        raise Died(_why(process.exitcode)) from None
    finally:
        reading.close()
        process.kill()  # the caller may have stopped early
        process.join()
        process.close()


def _why(code: int | None) -> str:
    how = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
    return f"the reading process crashed, or needed more than {DATA_BYTES >> 20} MiB of memory ({how})"


def _serve(source: Callable[[], Iterator[Any]], reading: Connection, writing: Connection) -> None:
    reading.close()
    _prepare()
    try:
        for item in source():
            writing.send(item)
        writing.send(None)
    except BrokenPipeError:
        return  # the caller has stopped
    except (TraceError, Died) as error:
        writing.send(error)
    except Exception as error:
        writing.send(Died(f"{type(error).__name__}: {error}"))


def _prepare() -> None:
    """Limits memory. A crash leaves no core file and prints nothing; Ctrl-C is left to the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    with open("/proc/self/statm") as file:
        limit = int(file.read().split()[5]) * resource.getpagesize() + DATA_BYTES
    if most == resource.RLIM_INFINITY or limit < most:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
