# SPDX-License-Identifier: BSD-3-Clause
"""What is read from a running softmodem: CPU time by thread, and the counters of OAI's radio device vrtsim.

The device prints its counters only when the program ends, and they include the start, when many samples are
late. Two readings of them give those of the time between. A process may read the memory of its children. The
counters are found by what precedes them, the sample rate, and by the constants of their histogram: a device
that keeps them otherwise is not found."""

import contextlib
import os
import re
import struct
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from nrbench.radio.record import Radio

RADIO_UNIT, SAMPLE_CLOCK = "ru_thread", "sample clock"  # threads of a gNB
SAMPLE_CLOCKS = (SAMPLE_CLOCK, "vrtsim_timing")  # and as v2.4.0 names it
PROC = Path("/proc")
# Samples per second; samples read late, reads too early, samples read; address of the writes.
_DEVICE = struct.Struct("<d3QQ")
# Samples written late, writes too early, samples written; their histogram, which ends in these constants.
_WRITES = struct.Struct("<3Q248x2id")
_HISTOGRAM = (100, 3000.0)
_ARENA = 64 << 20  # heaps of threads begin at a multiple of it
_MEMORY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(\[heap\])?$", re.MULTILINE)

CpuTimes = dict[str, tuple[str, int]]  # name and ns, by a thread's id


def cpu_times(pid: int) -> CpuTimes:
    """Of a process. Threads that end meanwhile are left out."""
    found: CpuTimes = {}
    with contextlib.suppress(OSError):
        for task in sorted((PROC / str(pid) / "task").iterdir(), key=lambda task: int(task.name)):
            with contextlib.suppress(OSError, IndexError):
                name, spent = (task / "comm").read_text().strip(), (task / "schedstat").read_text().split()
                if any(name == other == RADIO_UNIT for other, _ in found.values()):
                    name = SAMPLE_CLOCK  # its thread is made by the radio unit's, and has its name
                found[task.name] = name, int(spent[0])
    return found


def cpu_s(before: CpuTimes, after: CpuTimes) -> dict[str, float]:
    """By name. Names that differ only in a number are one: Tpool3_-1 and Tpool0_-1 are Tpool."""
    spent: Counter[str] = Counter()
    for task, (name, ns) in after.items():
        spent[re.sub(r"[\d_-]+$", "", name) or name] += ns - before.get(task, (name, 0))[1]
    return {name: round(ns / 1e9, 4) for name, ns in spent.most_common() if ns >= 1e6}


class Counters(NamedTuple):
    """Samples since the device started."""

    tx_late: int
    tx: int
    rx_late: int
    rx: int

    def since(self, before: "Counters") -> Radio:
        tx_late, tx, rx_late, rx = (now - then for now, then in zip(self, before))
        return Radio(tx_late=min(1.0, tx_late / max(1, tx)), rx_late=min(1.0, rx_late / max(1, rx)))


def read_counters(pid: int, address: int) -> Counters | None:
    """@param address  as find_counters() gives it
    @return None: they are not there, or the process has ended"""
    with contextlib.suppress(OSError, struct.error, OverflowError):
        with (PROC / str(pid) / "mem").open("rb") as file:
            memory = file.fileno()
            _, rx_late, _, rx, place = _DEVICE.unpack(os.pread(memory, _DEVICE.size, address))
            tx_late, _, tx, _, *histogram = _WRITES.unpack(os.pread(memory, _WRITES.size, place))
        if tuple(histogram) == _HISTOGRAM:
            return Counters(tx_late, tx, rx_late, rx)
    return None


def find_counters(pid: int, sample_rate: float) -> int:
    """@return 0: they are not to be found, or this user may not read the process"""
    pattern = re.compile(re.escape(struct.pack("<d", sample_rate)))
    with contextlib.suppress(OSError), (PROC / str(pid) / "mem").open("rb") as file:
        for region in _MEMORY.finditer((PROC / str(pid) / "maps").read_text()):
            begin, end = int(region[1], 16), int(region[2], 16)
            if region[3] or begin % _ARENA == 0:
                with contextlib.suppress(OSError):  # it may be gone
                    for match in pattern.finditer(os.pread(file.fileno(), end - begin, begin)):
                        if read_counters(pid, begin + match.start()):
                            return begin + match.start()
    return 0
