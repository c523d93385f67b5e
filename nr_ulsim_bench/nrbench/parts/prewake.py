# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake by what was learnt against waking by the push and against leads tuned by hand: ws-prewake, once
for each environment and scenario."""

import itertools
import random
import statistics
from pathlib import Path
from typing import Callable, Iterator

import numpy as np

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.engine import Item, Part, Plan, Request, Step, asks, shown, words
from nrbench.judge import NO_GOAL, Array, Places, passed_word, resampled
from nrbench.plot import Plot
from nrbench.stats import Line, Results

CAP_PERCENT, SPIN_PRICE = 10, 9
OVERHEAD_S = 0.1  # making the pool, warming up, ending; beside what is measured
# Injected latencies are for workers on CPUs of their own, and of a class that keeps them, if it is allowed:
# the producer's CPU must not sleep with them.
ENVIRONMENTS = {
    "normal": "",
    "realtime": "class=rrall",
    "hog": "hog=1",
    "quota": "quota_percent={quota}",  # 60 % of all CPUs
    "latency0": "dma_latency=0",  # CPUs do not sleep deeply
    "slack1": "slack_ns=1",  # instead of 50 us
    "wake5": "{realtime} pin=1 inject_us=5",
    "wake30": "{realtime} pin=1 inject_us=30",
    "wake100": "{realtime} pin=1 inject_us=100",
    "wake20or80": "{realtime} pin=1 inject_us=20 bimodal=20",  # 80 in one wake of five
}
QUICK_ENVS = ("normal", "realtime", "wake30")
# What the radio does: each slot length, gap and jitter, though not each with each: the full grid takes hours.
SCENARIOS = {  # slot_us:pattern:jitter_us:work
    "steady": "500:U:0:12x6",
    "gap2": "500:DDDDU:5:22x28",
    "gap4.5": "500:DDDDDDDDDU:20:12x6+22x28",
    "slow": "1000:U:50:4x20",
    "recorded": "500:DDDDU:5:v2.3.0_prb106_mcs25_l1.slots",
}
QUICK_SCENARIOS = ("steady", "gap2")
KIND = "regret"  # of lines; older results have others
REGRET_MAX = 1.10
LATE_US_MIN = 10.0
P50_CUT_MIN, P99_CUT_MIN = 0.70, 0.50
OTHERS_MAX, QUIET_ROUNDS_MIN = 0.15, 3  # CPUs in a round; with fewer quiet rounds all are taken
Modes = dict[str, Line]


def scenario_words(name: str, data: Path) -> tuple[str, ...]:
    slot_us, pattern, jitter_us, work = SCENARIOS[name].split(":")
    of_work = f"file={data / work}" if work.endswith(".slots") else f"bursts={work}"
    return *words(slot_us=slot_us, pattern=pattern, jitter_us=jitter_us), of_work


def steps_of(request: Request, realtime: bool = True) -> list[Step]:
    """In an order of chance, so that no environment has the machine's worst minute for itself.

    @param realtime  such threads are allowed"""
    measure_s, warm_s = request.usual(5.8, 4.5), request.usual(1.0, 0.6)
    times = words(measure_ms=f"{measure_s * 1000:.0f}", warm_ms=f"{warm_s * 1000:.0f}")
    cases = request.usual((tuple(ENVIRONMENTS), tuple(SCENARIOS)), (QUICK_ENVS, QUICK_SCENARIOS))
    workers, seconds, found = max(1, request.cores - 1), measure_s + warm_s + OVERHEAD_S, []
    shared = words(workers=workers, cap=CAP_PERCENT, spin_price=SPIN_PRICE, seed=request.seed)
    for env, scenario in itertools.product(*cases):
        of_env = ENVIRONMENTS[env].format(quota=60 * request.cores, realtime="class=rrall" * realtime).split()
        given = (*scenario_words(scenario, request.data), *of_env, *times)
        if realtime or env != "realtime":
            labels = {"bench": "prewake", "kind": KIND, "env": env, "scenario": scenario, "workers": workers}
            found.append(Step(labels, (*given, *shared), seconds, f"{env} {scenario}"))
    return random.Random(request.seed).sample(found, len(found))


def plan(request: Request) -> Plan:
    realtime = host.realtime_allowed() and set(request.classes or CLASSES) != {"other"}
    return Plan(steps_of(request, realtime), asks(request.beside("ws-prewake")), {})


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


def quiet_rounds(line: Line) -> list[int]:
    every = list(range(len(line["round_cost_us"])))
    quiet = [number for number in every if line["round_others"][number] <= OTHERS_MAX]
    return quiet if len(quiet) >= QUIET_ROUNDS_MIN else every


def regret(modes: Modes) -> Iterator[Line]:
    """In a round all modes had the same arrivals and machine. An operator can choose a lead, or none."""
    by_hand = [name for name in modes if name == "off" or name.startswith("fixed:")]
    if not {"auto", "off"} <= modes.keys() or len(by_hand) < 2:
        return
    quiet = quiet_rounds(modes["auto"])
    of_mode = {name: np.array(line["round_cost_us"])[quiet] for name, line in modes.items()}
    costs, auto = np.array([of_mode[name] for name in by_hand]), of_mode["auto"]
    ratio = resampled(len(quiet), lambda rounds: auto[rounds].mean(axis=1) / tuned_cost(costs, rounds))
    best = min(by_hand, key=lambda name: of_mode[name].mean())
    means = {name: of_mode[name].mean() for name in ("auto", "off")} | {"best": of_mode[best].mean()}
    yield {
        "lead": best.removeprefix("fixed:"), "cost": means, "of": ratio, "quiet": len(quiet),
        "tuned": tuned_cost(costs, np.arange(len(quiet))[None])[0],
        "ratio": ratio.text(lambda value: f"{value:.2f}"), "rounds": len(modes["auto"]["round_cost_us"]),
        "word": passed_word(ratio.value <= REGRET_MAX),
    }  # fmt: skip


def late(modes: Modes) -> Iterator[Line]:
    """By how much auto shortens the lateness of off, and for how much CPU time."""
    if not {"auto", "off"} <= modes.keys():
        return
    auto, off = modes["auto"], modes["off"]
    cuts = [1 - auto[f"lateness_{p}_us"] / (off[f"lateness_{p}_us"] or 1) for p in ("p50", "p99")]
    word = passed_word(cuts[0] >= P50_CUT_MIN and cuts[1] >= P99_CUT_MIN)
    took = auto["worker_extra_percent"] - off["worker_extra_percent"]
    yield {
        "auto": auto, "off": off, "percent": [-100 * cut for cut in cuts], "took": took,
        "word": word if off["lateness_p50_us"] > LATE_US_MIN else NO_GOAL,
        "kept": passed_word(took <= CAP_PERCENT), "more": auto["cpu_us"] - off["cpu_us"],
    }  # fmt: skip


PLACE = "env {env}; scenario {scenario}; "
REGRET = f"""Regret: cost of a slot in µs (lateness + CPU time beyond the work / spin_price).
  best: the lead, or off, with the least cost; tuned: chosen in half of the rounds, paid in the other
  ratio: auto / tuned, with its 95 % interval, met up to {REGRET_MAX:g}; rounds: without those in which \
other programs had more than {OTHERS_MAX:g} CPUs"""
OF_REGRET = (
    PLACE + "best {lead}; its cost {cost[best]:.1f}; tuned {tuned:.1f}; auto {cost[auto]:.1f}; "
    "off {cost[off]:.1f}; ratio [95 %] {ratio}; rounds {quiet} of {rounds}; verdict {word}"
)
LATE = f"""Lateness of the first tasks on the other CPUs, in µs.
  met: p50 at least {100 * P50_CUT_MIN:.0f} % and p99 {100 * P99_CUT_MIN:.0f} % shorter with auto than with \
off; no goal: off is late by {LATE_US_MIN:g} µs at most
  took: CPU time of a worker beyond its tasks, auto less off, in % of a core; met: within the cap of \
{CAP_PERCENT} %
  cpu: µs a slot more than off, all threads"""
OF_LATE = (
    PLACE + "slots {auto[slots]}; off p50 {off[lateness_p50_us]:.1f}; auto {auto[lateness_p50_us]:.1f}; "
    "% {percent[0]:+.0f}; off p99 {off[lateness_p99_us]:.1f}; auto {auto[lateness_p99_us]:.1f}; "
    "% {percent[1]:+.0f}; verdict {word}; took {took:.1f}; verdict {kept}; cpu {more:+.1f}"
)
Cases = dict[tuple[str, str], Modes]  # by environment and scenario


def cases(results: Results) -> Cases:
    found = results.only(kind=KIND).by("env", "scenario")
    ordered = sorted(found, key=lambda at: ([*ENVIRONMENTS, at[0]].index(at[0]), at[1]))
    return {case: {line["mode"]: line for line in found[case].lines} for case in ordered}


def rows(every: Cases, figures: Callable[[Modes], Iterator[Line]]) -> list[Line]:
    named = ({"env": env, "scenario": scenario} for env, scenario in every)
    return [labels | row for labels, modes in zip(named, every.values()) for row in figures(modes)]


def report(results: Results) -> Iterator[Item]:
    every, by_env = cases(results), dict[str, list[float]]()
    yield from shown(REGRET, OF_REGRET, rows(every, regret))
    yield from shown(LATE, OF_LATE, rows(every, late))
    for row in rows(every, regret):
        by_env.setdefault(row["env"], []).append(row["of"].value)
    values = sum(by_env.values(), [])
    passed = sum(value <= REGRET_MAX for value in values)
    yield f"\nregret within {REGRET_MAX:g} in {passed} of {len(values)} cases"
    for env, values in by_env.items():
        mean = statistics.geometric_mean(values)
        yield f"  {env:<12} geometric mean {mean:.2f}  {passed_word(mean <= REGRET_MAX)}"


def plots(results: Results) -> Iterator[Plot]:
    """Latency against CPU time: fixed leads are a curve, and auto should lie on it or below."""
    x, y = "CPU time a slot beyond the work, µs", "lateness, mean, µs"
    points = [
        {"environment": env, "scenario": scenario, "mode": mode.partition(":")[0]}
        | {x: line["cpu_us"] - line["work_us"], y: line["lateness_mean_us"]}
        for (env, scenario), modes in cases(results).items()
        for mode, line in modes.items()
    ]
    look = {"hue": "scenario", "style": "mode", "col": "environment", "col_wrap": 4, "s": 60}
    yield Plot("prewake", "Fixed leads, off, and auto", points, "scatter", (x, y), look)


PART = Part("prewake", "this pool with and without", report, "env", plan, plots=plots)
