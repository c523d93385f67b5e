# SPDX-License-Identifier: BSD-3-Clause
"""The counters of OAI's radio device vrtsim, read from a running softmodem.

The device prints its counters only when the program ends, and they include the start, when many samples are
late. Two readings of them give those of the time between. A process may read the memory of its children. The
counters are found by what precedes them, the timescale and the sample rate, and by the constants of their
histogram: a device that keeps them otherwise is not found."""

from __future__ import annotations

import contextlib
import math
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.radio.record import BUDGET_BIN_US, BUDGET_BINS, Radio

# Timescale, samples per second; samples read late, reads too early, samples read; address of the writes.
_DEVICE = struct.Struct("<2d3QQ")
# Samples written late, writes too early, samples written; budget; bins; writes; first write in a bin; range.
_WRITES = struct.Struct(f"<3Qd{BUDGET_BINS}Q2id")
_FIRST_BINNED, _RANGE_US = 100, BUDGET_BINS * BUDGET_BIN_US
_ALIGNED = 8
_ARENA = 64 << 20  # heaps of threads begin at a multiple of it, and are no larger
_LARGEST = 256 << 20  # of a region that is searched
_REGION = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(\[heap\])?$", re.MULTILINE)


class Counters(NamedTuple):
    """Since the device started."""

    rx_late: int  # samples
    rx_early: int  # reads
    rx_samples: int
    tx_late: int  # samples
    tx_early: int  # writes
    tx_samples: int
    budget_us: float  # sample time, an exponential mean
    bins: tuple[int, ...]

    def since(self, before: Counters) -> Radio:
        """What the device counted between two readings."""

        def share(late: int, samples: int) -> float:
            return min(1.0, late / samples) if samples > 0 else 0.0

        return Radio(
            tx_late=share(self.tx_late - before.tx_late, self.tx_samples - before.tx_samples),
            rx_late=share(self.rx_late - before.rx_late, self.rx_samples - before.rx_samples),
            tx_early=self.tx_early - before.tx_early,
            rx_early=self.rx_early - before.rx_early,
            budget_us_mean=self.budget_us,
            budget_bins=tuple(now - then for now, then in zip(self.bins, before.bins)),
        )


@contextlib.contextmanager
def _memory(pid: int) -> Iterator[int]:
    """@raise OSError  the process has ended, or this user may not read it"""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        yield memory
    finally:
        os.close(memory)


def _read(memory: int, address: int) -> Counters | None:
    with contextlib.suppress(OSError, struct.error, OverflowError):
        _, _, late_reads, early_reads, read, place = _DEVICE.unpack(os.pread(memory, _DEVICE.size, address))
        late, early, samples, budget_us, *others = _WRITES.unpack(os.pread(memory, _WRITES.size, place))
        if others[-2:] == [_FIRST_BINNED, _RANGE_US]:
            bins = tuple(others[:BUDGET_BINS])
            return Counters(late_reads, early_reads, read, late, early, samples, budget_us, bins)
    return None


@dataclass(frozen=True)
class Device:
    """Where a process has the counters."""

    pid: int
    address: int

    def read(self) -> Counters | None:
        """None: the process has ended, or the counters are gone."""
        with contextlib.suppress(OSError), _memory(self.pid) as memory:
            return _read(memory, self.address)
        return None


def _regions(pid: int) -> list[tuple[int, int]]:
    """Memory of the process that belongs to no file. Heaps of threads come first, then the main heap: a
    softmodem has a gigabyte of memory, and its device is made by a thread."""
    found = []
    for match in _REGION.finditer(Path(f"/proc/{pid}/maps").read_text()):
        begin, end = int(match[1], 16), int(match[2], 16)
        if end - begin <= _LARGEST:
            found.append((begin % _ARENA != 0, not match[3], begin, end))
    return [(begin, end) for _, _, begin, end in sorted(found)]


def _occurrences(pattern: bytes, memory: int, begin: int, end: int) -> Iterator[int]:
    """Aligned addresses of the pattern in a region, which may be gone by now."""
    data = b""
    with contextlib.suppress(OSError):
        data = os.pread(memory, end - begin, begin)
    place = data.find(pattern)
    while place >= 0:
        if place % _ALIGNED == 0:
            yield begin + place
        place = data.find(pattern, place + 1)


def _is_device(memory: int, address: int, timescale: float) -> bool:
    """OAI reads the timescale as a float."""
    with contextlib.suppress(OSError, struct.error, OverflowError):
        (found,) = struct.unpack("<d", os.pread(memory, 8, address))
        return math.isclose(found, timescale, rel_tol=1e-6) and _read(memory, address) is not None
    return False


def find_device(pid: int, timescale: float, sample_rate: float) -> Device | None:
    """@return None: the counters are not to be found, or this user may not read the process"""
    pattern = struct.pack("<d", sample_rate)
    with contextlib.suppress(OSError), _memory(pid) as memory:
        places = (at - 8 for region in _regions(pid) for at in _occurrences(pattern, memory, *region))
        return next((Device(pid, at) for at in places if _is_device(memory, at, timescale)), None)
    return None
