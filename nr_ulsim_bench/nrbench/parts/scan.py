# SPDX-License-Identifier: BSD-3-Clause
"""A table of blocks, scanned in four ways, against the bandwidth of the memory: ws-scan in rounds."""

import re
from typing import Iterator

from nrbench import host
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, table, words
from nrbench.facts import memory
from nrbench.judge import Rounds, at_least_word, equal_word, median, round_ratio
from nrbench.render import number
from nrbench.stats import Results
from nrbench.system import CPU, System

WAYS = {
    "one": "(a) one thread",
    "nodes": "(b) one thread, node by node",
    "parallel": "(c) ws_scan, no hints",
    "hints": "(d) ws_scan, hints",
    "read": "as many threads and no pool",
}
HINTS_EQUAL = 1.05  # on one node
READ_PART = 0.95  # of the bandwidth of a read without a pool, for (c)
MIB = 1 << 20
BYTES, QUICK_BYTES = 1024 * MIB, 256 * MIB
CACHES = 4  # the table is at least so many times as large as the caches of the last level, as STREAM asks for
MEMORY_PART = 8  # the table takes at most this part of the free memory
PASSES = 3  # of a process; the fastest counts
BYTES_PER_S = 4e9  # about, for the time that the run will take


def last_level_bytes(system: System) -> int:
    """All caches of the last level together. 0: unknown."""
    caches: dict[str, tuple[int, int]] = {}  # by the CPUs that share it: its level and size
    for cpu in sorted(system.affinity()):
        folder = f"{CPU}/cpu{cpu}/cache"
        for index in system.names(folder):
            shared, size = (system.text(f"{folder}/{index}/{name}") for name in ("shared_cpu_list", "size"))
            level, kib = system.number(f"{folder}/{index}/level"), re.fullmatch(r"(\d+)K", size or "")
            if shared is not None and level is not None and kib:
                caches[shared] = max(caches.get(shared, (0, 0)), (level, int(kib[1]) * 1024))
    last = max((level for level, _ in caches.values()), default=0)
    return sum(size for level, size in caches.values() if level == last)


def table_bytes(system: System, quick: bool) -> tuple[int, str]:
    """@return a multiple of a block, and why it is not as large as it should be, if so"""
    caches = CACHES * last_level_bytes(system)
    wanted = max(QUICK_BYTES if quick else BYTES, caches)
    kib = memory(system, "MemAvailable")
    given = min(wanted, kib * 1024 // MEMORY_PART) if kib else wanted
    given = max(given // MIB, 2) * MIB
    if given < caches // MIB * MIB:
        return given, f"the table is smaller than {CACHES} x the caches of the last level: memory is short"
    return given, "" if caches else "the size of the last-level cache is not known"


def plan(request: Request, system: System = host.REAL) -> Plan:
    size, note = table_bytes(system, request.quick)
    seconds = (1 + PASSES) * size / BYTES_PER_S
    sizes = words(bytes=size, passes=PASSES)
    steps = [Step({"bench": "scan", "way": way}, (*words(how=way), *sizes), seconds, way) for way in WAYS]
    about = {"bytes": size, "passes": PASSES, "note": note}
    return Plan(steps, asks(request.beside("ws-scan")), about, request.round_count(15, 7))


def gb_per_s(results: Results, way: str) -> Rounds:
    return results.rounds("gb_per_s", way=way)


def report(results: Results) -> Iterator[Item]:
    about, nodes = results.host, results.last("nodes", 1)
    yield (
        f"a table of {about['bytes'] / MIB:.0f} MiB in blocks of 1 MiB on {nodes} NUMA node(s),"
        f" {results.last('threads', 1)} threads compute; of a process the fastest of {about['passes']} scans"
    )
    one, rows = gb_per_s(results, "one"), []
    for way, title in WAYS.items():
        if rounds := gb_per_s(results, way):
            figures = (median(rounds), min(rounds.values()), max(rounds.values()))
            rows.append([title, *(number(of, 2) for of in figures), str(round_ratio(rounds, one) or "")])
    yield from table("", ["scan", "GB/s", "least round", "best round", "÷ (a) [95 %]"], rows)
    parallel, hints, read = (gb_per_s(results, way) for way in ("parallel", "hints", "read"))
    ratio, share = round_ratio(hints, parallel), round_ratio(parallel, read)
    if nodes == 1:
        what = f"one node: hints change nothing, within 5 %: (d) / (c) = {ratio or 'n/a'}"
        yield Verdict(equal_word(ratio, HINTS_EQUAL), what)
    else:
        what = f"{nodes} nodes: hints make the scan faster: (d) / (c) = {ratio or 'n/a'}"
        yield Verdict(at_least_word(ratio, 1.0), what)
    what = f"(c) reaches {READ_PART:.0%} of a read without a pool: {share or 'n/a'}"
    yield Verdict(at_least_word(share, READ_PART), what)
    if about["note"]:
        yield f"note: {about['note']}"
    if misplaced := max((line["misplaced_blocks"] for line in results.lines), default=0):
        yield f"note: {misplaced} blocks do not lie on the node that they were written on"


PART = Part("scan", "a table spread over NUMA nodes", report, "way", plan)
