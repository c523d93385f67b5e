# SPDX-License-Identifier: BSD-3-Clause
"""The figures as text."""

from __future__ import annotations

import statistics
from typing import Iterator

from nrbench.backends import OWN
from nrbench.claims import round_ratio
from nrbench.pi.judge import Results, mean_and_deviation, verdicts
from nrbench.pi.plan import PINNED, RIVALS
from nrbench.table import busy_lines, failure_lines, host_line, layout

TITLES = {
    OWN: "ws_reduce, floating",
    PINNED: "ws_reduce, pinned by an observer",
    "onetbb": "oneTBB parallel_reduce",
    "openmp-gcc": "OpenMP reduction, gcc",
    "openmp-llvm": "OpenMP reduction, LLVM",
}
NAMES = (OWN, PINNED, *RIVALS)


def _rows(results: Results) -> Iterator[list[str]]:
    for name in (name for name in NAMES if name in results.ms):
        rounds = results.ms[name]
        mean, deviation = mean_and_deviation(rounds)
        median = statistics.median(rounds.values())
        ratio = round_ratio(results.ms[OWN], rounds) if name != OWN and OWN in results.ms else None
        share = f"{100 * deviation / mean:.1f} %"
        cells = (f"{value:.3f}" for value in (median, mean, deviation))
        yield [TITLES[name], str(len(rounds)), *cells, share, str(ratio or "")]


def notes(results: Results) -> Iterator[str]:
    yield from busy_lines(results.host)
    for name, reason in results.host["missing"].items():
        yield f"missing: {name} ({reason})"
    yield from failure_lines(results.errors)


def report(results: Results) -> Iterator[str]:
    host = results.host
    yield host_line(host)
    yield (
        f"pi by {host['intervals']} intervals, {results.threads} threads compute; a process a run times"
        f" one reduction after {host['warm']} others; largest error {results.error_max:.1g}"
    )
    rows = list(_rows(results))
    if rows:
        yield ""
        head = ["time of a reduction, ms", "runs", "median", "mean", "st. dev.", "", "floating / this [95 %]"]
        yield from layout([head, *rows])
    yield from ["", "Verdicts:", *(f"  {verdict}" for verdict in verdicts(results)), *notes(results)]
