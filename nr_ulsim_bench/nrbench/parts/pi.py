# SPDX-License-Identifier: BSD-3-Clause
"""A parallel reduction: this pool floating and pinned, and other libraries. ws-bench in rounds."""

import math
from typing import Iterator, Mapping

import numpy as np

from nrbench.backends import OWN
from nrbench.driver import not_built, there
from nrbench.engine import Item, Part, Plan, Request, Step, Verdict, asks, shown, words
from nrbench.judge import Ratio, Rounds, at_most_word, equal_word, resampled, round_ratio
from nrbench.session import in_rounds
from nrbench.stats import Line, Results

PINNED, PINNED_OFF = "ws-pinned", "ws-pinned-off"
RIVALS = ("onetbb", "openmp-gcc", "openmp-llvm")
TITLES = {
    OWN: "ws_reduce, floating",
    PINNED: "ws_reduce, pinned",
    PINNED_OFF: "the same without the first CPU",
    "onetbb": "oneTBB parallel_reduce",
    "openmp-gcc": "OpenMP reduction, gcc",
    "openmp-llvm": "OpenMP reduction, LLVM",
}
INTERVALS, QUICK_INTERVALS = 20_000_000, 2_000_000
WARM = 2  # reductions before the one that is timed
NS_PER_INTERVAL = 2.0  # about, for the time that the run will take
PROCESS_S = 0.02
NOT_SLOWER = 1.01  # slower by less than that is no loss
EQUAL_MEANS = 1.02
SCALED, SCALED_ROUNDS = (OWN, PINNED, "onetbb"), 7  # over 1 ... all threads
COLUMNS = (
    "time of a reduction, ms{title}; runs{runs}; median{median:.3f}; mean{mean:.3f}; st. dev.{deviation:.3f};"
    " st. dev., %{share:.1f}; floating ÷ this [95 %]{ratio}"
)
SCALING = "threads{threads}; {how}; speed-up{up:.2f}; efficiency, %{share:.0f}"


def plan(request: Request) -> Plan:
    """This pool takes part in any case."""
    program = there(request.program)
    rivals = [name for name in RIVALS if not request.backends or name in request.backends]
    missing = not_built(program, rivals)
    count, intervals = request.round_count(200, 40), request.usual(INTERVALS, QUICK_INTERVALS)
    seconds = PROCESS_S + (WARM + 1) * intervals * NS_PER_INTERVAL * 1e-9 / request.cores
    sizes = words(bench="pi", intervals=intervals, warm=WARM)
    of_how = {name: words(backend=name) for name in (OWN, *rivals) if name not in missing}
    for first, how in enumerate((PINNED, PINNED_OFF)):
        of_how[how] = words(backend=OWN, mode="pinned", pin_first=first)

    def step(bench: str, how: str, threads: int) -> Step:
        given = (*of_how[how], *sizes, *words(workers=threads - 1))
        return Step({"bench": bench, "how": how}, given, seconds * request.cores / threads, how)

    most = [step("pi", how, max(1, request.cores - (how == PINNED_OFF))) for how in of_how]
    scaled = [step("scaled", how, n) for how in SCALED if how in of_how for n in range(1, request.cores + 1)]
    rounds = ((most, count), (scaled, min(count, SCALED_ROUNDS)))
    drawn = (one for each, n in rounds for one in in_rounds(each, n, request.seed, id))
    steps = [step.of_round(number) for number, step in drawn]
    about = {"intervals": intervals, "warm": WARM, "missing": missing, "rounds": count}
    return Plan(steps, asks(program), about)


def scaling(results: Results) -> list[Line]:
    """By the own pool's time on one thread."""
    found = results.only(bench="scaled").by("how", "threads")
    one_ns = found[OWN, 1]["ns"] if (OWN, 1) in found else math.nan
    each = sorted((SCALED.index(how), n, one_ns / at["ns"]) for (how, n), at in found.items() if at.lines)
    return [{"how": TITLES[SCALED[i]], "threads": n, "up": up, "share": 100 * up / n} for i, n, up in each]


def means(of: Rounds, to: Rounds) -> Ratio | None:
    """Ratio of the means."""
    numbers = sorted(of.keys() & to.keys())
    upper, lower = (np.array([rounds[number] for number in numbers]) for rounds in (of, to))
    ratio = lambda at: upper[at].mean(axis=1) / lower[at].mean(axis=1)  # noqa: E731
    return resampled(len(numbers), ratio) if numbers else None


def verdicts(of: Mapping[str, Rounds]) -> Iterator[Verdict]:
    floating, pinned = of.get(OWN, {}), of.get(PINNED, {})
    mean = means(pinned, floating)
    what = f"pinned and floating have equal means, within {100 * (EQUAL_MEANS - 1):.0f} %"
    yield Verdict(equal_word(mean, EQUAL_MEANS), f"{what}: ratio {mean or 'n/a'}")
    for rival in (name for name in RIVALS if name in of):
        found = round_ratio(floating, of[rival])
        what = f"not slower than {rival}: time / its time = {found or 'n/a'}"
        yield Verdict(at_most_word(found, NOT_SLOWER), what)


def report(results: Results) -> Iterator[Item]:
    host, found = results.host, Results(results.only(bench="pi").lines).by("how")
    of = {how: found[how].rounds("ns") for how in TITLES if how in found}
    error = max((line["pi_error"] for line in results.lines), default=0.0)
    yield (
        f"pi by {host['intervals']} intervals, {host['cores']} threads compute; a process a"
        f" run times one reduction after {host['warm']} others; largest error {error:.1g}"
    )
    rows: list[Line] = []
    for how, rounds in of.items():
        ms = np.array([*rounds.values()]) * 1e-6
        mean, deviation = ms.mean(), ms.std(ddof=min(1, len(ms) - 1))
        figures = {"mean": mean, "deviation": deviation, "share": 100 * deviation / mean}
        figures |= {"runs": len(ms), "median": np.median(ms)}
        to_own = round_ratio(of.get(OWN, {}), rounds) if how != OWN else None
        rows.append({"title": TITLES[how], "ratio": to_own or ""} | figures)
    yield from shown("", COLUMNS, rows)
    yield from shown("On one thread and more", SCALING, scaling(results))
    yield from verdicts(of)


PART = Part("pi", "a parallel reduction", report, "how", plan)
