# SPDX-License-Identifier: BSD-3-Clause
"""What tables, plots and the page say of a figure of a variant: computed once, shown by all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import pandas as pd

from nrbench.sweep.bootstrap import N_MIN, Interval, median_interval, paired_ratio_interval, ratio_interval
from nrbench.sweep.figures import MAIN, TITLES, Figure
from nrbench.sweep.frame import BOUND_KEYS, CPU, WALL, Group, groups
from nrbench.sweep.record import Run
from nrbench.sweep.verdicts import Verdict, judge

COST = (Figure(CPU, "CPU time"), Figure(WALL, "wall time"))


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
        return judge(self.value, self.interval, self.repeats, self.threshold)


@dataclass(frozen=True)
class Cell:
    count: int
    failed: int
    causes: tuple[str, ...]
    median: float | None
    half_iqr: float | None
    interval: Interval | None
    ratio: Ratio | None
    bound: float | None
    derived: bool

    @property
    def over_bound(self) -> float | None:
        return self.median / self.bound if self.median is not None and self.bound else None


class Place(NamedTuple):
    threads: int
    variant: str
    column: str


def ratio_of(
    old: pd.Series[Any], new: pd.Series[Any], threshold: float = 0.0, pairs: bool = True
) -> Ratio | None:
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
    between = paired_ratio_interval if paired else ratio_interval
    return Ratio(
        float(after.median() / before.median()),
        between(before.to_numpy(), after.to_numpy()),
        min(len(before), len(after)),
        paired,
        threshold,
    )


@dataclass(frozen=True)
class CaseResult:
    """All cells of a case on a host in one configuration."""

    group: Group
    threshold: float = 0.0

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The main figures that any run of the case has."""
        return tuple(figure for figure in MAIN if self._has(figure.key))

    @cached_property
    def others(self) -> tuple[Figure, ...]:
        """The remaining ones, bounds excepted."""
        main = {figure.key for figure in MAIN}
        known = [*TITLES, *(str(name) for name in self.group.frame if str(name).endswith("_us"))]
        names = [name for name in dict.fromkeys(known) if name not in main and name not in BOUND_KEYS]
        return tuple(Figure(name, TITLES.get(name, name)) for name in names if self._has(name))

    @cached_property
    def costs(self) -> tuple[Figure, ...]:
        return tuple(figure for figure in COST if self._has(figure.key))

    def _has(self, column: str) -> bool:
        frame = self.group.frame
        return column in frame and bool((frame[column].notna() & (frame["status"] == "ok")).any())

    @cached_property
    def cells(self) -> Mapping[Place, Cell]:
        """Only of what was run; a cell whose runs all failed is there, without a median."""
        found = {}
        for threads in self.group.threads:
            bounds = self.group.bounds(threads)
            for variant in self.group.variants:
                if (variant, threads) not in self.group.parts:
                    continue
                for figure in (*self.figures, *self.others, *self.costs):
                    place = Place(threads, variant, figure.key)
                    found[place] = self._cell(place, bounds.get(figure.key))
        return found

    def _cell(self, place: Place, bound: float | None) -> Cell:
        part = self.group.parts[place.variant, place.threads]
        values = self.group.values(place.variant, place.threads, place.column)
        bad = part[part["status"] != "ok"]
        count = len(values)
        ratio = None
        if self.group.baseline not in (None, place.variant):
            old = self.group.values(str(self.group.baseline), place.threads, place.column)
            ratio = ratio_of(old, values, self.threshold)
        return Cell(
            count,
            len(bad),
            tuple(str(status) for status in bad["status"]),
            float(values.median()) if count else None,
            float(values.quantile(0.75) - values.quantile(0.25)) / 2 if count > 1 else None,
            median_interval(values.to_numpy()),
            ratio,
            bound,
            bool(part["derived"].str.split(" ").map(lambda names: place.column in names).any()),
        )

    @cached_property
    def has_bound(self) -> bool:
        return any(cell.bound is not None for cell in self.cells.values())

    def get(self, threads: int, variant: str, column: str) -> Cell | None:
        return self.cells.get(Place(threads, variant, column))

    def row_cells(self, column: str) -> list[Cell]:
        return [cell for place, cell in self.cells.items() if place.column == column]

    def line(self, variant: str, column: str) -> Iterator[tuple[int, Cell]]:
        """Cells of a variant that have a median, by number of threads."""
        for threads in self.group.threads:
            cell = self.get(threads, variant, column)
            if cell is not None and cell.median is not None:
                yield threads, cell


def case_results(runs: Sequence[Run], threshold: float = 0.0) -> list[CaseResult]:
    return [CaseResult(group, threshold) for group in groups(runs)]
