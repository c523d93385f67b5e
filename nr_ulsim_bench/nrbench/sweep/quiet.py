# SPDX-License-Identifier: BSD-3-Clause
"""Whether the machine was quiet while a case was measured: by its inline runs, which need no pool. Those of
both builds do the same work."""

from typing import NamedTuple

import numpy as np

from nrbench.judge import N_MIN
from nrbench.sweep.figures import WHOLE
from nrbench.sweep.record import INLINE
from nrbench.sweep.runs import Runs

DIFFER_MAX, SPREAD_MAX = 0.03, 0.08
CAUSES = "other programs, or a host that takes CPUs away, also one that counts no steal time"
Case = tuple[str, str, str, str, str]  # host, kind, scenario, case, configuration


class Quiet(NamedTuple):
    """differ: by how much the medians of the builds. spread: interquartile range ÷ median, the widest.
    fewest: runs of a build."""

    differ: float
    spread: float
    fewest: int

    @property
    def is_quiet(self) -> bool:
        return self.differ <= DIFFER_MAX and self.spread <= SPREAD_MAX

    def __str__(self) -> str:
        text = f"inline runs of the builds differ by {100 * self.differ:.1f} %, those of one spread by "
        text += f"{100 * self.spread:.1f} %"
        if self.is_quiet:
            few = f" (fewer than {N_MIN} runs): not known whether it was"
            return text + (":" if self.fewest >= N_MIN else few) + " quiet"
        return f"{text}: not quiet (limits {100 * DIFFER_MAX:.0f} and {100 * SPREAD_MAX:.0f} %): {CAUSES}"


def quiet_of(runs: Runs) -> dict[Case, Quiet]:
    """Of each case that has inline runs, one beside no other, with results."""
    times: dict[Case, dict[str, list[float]]] = {}
    good = runs.frame[runs.frame["status"] == "ok"]
    for place, of in good.groupby("setting"):
        run, key = runs.settings[int(str(place))], runs.keys[int(str(place))]
        whole = next((of[name].dropna() for name in WHOLE if name in of and of[name].notna().any()), None)
        if run.pool == INLINE and run.at_once is None and whole is not None:
            case = (*key[:4], key.configuration.removeprefix(", "))
            times.setdefault(case, {}).setdefault(run.program, []).extend(whole)
    return {case: _quiet(list(of.values())) for case, of in times.items()}


def _quiet(builds: list[list[float]]) -> Quiet:
    low, median, high = zip(*(np.quantile(times, (0.25, 0.5, 0.75)) for times in builds))
    spread = max((above - below) / middle for below, middle, above in zip(low, median, high))
    return Quiet(float(max(median) / min(median) - 1), float(spread), min(map(len, builds)))
