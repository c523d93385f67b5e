# SPDX-License-Identifier: BSD-3-Clause
"""Two files of results against each other, row by row."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Sequence

import pandas as pd

from nrbench.sweep.cells import Ratio, ratio_of
from nrbench.sweep.configuration import labels_of_sides
from nrbench.sweep.facts import build_text, host_differences
from nrbench.sweep.figures import MAIN, Figure
from nrbench.sweep.frame import CPU, to_frame
from nrbench.sweep.pools import wrong_pools
from nrbench.sweep.record import INLINE, ResultsError, Run
from nrbench.sweep.rounds import merged
from nrbench.sweep.table import Column, Table, interval_text, number
from nrbench.sweep.verdicts import FASTER, FEW, NONE, SAME, SLOWER, check_threshold

NOT_WORSE, SOME_WORSE, CANNOT = 0, 1, 2
LOST = "lost its result"
FAILING = "fails more often"
FAILED = "failed runs"
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


class Runs(NamedTuple):
    """Of a row in one of the files."""

    values: pd.Series[Any]  # of those that gave a result
    taken: int
    failed: int

    @property
    def median(self) -> float | None:
        return float(self.values.median()) if len(self.values) else None


class Row(NamedTuple):
    key: RowKey
    old: Runs
    new: Runs
    ratio: Ratio | None

    @property
    def before(self) -> float | None:
        return self.old.median

    @property
    def after(self) -> float | None:
        return self.new.median

    @property
    def failing(self) -> bool:
        """More of the runs fail, in number and as a share."""
        more = self.new.failed > self.old.failed
        return more and self.new.failed * self.old.taken > self.old.failed * self.new.taken

    @property
    def word(self) -> str:
        if self.before is not None and self.after is None:
            return LOST
        return NONE if self.ratio is None else self.ratio.verdict.word

    @property
    def verdict(self) -> str:
        """CPU time is not faster or slower, but less or more."""
        text = self.word if self.ratio is None else str(self.ratio.verdict)
        if self.key.figure == CPU_TIME:
            text = {FASTER: "less", SLOWER: "more"}.get(text, text)
        return f"{text}, {FAILING}" if self.failing and self.word != LOST else text


class Comparison(NamedTuple):
    rows: list[Row]
    missing: list[RowKey]  # only in the first file
    added: list[RowKey]  # only in the second
    warnings: list[str]

    @property
    def only_before(self) -> list[str]:
        return _by_setting(self.missing)

    @property
    def only_after(self) -> list[str]:
        return _by_setting(self.added)

    @property
    def times(self) -> list[Row]:
        return [row for row in self.rows if row.key.figure != CPU_TIME]

    @property
    def status(self) -> int:
        """
        0: nothing is worse. 1: a time is slower, or there no longer, or more of a row's runs fail. 2: nothing
        could be told: no row is on both sides, or too few repeats in all of them. CPU time does not count.
        """
        words = {row.word for row in self.times}
        gone = any(key.figure != CPU_TIME for key in self.missing)
        if self.times and (gone or words & {SLOWER, LOST} or any(row.failing for row in self.times)):
            return SOME_WORSE
        return NOT_WORSE if words & {FASTER, SAME} else CANNOT


def _of_one_host(runs: Sequence[Run], name: str) -> list[Run]:
    """Runs of several hosts cannot be put into one row."""
    hosts = {run.host.id: run.host.label for run in runs}
    if not hosts:
        raise ResultsError(f"{name}: holds no runs")
    if len(hosts) > 1:
        labels = ", ".join(f"{label} ({host})" for host, label in hosts.items())
        raise ResultsError(f"{name}: holds runs of {len(hosts)} hosts ({labels}); compare one host at a time")
    return merged([(name, runs)]).runs


def _frame(runs: Sequence[Run], labels: Sequence[str]) -> pd.DataFrame:
    """Without inline runs: they are of no pool."""
    frame = to_frame(runs).assign(named=labels)
    pooled: pd.DataFrame = frame[(frame["pool"] != INLINE) & (frame["threads"] > 0)]
    return pooled


def _figures(frame: pd.DataFrame) -> list[Figure]:
    """Of runs that gave a result."""
    good = frame[frame["status"] == "ok"]
    return [figure for figure in (*MAIN, CPU_TIME) if figure.key in good and good[figure.key].notna().any()]


def _rows_of(frame: pd.DataFrame, figures: Sequence[Figure]) -> dict[RowKey, Runs]:
    """Where all runs of a row failed, it is there without values."""
    found = {}
    for where, part in frame.groupby(["scenario", "case", "named", "threads", "variant"], sort=False):
        scenario, case, named, threads, variant = (str(name) for name in where)
        ok = part[part["status"] == "ok"]
        for figure in figures:
            key = RowKey(scenario, f"{case}{named}", int(threads), variant, figure)
            values = ok[figure.key].dropna() if figure.key in ok else pd.Series(dtype=float)
            found[key] = Runs(values, len(part), len(part) - len(ok))
    return found


def _row(key: RowKey, old: Runs, new: Runs, threshold: float) -> Row:
    return Row(key, old, new, ratio_of(old.values, new.values, threshold, pairs=False))


def _by_setting(keys: Sequence[RowKey]) -> list[str]:
    """Those of one setting in a line."""
    titles: dict[str, list[str]] = {}
    for key in keys:
        titles.setdefault(key.where, []).append(key.figure.title)
    return [f"{where}: {', '.join(figures)}" for where, figures in titles.items()]


def _differences(runs: Sequence[Run], others: Sequence[Run]) -> Iterator[str]:
    """What else than the time may have changed."""
    for side, members in (("before", runs), ("after", others)):
        yield from (f"{side}: {warning}" for warning in wrong_pools(members))
    hosts = host_differences(runs[-1].host, others[-1].host)
    if hosts:
        yield f"hosts differ: {'; '.join(hosts)}"
    yield from _changes("programs of", _by_place(runs, others, lambda run: (run.pool,), _program))
    yield from _changes("options of", _by_place(runs, others, _where, _options))


def _where(run: Run) -> tuple[str, ...]:
    return (f"{run.scenario} / {run.case}", run.variant, f"{run.threads} threads")


def _program(run: Run) -> str:
    return build_text(run.build)


def _options(run: Run) -> str:
    environment = [f"{name}={value}" for name, value in sorted(run.environment.items())]
    return " ".join([*environment, *([f"CPUs {run.cpus}"] if run.cpus else []), *run.options])


BeforeAfter = dict[tuple[str, ...], tuple[set[str], set[str]]]  # values on either side, by place


def _by_place(
    runs: Sequence[Run],
    others: Sequence[Run],
    place: Callable[[Run], tuple[str, ...]],
    value: Callable[[Run], str],
) -> BeforeAfter:
    """Such as the programs of a pool. What is not one on a side alone is looked for by facts.mixtures()."""
    found: BeforeAfter = {}
    for side, members in enumerate((runs, others)):
        for run in members:
            found.setdefault(place(run), (set(), set()))[side].add(value(run))
    return found


def _changes(what: str, values: BeforeAfter) -> Iterator[str]:
    """Where the values before and after differ: the first place in full, of the others how many. What is on
    one side only has not changed."""
    changed = [(place, was, now) for place, (was, now) in values.items() if was and now and was != now]
    if changed:
        place, was, now = changed[0]
        more = f" (and of {len(changed) - 1} more)" if len(changed) > 1 else ""
        yield f"{what} {', '.join(place)} differ: {' | '.join(sorted(was))} / {' | '.join(sorted(now))}{more}"


def compare(before: Sequence[Run], after: Sequence[Run], threshold: float = 0.0) -> Comparison:
    """Rows are matched by scenario, case, variant, threads and figure. The runs were not taken in the same
    rounds, so the intervals are of unpaired samples; what changed on the machine in between counts, too."""
    check_threshold(threshold)
    before, after = _of_one_host(before, "before"), _of_one_host(after, "after")
    labels = labels_of_sides({"before": before, "after": after})
    frames = [_frame(runs, names) for runs, names in zip((before, after), labels)]
    was, now = (_figures(frame) for frame in frames)
    old, new = _rows_of(frames[0], was or now), _rows_of(frames[1], now or was)
    return Comparison(
        [_row(key, old[key], new[key], threshold) for key in old if key in new],
        [key for key in old if key not in new],
        [key for key in new if key not in old],
        list(_differences(before, after)),
    )


def _failed(runs: Runs) -> str:
    return f"{runs.failed}/{runs.taken}"


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
        f"{_failed(row.old)} → {_failed(row.new)}",
        row.verdict,
    ]


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One a case; with the failed runs of each row where there are some."""
    heads = [
        "threads",
        "variant",
        "figure",
        "before",
        "after",
        "÷ before",
        "95 % interval",
        FAILED,
        "verdict",
    ]
    cases: dict[str, list[Row]] = {}
    for row in comparison.rows:
        cases.setdefault(f"{row.key.scenario} / {row.key.case}", []).append(row)
    tables = []
    for case, rows in cases.items():
        any_failed = any(row.old.failed or row.new.failed for row in rows)
        shown = [index for index, head in enumerate(heads) if head != FAILED or any_failed]
        columns = [Column("", heads[index]) for index in shown]
        cells = [[texts[index] for index in shown] for texts in map(_cells, rows)]
        tables.append(Table(f"{case}, after against before", columns, cells, []))
    return tables


NOTE = (
    "Medians in µs, CPU time in s; below 1 is faster after. The runs of the two files were not interleaved:"
    " what changed on the machine in between is part of the ratio. Where nothing differs, about one row in"
    " twenty says otherwise by chance."
)


def summary(comparison: Comparison) -> str:
    words = [row.word for row in comparison.times]
    counts = {word: words.count(word) for word in (SLOWER, LOST, FASTER, SAME, FEW, NONE) if word in words}
    failing = len({row.key.where for row in comparison.rows if row.failing})
    gone = len({key.where for key in comparison.missing})
    if not counts:
        return "nothing to compare: no row is on both sides"
    first = f"{len(words)} times: " + ", ".join(f"{word} {count}" for word, count in counts.items())
    more = [f"settings of which more runs fail: {failing}"] if failing else []
    return "; ".join([first, *more, *([f"settings with rows only before: {gone}"] if gone else [])])
