# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the runs of a cell: late samples, budgets, CPU time. None: no run has it."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from statistics import median
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from nrbench.judge import Interval, median_interval, ratio_interval
from nrbench.radio.plan import Cell, cell_of
from nrbench.radio.record import BUDGET_BIN_US, BUDGET_BINS, Radio, RadioRun, Side, Step
from nrbench.radio.watch import SAMPLE_CLOCK

SIDES = {"gnb": "gNB", "ue": "UE"}
POOL_THREADS = ("tpool", "ws")  # how the names of a pool's threads begin, whatever the case


class Place(NamedTuple):
    """Runs of a cell at one timescale."""

    timescale: float
    cell: Cell
    runs: Sequence[RadioRun]


def by_cell(runs: Iterable[RadioRun]) -> dict[Cell, list[RadioRun]]:
    """OAI's pool first."""
    found: dict[Cell, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[cell_of(run)].append(run)
    return dict(sorted(found.items(), key=lambda one: _order(one[0])))


def _order(cell: Cell) -> tuple[object, ...]:
    return (*cell.setting, cell.gnb == "new", cell.ue == "new", cell.spin != "off", cell.spin)


def places(runs: Sequence[RadioRun]) -> list[Place]:
    """Timescales at which all cells of a setting have runs; all timescales, where there is none."""
    at = {cell: {run.timescale for run in of_cell} for cell, of_cell in by_cell(runs).items()}
    found = []
    for cell, of_cell in by_cell(runs).items():
        of_setting = [timescales for other, timescales in at.items() if other.setting == cell.setting]
        shared = set.intersection(*of_setting) or at[cell]
        found += [
            Place(timescale, cell, [run for run in of_cell if run.timescale == timescale])
            for timescale in shared
        ]
    return sorted(found, key=lambda place: place.timescale)


def side_of(run: RadioRun, side: str) -> Side | None:
    return next((found for name, found in run.sides.items() if name == side), None)


def radios(runs: Iterable[RadioRun], side: str) -> Iterator[Radio]:
    """Of the steady stretch, where it is known."""
    sides = (side_of(run, side) for run in runs)
    yield from (radio for found in sides if found and (radio := found.steady or found.radio))


def steps(runs: Iterable[RadioRun], side: str) -> list[dict[str, Step]]:
    """Of each run that has times."""
    return [found.steps for run in runs if (found := side_of(run, side)) and found.steps]


class Middle(NamedTuple):
    """The median of several runs. The interval needs five of them."""

    value: float
    interval: Interval | None


def middle(values: Iterable[float | None]) -> Middle | None:
    there = [value for value in values if value is not None]
    return Middle(median(there), median_interval(there)) if there else None


def late_ratio(new: Place, old: Place, side: str) -> Middle | None:
    """Of the medians of late writes. Where both have the same rounds, the interval is that of whole rounds.
    None: on the old side there is no late write in some run."""
    of_new, of_old = (
        [(run.round, radio.tx_late) for run in place.runs for radio in radios([run], side)]
        for place in (new, old)
    )
    if not of_new or not of_old or min(late for _, late in of_old) <= 0:
        return None
    (new_rounds, new_late), (old_rounds, old_late) = zip(*sorted(of_new)), zip(*sorted(of_old))
    interval = ratio_interval(old_late, new_late, paired=new_rounds == old_rounds)
    return Middle(median(new_late) / median(old_late), interval)


def bins(runs: Iterable[RadioRun], side: str) -> list[int]:
    """Of all runs together."""
    return [sum(counts) for counts in zip(*(radio.budget_bins for radio in radios(runs, side)))]


def edges_us(timescale: float) -> list[float]:
    """Upper ends of the bins, wall time. The last bin has none."""
    return [BUDGET_BIN_US / timescale * place for place in range(1, BUDGET_BINS)]


class Budget(NamedTuple):
    us: float  # wall time
    sign: str = ""  # < or ≥ where the bin has no other end


def budget(counts: Sequence[int], share: float, timescale: float) -> Budget | None:
    """That so large a share of the writes remains below. Within a bin the writes count as evenly spread."""
    width, wanted = BUDGET_BIN_US / timescale, share * sum(counts)
    if not any(counts):
        return None
    place = next(place for place, below in enumerate(accumulate(counts)) if below >= wanted)
    if place == 0:
        return Budget(width, "<")
    if place == BUDGET_BINS - 1:
        return Budget(width * place, "≥")
    return Budget(width * (place + (wanted - sum(counts[:place])) / counts[place]))


def is_pool(thread: str) -> bool:
    return thread.lower().startswith(POOL_THREADS)


def each_second(
    runs: Iterable[RadioRun], side: str, amount: Callable[[Side], float | None]
) -> list[float | None]:
    """Of each run an amount of its steady stretch, by second of wall time."""
    found: list[float | None] = []
    for run in runs:
        of_side = side_of(run, side)
        counted = amount(of_side) if of_side and run.steady_s else None
        found.append(None if counted is None or not run.steady_s else counted / run.steady_s)
    return found


def cpus(side: Side) -> float | None:
    """Without the sample clock, which busy-polls whatever the gNB does."""
    times = [s for name, s in side.cpu_s.items() if name != SAMPLE_CLOCK]
    return sum(times) if times else None


def pool_cpus(side: Side) -> float | None:
    return sum(s for name, s in side.cpu_s.items() if is_pool(name)) if side.cpu_s else None
