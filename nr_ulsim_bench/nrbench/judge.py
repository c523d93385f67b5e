# SPDX-License-Identifier: BSD-3-Clause
"""What figures allow to claim: confidence intervals of medians and of ratios of medians, by resampling, and
the words for them. The resampling is seeded: the same figures always have the same interval.

A ratio of times is faster or slower if its whole interval lies on that side of 1; same if it lies within 3 %
of 1; else not known. A limit is met if the whole interval keeps it, missed if no part of it does.

The intervals are percentiles of 5000 resampled medians. Plain percentiles are too narrow for few values (at
7 they hold 88 % instead of 95 %), so they are taken further out by the usual correction: the level that
Student's t has, widened by sqrt(n / (n - 1)) ("expanded percentiles"). At 5 values the interval goes from the
smallest to the largest, which holds 94 %.
"""

import math
import statistics
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 5000
N_MIN = 5
ROUNDS_MIN = 6  # of over_rounds(): 5 hold 94 %
SEED = 1

Array = NDArray[np.float64]
Values = Sequence[float] | Array
FASTER, SLOWER, SAME, UNKNOWN = "faster", "slower", "same", "not known"  # of a ratio of times
LESS, MORE = "less", "more"  # the same of a cost, such as CPU time
MET, MISSED = "met", "missed"  # a limit; or UNKNOWN
NONE, NO_GOAL = "no result", "no goal"
INTERVAL = "95 % interval"
LATE = 1.25  # times the median of its kind: longer is late where there is no deadline
EQUAL = 1.03  # the ratio up to which two times count as the same


class Interval(NamedTuple):
    low: float
    high: float


def student_quantile(probability: float, degrees: int) -> float:
    """Of Student's distribution with at least 4 degrees of freedom, to three digits."""
    z = NormalDist().inv_cdf(probability)
    terms = [(z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96]
    terms.append((3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return z + math.fsum(term / float(degrees) ** power for power, term in enumerate(terms, start=1))


def tail(count: int) -> float:
    """Share of the resampled medians that is cut off at either end."""
    t = student_quantile((1 + CONFIDENCE) / 2, count - 1)
    return NormalDist().cdf(-t * math.sqrt(count / (count - 1)))


@lru_cache(maxsize=16)
def picks(count: int, seed: int, resamples: int = RESAMPLES) -> NDArray[np.intp]:
    """The places that each resample takes."""
    return np.random.default_rng((seed, count)).integers(0, count, (resamples, count))


def interval_of(statistics: Array, count: int) -> Interval | None:
    """@param statistics  of the resamples. @param count  of values. @return None: too few values"""
    if count < N_MIN:
        return None
    cut = tail(count)
    return Interval(*map(float, np.quantile(statistics, [cut, 1 - cut])))


def median_interval(values: Values) -> Interval | None:
    """None: too few values."""
    array = np.asarray(values, dtype=np.float64)
    return resampled(len(array), lambda rounds: np.median(array[rounds], axis=1)).interval


def judge(interval: Interval | None, threshold: float = 0.0) -> str:
    """Of a ratio new/old of times. Faster or slower if the whole interval lies on that side of 1, by more
    than the threshold: 0.02 asks for an interval above 1.02 or below 1/1.02. Same if it lies within EQUAL, or
    within the threshold where that is more. Not known: neither, or too few repeats."""
    limit = 1 + threshold
    equal = max(EQUAL, limit)
    if interval is None:
        return UNKNOWN
    if interval.high < 1 / limit:
        return FASTER
    if interval.low > limit:
        return SLOWER
    return SAME if 1 / equal <= interval.low and interval.high <= equal else UNKNOWN


def of_cost(word: str) -> str:
    """CPU time is not faster or slower, but less or more."""
    return {FASTER: LESS, SLOWER: MORE}.get(word, word)


def is_good(word: str) -> bool | None:
    """None: neither good nor bad."""
    return True if word in (FASTER, LESS, MET) else False if word in (SLOWER, MORE, MISSED) else None


Rounds = Mapping[int, float]  # value by round


class Ratio(NamedTuple):
    value: float
    interval: Interval | None  # 95 %; None = too few rounds

    def __str__(self) -> str:
        return self.text(lambda value: f"{value:.3f}")

    def text(self, form: Callable[[float], str]) -> str:
        value, *limits = map(form, (self.value, *(self.interval or ())))
        return f"{value} [{', '.join(limits)}]" if limits else value

    def percent(self, digits: int) -> str:
        """By how much it is above 1."""
        return self.text(lambda value: f"{100 * (value - 1):+.{digits}f}")


def typical(values: Sequence[float]) -> Ratio | None:
    """The median of ratios, or of differences, and its interval. None: there are no values."""
    return Ratio(statistics.median(values), median_interval(values)) if values else None


def over_rounds(
    ratios: Iterable[tuple[int, float]], of_round: Callable[[list[float]], float] = statistics.median
) -> Ratio | None:
    """The median over the rounds of the median in a round, or of another mean. Whole rounds are drawn anew:
    what disturbs a round disturbs all that is measured in it. Only rounds that have all of it count.

    @param ratios  rounds, and a ratio of something measured in it
    """
    of: dict[int, list[float]] = {}
    for number, ratio in ratios:
        of.setdefault(number, []).append(ratio)
    whole = max(map(len, of.values()), default=0)
    medians = [of_round(found) for found in of.values() if len(found) == whole]
    found = typical(medians)
    return found._replace(interval=None) if found and len(medians) < ROUNDS_MIN else found


def late(times: Values, deadline: float | None = None) -> tuple[float, int]:
    """Of slots or bursts of one kind (docs/glossary.md). @return the limit, and how many are longer"""
    usual = np.quantile(times, 0.5, method="inverted_cdf") if len(times) else 0.0
    limit = float(deadline or LATE * usual)
    return limit, int(np.sum(np.asarray(times) > limit))


def median(rounds: Rounds) -> float | None:
    return statistics.median(rounds.values()) if rounds else None


def round_ratio(of: Rounds, to: Rounds) -> Ratio | None:
    """Median over the rounds of the ratio in a round. None: no round has both. A round in which the divisor
    is 0, because nothing was done in its time, has no ratio."""
    return typical([of[number] / to[number] for number in sorted(of.keys() & to.keys()) if to[number] != 0])


def passed_word(passed: bool | None) -> str:
    return NONE if passed is None else MET if passed else MISSED


def _within_word(ratio: Ratio | None, low: float, high: float) -> str:
    if ratio is None:
        return NONE
    interval = ratio.interval
    if interval is None:
        return UNKNOWN
    if low <= interval.low and interval.high <= high:
        return MET
    return MISSED if interval.high < low or interval.low > high else UNKNOWN


def equal_word(ratio: Ratio | None, most: float) -> str:
    """@param most  the ratio up to which two values count as equal"""
    return _within_word(ratio, 1 / most, most)


def at_least_word(ratio: Ratio | None, limit: float) -> str:
    return _within_word(ratio, limit, math.inf)


def at_most_word(ratio: Ratio | None, limit: float) -> str:
    return _within_word(ratio, -math.inf, limit)


Places = NDArray[Any]  # of rounds


def resampled(count: int, figure: Callable[[Places], Array]) -> Ratio:
    """Of any figure of rounds, drawn anew where there are enough.

    @param figure  of the places of rounds, a row a draw"""
    value = float(figure(np.arange(count)[None])[0])
    return Ratio(value, interval_of(figure(picks(count, SEED)), count) if count >= N_MIN else None)
