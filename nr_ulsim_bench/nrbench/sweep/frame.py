# SPDX-License-Identifier: BSD-3-Clause
"""Runs as a data frame, and the grouping that tables, plots and comparisons share: by host, case
and configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping, NamedTuple, Sequence

import pandas as pd

from nrbench.sweep.configuration import Configuration, configurations, labels
from nrbench.sweep.figures import DECODING, MAIN, RX, SYMBOLS, TITLES, bound_key
from nrbench.sweep.record import INLINE, Host, Run
from nrbench.sweep.rounds import passes
from nrbench.system import parse_cpus

CPU = "cpu_s"
WALL = "wall_s"
OLD_POOL = {"nr_ulsim": "old", "replay": "mutex-per-worker"}
OUR_POOL = {"nr_ulsim": "new", "replay": "ws"}
PLAIN = (
    "kind", "scenario", "case", "variant", "pool", "spin", "threads", "repeat", "sweep", "began", "status",
    "error", "trials", "errors", WALL, CPU,
)  # fmt: skip
OF_CONFIGURATION = ("oai", "cpus", "environment", "seed")
FIXED = ("host", "host_label", *OF_CONFIGURATION, "cores", *PLAIN, "pass", "program", "derived")
ROUND = ["sweep", "repeat", "pass"]  # runs that share them were taken together


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


BOUND_KEYS = tuple(bound_key(figure.key) for figure in MAIN)


def cores_of(run: Run) -> int:
    """CPUs that could work on the run: those that it was bound to, whatever the sweep itself could use; no
    more than a quota grants."""
    if not run.cpus:
        return run.host.cores
    bound = len(parse_cpus(run.cpus))
    quota = run.host.quota_cpus
    return bound if quota is None else min(bound, max(1, math.ceil(quota)))


def figure_keys(runs: Sequence[Run]) -> list[str]:
    """All figures that any run has, in the order of tables, unknown ones last."""
    there = {key for run in runs for key in run.figures}
    return [key for key in TITLES if key in there] + sorted(there - set(TITLES))


def _row(run: Run, configuration: Configuration, taken_in: int) -> dict[str, Any]:
    return {
        "host": run.host.id,
        "host_label": run.host.label,
        "cores": cores_of(run),
        **{name: getattr(run, name) for name in PLAIN},
        **{name: getattr(configuration, name) for name in OF_CONFIGURATION},
        "pass": taken_in,
        "program": run.program or None,
        "derived": " ".join(run.derived),
        **run.figures,
    }


def to_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run; a column for each figure, NaN where a run does not have it."""
    keys = figure_keys(runs)
    rows = [_row(*of) for of in zip(runs, configurations(runs), passes(runs))]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=[*FIXED, *keys])
    for name in (WALL, CPU, *keys):
        frame[name] = frame[name].astype(float)
    return frame


def keys_of(runs: Sequence[Run]) -> list[Key]:
    """The table of each run."""
    cases: dict[tuple[str, ...], dict[str, dict[Configuration, None]]] = {}
    of_runs = configurations(runs)
    for run, one in zip(runs, of_runs):
        hosts = cases.setdefault((run.kind, run.scenario, run.case), {})
        hosts.setdefault(run.host.id, {})[one] = None
    names = {
        case: dict(labels({host: list(members) for host, members in hosts.items()}))
        for case, hosts in cases.items()
    }
    return [
        Key(
            run.host.id,
            run.kind,
            run.scenario,
            run.case,
            names[run.kind, run.scenario, run.case][run.host.id, one],
        )
        for run, one in zip(runs, of_runs)
    ]


@dataclass(frozen=True)
class Work:
    """Medians of the inline runs of one program: what a bound divides."""

    symbols_us: float | None
    decoding_us: float | None
    rx_us: float | None

    def bounds(self, computing: int) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.symbols_us is not None:
            found[SYMBOLS] = self.symbols_us / computing
        if self.decoding_us is not None:
            found[DECODING] = self.decoding_us / computing
        if self.rx_us is not None and len(found) == 2:
            parallel = (self.symbols_us or 0) + (self.decoding_us or 0)
            found[RX] = self.rx_us - parallel + parallel / computing
        return {figure: bound for figure, bound in found.items() if bound > 0}


def median(values: pd.Series[Any]) -> float | None:
    there = values.dropna()
    return float(there.median()) if len(there) else None


@dataclass(frozen=True)
class Group:
    """The runs of a case on a host in one configuration. Variants: the old one first, then ours, then the
    others."""

    key: Key
    host: Host
    frame: pd.DataFrame
    inline: pd.DataFrame
    variants: tuple[str, ...]
    baseline: str | None
    ours: tuple[str, ...]

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({int(count) for count in self.frame["threads"]}))

    @cached_property
    def parts(self) -> Mapping[tuple[str, int], pd.DataFrame]:
        """Runs by variant and number of threads, the failed ones too; indexed by round."""
        found: dict[tuple[str, int], pd.DataFrame] = {}
        indexed = self.frame.set_index(ROUND)
        for (variant, threads), part in indexed.groupby(["variant", "threads"], sort=False):
            found[str(variant), int(str(threads))] = part
        return found

    def values(self, variant: str, threads: int, column: str) -> pd.Series[Any]:
        """Of the runs that gave a result, by round."""
        part = self.parts.get((variant, threads))
        if part is None or column not in part:
            return pd.Series(dtype=float)
        values: pd.Series[Any] = part.loc[(part["status"] == "ok") & part[column].notna(), column]
        return values

    def cores(self, threads: int | None = None) -> int:
        rows = self.frame if threads is None else self.frame[self.frame["threads"] == threads]
        return int(rows["cores"].max()) if len(rows) else self.host.cores

    @cached_property
    def work(self) -> Work | None:
        """Of the inline runs; where there are some of several programs, those with the least work."""
        good = self.inline[self.inline["status"] == "ok"]
        figures = [key for key in (SYMBOLS, DECODING, RX) if key in good]
        works = []
        for _, part in good.groupby("program", dropna=False):
            found = {key: median(part[key]) for key in figures}
            works.append(Work(found.get(SYMBOLS), found.get(DECODING), found.get(RX)))
        return min(works, key=lambda work: work.rx_us or float("inf")) if works else None

    def bounds(self, threads: int) -> dict[str, float]:
        """What no pool can beat, one for all variants of a row: the work, divided by the threads that could
        compute. That is one more than the pool has where the thread that waits helps, as it does in ours, and
        no more than there are cores; for a pool whose waiter sleeps it is still a bound, only a looser one.
        Whole RX: only its two parallel parts are divided. Recorded slots know the length of each task and
        bring bounds of their own, which are used instead. Empty if there is neither."""
        computing = min(self.cores(threads), threads + 1)
        found = self.work.bounds(computing) if self.work else {}
        rows = self.frame[(self.frame["threads"] == threads) & (self.frame["status"] == "ok")]
        for figure in MAIN:
            name = bound_key(figure.key)
            if name in rows and rows[name].notna().any():
                found[figure.key] = float(rows[name].min())
        return found


def _ordered(frame: pd.DataFrame, kind: str) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Variants in the order of tables, the old one, ours."""
    pools = {str(v): str(p) for v, p in zip(frame["variant"], frame["pool"])}
    ours = tuple(variant for variant, pool in pools.items() if pool == OUR_POOL[kind])
    others = [variant for variant in pools if variant not in ours]
    old = [variant for variant in others if pools[variant] == OLD_POOL[kind]]
    baseline = next(iter(old or others), None)
    rest = [variant for variant in others if variant != baseline]
    first = [baseline] if baseline is not None else []
    return (*first, *_by_spin(ours), *rest), baseline, tuple(_by_spin(ours))


def _by_spin(variants: Sequence[str]) -> list[str]:
    """Off before auto before all others, as the settings come in tables."""
    rank = {"off": 0, "auto": 1}
    return sorted(variants, key=lambda variant: (rank.get(variant.rpartition(" ")[2], 2), variant))


def groups(runs: Sequence[Run]) -> list[Group]:
    """By host, case and configuration, in the order of the runs."""
    hosts = {run.host.id: run.host for run in runs}
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(keys_of(runs)):
        places.setdefault(key, []).append(place)
    frame = to_frame(runs)
    found = []
    for key, rows in places.items():
        part = frame.iloc[rows]
        is_inline = (part["pool"] == INLINE) | (part["threads"] == 0)
        pooled = part[~is_inline]
        variants, baseline, ours = _ordered(pooled, key.kind)
        found.append(Group(key, hosts[key.host], pooled, part[is_inline], variants, baseline, ours))
    order = {host: place for place, host in enumerate(hosts)}
    cases = {key[:4]: place for place, key in reversed(list(enumerate(places)))}
    return sorted(found, key=lambda group: (order[group.key.host], cases[group.key[:4]]))
