# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of a long table: a row a value, with the group that it is of and the round that it was taken in.
All groups with as many values are resampled at once: 100 runs and 1,000,000 go the same way."""

import math
from typing import Any, Iterator, Mapping

import numpy as np
import pandas as pd

from nrbench.judge import N_MIN, RESAMPLES, SEED, Array, Interval, ends, judge, picks

Frame = Any  # a DataFrame: its types need a later Python than mypy checks for
VALUES_MAX = 100_000_000  # that are drawn in all: fewer resamples where there are many values
RESAMPLES_MIN = 200
BLOCK = 4_000_000  # values that are drawn at once


COLUMNS = ("ratio", "ratio_low", "ratio_high", "ratio_repeats", "paired", "verdict", "logs")  # of ratios()


def resamples_of(values: int) -> int:
    return int(np.clip(VALUES_MAX // max(1, values), RESAMPLES_MIN, RESAMPLES))


def _by_count(counts: Any) -> Iterator[tuple[int, Any, Any]]:
    """@param counts  of values of each group, which lie one after the other
    @return a number of values; the groups that have so many; the places of their values, a row a group"""
    starts = np.cumsum(counts) - counts
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        yield int(count), chosen, starts[chosen][:, None] + np.arange(count)


def resampled_medians(values: Array, seed: int, resamples: int) -> Array:
    """@param values  a row a group. @return a row a group, a column a resample"""
    drawn = picks(values.shape[1], seed, resamples)
    step = max(1, BLOCK // drawn.size)
    parts = [
        np.median(values[at : at + step][:, drawn], axis=2, overwrite_input=True)
        for at in range(0, len(values), step)
    ]
    return np.concatenate(parts)


def medians(values: Frame, group: str = "group") -> Frame:
    """@param values  columns `group`, value
    @return by group: n, median, half_iqr (NaN: one value), low and high (NaN: fewer than N_MIN values)"""
    values = values.sort_values(group, kind="stable")
    names, counts = np.unique(values[group].to_numpy(), return_counts=True)
    every = values["value"].to_numpy()
    found = {name: np.full(len(names), np.nan) for name in ("median", "half_iqr", "low", "high")}
    for count, chosen, places in _by_count(counts):
        of = every[places]
        found["median"][chosen] = np.median(of, axis=1)
        if count > 1:
            low, high = np.quantile(of, [0.25, 0.75], axis=1)
            found["half_iqr"][chosen] = (high - low) / 2
        if count >= N_MIN:
            drawn = resampled_medians(of, SEED, resamples_of(len(every)))
            found["low"][chosen], found["high"][chosen] = ends(drawn, count)
    return pd.DataFrame({"n": counts, **found}, index=pd.Index(names, name=group))


def ratio_of(value: float, interval: Interval | None, rounds: int, threshold: float) -> dict[str, Any]:
    """As columns."""
    low, high = interval or (math.nan, math.nan)
    return {"ratio": value, "ratio_low": low, "ratio_high": high, "ratio_repeats": rounds,
            "verdict": judge(interval, threshold)}  # fmt: skip


def _pairs(new: Frame, old: Frame) -> tuple[Frame, Any]:
    """Values of the same round of a group and of its baseline. @return them, and the groups of which most
    rounds have both"""
    both = new.merge(old, on=["base", "round"], suffixes=("", "_old"))
    shared = both.groupby("group").size()
    sizes = new.groupby("group").size()
    of_base = new.groupby("group")["base"].first().map(old.groupby("base").size())
    fewest = sizes.clip(upper=of_base)
    twice = {*new["group"][new.duplicated(["group", "round"])]}
    base_twice = {*old["base"][old.duplicated(["base", "round"])]}
    twice |= {*new["group"][new["base"].isin(base_twice)]}  # it is unknown which two are a pair
    least = (fewest / 2).clip(lower=fewest.clip(upper=N_MIN))
    enough = shared.reindex(fewest.index, fill_value=0) >= least
    groups = [name for name, is_enough in enough.items() if is_enough and name not in twice]
    return both[both["group"].isin(groups)], groups


def ratios(values: Frame, base: Mapping[Any, Any], threshold: float = 0.0, pairs: bool = True) -> Frame:
    """
    Of medians: a group's ÷ its baseline's. Of the rounds that both have; of all, as of two samples, where
    they share too few.

    @param values  columns group, round, value
    @param base    by group, the group of its baseline. @param pairs  False: never by rounds
    @return by group: ratio, its interval (NaN: too few rounds), rounds, paired, verdict, logarithms of the
            resampled ratios. Groups without results on both sides, or with a value that is not above 0, are
            left out
    """
    below = {*values["group"][values["value"] <= 0]}
    new = values[values["group"].isin(list(base))].assign(base=lambda of: of["group"].map(base))
    new = new[~new["group"].isin(below) & ~new["base"].isin(below)]
    old = values[values["group"].isin(new["base"])].rename(columns={"group": "base"})
    new = new[new["base"].isin(old["base"])]
    both, paired = _pairs(new, old) if pairs else (new[:0], [])
    resamples = resamples_of(2 * len(new))
    found: dict[Any, dict[str, Any]] = {}

    def add(names: Any, before: Array, after: Array, is_paired: bool) -> None:
        value = np.median(after, axis=1) / np.median(before, axis=1)
        drawn = resampled_medians(after, SEED, resamples)
        drawn /= resampled_medians(before, SEED if is_paired else SEED + 1, resamples)
        count, logs = min(before.shape[1], after.shape[1]), np.log(drawn).astype(np.float32)
        both_ends = ends(drawn, count) if count >= N_MIN else np.full((2, len(value)), np.nan)
        for name, one, (low, high), of in zip(names, value, both_ends.T, logs):
            interval = Interval(low, high) if count >= N_MIN else None
            found[name] = ratio_of(one, interval, count, threshold) | {"paired": int(is_paired), "logs": of}

    if len(both):
        both = both.sort_values(["group", "round"], kind="stable")
        names, counts = np.unique(both["group"].to_numpy(), return_counts=True)
        before, after = both["value_old"].to_numpy(), both["value"].to_numpy()
        for _, chosen, places in _by_count(counts):
            add(names[chosen], before[places], after[places], True)
    of_base = {name: of["value"].to_numpy() for name, of in old.groupby("base")}
    for name, of in new[~new["group"].isin(paired)].groupby("group"):
        add([name], of_base[base[name]][None], of["value"].to_numpy()[None], False)
    return pd.DataFrame.from_dict(found, orient="index", columns=[*COLUMNS])
