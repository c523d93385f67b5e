# SPDX-License-Identifier: BSD-3-Clause
"""How large the table is, and how many rounds are measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nrbench.system import CPU, System

MIB = 1 << 20
BYTES, QUICK_BYTES = 1024 * MIB, 256 * MIB
BLOCK_BYTES = MIB
CACHES = 4  # the table is at least so many times as large as the caches of the last level, as STREAM asks for
MEMORY_PART = 8  # the table takes at most this part of the free memory; the triad's arrays take as much
ROUNDS, QUICK_ROUNDS = 15, 7
PASSES = 3  # in a round; the fastest counts
SCANNERS = 4  # scans at once, with contention
READ_BYTES_PER_S = 8e9  # about, for the time that the run will take
TABLES_READ = 4 + 4 * SCANNERS + 2 + 2  # in one pass


@dataclass(frozen=True)
class Options:
    quick: bool = False
    rounds: int | None = None
    seed: int = 1

    @property
    def round_count(self) -> int:
        return self.rounds or (QUICK_ROUNDS if self.quick else ROUNDS)


def size_bytes(text: str | None) -> int:
    """As the kernel writes it: 512K or 32M. 0: unknown."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def last_level_bytes(system: System) -> int:
    """All caches of the last level together. 0: unknown."""
    caches: dict[str, tuple[int, int]] = {}  # by the CPUs that share it: its level and size
    for cpu in sorted(system.affinity()):
        folder = f"{CPU}/cpu{cpu}/cache"
        for index in system.names(folder):
            shared = system.text(f"{folder}/{index}/shared_cpu_list")
            level = system.number(f"{folder}/{index}/level")
            if shared is not None and level is not None:
                one = (level, size_bytes(system.text(f"{folder}/{index}/size")))
                caches[shared] = max(caches.get(shared, one), one)
    last = max((level for level, _ in caches.values()), default=0)
    return sum(size for level, size in caches.values() if level == last)


def free_bytes(system: System) -> int | None:
    match = re.match(r"(\d+) kB", system.fields("/proc/meminfo").get("MemAvailable", ""))
    return int(match[1]) * 1024 if match else None


def table_bytes(system: System, quick: bool) -> tuple[int, str | None]:
    """@return a multiple of the block, and why it is not as large as it should be, if so"""
    caches = CACHES * last_level_bytes(system)
    wanted = max(QUICK_BYTES if quick else BYTES, caches)
    free = free_bytes(system)
    given = wanted if free is None else min(wanted, free // MEMORY_PART)
    given = max(given // BLOCK_BYTES, 2 * MIB // BLOCK_BYTES) * BLOCK_BYTES
    if given < caches // BLOCK_BYTES * BLOCK_BYTES:
        return given, f"the table is smaller than {CACHES} x the caches of the last level: memory is short"
    return given, None if caches else "the size of the last-level cache is not known"


def words(options: Options, number: int, size: int) -> list[str]:
    """Of round number `number`."""
    seed = 1000 * options.seed + number
    return [
        f"bytes={size}",
        f"block_bytes={BLOCK_BYTES}",
        f"scanners={SCANNERS}",
        f"passes={PASSES}",
        f"seed={seed % 2**32}",
    ]


def round_seconds(size: int) -> float:
    return (2 + PASSES * TABLES_READ) * size / READ_BYTES_PER_S
