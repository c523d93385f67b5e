# SPDX-License-Identifier: BSD-3-Clause
"""What tables, plots and the page show of a figure of a variant: computed once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import (
    N_MIN,
    NONE,
    SAME,
    UNKNOWN,
    Interval,
    Paired,
    Verdict,
    judge,
    median_interval,
    ratio_interval,
)
from nrbench.sweep.figures import MAIN, RX, TITLES, Figure
from nrbench.sweep.frame import BOUND_KEYS, CPU, WALL, Group, groups
from nrbench.sweep.record import Run

CPU_TIME = Figure(CPU, "CPU time")
COST = (CPU_TIME, Figure(WALL, "wall time"))


@dataclass(frozen=True)
class Ratio:
    """New over old: medians of the rounds in which both gave a result; of all, where they share too few."""

    value: float
    interval: Interval | None
    repeats: int
    paired: bool
    threshold: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return judge(self.interval, self.repeats, self.threshold)


@dataclass(frozen=True)
class Cell:
    count: int
    causes: tuple[str, ...]  # of the runs that failed
    median: float | None
    half_iqr: float | None
    interval: Interval | None
    ratio: Ratio | None
    bound: float | None
    derived: bool
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


def pairs_of(old: pd.Series[Any], new: pd.Series[Any], pairs: bool = True) -> Paired | None:
    """
    Of values by round. Paired if the two were together in most rounds; else all are taken, as of two samples.

    @return None: no result on one side, or a time that is not above 0
    """
    shared = old.index.intersection(new.index)
    fewest = min(len(old), len(new))
    unique = old.index.is_unique and new.index.is_unique  # else it is unknown which two are a pair
    paired = pairs and unique and len(shared) >= max(1, min(fewest, N_MIN), fewest / 2)
    before, after = (old.loc[shared], new.loc[shared]) if paired else (old, new)
    if not len(before) or not len(after) or min(before.min(), after.min()) <= 0:
        return None
    return Paired(before.to_numpy(), after.to_numpy(), paired)


def ratio_of(
    old: pd.Series[Any], new: pd.Series[Any], threshold: float = 0.0, pairs: bool = True
) -> Ratio | None:
    """@return None: as of pairs_of()"""
    found = pairs_of(old, new, pairs)
    if found is None:
        return None
    value = float(np.median(found.new) / np.median(found.old))
    return Ratio(value, ratio_interval(*found), found.fewest, found.paired, threshold)


@dataclass(frozen=True)
class CaseResult:
    """All cells of a case on a host in one configuration."""

    group: Group
    threshold: float = 0.0

    def _there(self, figures: Sequence[Figure]) -> tuple[Figure, ...]:
        """Those that any run with a result has."""
        good = self.group.frame[self.group.frame["status"] == "ok"]
        return tuple(figure for figure in figures if figure.key in good and good[figure.key].notna().any())

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return self._there(MAIN)

    @cached_property
    def others(self) -> tuple[Figure, ...]:
        """The remaining ones, bounds excepted."""
        names = [*TITLES, *(str(name) for name in self.group.frame if str(name).endswith("_us"))]
        left_out = {*BOUND_KEYS, *(figure.key for figure in MAIN)}
        rest = (name for name in dict.fromkeys(names) if name not in left_out)
        return self._there([Figure(name, TITLES.get(name, name)) for name in rest])

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
    def cells(self) -> Mapping[Place, Cell]:
        """Only of what was run; a cell whose runs all failed is there, without a median."""
        return {
            Place(threads, variant, figure.key): self._cell(threads, variant, figure.key)
            for threads in self.group.threads
            for variant in self.group.variants
            if (variant, threads) in self.group.parts
            for figure in (*self.figures, *self.others, *self.costs)
        }

    def _cell(self, threads: int, variant: str, column: str) -> Cell:
        group = self.group
        part, values = group.parts[variant, threads], group.values(variant, threads, column)
        ratio = None
        if group.baseline not in (None, variant):
            ratio = ratio_of(group.values(str(group.baseline), threads, column), values, self.threshold)
        return Cell(
            len(values),
            tuple(str(status) for status in part["status"] if status != "ok"),
            float(values.median()) if len(values) else None,
            float(values.quantile(0.75) - values.quantile(0.25)) / 2 if len(values) > 1 else None,
            median_interval(values.to_numpy()),
            ratio,
            group.bounds(threads).get(column),
            any(column in names.split(" ") for names in part["derived"]),
            group.parallel_bounds(threads).get(column),
        )

    @cached_property
    def has_bound(self) -> bool:
        return any(cell.bound is not None for cell in self.cells.values())

    @cached_property
    def has_parallel_bound(self) -> bool:
        return any(cell.parallel_bound is not None for cell in self.cells.values())

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


def case_results(
    runs: Sequence[Run], threshold: float = 0.0, names: Sequence[str] | None = None
) -> list[CaseResult]:
    return [CaseResult(group, threshold) for group in groups(runs, names)]


def verdict_text(verdict: Verdict | None, column: str) -> str:
    """CPU time is not faster or slower, but less or more."""
    text = NONE if verdict is None else str(verdict)
    return text.replace("faster", "less").replace("slower", "more") if column in (CPU, WALL) else text


def told_apart(ratio: Ratio, column: str) -> str:
    """The verdict where chance does not explain the ratio; else empty."""
    return "" if ratio.verdict.word in (SAME, UNKNOWN) else verdict_text(ratio.verdict, column)


def any_unpaired(ratios: Sequence[Ratio | None]) -> bool:
    return any(ratio is not None and not ratio.paired for ratio in ratios)
