# SPDX-License-Identifier: BSD-3-Clause
"""What the answers of ws-prewake show: regret, lateness, CPU time."""

from __future__ import annotations

import statistics
from typing import NamedTuple, Sequence

import numpy as np

from nrbench.judge import Array, Places, Ratio, resampled
from nrbench.stats import Line, Results

Modes = dict[str, Line]

REGRET_MAX = 1.10
LATE_US_MIN = 10.0
P50_CUT_MIN, P99_CUT_MIN = 0.70, 0.50
STEADY_FACTOR, STEADY_SLACK_US, STEADY_CPU_MAX = 1.06, 2.0, 2.0
IDLE_CPU_US_MAX = 100.0
CANARY_SHARE_MIN = 0.05
RECOVERED_FACTOR, RECOVERED_SLACK_US, RECOVERY_S_MAX = 1.5, 3.0, 2.0
# CPUs that others had in a round; above, it says more about them. With fewer quiet rounds all are taken.
OTHERS_MAX, QUIET_ROUNDS_MIN = 0.15, 3


class CaseKey(NamedTuple):
    kind: str
    env: str
    scenario: str
    workers: int


Cases = dict[CaseKey, Modes | str]  # the modes of one call, or why there are none


def collect(results: Results) -> Cases:
    cases: Cases = {}
    for labels, of in results.by(*CaseKey._fields).items():
        bad = next((line for line in of.all if "mode" not in line), None)
        if bad is not None:
            cases[CaseKey(*labels)] = bad.get("skipped") or bad.get("error") or "no answer"
        elif any(line.get("slots") == 0 for line in of.all):
            cases[CaseKey(*labels)] = "no slot had a burst"
        else:
            cases[CaseKey(*labels)] = {line["mode"]: line for line in of.all}
    return cases


def tuned_cost(costs: Array, rounds: Places) -> Array:
    """
    What a constant costs that was tuned by measuring: chosen in one half of the rounds, paid in the other.
    The smallest of many noisy means is below what its mode really costs; this is not.

    @param costs  a row a setting, a column a round. @param rounds  a row a draw"""
    if rounds.shape[1] < 2:
        return np.asarray(costs[:, rounds].mean(axis=2).min(axis=0))
    paid, draws = [], np.arange(len(rounds))
    for own in (0, 1):
        best = costs[:, rounds[:, own::2]].mean(axis=2).argmin(axis=0)
        paid.append(costs[best[:, None], rounds[draws][:, 1 - own :: 2]])
    return np.asarray(np.concatenate(paid, axis=1).mean(axis=1))


class Regret(NamedTuple):
    best: str
    best_cost_us: float
    tuned_cost_us: float
    auto_cost_us: float
    off_cost_us: float
    ratio: Ratio  # auto ÷ tuned
    rounds: int  # that were quiet enough
    all_rounds: int

    @property
    def lead(self) -> str:
        return self.best.removeprefix("fixed:")

    @property
    def passed(self) -> bool:
        return self.ratio.value <= REGRET_MAX


def quiet_rounds(line: Line) -> list[int]:
    every = range(len(line["round_cost_us"]))
    others = line.get("round_others", [0.0] * len(every))
    quiet = [i for i in every if others[i] <= OTHERS_MAX]
    return quiet if len(quiet) >= QUIET_ROUNDS_MIN else list(every)


def regret(modes: Modes) -> Regret | None:
    """In a round all modes had the same arrivals and machine. An operator can choose a lead, or none."""
    by_hand = [name for name in modes if name == "off" or name.startswith("fixed:")]
    if not {"auto", "off"} <= modes.keys() or len(by_hand) < 2:
        return None
    every, quiet = modes["auto"]["round_cost_us"], quiet_rounds(modes["auto"])
    costs = np.array([[modes[name]["round_cost_us"][i] for i in quiet] for name in by_hand])
    auto, once = np.array([every[i] for i in quiet]), np.arange(len(quiet))[None]
    ratio = resampled(len(quiet), lambda rounds: auto[rounds].mean(axis=1) / tuned_cost(costs, rounds))
    means = costs.mean(axis=1)
    best, off = int(means.argmin()), float(means[by_hand.index("off")])
    found = (float(means[best]), float(tuned_cost(costs, once)[0]), float(auto.mean()), off)
    return Regret(by_hand[best], *found, ratio, len(quiet), len(every))


class Cut(NamedTuple):
    """By how much auto shortens a time of off."""

    off_p50_us: float
    auto_p50_us: float
    off_p99_us: float
    auto_p99_us: float

    @property
    def p50(self) -> float:
        return 1 - self.auto_p50_us / self.off_p50_us if self.off_p50_us else 0.0

    @property
    def p99(self) -> float:
        return 1 - self.auto_p99_us / self.off_p99_us if self.off_p99_us else 0.0

    @property
    def passed(self) -> bool | None:
        """Nothing to judge where off loses next to nothing."""
        if self.off_p50_us <= LATE_US_MIN:
            return None
        return self.p50 >= P50_CUT_MIN and self.p99 >= P99_CUT_MIN


def cut(modes: Modes, field: str) -> Cut | None:
    if not {"auto", "off"} <= modes.keys():
        return None
    return Cut(*(modes[mode][f"{field}_{p}_us"] for p in ("p50", "p99") for mode in ("off", "auto")))


def cpu_kept(modes: Modes, cap_percent: float) -> bool:
    """By the pool's own count at the cap at most, and in no block, of some 40 ms, above it by over a tenth.

    And by the kernel's: what workers take beyond their tasks, less what they take so with `off`.
    """
    auto = modes["auto"]
    extra = auto["worker_extra_percent"] - modes["off"]["worker_extra_percent"]
    counted = auto["spin_percent"] <= cap_percent and auto["spin_percent_max"] <= 1.1 * cap_percent
    return bool(counted and extra <= cap_percent)


def steady_limit_us(bound_us: float) -> float:
    return STEADY_FACTOR * bound_us + STEADY_SLACK_US


def steady_passed(auto: Line) -> bool:
    in_time = auto["makespan_p50_us"] <= steady_limit_us(auto["bound_us"])
    return bool(in_time and auto["cpu_per_work"] <= STEADY_CPU_MAX)


class Recovery(NamedTuple):
    """After a step: the lateness that it settles at, and how long it is above that."""

    first_us: float
    settled_us: float
    seconds: float

    @property
    def passed(self) -> bool:
        return self.seconds <= RECOVERY_S_MAX and self.settled_us <= LATE_US_MIN


def recovery(line: Line) -> Recovery:
    """Settled is the median of the second half. Two windows in a row near it end the recovery: one alone
    shows what else the machine did."""
    windows: Sequence[float] = line["window_lateness_us"]
    settled = statistics.median(windows[len(windows) // 2 :])
    near = [us <= RECOVERED_FACTOR * settled + RECOVERED_SLACK_US for us in windows]
    pairs = (i for i in range(len(near)) if all(near[i : i + 2]))
    return Recovery(windows[0], settled, next(pairs, len(near)) * line["window_s"])


def idle_passed(line: Line) -> bool:
    return bool(line["cpu_us"] <= IDLE_CPU_US_MAX and line["ctx_switches"] == 0)


def canary_passed(modes: Modes, cap_percent: float) -> bool:
    """What off leaves to a normal thread, less the cap, and two hundredths for the measurement."""
    pairs = zip(modes["off"]["canary_share"], modes["auto"]["canary_share"])
    return all(auto >= max(CANARY_SHARE_MIN, off - cap_percent / 100 - 0.02) for off, auto in pairs)
