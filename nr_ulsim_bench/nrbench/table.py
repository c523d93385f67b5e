# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of a long table: a row a value, with its group and the round that it was taken in."""

import math
from typing import Any, Mapping

import numpy as np
import pandas as pd

from nrbench.judge import N_MIN, RESAMPLES, SEED, Array, Interval, interval_of, judge, picks

Frame = Any  # a DataFrame: its types need a later Python than mypy checks for
VALUES_MAX = 100_000_000  # that are drawn in all: fewer resamples where there are many values
RESAMPLES_MIN = 200
COLUMNS = ("ratio", "ratio_low", "ratio_high", "ratio_repeats", "paired", "verdict")  # of ratios()
NO_INTERVAL = (math.nan, math.nan)


def resamples_of(values: int) -> int:
    return int(np.clip(VALUES_MAX // max(1, values), RESAMPLES_MIN, RESAMPLES))


def _drawn(values: Array, resamples: int, seed: int = SEED) -> Array:
    """The median of each resample."""
    chosen = values[picks(len(values), seed, resamples)]
    return np.asarray(np.median(chosen, axis=1, overwrite_input=True))


def medians(values: Frame) -> Frame:
    """@param values  columns group, value
    @return by group: n, median, half_iqr (NaN: one value), low and high (NaN: fewer than N_MIN values)"""
    found, resamples = {}, resamples_of(len(values))
    for name, of in values.groupby("group")["value"]:
        of = of.to_numpy()
        first, median, third = np.quantile(of, [0.25, 0.5, 0.75])
        half_iqr = (third - first) / 2 if len(of) > 1 else math.nan
        interval = interval_of(_drawn(of, resamples), len(of)) if len(of) >= N_MIN else None
        found[name] = (len(of), median, half_iqr, *(interval or NO_INTERVAL))
    columns = ["n", "median", "half_iqr", "low", "high"]
    return pd.DataFrame.from_dict(found, orient="index", dtype=float, columns=columns).rename_axis("group")


def ratio_of(value: float, interval: Interval | None, rounds: int) -> dict[str, Any]:
    """As columns."""
    low, high = interval or NO_INTERVAL
    return {"ratio": value, "ratio_low": low, "ratio_high": high, "ratio_repeats": rounds,
            "verdict": judge(interval)}  # fmt: skip


def _shared(new: Frame, old: Frame) -> Any:
    """The rounds that both have; None: too few, or it is unknown which two values are a pair."""
    fewest, rounds = min(len(new), len(old)), new.index.intersection(old.index)
    are_pairs = new.index.is_unique and old.index.is_unique
    return rounds.sort_values() if are_pairs and len(rounds) >= max(fewest / 2, min(fewest, N_MIN)) else None


def ratios(values: Frame, base: Mapping[Any, Any]) -> Frame:
    """
    Of medians: a group's ÷ its baseline's. Of the rounds that both have; of all, as of two samples, where
    they share too few.

    @param values  columns group, round, value
    @param base    by group, the group of its baseline
    @return by group: ratio, its interval (NaN: too few rounds), rounds, paired, verdict. Groups without
            results on both sides, or with a value that is not above 0, are left out
    """
    found, resamples = {}, resamples_of(2 * len(values))
    series = dict(iter(values.set_index("round").groupby("group")["value"]))
    series = {name: of for name, of in series.items() if of.min() > 0}
    for name, (new, old) in ((name, (series.get(name), series.get(of))) for name, of in base.items()):
        if new is None or old is None:
            continue
        if is_paired := (rounds := _shared(new, old)) is not None:
            new, old = new[rounds], old[rounds]
        above, below = new.to_numpy(), old.to_numpy()
        drawn = _drawn(above, resamples) / _drawn(below, resamples, SEED if is_paired else SEED + 1)
        count, value = min(len(above), len(below)), float(np.median(above) / np.median(below))
        of_group = ratio_of(value, interval_of(drawn, count), count)
        found[name] = of_group | {"paired": int(is_paired)}
    return pd.DataFrame.from_dict(found, orient="index", columns=[*COLUMNS])
