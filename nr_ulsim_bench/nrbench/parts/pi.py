# SPDX-License-Identifier: BSD-3-Clause
"""A parallel reduction: this pool floating and pinned, and other libraries. ws-bench in rounds."""

from __future__ import annotations

import statistics
from typing import Iterator

import numpy as np

from nrbench.backends import OWN
from nrbench.driver import not_built, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, table, words
from nrbench.judge import Array, Ratio, at_most_word, equal_word, resampled, round_ratio
from nrbench.plot import Plot
from nrbench.stats import Results

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
RESAMPLED_MIN = 20  # runs; fewer do not show how the times are distributed
HEAD = ["time of a reduction, ms", "runs", "median", "mean", "st. dev.", "", "floating / this [95 %]"]


def plan(request: Request) -> Plan:
    """This pool takes part in any case."""
    program = there(request.program)
    rivals = [name for name in RIVALS if not request.backends or name in request.backends]
    missing = not_built(program, rivals)
    names = [OWN, PINNED, *(name for name in rivals if name not in missing)]
    count, intervals = request.round_count(200, 40), request.usual(INTERVALS, QUICK_INTERVALS)
    seconds = PROCESS_S + (WARM + 1) * intervals * NS_PER_INTERVAL * 1e-9 / request.cores
    sizes = words(bench="pi", workers=request.cores - 1, intervals=intervals, warm=WARM, limit_s=LIMIT_S)
    of_how = {name: words(backend=name) for name in names}
    of_how[PINNED] = words(backend=OWN, mode="pinned")
    steps = [Step({"bench": "pi", "how": how}, (*of_how[how], *sizes), seconds, how) for how in names]
    about = {"intervals": intervals, "warm": WARM, "missing": missing}
    runs = f"{count} runs of {', '.join(names)}"
    return Plan(steps, asks(program), about, count, title=runs)


def times(results: Results) -> dict[str, dict[int, float]]:
    """ms, by way and round."""
    found = Results(results.lines).by("how")
    return {
        how: {n: ns * 1e-6 for n, ns in found[how].rounds("ns").items()} for how in TITLES if how in found
    }


def ratio(of: dict[int, float], to: dict[int, float], deviation: bool) -> Ratio | None:
    """Of the standard deviations, or the means, of all rounds."""
    numbers = sorted(of.keys() & to.keys())
    if len(numbers) < 2:
        return None
    upper, lower = (np.array([rounds[number] for number in numbers]) for rounds in (of, to))

    def of_rounds(values: Array) -> Array:
        return np.asarray(np.std(values, axis=1, ddof=1) if deviation else np.mean(values, axis=1))

    if len(numbers) < RESAMPLED_MIN:
        return Ratio(float(of_rounds(upper[None])[0] / of_rounds(lower[None])[0]), None)
    return resampled(len(numbers), lambda rounds: of_rounds(upper[rounds]) / of_rounds(lower[rounds]))


def verdicts(of: dict[str, dict[int, float]]) -> Iterator[Verdict]:
    floating, pinned = of.get(OWN, {}), of.get(PINNED, {})
    spread, mean = (ratio(pinned, floating, deviation) for deviation in (True, False))
    percent = f"{100 * (spread.value - 1):+.0f} %, ratio {spread}" if spread else "n/a"
    what = f"pinned deviates less than floating: standard deviation {percent}"
    yield Verdict(at_most_word(spread, 1.0), what)
    what = f"pinned and floating have equal means, within {100 * (EQUAL_MEANS - 1):.0f} %"
    yield Verdict(equal_word(mean, EQUAL_MEANS), f"{what}: ratio {mean or 'n/a'}")
    for rival in (name for name in RIVALS if name in of):
        found = round_ratio(floating, of[rival])
        what = f"not slower than {rival}: time / its time = {found or 'n/a'}"
        yield Verdict(at_most_word(found, NOT_SLOWER), what)


def report(results: Results) -> Iterator[Item]:
    host, of = results.host, times(results)
    error = max((line["pi_error"] for line in results.lines), default=0.0)
    yield (
        f"pi by {host['intervals']} intervals, {results.last('threads', 0)} threads compute; a process a"
        f" run times one reduction after {host['warm']} others; largest error {error:.1g}"
    )
    rows = []
    for how, rounds in of.items():
        values = list(rounds.values())
        mean, deviation = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
        cells = (f"{value:.3f}" for value in (statistics.median(values), mean, deviation))
        found = round_ratio(of.get(OWN, {}), rounds) if how != OWN else None
        share = f"{100 * deviation / mean:.1f} %"
        rows.append([TITLES[how], str(len(values)), *cells, share, str(found or "")])
    yield from table("", HEAD, rows)
    yield from verdicts(of)


def plots(results: Results) -> Iterator[Plot]:
    points = [{"how": TITLES[how], "ms": ms} for how, of in times(results).items() for ms in of.values()]
    yield Plot("pi", "Time of a reduction, all runs", points, "boxen", ("ms", "how"), {"aspect": 2.2})


PART = Part("pi", report, "how", plan, plots=plots)
