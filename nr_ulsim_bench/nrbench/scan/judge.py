# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidths by round, their ratios with intervals, and what can be claimed."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Iterator, NamedTuple, Sequence

from nrbench.claims import Rounds, at_least_word, equal_word, round_ratio
from nrbench.stats import Line

STEPS = ("one", "nodes", "parallel", "hints")
READS = ("read", "read-pinned")
TRIADS = ("triad", "triad-pinned")
STREAM_PART = 0.95  # of the bandwidth of STREAM's read, for (c)
EQUAL = 1.05  # two steps are equal if their ratio lies within 1 / EQUAL .. EQUAL


class Case(NamedTuple):
    step: str
    scanners: int


@dataclass
class Results:
    host: Line
    gb_per_s: dict[Case, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    nodes: int = 1
    threads: int = 1
    misplaced: int = 0
    errors: list[str] = field(default_factory=list)

    def rounds(self, step: str, scanners: int = 1) -> Rounds:
        return self.gb_per_s.get(Case(step, scanners), {})

    @property
    def contended(self) -> int | None:
        """Scans at once; None = this was not measured."""
        return max((case.scanners for case in self.gb_per_s if case.scanners > 1), default=None)


def collect(lines: Sequence[Line]) -> Results:
    results = Results(next(line for line in lines if line.get("bench") == "host"))
    for line in (line for line in lines if line.get("bench") == "scan"):
        if "error" in line:
            results.errors.append(f"{line.get('step', 'ws-scan')}: {line['error']}")
            continue
        results.gb_per_s[Case(line["step"], line["scanners"])][line["round"]] = line["gb_per_s"]
        results.nodes, results.threads = line["nodes"], line["threads"]
        results.misplaced = max(results.misplaced, line["misplaced_blocks"])
    return results


def median(rounds: Rounds) -> float:
    return statistics.median(rounds.values())


def best_of(results: Results, names: Sequence[str]) -> str | None:
    """Pinned or not: the one that is faster over all rounds."""
    there = [name for name in names if results.rounds(name)]
    return max(there, key=lambda name: median(results.rounds(name)), default=None)


def verdicts(results: Results) -> Iterator[str]:
    hints = round_ratio(results.rounds("hints"), results.rounds("parallel"))
    if results.nodes == 1:
        word = equal_word(hints, EQUAL)
        yield f"{word}  one node: hints change nothing, within 5 %: (d) / (c) = {hints or 'n/a'}"
    else:
        word = at_least_word(hints, 1.0)
        yield f"{word}  {results.nodes} nodes: hints make the scan faster: (d) / (c) = {hints or 'n/a'}"
    yield stream_verdict(results)


def best_reads(results: Results) -> Rounds:
    """In each round the faster of floating and pinned: what the memory gives, as far as was seen."""
    numbers = {number for name in READS for number in results.rounds(name)}
    return {
        number: max(results.rounds(name).get(number, 0.0) for name in READS) for number in sorted(numbers)
    }


def stream_verdict(results: Results) -> str:
    parallel, read = results.rounds("parallel"), best_reads(results)
    share = round_ratio(parallel, read)
    what = f"(c) reaches {STREAM_PART:.0%} of STREAM's read"
    if share is None:
        return f"----  {what}: n/a"
    fastest = max(parallel.values()) / max(read.values())
    return f"{at_least_word(share, STREAM_PART)}  {what}: {share}; of each the fastest round: {fastest:.3f}"
