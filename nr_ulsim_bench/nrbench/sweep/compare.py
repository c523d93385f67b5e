# SPDX-License-Identifier: BSD-3-Clause
"""Two files of results against each other, row by row."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import pandas as pd

from nrbench.judge import FASTER, NONE, SAME, SLOWER, UNKNOWN, check_threshold
from nrbench.record import ResultsError
from nrbench.render import Table, plain_columns
from nrbench.sweep.cells import CPU_TIME, Case, case_results, ratio_between, verdict_text
from nrbench.sweep.configuration import labels_of_sides, wrong_pools
from nrbench.sweep.facts import build_text, host_differences, values_at
from nrbench.sweep.figures import Figure
from nrbench.sweep.record import Run
from nrbench.sweep.runs import Runs, read
from nrbench.sweep.tables import factor, interval_text, number
from nrbench.table import Ratio

NOT_WORSE, SOME_WORSE, CANNOT = 0, 1, 2
LOST = "lost its result"
FAILING = "fails more often"
HEADS = (
    "threads", "variant", "figure", "before", "after", "÷ before", "95 % interval", "failed runs", "verdict",
)  # fmt: skip
FAILED = HEADS.index("failed runs")
NOTE = (
    "Medians in µs, CPU time in s; below 1 is faster after. The runs of the two files were not interleaved: "
    "changes on the machine in between are part of the ratio. Where nothing differs, about one row in twenty "
    "has an interval that leaves out 1 by chance."
)


class RowKey(NamedTuple):
    case: str
    threads: int
    variant: str
    figure: Figure

    @property
    def where(self) -> str:
        return f"{self.case}, {self.variant}, {self.threads} threads"


class Side(NamedTuple):
    """Of a row in one of the files."""

    values: pd.Series[Any]  # of those that gave a result
    taken: int
    failed: int

    @property
    def median(self) -> float | None:
        return float(self.values.median()) if len(self.values) else None


class Row(NamedTuple):
    key: RowKey
    old: Side
    new: Side
    ratio: Ratio | None

    @property
    def failing(self) -> bool:
        """More of the runs fail, in number and as a share."""
        more = self.new.failed > self.old.failed
        return more and self.new.failed * self.old.taken > self.old.failed * self.new.taken

    @property
    def word(self) -> str:
        if len(self.old.values) and not len(self.new.values):
            return LOST
        return NONE if self.ratio is None else self.ratio.verdict.word

    @property
    def verdict(self) -> str:
        text = verdict_text(self.ratio.verdict, self.key.figure.key) if self.ratio else self.word
        return f"{text}, {FAILING}" if self.failing and self.word != LOST else text


class Comparison(NamedTuple):
    rows: list[Row]
    missing: list[RowKey]  # only in the first file
    added: list[RowKey]  # only in the second
    warnings: list[str]

    @property
    def times(self) -> list[Row]:
        return [row for row in self.rows if row.key.figure != CPU_TIME]

    @property
    def status(self) -> int:
        """
        0: nothing is worse. 1: a time is slower or lost, or more of a row's runs fail. 2: nothing could be
        compared: no row is on both sides, or too few repeats in all of them. CPU time does not count.
        """
        words = {row.word for row in self.times}
        gone = any(key.figure != CPU_TIME for key in self.missing)
        if self.times and (gone or words & {SLOWER, LOST} or any(row.failing for row in self.times)):
            return SOME_WORSE
        compared = any(row.ratio and row.ratio.interval for row in self.times)
        return NOT_WORSE if compared else CANNOT


def _of_one_host(path: Path, name: str) -> Runs:
    """Runs of several hosts cannot be put into one row."""
    runs = read([path])
    hosts = {run.host.id: run.host.label for run in runs.settings}
    if len(hosts) > 1:
        labels = ", ".join(f"{label} ({host})" for host, label in hosts.items())
        raise ResultsError(f"{name}: holds runs of {len(hosts)} hosts ({labels}); compare one host at a time")
    return runs


def _rows_of(cases: Sequence[Case], figures: Sequence[Figure]) -> dict[RowKey, Side]:
    """Where all runs of a row failed, it is there without values."""
    found = {}
    for case in cases:
        for (threads, variant), row in case.rows.items():
            failed = len(row.causes)
            for figure in figures:
                values = case.values(variant, threads, figure.key)
                side = Side(values, len(row.good) + failed, failed)
                found[RowKey(case.key.name, threads, variant, figure)] = side
    return found


def _by_setting(keys: Sequence[RowKey]) -> list[str]:
    """Those of one setting in a line."""
    titles: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        titles[key.where].append(key.figure.title)
    return [f"{where}: {', '.join(figures)}" for where, figures in titles.items()]


def _options(run: Run) -> str:
    environment = [f"{name}={value}" for name, value in sorted(run.environment.items())]
    return " ".join([*environment, *([f"CPUs {run.cpus}"] if run.cpus else []), *run.options])


def _differences(sides: dict[str, Sequence[Run]]) -> Iterator[str]:
    """What else than the pool may have changed."""
    for side, runs in sides.items():
        yield from (f"{side}: {warning}" for warning in wrong_pools(runs))
    before, after = sides.values()
    hosts = host_differences(before[-1].host, after[-1].host)
    if hosts:
        yield f"hosts differ: {'; '.join(hosts)}"
    yield from _changes("programs of", before, after, lambda run: run.pool, lambda run: build_text(run.build))
    yield from _changes("options of", before, after, _setting, _options)


def _setting(run: Run) -> str:
    return f"{run.scenario} / {run.case}, {run.variant}, {run.threads} threads"


def _changes(
    what: str,
    before: Sequence[Run],
    after: Sequence[Run],
    place: Callable[[Run], str],
    value: Callable[[Run], str],
) -> Iterator[str]:
    """Where the values before and after differ: the first place in full, of the others how many. What is on
    one side only has not changed."""
    was, now = (values_at(runs, place, value) for runs in (before, after))
    changed = [name for name in was if name in now and was[name] != now[name]]
    if changed:
        values = " / ".join(" | ".join(sorted(found[changed[0]])) for found in (was, now))
        more = f" (and of {len(changed) - 1} more)" if len(changed) > 1 else ""
        yield f"{what} {changed[0]} differ: {values}{more}"


def _ratio(old: Side, new: Side, threshold: float) -> Ratio | None:
    sides = [side.values.rename("value").reset_index().assign(group=n) for n, side in enumerate((old, new))]
    return ratio_between(pd.concat(sides), threshold, pairs=False)


def compare(before: Path, after: Path, threshold: float = 0.0) -> Comparison:
    """Rows are matched by scenario, case, variant, threads and figure. The runs were not taken in the same
    rounds, so the intervals are of unpaired samples; what changed on the machine in between counts, too."""
    check_threshold(threshold)
    sides = {name: _of_one_host(path, name) for name, path in (("before", before), ("after", after))}
    settings: dict[str, Sequence[Run]] = {name: runs.settings for name, runs in sides.items()}
    names = labels_of_sides(settings)
    cases = [case_results(runs, threshold, added) for runs, added in zip(sides.values(), names)]
    was, now = [list(dict.fromkeys(f for case in side for f in case.compared)) for side in cases]
    old, new = _rows_of(cases[0], was or now), _rows_of(cases[1], now or was)
    return Comparison(
        [Row(key, old[key], new[key], _ratio(old[key], new[key], threshold)) for key in old if key in new],
        [key for key in old if key not in new],
        [key for key in new if key not in old],
        list(_differences(settings)),
    )


def _cells(row: Row) -> list[str]:
    ratio = row.ratio
    return [
        str(row.key.threads),
        row.key.variant,
        row.key.figure.title,
        number(row.old.median),
        number(row.new.median),
        factor(ratio.value if ratio else None),
        interval_text(ratio.interval if ratio else None),
        f"{row.old.failed}/{row.old.taken} → {row.new.failed}/{row.new.taken}",
        row.verdict,
    ]


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One a case; with the failed runs of each row where there are some."""
    cases: dict[str, list[Row]] = defaultdict(list)
    for row in comparison.rows:
        cases[row.key.case].append(row)
    tables = []
    for case, rows in cases.items():
        cells = [list(HEADS), *map(_cells, rows)]
        if not any(row.old.failed or row.new.failed for row in rows):
            cells = [texts[:FAILED] + texts[FAILED + 1 :] for texts in cells]
        tables.append(Table(f"{case}, after against before", plain_columns(*cells[0]), cells[1:], []))
    return tables


def only_on_one_side(comparison: Comparison) -> Iterator[str]:
    for side, keys in (("before", comparison.missing), ("after", comparison.added)):
        yield from (f"only {side}: {rows}" for rows in _by_setting(keys))


def summary(comparison: Comparison) -> str:
    counts = Counter(row.word for row in comparison.times)
    if not counts:
        return "nothing to compare: no row is on both sides"
    order = [word for word in (SLOWER, LOST, FASTER, SAME, UNKNOWN, NONE) if word in counts]
    text = f"{counts.total()} times: " + ", ".join(f"{word} {counts[word]}" for word in order)
    failing = len({row.key.where for row in comparison.rows if row.failing})
    gone = len({key.where for key in comparison.missing})
    text += f"; settings of which more runs fail: {failing}" if failing else ""
    return text + (f"; settings with rows only before: {gone}" if gone else "")
