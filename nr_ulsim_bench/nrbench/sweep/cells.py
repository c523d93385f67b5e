# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a report in one long table: a row a figure of a variant at a number of threads, of a case on a
host. They are computed once, all together; tables, plots, the page and results.csv select from them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping

import numpy as np
import pandas as pd

from nrbench import table
from nrbench.judge import median_interval
from nrbench.sweep.configuration import configurations
from nrbench.sweep.figures import COSTS, FIGURES, MAIN, RX, WHOLE, bound_key
from nrbench.sweep.record import INLINE, cores_for
from nrbench.sweep.runs import Runs
from nrbench.table import Frame

OLD_POOL = {"nr_ulsim": "old", "replay": "mutex-per-worker"}
OUR_POOL = {"nr_ulsim": "new", "replay": "ws"}
ALL_FIGURES_MAX = 100_000  # runs; of more, the main figure only
CASE = ["host", "kind", "scenario", "case", "configuration"]
OF_CONFIGURATION = ("oai", "cpus", "environment")
BOUNDS = ("bound", "parallel_bound")


def settings_table(runs: Runs) -> Frame:
    """A row a setting."""
    rows = [
        {
            **key._asdict(), "host_label": run.host.label,
            **{name: getattr(about, name) for name in OF_CONFIGURATION},
            "threads": run.threads, "variant": run.variant, "pool": run.pool, "program": run.program,
            "at_once": run.at_once or 1, "cores": cores_for(run.host, run.cpus),
            "is_inline": run.pool == INLINE or run.threads == 0,
        }
        for key, run, about in zip(runs.keys, runs.settings, configurations(runs.settings))
    ]  # fmt: skip
    found = pd.DataFrame(rows)
    found["configuration"] = found["configuration"].str.removeprefix(", ")
    hosts, cases = (found.groupby(CASE[:count], sort=False).ngroup() for count in (1, 4))
    order = np.lexsort((found.index, cases, hosts))  # a host's together, and a case's
    found["number"] = found.iloc[order].groupby(CASE, sort=False).ngroup()
    return found


def _by_spin(variant: str) -> tuple[int, str]:
    """Auto, the default, before off before all others, as the settings come in tables."""
    return {"auto": 0, "off": 1}.get(variant.rpartition(" ")[2], 2), variant


def _roles(kind: str, pools: Mapping[str, str]) -> Frame:
    """Of a case's variants, in the order of tables: the old one, if there is one, ours, the others.

    @param pools  by variant"""
    ours = sorted((name for name, pool in pools.items() if pool == OUR_POOL[kind]), key=_by_spin)
    others = [name for name in pools if name not in ours]
    others.sort(key=lambda name: pools[name] != OLD_POOL[kind])
    order = [*others[:1], *ours, *others[1:]]
    found = pd.DataFrame({"variant": order, "rank": range(len(order)), "ours": [n in ours for n in order]})
    return found.assign(baseline=others[0] if others else None)


def _rows(settings: Frame) -> Frame:
    """A row a case, number of threads and variant, in the order of tables."""
    there = settings[~settings["is_inline"]]
    roles = {
        number: _roles(of["kind"].iloc[0], dict(zip(of["variant"], of["pool"])))
        for number, of in there.groupby("number")
    }
    names = ["number", "threads", "variant"]
    cores = there.groupby(names)["cores"].transform("max")
    found = there.assign(cores=cores).drop_duplicates(names)
    if not roles:
        return found.assign(rank=0, ours=False, baseline=None)
    of_roles = pd.concat(roles, names=["number", None]).reset_index("number")
    found = found.merge(of_roles, on=["number", "variant"])
    return found.sort_values(["number", "threads", "rank"], ignore_index=True)


def _work(good: Frame, settings: Frame) -> Frame:
    """By case and number of inline runs at once, their medians; of several programs, those of the fastest."""
    places = ["number", "at_once", "program"]
    inline = good.join(settings.loc[settings["is_inline"], places], on="setting", how="inner")
    figures = [*WHOLE, *(part for parts in WHOLE.values() for part in parts)]
    medians = inline.reindex(columns=[*places, *figures]).groupby(places).median()
    return medians.sort_values([*WHOLE]).groupby(["number", "at_once"]).head(1).droplevel("program")


def _divided(work: Frame, alone: Frame, computing: Any) -> Frame:
    """What no pool can beat, one for all variants of a row: the work, divided by the threads that could
    compute. That is one more than the pool has where the thread that waits helps, as it does in ours, and no
    more than there are cores; for a pool whose waiter sleeps it is still a bound, only a looser one. Of a
    whole slot only the parallel parts are divided.

    @param work  of inline runs, a row a row. @param alone  of those that ran alone"""
    found = work.div(computing, axis=0)
    for whole, parts in WHOLE.items():
        found[whole] = alone[whole] + sum(found[part] - alone[part] for part in parts)
    return found.where(found > 0)


def _bounds(rows: Frame, good: Frame, settings: Frame) -> Frame:
    """By row and figure, the bound, and that of as many inline runs side by side as threads compute. Recorded
    slots know the length of each task: they bring bounds of their own."""
    work = _work(good, settings)
    computing = rows["cores"].clip(upper=rows["threads"] + 1).to_numpy()
    alone, beside = (
        work.reindex(pd.MultiIndex.from_arrays([rows["number"], count])).set_axis(rows.index)
        for count in (np.ones_like(computing), computing)
    )
    bound = _divided(alone, alone, computing)
    parallel = _divided(beside, alone, computing)[computing > 1].reindex(rows.index)
    own = {bound_key(figure): figure for figure in MAIN if bound_key(figure) in good}
    if own:
        places = ["number", "threads"]
        least = good.join(rows[places], on="row", how="inner").groupby(places)[list(own)].min()
        of_rows = least.rename(columns=own).reindex(pd.MultiIndex.from_frame(rows[places]))
        bound = of_rows.set_axis(rows.index).combine_first(bound)
    stacked = {name: of.stack() for name, of in zip(BOUNDS, (bound, parallel))}
    return pd.DataFrame(stacked, dtype=float).rename_axis(["row", "figure"])


def _figures(runs: Runs) -> list[str]:
    """In the order of tables."""
    bounds = set(map(bound_key, MAIN))
    there = [str(name) for name in runs.frame if str(name).endswith("_us") and name not in bounds]
    if len(runs.frame) > ALL_FIGURES_MAX:
        return [whole for whole in WHOLE if whole in there] or there[-1:]
    known = [name for name in FIGURES if name in there]
    return [*known, *sorted(set(there) - set(known)), *COSTS]


@dataclass(frozen=True)
class Cells:
    """Of all cases.

    The columns beside those of results.csv: number of the case, row: place of the variant at a number of
    threads, ours."""

    table: Frame
    good: Frame  # runs with a result, with their row

    def values(self, row: int, figure: str) -> "pd.Series[Any]":
        """Of the runs that gave a result, by round."""
        good = self.good.iloc[self._by_row.indices.get(row, [])]
        found: pd.Series[Any] = good.set_index("round")[figure].dropna()
        return found

    @cached_property
    def _by_row(self) -> Any:
        return self.good.groupby("row")

    def long(self, figure: str, rows: Any) -> Frame:
        """A row a run of these rows: row, round, value."""
        return long(self.good[self.good["row"].isin(rows)], figure).rename(columns={"group": "row"})

    def over_all(self, of: Frame, reference: str, variant: str, figure: str) -> dict[str, Any] | None:
        """Round by round the geometric mean, over the numbers of threads, of the ratios: less noise than any
        of them. Only rounds in which all of them gave a result. None: there is but one number of threads.

        @param of  the case"""
        logs = []
        rows = of[of["figure"] == figure].pivot(index="threads", columns="variant", values="row")
        for old_row, new_row in rows.reindex(columns=[reference, variant]).dropna().astype(int).to_numpy():
            old, new = self.values(old_row, figure), self.values(new_row, figure)
            if not (old.index.is_unique and new.index.is_unique):
                return None
            ratios: Any = new / old
            logs.append(np.log(ratios))
        rounds = np.exp(pd.concat(logs, axis=1, join="inner").dropna().mean(axis=1)) if logs else pd.Series()
        if len(logs) < max(2, len(rows)) or not len(rounds) or not np.isfinite(rounds).all():
            return None
        interval = median_interval(rounds.to_numpy())
        return table.ratio_of(float(rounds.median()), interval, len(rounds))


def long(good: Frame, figure: str) -> Frame:
    found = good.reindex(columns=["row", "round", figure]).dropna()
    return found.set_axis(["group", "round", "value"], axis=1)


def cells_of(runs: Runs) -> Cells:
    settings = settings_table(runs)
    rows = _rows(settings)
    places = {place: row for row, place in enumerate(zip(rows["number"], rows["threads"], rows["variant"]))}
    of_settings = zip(settings["number"], settings["threads"], settings["variant"])
    row_of = np.array([places.get(place, -1) for place in of_settings])
    frame = runs.frame.assign(row=row_of[runs.frame["setting"]])
    is_good = frame["status"] == "ok"
    every_good, bad = frame[is_good], frame[~is_good & (frame["row"] >= 0)]
    good = every_good[every_good["row"] >= 0]
    of_rows = rows[["number", "threads", "variant", "baseline"]].itertuples(index=False)
    old = {row: base for row, (number, threads, variant, name) in enumerate(of_rows)
           if variant != name and (base := places.get((number, threads, name))) is not None}  # fmt: skip
    found = {}
    for figure in _figures(runs):
        values = long(good, figure)
        found[figure] = table.medians(values).join(table.ratios(values, old))
    cells = pd.concat(found, names=["figure", "row"]).swaplevel()
    cells = cells.join(_bounds(rows, every_good, settings))
    counts = bad.groupby(["row", "status"]).size().reset_index(name="count")
    texts = counts["status"].astype(str) + " ×" + counts["count"].astype(str)
    rows["causes"] = texts.groupby(counts["row"]).agg(" ".join)
    rows["failed"] = counts.groupby("row")["count"].sum()
    numbers = settings["number"].to_numpy()[frame["setting"]]
    first_runs = frame["began_s"].groupby(numbers).idxmin()
    rows["began"] = rows["number"].map(frame.loc[first_runs, "began"].set_axis(first_runs.index))
    return Cells(_whole(rows, cells, _derived(good)), good)


def _derived(good: Frame) -> Frame:
    """By row and figure: those that the program does not print."""
    there = good.loc[good["derived"] != "", ["row", "derived"]].drop_duplicates()
    names = there.assign(figure=there["derived"].str.split(" ")).explode("figure")
    return names.drop_duplicates(["row", "figure"]).set_index(["row", "figure"])[[]].assign(derived=1)


def _whole(rows: Frame, cells: Frame, derived: Frame) -> Frame:
    """Of each row all figures of its case; one whose runs all failed has no median."""
    order = {name: place for place, name in enumerate(cells.index.unique("figure"))}
    rows = rows.rename_axis("row").reset_index()
    of_case = cells.reset_index()[["row", "figure"]].merge(rows[["row", "number"]])
    grid = rows.merge(of_case[["number", "figure"]].drop_duplicates(), on="number", how="left")
    grid = grid.fillna({"figure": RX, "failed": 0, "causes": ""})
    found = grid.join(cells, on=["row", "figure"]).join(derived, on=["row", "figure"])
    found = found.fillna({"n": 0, "derived": 0}).astype({"n": int, "failed": int, "derived": int})
    found = found.rename(columns={"n": "runs"}).assign(
        over_bound=found["median"] / found["bound"],
        over_parallel_bound=found["median"] / found["parallel_bound"],
        unit=np.where(found["figure"].str.endswith("_us"), "us", "s"),
        place=found["figure"].map(order).fillna(0),
    )
    return found.sort_values(["row", "place"], kind="stable", ignore_index=True)
