# SPDX-License-Identifier: BSD-3-Clause
"""A parallel reduction: this pool floating and pinned, and other libraries. ws-bench in rounds."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from nrbench.backends import BACKENDS, OWN
from nrbench.driver import there
from nrbench.engine import Part, Plan, Request, Step, asks, words
from nrbench.judge import RESAMPLES, SEED, Interval, Ratio, Rounds, at_most_word, equal_word, round_ratio
from nrbench.render import ending, host_line, layout
from nrbench.session import in_rounds
from nrbench.stats import Results
from nrbench.variance import f_test, welch_test

PINNED = "ws-pinned"
RIVALS = ("onetbb", "openmp-gcc", "openmp-llvm")
TITLES = {
    OWN: "ws_reduce, floating",
    PINNED: "ws_reduce, pinned by an observer",
    "onetbb": "oneTBB parallel_reduce",
    "openmp-gcc": "OpenMP reduction, gcc",
    "openmp-llvm": "OpenMP reduction, LLVM",
}
INTERVALS, QUICK_INTERVALS = 20_000_000, 2_000_000
WARM = 2  # reductions before the one that is timed
NS_PER_INTERVAL = 2.0  # about, for the time that the run will take
PROCESS_S = 0.02
LIMIT_S = 60
NOT_SLOWER = 1.01  # slower by less than that is no loss
EQUAL_MEANS = 1.02
SIGNIFICANT = 0.05
RESAMPLED_MIN = 20  # runs; fewer do not show how the times are distributed

Array = NDArray[np.float64]


def library_words(how: str) -> tuple[str, ...]:
    return words(backend=OWN, mode="pinned") if how == PINNED else words(backend=how)


def plan(request: Request) -> Plan:
    """This pool takes part in any case."""
    program = there(request.program)
    install = {backend.name: f"not built; get it: {backend.install}" for backend in BACKENDS}
    rivals = [name for name in RIVALS if not request.backends or name in request.backends]
    missing = {
        name: install[name] for name in rivals if not program.with_name(f"libbench_{name}.so").is_file()
    }
    names = [OWN, PINNED, *(name for name in rivals if name not in missing)]
    count, intervals = request.round_count(200, 40), request.usual(INTERVALS, QUICK_INTERVALS)
    seconds = PROCESS_S + (WARM + 1) * intervals * NS_PER_INTERVAL * 1e-9 / request.cores
    sizes = words(bench="pi", workers=request.cores - 1, intervals=intervals, warm=WARM, limit_s=LIMIT_S)
    steps = [
        Step({"bench": "pi", "how": how, "round": number}, (*library_words(how), *sizes), seconds, how)
        for number, how in in_rounds(names, count, request.seed)
    ]
    about = {"rounds": count, "intervals": intervals, "warm": WARM, "missing": missing}
    return Plan(steps, asks(program), about, f"{count} runs of {', '.join(names)}")


def ms(results: Results, how: str) -> Rounds:
    return {number: ns * 1e-6 for number, ns in results.rounds("ns", how=how).items()}


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
        return f"no result  {what}: n/a"
    word = at_most_word(ratio, 1.0) if test.p < SIGNIFICANT else "not known"
    percent = f"{100 * (ratio.value - 1):+.0f} %"
    claim = "no claim" if word == "not known" else "significant"
    return f"{word}  {what} {percent}, ratio {ratio}, F = {test.value:.2f}, p = {test.p:.2g}: {claim}"


def mean_verdict(floating: Rounds, pinned: Rounds) -> str:
    test = welch_test(list(floating.values()), list(pinned.values()))
    ratio = resampled_ratio(pinned, floating, _mean)
    what = f"pinned and floating have equal means, within {100 * (EQUAL_MEANS - 1):.0f} %"
    if test is None or ratio is None:
        return f"no result  {what}: n/a"
    return f"{equal_word(ratio, EQUAL_MEANS)}  {what}: ratio {ratio}, t = {test.value:.2f}, p = {test.p:.2g}"


def verdicts(results: Results) -> Iterator[str]:
    floating, pinned = ms(results, OWN), ms(results, PINNED)
    yield deviation_verdict(floating, pinned)
    yield mean_verdict(floating, pinned)
    for rival in (name for name in RIVALS if ms(results, name)):
        ratio = round_ratio(floating, ms(results, rival))
        word = at_most_word(ratio, NOT_SLOWER)
        yield f"{word}  not slower than {rival}: time / its time = {ratio or 'n/a'}"


def mean_and_deviation(rounds: Rounds) -> tuple[float, float]:
    values = list(rounds.values())
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _row(results: Results, how: str) -> list[str]:
    times = ms(results, how)
    mean, deviation = mean_and_deviation(times)
    cells = (f"{value:.3f}" for value in (statistics.median(times.values()), mean, deviation))
    ratio = round_ratio(ms(results, OWN), times) if how != OWN else None
    return [TITLES[how], str(len(times)), *cells, f"{100 * deviation / mean:.1f} %", str(ratio or "")]


def report(results: Results) -> Iterator[str]:
    host = results.host
    yield host_line(host)
    error = max((line["pi_error"] for line in results.lines), default=0.0)
    yield (
        f"pi by {host['intervals']} intervals, {results.last('threads', 0)} threads compute; a process a"
        f" run times one reduction after {host['warm']} others; largest error {error:.1g}"
    )
    rows = [_row(results, how) for how in TITLES if ms(results, how)]
    if rows:
        head = ["time of a reduction, ms", "runs", "median", "mean", "st. dev.", "", "floating / this [95 %]"]
        yield from ["", *layout([head, *rows])]
    yield from ending(results, verdicts(results), "how")


def draw(results: Results, out: Path) -> Iterator[str]:
    """The times of all runs as box plots, each with its mean and standard deviation."""
    from nrbench.drawing import plt, save  # loads for a second

    times = {how: ms(results, how) for how in TITLES if ms(results, how)}
    if not times:
        return
    figure, axis = plt.subplots(figsize=(1 + 1.7 * len(times), 5), layout="constrained")
    places = list(range(len(times)))
    values = [list(rounds.values()) for rounds in times.values()]
    axis.boxplot(values, positions=places, widths=0.4, flierprops={"markersize": 3})
    look: Any = {"fmt": "o", "color": "#d62728", "capsize": 3, "markersize": 4}
    for place, rounds in zip(places, times.values()):
        mean, deviation = mean_and_deviation(rounds)
        axis.errorbar(place + 0.3, mean, yerr=deviation, **look)
    axis.set_xticks(places, [TITLES[how].replace(" ", "\n", 1).replace(", ", ",\n") for how in times])
    axis.set_xlim(-0.5, len(times) - 0.3)
    axis.set_ylabel("time of a reduction, ms; red: mean and standard deviation")
    axis.grid(axis="y", alpha=0.3)
    yield save(figure, out / "pi.png", dpi=130)


PART = Part("pi", report, plan, draw=draw)
