# SPDX-License-Identifier: BSD-3-Clause
"""Runs as a data frame, and the groups that tables, plots and comparisons share: by host, case and
configuration."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

import pandas as pd

from nrbench.record import Host, ResultsError
from nrbench.sweep.configuration import configurations, labels
from nrbench.sweep.figures import DECODING, MAIN, RX, SYMBOLS, TITLES, bound_key
from nrbench.sweep.record import INLINE, RUNS, Run, cores_for, identity

PAUSE_S = 60.0  # between two runs in which the machine did something else
Source = tuple[str, Sequence[Run]]  # the file's name, and its runs
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


class Merged(NamedTuple):
    runs: list[Run]
    repeated: Counter[str]  # by file: its runs that are in an earlier file, too
    replaced: list[Run]  # failed; another one was taken in their place


def results_file(path: Path) -> Path:
    """Of a folder, the results in it."""
    return path / RUNS if path.is_dir() else path


def merged(sources: Sequence[Source]) -> Merged:
    """
    Every run once. Of a run that failed and was taken again, the last; of a line that is in two files, one.

    Raises ResultsError for two results of what should be one run: neither may be dropped.
    """
    kept: dict[tuple[object, ...], tuple[str, Run]] = {}
    repeated: Counter[str] = Counter()
    replaced: list[Run] = []
    for name, run in ((name, run) for name, runs in sources for run in runs):
        key = (run.host.id, run.sweep, *identity(run, run.repeat))
        before, one = kept.setdefault(key, (name, run))
        if one is run:
            continue
        if (one.began, one.status, one.figures) == (run.began, run.status, run.figures):
            repeated[name] += 1
            continue
        if one.status == run.status == "ok":
            raise _two_results((before, one), (name, run))
        worse, better = sorted(
            ((before, one), (name, run)), key=lambda of: (of[1].status == "ok", of[1].time)
        )
        replaced.append(worse[1])
        kept[key] = better
    return Merged([run for _, run in kept.values()], repeated, replaced)


def _two_results(first: tuple[str, Run], second: tuple[str, Run]) -> ResultsError:
    (before, one), (name, other) = first, second
    files = " and ".join(dict.fromkeys(part for part in (before, name) if part))
    what = f"{one.scenario} / {one.case}, {one.variant}, {one.threads} threads, repeat {one.repeat}"
    return ResultsError(
        f"{files}{': ' if files else ''}two results of one run of sweep {one.sweep} ({what}), begun "
        f"{one.began} and {other.began}. Were two machines with one id used, or two sweeps run at once? "
        "Report the files apart"
    )


def passes(runs: Sequence[Run]) -> list[int]:
    """
    One number a run: runs of a sweep that share it, and the repeat, were taken in one go, as a round.

    A sweep takes one round after the other. Where an earlier round comes again, something was added to it
    later: a setting, or a failed run once more. Where nothing ran for a while, it had been interrupted.
    """
    found = [0] * len(runs)
    last: dict[tuple[str, str], int] = {}
    for index in sorted(range(len(runs)), key=lambda place: (runs[place].time, runs[place].repeat)):
        run = runs[index]
        before = last.get((run.host.id, run.sweep))
        if before is not None:
            found[index] = found[before] + _breaks(runs[before], run)
        last[run.host.id, run.sweep] = index
    return found


def _breaks(before: Run, run: Run) -> bool:
    pause_s = (run.time - before.time).total_seconds() - (before.wall_s or 0)
    return run.repeat < before.repeat or pause_s > PAUSE_S


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
