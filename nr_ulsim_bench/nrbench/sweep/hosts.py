# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts, over all cases: a row a host, and one for all of them."""

from typing import Any

import numpy as np
import pandas as pd

from nrbench.judge import N_MIN, hosts_interval, interval_of
from nrbench.render import Table
from nrbench.sweep.tables import RATIO, factor, interval_text, main_ratios, shown
from nrbench.table import Frame, ratio_of

POOLED = (
    "÷ old: geometric mean over the cases of a host, and over the hosts. Interval of all hosts: 95 %; each "
    f"resample draws hosts, and rounds within each. Of fewer than {N_MIN} hosts it holds for these only."
)
ROW = ["threads", "variant", "baseline"]


def _of_host(ratios: Frame, threshold: float) -> dict[str, Any]:
    """The mean over its cases: each round has all of them."""
    logs = np.mean(np.stack(ratios["logs"].tolist()), axis=0)
    value, rounds = float(np.exp(np.log(ratios["ratio"]).mean())), int(ratios["ratio_repeats"].min())
    about = {"cases": len(ratios), "logs": logs}
    return about | ratio_of(value, interval_of(np.exp(logs), rounds), rounds, threshold)


def _of_all(hosts: Frame, threshold: float) -> dict[str, Any]:
    value, rounds = float(np.exp(np.log(hosts["ratio"]).mean())), int(hosts["ratio_repeats"].min())
    about = {"host": "", "host_label": f"all {len(hosts)} hosts", "cases": hosts["cases"].max()}
    return about | ratio_of(value, hosts_interval(hosts["logs"].tolist(), rounds), rounds, threshold)


def pooled(cells: Frame, threshold: float) -> Frame:
    """Ratios of the main figure: of each host, then of all. Empty where the runs are of one host."""
    ratios = main_ratios(cells)
    if ratios["host"].nunique() < 2:
        return pd.DataFrame()
    places = ["host", "host_label", *ROW]
    each = ratios.groupby(places, sort=False)
    hosts = pd.DataFrame(dict(zip(places, key)) | _of_host(of, threshold) for key, of in each)
    every = [dict(zip(ROW, key)) | _of_all(of, threshold) for key, of in hosts.groupby(ROW, sort=False)]
    return pd.concat([hosts, pd.DataFrame(every)], ignore_index=True).drop(columns="logs")


def hosts_table(rows: Frame) -> Table:
    """@param rows  as pooled()"""
    texts = [
        {**{name: str(row[name]) for name in ("cases", "threads", "variant", "verdict")},
         "host": row["host_label"], "÷ old": factor(row["ratio"]),
         "95 % interval": interval_text(row["ratio_low"], row["ratio_high"])}
        for row in rows.to_dict("records")
    ]  # fmt: skip
    names = ("host", "cases", "threads", "variant", *RATIO)
    return shown(f"Hosts, against {rows['baseline'].iloc[0]}", texts, names, [POOLED], once=1)
