# SPDX-License-Identifier: BSD-3-Clause
"""The figures as text."""

from __future__ import annotations

from typing import Iterator

from nrbench.claims import round_ratio
from nrbench.scan.judge import READS, STEPS, TRIADS, Results, median, verdicts
from nrbench.table import busy_lines, failure_lines, host_line, layout

TITLES = {
    "one": "(a) one thread",
    "nodes": "(b) one thread, node by node",
    "parallel": "(c) ws_scan, no hints",
    "hints": "(d) ws_scan, hints",
    "read": "read, floating",
    "read-pinned": "read, pinned",
    "triad": "triad, floating",
    "triad-pinned": "triad, pinned",
}
ELSEWHERE = (2.33, 4.15, 4.5)  # times (a), by the source of the four steps


def _rows(results: Results, names: tuple[str, ...], scanners: int) -> Iterator[list[str]]:
    first = results.rounds(STEPS[0], scanners)
    for name in names:
        rounds = results.rounds(name, scanners)
        if rounds:
            ratio = round_ratio(rounds, first)
            low, high = min(rounds.values()), max(rounds.values())
            yield [TITLES[name], f"{median(rounds):.2f}", f"{low:.2f} .. {high:.2f}", str(ratio or "")]


def _table(results: Results, title: str, names: tuple[str, ...], scanners: int = 1) -> Iterator[str]:
    rows = list(_rows(results, names, scanners))
    if rows:
        yield from ["", title]
        yield from layout([["", "GB/s", "rounds", "ratio to (a) [95 %]"], *rows])


def notes(results: Results) -> Iterator[str]:
    yield from busy_lines(results.host)
    if results.host.get("note"):
        yield f"note: {results.host['note']}"
    if results.misplaced:
        yield f"note: {results.misplaced} blocks do not lie on the node that they were written on"
    yield from failure_lines(results.errors)


def report(results: Results) -> Iterator[str]:
    host = results.host
    yield host_line(host)
    yield (
        f"a table of {host['bytes'] / 2**20:.0f} MiB in blocks of {host['block_bytes'] / 2**20:g} MiB on"
        f" {results.nodes} NUMA node{'s' if results.nodes > 1 else ''}, last-level caches"
        f" {host['last_level_bytes'] / 2**20:.0f} MiB, {results.threads} threads compute;"
        f" of a round the fastest of {host['passes']} passes counts"
    )
    yield from _table(results, "Scan of the table", STEPS)
    several = results.contended
    if several:
        title = f"With contention: {several} threads outside the pool each scan it all, at once; sum in GB/s"
        yield from _table(results, title, STEPS, several)
    if results.nodes > 1:
        ratios = ", ".join(f"({step}) {ratio}" for step, ratio in zip("bcd", ELSEWHERE))
        yield f"Reported elsewhere, on a machine with several nodes: {ratios}"
    title = "The memory as STREAM measures it, with as many threads and no pool"
    yield from _table(results, title, (*READS, *TRIADS))
    yield from ["", "Verdicts:", *(f"  {verdict}" for verdict in verdicts(results)), *notes(results)]
