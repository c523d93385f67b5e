# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts, over all cases: a row a host, a row a class of hosts, and one for all classes."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pandas as pd

from nrbench.judge import N_MIN, interval_of, pooled_quantiles
from nrbench.render import Table
from nrbench.sweep.tables import RATIO, factor, interval_text, main_ratios, shown
from nrbench.table import Frame, ratio_of

ALL = "all"
POOLED = (
    "÷ old: geometric mean over the cases of a host, over the hosts of a class, and over the classes, each "
    "with the same weight. Interval: 95 %; each resample draws hosts within their class, and rounds within "
    "each host."
)
FEW_HOSTS = (
    f"Classes of fewer than {N_MIN} hosts: the interval is for these hosts. It does not hold for other hosts "
    "of the class."
)
ROW = ["threads", "variant", "baseline"]


def class_names(cells: Frame) -> dict[str, str]:
    """Short ones, by what the hosts of a class share: A to Z, then AA, AB."""
    letters = string.ascii_uppercase
    names = [first + letter for first in ("", *letters) for letter in letters]
    return dict(zip(cells["class"].unique(), names))


def _of_host(ratios: Frame, threshold: float) -> dict[str, Any]:
    """The mean over its cases: each round has all of them."""
    logs = np.mean(np.stack(ratios["logs"].tolist()), axis=0)
    value, rounds = float(np.exp(np.log(ratios["ratio"]).mean())), int(ratios["ratio_repeats"].min())
    about = {"hosts": 1, "cases": len(ratios), "logs": logs}
    return about | ratio_of(value, interval_of(np.exp(logs), rounds), rounds, threshold)


def _of_classes(hosts: Frame, name: str, threshold: float) -> Frame:
    rows = []
    for key, of in hosts.groupby(ROW, sort=False):
        classes = [members for _, members in of.groupby("class")]
        value = float(np.exp(np.mean([np.log(members["ratio"]).mean() for members in classes])))
        rounds = int(of["ratio_repeats"].min())
        interval = pooled_quantiles([members["logs"].tolist() for members in classes], rounds)
        label = f"{len(of)} host{'s' if len(of) > 1 else ''}"
        about = {"class": name, "host_label": label, "hosts": len(of), "cases": of["cases"].max()}
        rows.append(dict(zip(ROW, key)) | about | ratio_of(value, interval, rounds, threshold))
    return pd.DataFrame(rows)


def pooled(cells: Frame, threshold: float) -> Frame:
    """Ratios of the main figure: of hosts, behind them of their class, at the end of all classes. Empty where
    the runs are of one host."""
    ratios = main_ratios(cells)
    if ratios["host"].nunique() < 2:
        return pd.DataFrame()
    ratios = ratios.assign(**{"class": ratios["class"].map(class_names(cells))})
    places = ["class", "host_label", *ROW]
    hosts = pd.DataFrame(
        dict(zip(places, key)) | _of_host(of, threshold) for key, of in ratios.groupby(places, sort=False)
    )
    parts = []
    for name, members in hosts.groupby("class"):
        parts += [members, _of_classes(members, str(name), threshold)]
    more = [_of_classes(hosts, ALL, threshold)] if hosts["class"].nunique() > 1 else []
    return pd.concat([*parts, *more], ignore_index=True).drop(columns="logs")


def hosts_table(rows: Frame, cells: Frame) -> Table:
    """@param rows  as pooled()"""
    texts = [
        {**{name: str(row[name]) for name in ("class", "cases", "threads", "variant", "verdict")},
         "host": row["host_label"], "÷ old": factor(row["ratio"]),
         "95 % interval": interval_text(row["ratio_low"], row["ratio_high"])}
        for row in rows.to_dict("records")
    ]  # fmt: skip
    notes = [f"{name}: {about}" for about, name in class_names(cells).items()]
    is_few = (rows["class"] != ALL) & (rows["hosts"] > 1) & (rows["hosts"] < N_MIN)
    notes += [POOLED, *([FEW_HOSTS] if is_few.any() else [])]
    names = ("class", "host", "cases", "threads", "variant", *RATIO)
    return shown(f"Hosts and classes, against {rows['baseline'].iloc[0]}", texts, names, notes, once=2)
