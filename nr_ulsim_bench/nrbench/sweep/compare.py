# SPDX-License-Identifier: BSD-3-Clause
"""Two result files against each other, row by row."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import pandas as pd

from nrbench.sweep.cells import Ratio, ratio_of
from nrbench.sweep.facts import build_text, host_differences, once
from nrbench.sweep.figures import MAIN, Figure
from nrbench.sweep.frame import CPU, to_frame
from nrbench.sweep.record import INLINE, ResultsError, Run
from nrbench.sweep.table import Column, Table, interval_text, number
from nrbench.sweep.verdicts import FASTER, FEW, NONE, SAME, SLOWER, check_threshold

NOT_SLOWER, SOME_SLOWER, CANNOT = 0, 1, 2
LOST = "lost its result"
CPU_TIME = Figure(CPU, "CPU time")


class RowKey(NamedTuple):
    scenario: str
    case: str
    threads: int
    variant: str
    figure: Figure

    @property
    def where(self) -> str:
        return f"{self.scenario} / {self.case}, {self.variant}, {self.threads} threads"


class Row(NamedTuple):
    key: RowKey
    before: float | None
    after: float | None
    ratio: Ratio | None

    @property
    def word(self) -> str:
        if self.before is not None and self.after is None:
            return LOST
        return NONE if self.ratio is None else self.ratio.verdict.word

    @property
    def verdict(self) -> str:
        """CPU time is not faster or slower, but less or more."""
        text = self.word if self.ratio is None else str(self.ratio.verdict)
        if self.key.figure != CPU_TIME:
            return text
        return {FASTER: "less", SLOWER: "more"}.get(text, text)


class Comparison(NamedTuple):
    rows: list[Row]
    only_before: list[str]
    only_after: list[str]
    warnings: list[str]

    @property
    def times(self) -> list[Row]:
        return [row for row in self.rows if row.key.figure != CPU_TIME]

    @property
    def status(self) -> int:
        """0: no time is slower. 1: at least one is, or has a result before and none after. 2: nothing could
        be told: no rows on both sides, or too few repeats in all of them. CPU time does not count."""
        words = {row.word for row in self.times}
        if words & {SLOWER, LOST}:
            return SOME_SLOWER
        return NOT_SLOWER if words & {FASTER, SAME} else CANNOT


def _of_one_host(runs: Sequence[Run], name: str) -> list[Run]:
    """Runs of several hosts cannot be put into one row."""
    hosts = {run.host.id: run.host.label for run in runs}
    if not hosts:
        raise ResultsError(f"{name}: holds no runs")
    if len(hosts) > 1:
        labels = ", ".join(f"{label} ({host})" for host, label in hosts.items())
        raise ResultsError(f"{name}: holds runs of {len(hosts)} hosts ({labels}); compare one host at a time")
    return once(runs)[0]


def _series(runs: Sequence[Run]) -> dict[RowKey, pd.Series[Any]]:
    """Values of each row; empty where all of its runs failed. Inline runs are no row: they are of no pool."""
    frame = to_frame([run for run in runs if run.pool != INLINE and run.threads > 0])
    figures = [
        figure for figure in (*MAIN, CPU_TIME) if figure.key in frame and frame[figure.key].notna().any()
    ]
    found = {}
    for where, part in frame.groupby(["scenario", "case", "threads", "variant"], sort=False):
        scenario, case, threads, variant = (str(name) for name in where)
        good = part[part["status"] == "ok"]
        for figure in figures:
            key = RowKey(scenario, case, int(threads), variant, figure)
            found[key] = good[figure.key].dropna()
    return found


def _median(values: pd.Series[Any]) -> float | None:
    return float(values.median()) if len(values) else None


def _row(key: RowKey, old: pd.Series[Any], new: pd.Series[Any], threshold: float) -> Row:
    return Row(key, _median(old), _median(new), ratio_of(old, new, threshold, pairs=False))


def _missing(there: Mapping[RowKey, object], other: Mapping[RowKey, object]) -> list[str]:
    """Rows without a partner, those of one setting in a line."""
    titles: dict[str, list[str]] = {}
    for key in there:
        if key not in other:
            titles.setdefault(key.where, []).append(key.figure.title)
    return [f"{where}: {', '.join(figures)}" for where, figures in titles.items()]


def _differences(runs: Sequence[Run], others: Sequence[Run]) -> Iterator[str]:
    """What else than the time may have changed."""
    hosts = host_differences(runs[-1].host, others[-1].host)
    if hosts:
        yield f"hosts differ: {'; '.join(hosts)}"
    yield from _changes("programs of", _sides(runs, others, lambda run: (run.pool,), _program))
    yield from _changes("options of", _sides(runs, others, _where, _options))


def _where(run: Run) -> tuple[str, ...]:
    return (f"{run.scenario} / {run.case}", run.variant, f"{run.threads} threads")


def _program(run: Run) -> str:
    return build_text(run.build)


def _options(run: Run) -> str:
    environment = [f"{name}={value}" for name, value in sorted(run.environment.items())]
    return " ".join([*environment, *([f"CPUs {run.cpus}"] if run.cpus else []), *run.options])


Sides = dict[tuple[str, ...], tuple[set[str], set[str]]]


def _sides(
    runs: Sequence[Run],
    others: Sequence[Run],
    of: Callable[[Run], tuple[str, ...]],
    value: Callable[[Run], str],
) -> Sides:
    found: Sides = {}
    for side, members in enumerate((runs, others)):
        for run in members:
            found.setdefault(of(run), (set(), set()))[side].add(value(run))
    return found


def _changes(what: str, sides: Sides) -> Iterator[str]:
    """The first in full, of the others how many; only of what is on both sides."""
    changed = [(of, was, now) for of, (was, now) in sides.items() if was and now and was != now]
    if changed:
        of, was, now = changed[0]
        more = f" (and of {len(changed) - 1} more)" if len(changed) > 1 else ""
        yield f"{what} {', '.join(of)} differ: {' | '.join(sorted(was))} / {' | '.join(sorted(now))}{more}"


def compare(before: Sequence[Run], after: Sequence[Run], threshold: float = 0.0) -> Comparison:
    """Rows are matched by scenario, case, variant, threads and figure. The runs were not taken in the same
    rounds, so the intervals are of unpaired samples; what changed on the machine in between counts, too."""
    check_threshold(threshold)
    before, after = _of_one_host(before, "before"), _of_one_host(after, "after")
    old, new = _series(before), _series(after)
    return Comparison(
        [_row(key, old[key], new[key], threshold) for key in old if key in new],
        _missing(old, new),
        _missing(new, old),
        list(_differences(before, after)),
    )


def _cells(row: Row) -> list[str]:
    ratio = row.ratio
    return [
        str(row.key.threads),
        row.key.variant,
        row.key.figure.title,
        number(row.before),
        number(row.after),
        "-" if ratio is None else f"{ratio.value:.2f}",
        interval_text(ratio.interval if ratio else None),
        row.verdict,
    ]


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One a case."""
    heads = ("threads", "variant", "figure", "before", "after", "÷ before", "95 % interval", "verdict")
    columns = [Column("", head) for head in heads]
    cases: dict[str, list[list[str]]] = {}
    for row in comparison.rows:
        cases.setdefault(f"{row.key.scenario} / {row.key.case}", []).append(_cells(row))
    return [Table(f"{case}, after against before", columns, rows, []) for case, rows in cases.items()]


NOTE = (
    "Medians in µs, CPU time in s; below 1 is faster after. The two were not taken in turns: what changed on"
    " the machine in between is part of the ratio. Where nothing differs, about one row in twenty says"
    " otherwise by chance."
)


def summary(comparison: Comparison) -> str:
    words = [row.word for row in comparison.times]
    counts = {word: words.count(word) for word in (SLOWER, LOST, FASTER, SAME, FEW, NONE) if word in words}
    if not counts:
        return "nothing to compare: no row is on both sides"
    return f"{len(words)} times: " + ", ".join(f"{word} {count}" for word, count in counts.items())
