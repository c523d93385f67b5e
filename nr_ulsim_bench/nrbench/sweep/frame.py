# SPDX-License-Identifier: BSD-3-Clause
"""Runs as a data frame, and the groups that tables, plots and comparisons share: by host, case and
configuration."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping, NamedTuple, Sequence

import pandas as pd

from nrbench.sweep.configuration import configurations, labels
from nrbench.sweep.figures import DECODING, MAIN, RX, SYMBOLS, TITLES, bound_key
from nrbench.sweep.record import INLINE, Host, Run, cores_for
from nrbench.sweep.rounds import passes

CPU = "cpu_s"
WALL = "wall_s"
OLD_POOL = {"nr_ulsim": "old", "replay": "mutex-per-worker"}
OUR_POOL = {"nr_ulsim": "new", "replay": "ws"}
PLAIN = (
    "kind", "scenario", "case", "variant", "pool", "spin", "threads", "repeat", "sweep", "began", "status",
    "error", "trials", "errors", "at_once", WALL, CPU,
)  # fmt: skip
OF_CONFIGURATION = ("oai", "cpus", "environment", "seed")
FIXED = ("host", "host_label", *OF_CONFIGURATION, "cores", *PLAIN, "pass", "program", "derived")
ROUND = ["sweep", "repeat", "pass"]  # runs that share them were taken together
BOUND_KEYS = tuple(bound_key(figure.key) for figure in MAIN)


class Key(NamedTuple):
    """What a table of its own is made for."""

    host: str
    kind: str
    scenario: str
    case: str
    configuration: str = ""  # as in ", OAI v2.1.0"; only where the report has several of this case

    @property
    def name(self) -> str:
        return f"{self.scenario} / {self.case}{self.configuration}"


def keys_of(runs: Sequence[Run], names: Sequence[str] | None = None) -> list[Key]:
    """The table of each run.

    @param names  of the runs' configurations, if other ones than labels() gives
    """
    added = labels(runs) if names is None else names
    return [Key(run.host.id, run.kind, run.scenario, run.case, name) for run, name in zip(runs, added)]


def cores_of(run: Run) -> int:
    return cores_for(run.host, run.cpus)


def to_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run; a column for each figure, in the order of tables, NaN where a run does not have it."""
    there = {key for run in runs for key in run.figures}
    keys = [*(key for key in TITLES if key in there), *sorted(there - set(TITLES))]
    rows = [
        {
            **{name: getattr(run, name) for name in PLAIN},
            **{name: getattr(configuration, name) for name in OF_CONFIGURATION},
            "host": run.host.id,
            "host_label": run.host.label,
            "cores": cores_of(run),
            "pass": taken_in,
            "program": run.program or None,
            "derived": " ".join(run.derived),
            **run.figures,
        }
        for run, configuration, taken_in in zip(runs, configurations(runs), passes(runs))
    ]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=[*FIXED, *keys])
    typed: pd.DataFrame = frame.astype(dict.fromkeys((WALL, CPU, *keys), float))
    return typed


@dataclass(frozen=True)
class Group:
    """The runs of a case on a host in one configuration. Variants: the old one first, then ours, then the
    others."""

    key: Key
    host: Host
    frame: pd.DataFrame
    inline: pd.DataFrame  # that ran alone
    at_once: pd.DataFrame  # inline runs, too
    variants: tuple[str, ...]
    baseline: str | None
    ours: tuple[str, ...]

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({int(count) for count in self.frame["threads"]}))

    @cached_property
    def parts(self) -> Mapping[tuple[str, int], pd.DataFrame]:
        """Runs by variant and number of threads, the failed ones too; indexed by round."""
        parts = self.frame.set_index(ROUND).groupby(["variant", "threads"], sort=False)
        return {(str(variant), int(str(threads))): part for (variant, threads), part in parts}

    def values(self, variant: str, threads: int, column: str) -> pd.Series[Any]:
        """Of the runs that gave a result, by round."""
        part = self.parts.get((variant, threads))
        if part is None or column not in part:
            return pd.Series(dtype=float)
        values: pd.Series[Any] = part.loc[part["status"] == "ok", column].dropna()
        return values

    def cores(self, threads: int | None = None) -> int:
        rows = self.frame if threads is None else self.frame[self.frame["threads"] == threads]
        return int(rows["cores"].max()) if len(rows) else self.host.cores

    @cached_property
    def work(self) -> dict[str, float]:
        """By figure, the median of the inline runs; of those of several programs, the one with least work."""
        return _least(self.inline)

    @cached_property
    def work_at_once(self) -> dict[int, dict[str, float]]:
        """The same of inline runs side by side, by their number."""
        return {int(float(str(count))): _least(part) for count, part in self.at_once.groupby("at_once")}

    def computing(self, threads: int) -> int:
        """Threads that can compute: one more than the pool has, and no more than there are cores."""
        return min(self.cores(threads), threads + 1)

    def bounds(self, threads: int) -> dict[str, float]:
        """What no pool can beat, one for all variants of a row: the work, divided by the threads that could
        compute. That is one more than the pool has where the thread that waits helps, as it does in ours, and
        no more than there are cores; for a pool whose waiter sleeps it is still a bound, only a looser one.
        Whole RX: only its two parallel parts are divided. Recorded slots know the length of each task and
        bring bounds of their own, which are used instead. Empty if there is neither."""
        found = self._divided(self.work, threads)
        rows = self.frame[(self.frame["threads"] == threads) & (self.frame["status"] == "ok")]
        for figure, name in zip(MAIN, BOUND_KEYS):
            if name in rows and rows[name].notna().any():
                found[figure.key] = float(rows[name].min())
        return {figure: bound for figure, bound in found.items() if bound > 0}

    def parallel_bounds(self, threads: int) -> dict[str, float]:
        """The same with the work of inline runs side by side, as many as threads compute: they share what the
        CPUs share. Empty where so many were not run."""
        return self._divided(self.work_at_once.get(self.computing(threads), {}), threads)

    def _divided(self, work: Mapping[str, float], threads: int) -> dict[str, float]:
        computing = self.computing(threads)
        found = {key: work_us / computing for key, work_us in work.items() if key != RX}
        if RX in self.work and len(found) == 2 and SYMBOLS in self.work and DECODING in self.work:
            serial = self.work[RX] - self.work[SYMBOLS] - self.work[DECODING]
            found[RX] = serial + work[SYMBOLS] / computing + work[DECODING] / computing
        return found


def _least(inline: pd.DataFrame) -> dict[str, float]:
    good = inline[inline["status"] == "ok"]
    keys = [figure.key for figure in MAIN if figure.key in good]
    works = [part[keys].median().dropna() for _, part in good.groupby("program", dropna=False)]
    return min((dict(work) for work in works), key=lambda work: work.get(RX, math.inf), default={})


def _by_spin(variant: str) -> tuple[int, str]:
    """Off before auto before all others, as the settings come in tables."""
    return {"off": 0, "auto": 1}.get(variant.rpartition(" ")[2], 2), variant


def _group(key: Key, host: Host, part: pd.DataFrame) -> Group:
    is_inline = (part["pool"] == INLINE) | (part["threads"] == 0)
    frame = part[~is_inline]
    pools = {str(variant): str(pool) for variant, pool in zip(frame["variant"], frame["pool"])}
    ours = sorted((name for name, pool in pools.items() if pool == OUR_POOL[key.kind]), key=_by_spin)
    others = [name for name in pools if name not in ours]
    others.sort(key=lambda name: pools[name] != OLD_POOL[key.kind])  # the old one first, if there is one
    variants = (*others[:1], *ours, *others[1:])
    alone, at_once = part[is_inline & part["at_once"].isna()], part[is_inline & part["at_once"].notna()]
    return Group(key, host, frame, alone, at_once, variants, next(iter(others), None), tuple(ours))


def groups(runs: Sequence[Run], names: Sequence[str] | None = None) -> list[Group]:
    """By host, case and configuration, in the order of the runs; a host's together, and a case's."""
    hosts = {run.host.id: run.host for run in runs}
    places: dict[Key, list[int]] = defaultdict(list)
    for place, key in enumerate(keys_of(runs, names)):
        places[key].append(place)
    frame = to_frame(runs)
    host_order, case_order = list(hosts), list(dict.fromkeys(key[:4] for key in places))
    ordered = sorted(places, key=lambda key: (host_order.index(key.host), case_order.index(key[:4])))
    return [_group(key, hosts[key.host], frame.iloc[places[key]]) for key in ordered]
