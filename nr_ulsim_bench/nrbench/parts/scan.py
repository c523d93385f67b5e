# SPDX-License-Identifier: BSD-3-Clause
"""A table of blocks, scanned in four ways, against the bandwidth of the memory: ws-scan in rounds."""

from __future__ import annotations

import re
from typing import Iterator

from nrbench import host
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, table, words
from nrbench.judge import Rounds, at_least_word, equal_word, median, round_ratio
from nrbench.plot import Plot
from nrbench.stats import Results
from nrbench.system import CPU, System

STEPS = {
    "one": "(a) one thread",
    "nodes": "(b) one thread, node by node",
    "parallel": "(c) ws_scan, no hints",
    "hints": "(d) ws_scan, hints",
}
READ = "read"
ELSEWHERE = (2.33, 4.15, 4.5)  # times (a), by the source of the four steps
HINTS_EQUAL = 1.05  # on one node
READ_PART = 0.95  # of the bandwidth of a read without a pool, for (c)
MIB = 1 << 20
BYTES, QUICK_BYTES = 1024 * MIB, 256 * MIB
BLOCK_BYTES = MIB
CACHES = 4  # the table is at least so many times as large as the caches of the last level, as STREAM asks for
MEMORY_PART = 8  # the table takes at most this part of the free memory
PASSES = 3  # in a round; the fastest counts
SCANNERS = 4  # scans at once, with contention
READ_BYTES_PER_S = 8e9  # about, for the time that the run will take
TABLES_READ = 4 + 4 * SCANNERS + 1  # in one pass


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


def plan(request: Request, system: System = host.REAL) -> Plan:
    """ws-scan itself draws the order of a round, from a seed of the round's own."""
    count, (size, note) = request.round_count(15, 7), table_bytes(system, request.quick)
    seconds = (2 + PASSES * TABLES_READ) * size / READ_BYTES_PER_S
    table = {"bytes": size, "block_bytes": BLOCK_BYTES, "passes": PASSES}
    given = words(**table, scanners=SCANNERS)
    steps = [
        Step({"bench": "scan", "round": number}, (*given, f"seed={seed % 2**32}"), seconds, f"round {number}")
        for number, seed in enumerate(range(1000 * request.seed, 1000 * request.seed + count))
    ]
    about = {"rounds": count, **table, "last_level_bytes": last_level_bytes(system), "note": note}
    return Plan(steps, asks(request.beside("ws-scan")), about, title=f"{count} rounds")


def gb_per_s(results: Results, step: str, scanners: int = 1) -> Rounds:
    return results.rounds("gb_per_s", step=step, scanners=scanners)


def scanners_of(results: Results) -> list[int]:
    """Scans at once: one, and with contention."""
    return sorted(results.values("scanners"))


def verdicts(results: Results) -> Iterator[Verdict]:
    """On one node hints must change nothing."""
    nodes, parallel = results.last("nodes", 1), gb_per_s(results, "parallel")
    hints = round_ratio(gb_per_s(results, "hints"), parallel)
    found = f"(d) / (c) = {hints or 'n/a'}"
    if nodes == 1:
        word = equal_word(hints, HINTS_EQUAL)
        yield Verdict(word, f"one node: hints change nothing, within 5 %: {found}")
    else:
        yield Verdict(at_least_word(hints, 1.0), f"{nodes} nodes: hints make the scan faster: {found}")
    read = gb_per_s(results, READ)
    share = round_ratio(parallel, read)
    fastest = (
        f"; of each the fastest round: {max(parallel.values()) / max(read.values()):.3f}" if share else ""
    )
    what = f"(c) reaches {READ_PART:.0%} of a read without a pool: {share or 'n/a'}{fastest}"
    yield Verdict(at_least_word(share, READ_PART), what)


def _table(results: Results, title: str, names: dict[str, str], scanners: int = 1) -> Iterator[Item]:
    first, rows = gb_per_s(results, "one", scanners), []
    for name, what in names.items():
        if rounds := gb_per_s(results, name, scanners):
            span = f"{min(rounds.values()):.2f} .. {max(rounds.values()):.2f}"
            rows.append([what, f"{median(rounds):.2f}", span, str(round_ratio(rounds, first) or "")])
    yield from table(title, ["", "GB/s", "rounds", "ratio to (a) [95 %]"], rows)


def _notes(results: Results) -> Iterator[str]:
    if results.host.get("note"):
        yield f"note: {results.host['note']}"
    misplaced = max((line["misplaced_blocks"] for line in results.lines), default=0)
    if misplaced:
        yield f"note: {misplaced} blocks do not lie on the node that they were written on"


def report(results: Results) -> Iterator[Item]:
    about, nodes = results.host, results.last("nodes", 1)
    yield (
        f"a table of {about['bytes'] / 2**20:.0f} MiB in blocks of {about['block_bytes'] / 2**20:g} MiB on"
        f" {nodes} NUMA node{'s' if nodes > 1 else ''}, last-level caches"
        f" {about['last_level_bytes'] / 2**20:.0f} MiB, {results.last('threads', 1)} threads compute;"
        f" of a round the fastest of {about['passes']} passes counts"
    )
    yield from _table(results, "Scan of the table", STEPS)
    for several in scanners_of(results)[1:]:
        title = f"With contention: {several} threads outside the pool each scan it all, at once; sum in GB/s"
        yield from _table(results, title, STEPS, several)
    if nodes > 1:
        ratios = ", ".join(f"({step}) {ratio}" for step, ratio in zip("bcd", ELSEWHERE))
        yield f"Reported elsewhere, on a machine with several nodes: {ratios}"
    yield from _table(results, "By as many threads and no pool", {READ: "read"})
    yield from verdicts(results)
    yield from _notes(results)


def plots(results: Results) -> Iterator[Plot]:
    """Bandwidth of each way to scan, a mark a round, against what the memory gives."""
    points = [
        {"way": STEPS[line["step"]][:3], "GB/s": line["gb_per_s"], "scans at once": line["scanners"]}
        for line in results.lines
        if line["step"] in STEPS
    ]
    read = median(gb_per_s(results, READ))
    title = f"{', '.join(STEPS.values())}; dashed: a read without a pool"
    limits = (read,) if read else ()
    yield Plot("scan", title, points, "strip", ("way", "GB/s"), {"col": "scans at once"}, lines=limits)


PART = Part("scan", report, "bench", plan, plots=plots)
