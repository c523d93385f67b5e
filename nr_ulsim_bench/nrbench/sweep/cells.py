# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a report: a figure of a variant at a number of threads, of a case on a host. They are computed
once, all together; tables, plots, the page and results.csv show them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import pandas as pd

from nrbench import table
from nrbench.judge import NONE, SAME, UNKNOWN, Interval, Verdict
from nrbench.record import Host
from nrbench.sweep.configuration import Key, keys_of
from nrbench.sweep.figures import DECODING, MAIN, RX, SYMBOLS, TITLES, Figure, bound_key
from nrbench.sweep.record import INLINE, Run, cores_for
from nrbench.sweep.runs import Runs
from nrbench.table import Ratio

CPU, WALL = "cpu_s", "wall_s"
CPU_TIME = Figure(CPU, "CPU time")
COST = (CPU_TIME, Figure(WALL, "wall time"))
OLD_POOL = {"nr_ulsim": "old", "replay": "mutex-per-worker"}
OUR_POOL = {"nr_ulsim": "new", "replay": "ws"}
BOUND_KEYS = {figure.key: bound_key(figure.key) for figure in MAIN}
ALL_FIGURES_MAX = 100_000  # runs; of more, the main figure only


@dataclass(frozen=True)
class Cell:
    count: int
    causes: tuple[str, ...]  # of the runs that failed
    median: float | None = None
    half_iqr: float | None = None
    interval: Interval | None = None
    ratio: Ratio | None = None
    derived: bool = False
    bound: float | None = None
    parallel_bound: float | None = None

    @property
    def over_parallel_bound(self) -> float | None:
        return self.median / self.parallel_bound if self.median is not None and self.parallel_bound else None

    @property
    def over_bound(self) -> float | None:
        return self.median / self.bound if self.median is not None and self.bound else None

    @property
    def is_below_bound(self) -> bool:
        """By more than the last digit of tables."""
        return self.over_bound is not None and self.over_bound < 0.995

    @property
    def word(self) -> str:
        """Of the verdict."""
        return self.ratio.verdict.word if self.ratio else NONE


class Place(NamedTuple):
    threads: int
    variant: str
    column: str


class Row(NamedTuple):
    """A variant at a number of threads."""

    good: Any  # places of its runs with a result
    causes: tuple[str, ...]  # of those that failed


@dataclass(frozen=True)
class Case:
    """All cells of a case on a host in one configuration. Variants: the old one first, then ours, then the
    others."""

    key: Key
    host: Host
    settings: Sequence[Run]  # without inline runs
    variants: tuple[str, ...]
    baseline: str | None
    ours: tuple[str, ...]
    cells: Mapping[Place, Cell]  # only of what was run; a cell whose runs all failed has no median
    work: Mapping[str, float]  # by figure, the median of inline runs; of several programs, the least
    work_at_once: Mapping[int, Mapping[str, float]]  # the same of inline runs side by side, by their number
    rows: Mapping[tuple[int, str], Row]  # by threads and variant
    good: pd.DataFrame | None = None  # runs with a result, of all cases
    threshold: float = 0.0

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({run.threads for run in self.settings}))

    def cores(self, threads: int | None = None) -> int:
        of = [cores_of(run) for run in self.settings if threads in (None, run.threads)]
        return max(of, default=self.host.cores)

    def values(self, variant: str, threads: int, column: str) -> pd.Series[Any]:
        """Of the runs that gave a result, by round."""
        row = self.rows.get((threads, variant))
        if row is None or self.good is None or column not in self.good:
            return pd.Series(dtype=float)
        of = self.good[["round", column]].iloc[row.good]
        found: pd.Series[Any] = of.set_index("round")[column].dropna()
        return found

    def _there(self, figures: Sequence[Figure]) -> tuple[Figure, ...]:
        """Those that any run with a result has."""
        there = {place.column for place, cell in self.cells.items() if cell.count}
        return tuple(figure for figure in figures if figure.key in there)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return self._there(MAIN)

    @cached_property
    def costs(self) -> tuple[Figure, ...]:
        return self._there(COST)

    @property
    def compared(self) -> tuple[Figure, ...]:
        """Those of which ratios are shown."""
        return (*self.figures, *(figure for figure in self.costs if figure == CPU_TIME))

    @property
    def main(self) -> Figure | None:
        """What a case is summed up by: whole RX, else the last figure that it has."""
        return next((f for f in self.figures if f.key == RX), next(reversed(self.figures), None))

    @cached_property
    def has_bound(self) -> bool:
        return any(cell.bound is not None for cell in self.cells.values())

    @cached_property
    def has_parallel_bound(self) -> bool:
        return any(cell.parallel_bound is not None for cell in self.cells.values())

    def bounds_of(self, figure: Figure) -> tuple[bool, bool]:
        """Whether a figure has a bound, and the parallel one."""
        return (False, False) if figure == CPU_TIME else (self.has_bound, self.has_parallel_bound)

    def get(self, threads: int, variant: str, column: str) -> Cell | None:
        return self.cells.get(Place(threads, variant, column))

    def column(self, column: str, variant: str | None = None) -> list[tuple[int, Cell]]:
        """Cells of a figure, of one variant or of all, each with its number of threads."""
        return [
            (place.threads, cell)
            for place, cell in self.cells.items()
            if place.column == column and variant in (None, place.variant)
        ]

    def line(self, variant: str, column: str) -> list[tuple[int, Cell]]:
        """Cells of a variant that have a median."""
        return [(threads, cell) for threads, cell in self.column(column, variant) if cell.median is not None]


def cores_of(run: Run) -> int:
    return cores_for(run.host, run.cpus)


def _computing(cores: int, threads: int) -> int:
    """Threads that can compute: one more than the pool has, and no more than there are cores."""
    return min(cores, threads + 1)


def _divided(work: Mapping[str, float], alone: Mapping[str, float], computing: int) -> dict[str, float]:
    """What no pool can beat, one for all variants of a row: the work, divided by the threads that could
    compute. That is one more than the pool has where the thread that waits helps, as it does in ours, and no
    more than there are cores; for a pool whose waiter sleeps it is still a bound, only a looser one. Whole
    RX: only its two parallel parts are divided.

    @param work  of inline runs, by figure. @param alone  of those that ran alone"""
    found = {key: work_us / computing for key, work_us in work.items() if key != RX}
    if len(found) == 2 and {RX, SYMBOLS, DECODING} <= alone.keys():
        serial = alone[RX] - alone[SYMBOLS] - alone[DECODING]
        found[RX] = serial + work[SYMBOLS] / computing + work[DECODING] / computing
    return {figure: bound for figure, bound in found.items() if bound > 0}


def _by_spin(variant: str) -> tuple[int, str]:
    """Off before auto before all others, as the settings come in tables."""
    return {"off": 0, "auto": 1}.get(variant.rpartition(" ")[2], 2), variant


def _variants(kind: str, pools: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """@param pools  by variant. @return all in order; ours; the baseline"""
    ours = sorted((name for name, pool in pools.items() if pool == OUR_POOL[kind]), key=_by_spin)
    others = [name for name in pools if name not in ours]
    others.sort(key=lambda name: pools[name] != OLD_POOL[kind])  # the old one first, if there is one
    return (*others[:1], *ours, *others[1:]), tuple(ours), next(iter(others), None)


def _is_inline(run: Run) -> bool:
    return run.pool == INLINE or run.threads == 0


class _Cells:
    """All cells of some runs. A row is a variant at a number of threads of a case: a number."""

    def __init__(self, runs: Runs, threshold: float, names: Sequence[str] | None) -> None:
        self.runs, self.threshold = runs, threshold
        self.keys = runs.keys if names is None else keys_of(runs.settings, names)
        self.of_case: dict[Key, list[int]] = defaultdict(list)  # settings
        for place, key in enumerate(self.keys):
            self.of_case[key].append(place)
        self.rows: dict[tuple[Key, int, str], int] = {}
        self.row_of = [self._row(key, run) for key, run in zip(self.keys, runs.settings)]
        self.frame = runs.frame.assign(row=np.asarray(self.row_of)[runs.frame["setting"].to_numpy()])
        self.good = self.frame[self.frame["status"] == "ok"]
        self.causes: dict[int, list[str]] = defaultdict(list)
        for row, status in self.frame.loc[self.frame["status"] != "ok", ["row", "status"]].itertuples(
            index=False
        ):
            self.causes[row].append(status)
        self.orders = {key: self._order(key) for key in self.of_case}
        self.work, self.work_at_once = self._work()
        self.found: dict[tuple[int, str], Cell] = {}
        for figure in self.figures():
            self._figure(figure)

    def _row(self, key: Key, run: Run) -> int:
        return self.rows.setdefault((key, run.threads, run.variant), len(self.rows))

    def _order(self, key: Key) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        of = [self.runs.settings[place] for place in self.of_case[key]]
        return _variants(key.kind, {run.variant: run.pool for run in of if not _is_inline(run)})

    def figures(self) -> list[str]:
        bounds = set(BOUND_KEYS.values())
        there = [name for name in self.runs.figures if name not in bounds]
        if len(self.frame) > ALL_FIGURES_MAX:
            return [RX] if RX in there else there[-1:]
        main = [figure.key for figure in MAIN if figure.key in there]
        rest = [
            name for name in dict.fromkeys([*TITLES, *sorted(there)]) if name in there and name not in main
        ]
        return [*main, *rest, CPU, WALL]

    def _work(self) -> tuple[dict[Key, dict[str, float]], dict[Key, dict[int, dict[str, float]]]]:
        names = [figure.key for figure in MAIN if figure.key in self.good]
        of: dict[tuple[Key, int, str], int] = {}
        programs = np.asarray([
            of.setdefault((key, run.at_once or 1, run.program), len(of)) if _is_inline(run) else -1
            for key, run in zip(self.keys, self.runs.settings)
        ])  # fmt: skip
        good = self.good.assign(program=programs[self.good["setting"].to_numpy()])
        medians = good[good["program"] >= 0].groupby("program")[names].median()
        best: dict[tuple[Key, int], dict[str, float]] = {}
        for (key, at_once, _), place in sorted(of.items()):
            if place not in medians.index:
                continue
            work = {str(name): float(us) for name, us in medians.loc[place].dropna().items()}
            before = best.get((key, at_once))
            if before is None or work.get(RX, math.inf) < before.get(RX, math.inf):
                best[key, at_once] = work
        together: dict[Key, dict[int, dict[str, float]]] = defaultdict(dict)
        for (key, at_once), work in best.items():
            if at_once > 1:
                together[key][at_once] = work
        return {key: work for (key, at_once), work in best.items() if at_once == 1}, together

    def _bounds(self, key: Key, threads: int, cores: int) -> tuple[dict[str, float], dict[str, float]]:
        """The bounds of a row, and those by inline runs side by side, as many as threads compute."""
        computing, alone = _computing(cores, threads), self.work.get(key, {})
        at_once = self.work_at_once.get(key, {}).get(computing, {})
        return _divided(alone, alone, computing), _divided(at_once, alone, computing)

    @cached_property
    def _own_bounds(self) -> dict[tuple[Key, int], dict[str, float]]:
        """Recorded slots know the length of each task. They bring bounds of their own, which replace "
        "others."""
        names = {bound: figure for figure, bound in BOUND_KEYS.items() if bound in self.good}
        if not names:
            return {}
        places = {row: (key, threads) for (key, threads, _), row in self.rows.items()}
        found: dict[tuple[Key, int], dict[str, float]] = defaultdict(dict)
        for row, of in self.good.groupby("row")[list(names)].min().iterrows():
            for bound, us in of.dropna().items():
                one, figure = found[places[int(str(row))]], names[str(bound)]
                one[figure] = min(one.get(figure, math.inf), float(us))
        return found

    def _figure(self, figure: str) -> None:
        long = self.good[["row", "round", figure]].dropna()
        long.columns = pd.Index(["group", "round", "value"])
        base = {
            row: self.rows[key, threads, old]
            for (key, threads, variant), row in self.rows.items()
            if (old := self.orders[key][2]) not in (None, variant)
            and variant in self.orders[key][0]
            and (key, threads, old) in self.rows
        }
        ratios = table.ratios(long, pd.Series(base, dtype="int64"), self.threshold)
        for row, n, median, half_iqr, low, high in table.medians(long).itertuples():
            self.found[row, figure] = Cell(
                n, (), median, _or_none(half_iqr), _interval(low, high), ratios.get(row)
            )

    def cases(self) -> Iterator[Case]:
        """By host, case and configuration, in the order of the runs; a host's together, and a case's."""
        figures, settings = self.figures(), self.runs.settings
        hosts = {run.host.id: run.host for run in settings}
        host_order = {host: place for place, host in enumerate(hosts)}
        case_order = {case: at for at, case in enumerate(dict.fromkeys(key[:4] for key in self.of_case))}
        derived = self.good.loc[self.good["derived"] != "", ["row", "derived"]].drop_duplicates()
        of_derived: dict[int, set[str]] = defaultdict(set)
        for row, names in derived.itertuples(index=False):
            of_derived[row].update(names.split(" "))
        by_row = self.good.groupby("row").indices
        for key in sorted(self.of_case, key=lambda k: (host_order[k.host], case_order[k[:4]])):
            of = [settings[place] for place in self.of_case[key] if not _is_inline(settings[place])]
            variants, ours, baseline = self.orders[key]
            rows = {(t, v): self.rows[key, t, v] for t in sorted({r.threads for r in of}) for v in variants
                    if (key, t, v) in self.rows}  # fmt: skip
            there = [name for name in figures if any((row, name) in self.found for row in rows.values())]
            cells: dict[Place, Cell] = {}
            for (threads, variant), row in rows.items():
                cores = max(cores_of(run) for run in of if run.threads == threads)
                bounds, parallel = self._bounds(key, threads, cores)
                bounds |= self._own_bounds.get((key, threads), {})
                for figure in there:
                    one = self.found.get((row, figure), Cell(0, ()))
                    cells[Place(threads, variant, figure)] = Cell(
                        one.count, tuple(self.causes.get(row, ())), one.median, one.half_iqr, one.interval,
                        one.ratio, figure in of_derived[row], bounds.get(figure), parallel.get(figure),
                    )  # fmt: skip
            of_rows = {place: Row(by_row.get(row, []), tuple(self.causes.get(row, ()))) for place, row in
                       rows.items()}  # fmt: skip
            yield Case(key, hosts[key.host], of, variants, baseline, ours, cells, self.work.get(key, {}),
                       self.work_at_once.get(key, {}), of_rows, self.good, self.threshold)  # fmt: skip


def _interval(low: float, high: float) -> Interval | None:
    return None if math.isnan(low) else Interval(low, high)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def case_results(runs: Runs, threshold: float = 0.0, names: Sequence[str] | None = None) -> list[Case]:
    return list(_Cells(runs, threshold, names).cases())


def ratio_of(case: Case, before: tuple[str, int], after: tuple[str, int], column: str) -> Ratio | None:
    """Of two rows of a case, each a variant and a number of threads."""
    sides = [case.values(*row, column).rename("value").reset_index().assign(group=n) for n, row in
             enumerate((before, after))]  # fmt: skip
    return ratio_between(pd.concat(sides), case.threshold)


def ratio_between(values: pd.DataFrame, threshold: float, pairs: bool = True) -> Ratio | None:
    """@param values  group 0: before, group 1: after. @return None: no result on one side"""
    return table.ratios(values, pd.Series({1: 0}), threshold, pairs).get(1)


def verdict_text(verdict: Verdict | None, column: str) -> str:
    """CPU time is not faster or slower, but less or more."""
    text = NONE if verdict is None else str(verdict)
    return text.replace("faster", "less").replace("slower", "more") if column in (CPU, WALL) else text


def told_apart(ratio: Ratio, column: str) -> str:
    """The verdict where chance does not explain the ratio; else empty."""
    return "" if ratio.verdict.word in (SAME, UNKNOWN) else verdict_text(ratio.verdict, column)


def any_unpaired(ratios: Sequence[Ratio | None]) -> bool:
    return any(ratio is not None and not ratio.paired for ratio in ratios)
