# SPDX-License-Identifier: BSD-3-Clause
"""Times by round, and what can be claimed of them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nrbench.backends import OWN
from nrbench.claims import Ratio, Rounds, at_most_word, equal_word, round_ratio
from nrbench.pi.plan import PINNED, RIVALS
from nrbench.pi.variance import f_test, welch_test
from nrbench.stats import Line
from nrbench.sweep.bootstrap import RESAMPLES, SEED, Interval

NOT_SLOWER = 1.01  # slower by less than that is no loss
EQUAL_MEANS = 1.02
SIGNIFICANT = 0.05
RESAMPLED_MIN = 20  # runs; fewer do not show how the times are distributed

Array = NDArray[np.float64]


@dataclass
class Results:
    host: Line
    ms: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    versions: dict[str, str] = field(default_factory=dict)
    threads: int = 0
    error_max: float = 0.0  # of pi
    errors: list[str] = field(default_factory=list)


def collect(lines: Sequence[Line]) -> Results:
    results = Results(next(line for line in lines if line.get("bench") == "host"))
    for line in (line for line in lines if line.get("bench") == "pi"):
        if "error" in line:
            results.errors.append(f"{line['how']}: {line['error']}")
            continue
        results.ms[line["how"]][line["round"]] = line["ns"] * 1e-6
        results.versions[line["how"]], results.threads = line["version"], line["threads"]
        results.error_max = max(results.error_max, line["pi_error"])
    return results


def _deviation(values: Array) -> Array:
    return np.asarray(np.std(values, axis=-1, ddof=1))


def _mean(values: Array) -> Array:
    return np.asarray(np.mean(values, axis=-1))


def resampled_ratio(of: Rounds, to: Rounds, figure: Callable[[Array], Array]) -> Ratio | None:
    """Of a figure of all rounds. Its interval comes from rounds that are drawn anew."""
    numbers = sorted(of.keys() & to.keys())
    if len(numbers) < 2:
        return None
    upper, lower = (np.array([rounds[number] for number in numbers]) for rounds in (of, to))
    value = float(figure(upper) / figure(lower))
    if len(numbers) < RESAMPLED_MIN:
        return Ratio(value, None)
    picks = np.random.default_rng(SEED).integers(0, len(numbers), (RESAMPLES, len(numbers)))
    low, high = np.quantile(figure(upper[picks]) / figure(lower[picks]), [0.025, 0.975])
    return Ratio(value, Interval(float(low), float(high)))


def deviation_verdict(floating: Rounds, pinned: Rounds) -> str:
    """The F test takes the times to be normally distributed, which outliers are not. So the interval, which
    does not, must agree before anything is claimed."""
    test = f_test(list(floating.values()), list(pinned.values()))
    ratio = resampled_ratio(pinned, floating, _deviation)
    what = "pinned deviates less than floating: standard deviation"
    if test is None or ratio is None:
        return f"----  {what}: n/a"
    word = at_most_word(ratio, 1.0) if test.p < SIGNIFICANT else "OPEN"
    percent = f"{100 * (ratio.value - 1):+.0f} %"
    claim = "no claim" if word == "OPEN" else "significant"
    return f"{word}  {what} {percent}, ratio {ratio}, F = {test.value:.2f}, p = {test.p:.2g}: {claim}"


def mean_verdict(floating: Rounds, pinned: Rounds) -> str:
    test = welch_test(list(floating.values()), list(pinned.values()))
    ratio = resampled_ratio(pinned, floating, _mean)
    what = f"pinned and floating have equal means, within {100 * (EQUAL_MEANS - 1):.0f} %"
    if test is None or ratio is None:
        return f"----  {what}: n/a"
    return f"{equal_word(ratio, EQUAL_MEANS)}  {what}: ratio {ratio}, t = {test.value:.2f}, p = {test.p:.2g}"


def verdicts(results: Results) -> Iterator[str]:
    floating, pinned = results.ms.get(OWN, {}), results.ms.get(PINNED, {})
    yield deviation_verdict(floating, pinned)
    yield mean_verdict(floating, pinned)
    for rival in (name for name in RIVALS if name in results.ms):
        ratio = round_ratio(floating, results.ms[rival])
        word = at_most_word(ratio, NOT_SLOWER)
        yield f"{word}  not slower than {rival}: time / its time = {ratio or 'n/a'}"


def mean_and_deviation(rounds: Rounds) -> tuple[float, float]:
    values = list(rounds.values())
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
