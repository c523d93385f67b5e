# SPDX-License-Identifier: BSD-3-Clause
"""Results of very many runs: the main figure of every setting against the old pool's, for each host, each
class and over all cases. All cells are resampled at once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Iterator, NamedTuple, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nrbench.judge import (
    N_MIN,
    SEED,
    Array,
    Interval,
    picks,
    pooled_quantiles,
    tail,
)
from nrbench.record import Host, ResultsError
from nrbench.sweep.cells import Ratio
from nrbench.sweep.classes import ALL, HostClass, class_of, letters
from nrbench.sweep.columns import Columns, as_array
from nrbench.sweep.configuration import labels
from nrbench.sweep.frame import OLD_POOL, PAUSE_S, cores_of
from nrbench.sweep.maps import COLUMNS, point_of
from nrbench.sweep.record import INLINE, Run, identity

RESAMPLES_MIN, RESAMPLES_MAX = 200, 1000
VALUES_MAX = 400_000_000  # that are drawn in all
BLOCK = 4_000_000  # at once
SHIFT = 32  # a repeat is below 2 ** 31


class CellKey(NamedTuple):
    """A variant at a number of threads, on a host."""

    host: str
    kind: str
    scenario: str
    case: str  # with what is added to it where it has several configurations
    threads: int
    variant: str

    @property
    def row(self) -> tuple[str, int, str]:
        """What cells of several hosts share."""
        return f"{self.scenario} / {self.case}", self.threads, self.variant


class OneRatio(NamedTuple):
    """Of a cell to the old pool's."""

    key: CellKey
    ratio: Ratio
    logs: Array  # of the resampled ratios


def _keys(settings: Sequence[Run]) -> list[CellKey]:
    return [
        CellKey(run.host.id, run.kind, run.scenario, f"{run.case}{added}", run.threads, run.variant)
        for run, added in zip(settings, labels(settings))
    ]


def _baselines(settings: Sequence[Run], keys: Sequence[CellKey], codes: Sequence[int]) -> dict[int, int]:
    """Of each cell of another pool the old pool's cell in its row."""
    of_row = {
        key[:5]: code
        for run, key, code in zip(settings, keys, codes)
        if run.pool == OLD_POOL[run.kind] and run.spin is None
    }
    return {
        code: of_row[key[:5]]
        for run, key, code in zip(settings, keys, codes)
        if key[:5] in of_row and run.pool not in (INLINE, OLD_POOL[run.kind])
    }


@dataclass(frozen=True)
class Large:
    columns: Columns
    settings: Sequence[Run]  # with one label for each host
    threshold: float = 0.0

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {run.host.id: run.host for run in self.settings}

    @cached_property
    def names(self) -> dict[HostClass, str]:
        return letters(self.hosts.values())

    def class_of(self, host: str) -> str:
        return self.names[class_of(self.hosts[host])]

    @cached_property
    def keys(self) -> list[CellKey]:
        return _keys(self.settings)

    @cached_property
    def cells(self) -> list[CellKey]:
        return list(dict.fromkeys(self.keys))

    @cached_property
    def codes(self) -> list[int]:
        """The cell of each setting, by its place in the list."""
        places = {key: place for place, key in enumerate(self.cells)}
        return [places[key] for key in self.keys]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row a run that counts: cell, round, whether it gave a result, figures."""
        columns = self.columns
        setting = as_array(columns.setting)
        frame = pd.DataFrame(
            {
                "setting": setting,
                "cell": np.asarray(self.codes, dtype=np.int64)[setting],
                "repeat": as_array(columns.repeat).astype(np.int64),
                "began": as_array(columns.began_s),
                "ok": as_array(columns.ok).astype(bool),
                "errors": as_array(columns.errors),
                "main": as_array(columns.main_us),
                "cpu": as_array(columns.cpu_s),
                "wall": as_array(columns.wall_s),
            }
        )
        frame = self._once(frame)
        frame["round"] = (self._passes(frame) << SHIFT) + frame["repeat"]
        return frame

    @cached_property
    def _sweeps(self) -> NDArray[np.int64]:
        """The sweep of each setting, as a number."""
        found: dict[tuple[str, str], int] = {}
        numbers = [found.setdefault((run.host.id, run.sweep), len(found)) for run in self.settings]
        return np.asarray(numbers, dtype=np.int64)

    def _once(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Every run once, by the rules of frame.merged()."""
        found: dict[tuple[object, ...], int] = {}
        same = [
            found.setdefault((run.host.id, run.sweep, *identity(run, 0)), len(found)) for run in self.settings
        ]
        run_id = (np.asarray(same, dtype=np.int64)[frame["setting"]] << SHIFT) + frame["repeat"]
        double = run_id.duplicated(keep=False)
        if not double.any():
            return frame
        some = frame[double].assign(run_id=run_id[double]).sort_values(["ok", "began"], kind="stable")
        good = some[some["ok"]].drop_duplicates(["run_id", "began", "main"])
        twice = good[good["run_id"].duplicated()]
        if len(twice):
            run = self.settings[int(twice["setting"].iloc[0])]
            raise ResultsError(
                f"two results of one run of sweep {run.sweep} ({run.scenario} / {run.case}, {run.variant}, "
                f"{run.threads} threads, repeat {twice['repeat'].iloc[0]}). Report the files apart"
            )
        dropped = some.index[some["run_id"].duplicated(keep="last")]
        kept: pd.DataFrame = frame.drop(index=dropped)
        return kept

    def _passes(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """As frame.passes(), with numbers that no two sweeps share."""
        sweep = self._sweeps[frame["setting"]]
        began, repeat = frame["began"].to_numpy(), frame["repeat"].to_numpy()
        order = np.lexsort((repeat, began, sweep))
        wall = np.nan_to_num(frame["wall"].to_numpy()[order])
        pause = np.diff(began[order]) - wall[:-1] > PAUSE_S
        breaks = (np.diff(sweep[order]) != 0) | (np.diff(repeat[order]) < 0) | pause
        found = np.empty(len(frame), dtype=np.int64)
        found[order] = np.concatenate([[0], np.cumsum(breaks)])
        return found

    @cached_property
    def medians(self) -> pd.DataFrame:
        """By cell: runs, results, median of the main figure in µs and of the CPU time in s."""
        good = self.frame[self.frame["ok"]].groupby("cell")
        found = pd.DataFrame({"runs": self.frame.groupby("cell").size()})
        found["results"] = good.size()
        found["median_us"], found["cpu_s"] = good["main"].median(), good["cpu"].median()
        filled: pd.DataFrame = found.fillna({"results": 0})
        return filled

    @cached_property
    def ratios(self) -> list[OneRatio]:
        """Of every cell that shares rounds with the old pool's."""
        base = _baselines(self.settings, self.keys, self.codes)
        good = self.frame[self.frame["ok"] & (self.frame["main"] > 0)]
        rows = good[["cell", "round", "main"]].drop_duplicates(["cell", "round"])
        new = rows[rows["cell"].isin(list(base))].assign(old=lambda of: of["cell"].map(base))
        pairs = new.merge(rows, left_on=["old", "round"], right_on=["cell", "round"], suffixes=("", "_old"))
        pairs = pairs.sort_values("cell", kind="stable")
        cell, counts = np.unique(pairs["cell"].to_numpy(), return_counts=True)
        before, after = pairs["main_old"].to_numpy(), pairs["main"].to_numpy()
        resamples = int(np.clip(VALUES_MAX // max(1, 2 * len(pairs)), RESAMPLES_MIN, RESAMPLES_MAX))
        starts = np.cumsum(counts) - counts
        found: dict[int, OneRatio] = {}
        for count in np.unique(counts):
            chosen = np.flatnonzero(counts == count)
            places = starts[chosen][:, None] + np.arange(count)
            of_count = _resampled(before[places], after[places], resamples)
            for place, (value, interval, logs) in zip(chosen, of_count):
                ratio = Ratio(value, interval, int(count), True, self.threshold)
                found[int(place)] = OneRatio(self.cells[int(cell[place])], ratio, logs)
        return [found[place] for place in sorted(found)]

    @cached_property
    def by_row(self) -> dict[tuple[str, int, str], dict[str, list[OneRatio]]]:
        """By case, threads and variant, then by class."""
        found: dict[tuple[str, int, str], dict[str, list[OneRatio]]] = {}
        for one in self.ratios:
            found.setdefault(one.key.row, defaultdict(list))[self.class_of(one.key.host)].append(one)
        return found

    @cached_property
    def of_hosts(self) -> dict[tuple[str, int, str], list[OneRatio]]:
        """Of each host, number of threads and variant: those of all cases."""
        found: dict[tuple[str, int, str], list[OneRatio]] = defaultdict(list)
        for one in self.ratios:
            found[one.key.host, one.key.threads, one.key.variant].append(one)
        return found

    def over_cases(self, ratios: Sequence[OneRatio]) -> OneRatio:
        """The geometric mean over the cases of a host."""
        logs = np.mean([one.logs for one in ratios], axis=0)
        value = math.exp(float(np.mean([math.log(one.ratio.value) for one in ratios])))
        fewest = min(one.ratio.repeats for one in ratios)
        interval = pooled_quantiles([[logs]], fewest)
        return OneRatio(ratios[0].key, Ratio(value, interval, fewest, True, self.threshold), logs)

    def pooled(self, classes: Sequence[Sequence[OneRatio]]) -> Ratio:
        """As HostsResult.pooled()."""
        means = [np.mean([math.log(one.ratio.value) for one in hosts]) for hosts in classes]
        fewest = min(one.ratio.repeats for hosts in classes for one in hosts)
        interval = pooled_quantiles([[one.logs for one in hosts] for hosts in classes], fewest)
        return Ratio(math.exp(float(np.mean(means))), interval, fewest, True, self.threshold)

    def pooled_rows(self) -> Iterator[tuple[tuple[str, int, str], str, int, Ratio]]:
        """Of each case, threads and variant: each class, and all of them; with the number of hosts."""
        for row, classes in self.by_row.items():
            for name, members in classes.items():
                yield row, name, len(members), self.pooled([members])
            if len(classes) > 1:
                yield row, ALL, sum(map(len, classes.values())), self.pooled(list(classes.values()))

    def map_rows(self) -> pd.DataFrame:
        """As maps.map_rows()."""
        points = {}
        for place, run in enumerate(self.settings):
            point = point_of(run.options) if run.kind == "nr_ulsim" and run.pool != INLINE else None
            if point is not None:
                name, family = self.class_of(run.host.id), f"{run.scenario} {point.family}"
                where = run.threads, run.threads <= cores_of(run)
                points[place] = (name, family, run.host.id, run.scenario, run.case, run.variant, *where,
                                 point.layers, point.mcs, point.snr_db, point.slots)  # fmt: skip
        of_setting = [name for name in COLUMNS if name not in ("errors", "rx_us")]
        about = pd.DataFrame(list(points.values()), columns=of_setting, index=list(points))
        words = ("class", "family", "host", "scenario", "case", "variant")
        about = about.astype(dict.fromkeys(words, "category"))
        rows = self.frame[self.frame["setting"].isin(about.index) & (self.frame["errors"] >= 0)]
        joined: pd.DataFrame = about.loc[rows["setting"]].reset_index(drop=True)
        joined["errors"] = rows["errors"].to_numpy()
        joined["rx_us"] = rows["main"].where(rows["ok"]).to_numpy()
        return joined

    @property
    def causes(self) -> Counter[tuple[str, str, str]]:
        """Of runs that failed: by host, variant and cause."""
        found: Counter[tuple[str, str, str]] = Counter()
        for (setting, cause), count in self.columns.causes.items():
            run = self.settings[setting]
            found[run.host.label, run.variant, cause] += count
        return found


def _resampled(old: Array, new: Array, resamples: int) -> Iterator[tuple[float, Interval | None, Array]]:
    """Of cells with the same number of rounds, a row each: ratio of the medians, its interval, and the
    logarithms of the resampled ratios."""
    count = old.shape[1]
    drawn = picks(count, SEED, resamples)
    step = max(1, BLOCK // drawn.size)
    for begin in range(0, len(old), step):
        before, after = old[begin : begin + step], new[begin : begin + step]
        logs = np.log(np.median(after[:, drawn], axis=2) / np.median(before[:, drawn], axis=2))
        values = np.median(after, axis=1) / np.median(before, axis=1)
        cut = tail(count) if count >= N_MIN else 0.0
        low, high = np.exp(np.quantile(logs, [cut, 1 - cut], axis=1))
        for place, value in enumerate(values):
            interval = Interval(float(low[place]), float(high[place])) if count >= N_MIN else None
            yield float(value), interval, logs[place].astype(np.float32)


def total_words(ratios: Sequence[OneRatio]) -> Counter[str]:
    return Counter(one.ratio.verdict.word for one in ratios)
