# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake by what was learnt against waking by the push and against leads tuned by hand: ws-prewake, once
for each environment and scenario."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Callable, Iterator, Sequence

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.driver import there
from nrbench.engine import Item, Part, Plan, Request, Step, asks, shown, words
from nrbench.judge import passed_word as word
from nrbench.parts import prewake_judge as judge
from nrbench.parts.prewake_judge import CaseKey, Cases, Modes
from nrbench.plot import Plot
from nrbench.stats import Line, Results

CAP_PERCENT, SPIN_PRICE = 10, 9
KINDS = ("regret", "steady", "step", "idle", "canary")
OVERHEAD_S = 0.1  # making the pool, warming up, ending; beside what is measured
# What is different about the machine. Injected latencies are for workers on CPUs of their own, and of a class
# that keeps them, if it is allowed: the producer's CPU must not sleep with them.
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
SCENARIO_FORM = "slot_us:pattern:jitter_us:bursts[:key=value]"
SCENARIOS = {
    "steady": "500:U:0:12x6",
    "gap2": "500:DDDDU:5:22x28",
    "gap4.5": "500:DDDDDDDDDU:20:12x6+22x28",
    "slow": "1000:U:50:4x20",
    "recorded": "500:DDDDU:5:v2.3.0_prb106_mcs25_l1.slots",
}
QUICK_SCENARIOS = ("steady", "gap2")
RECORDED_ENVS = ("normal", "realtime")
STEADY_WORK = ("12x6", "4x20", "22x28", "12x6+22x28")
SLOWER_US = 60


def scenario_words(name: str, data: Path) -> tuple[str, ...]:
    """@param name  or all of a scenario, in SCENARIO_FORM"""
    fields = SCENARIOS.get(name, name).split(":")
    if len(fields) < 4 or not (fields[0] + fields[2]).isdigit() or set(fields[1]) - {"U", "D"}:
        raise ValueError(f"scenario {name!r} is none of {', '.join(SCENARIOS)}, nor {SCENARIO_FORM}")
    slot_us, pattern, jitter_us, work, *more = fields
    path = data / work if name in SCENARIOS else work
    of_work = f"file={path}" if work.endswith(".slots") else f"bursts={work}"
    return *words(slot_us=slot_us, pattern=pattern, jitter_us=jitter_us), of_work, *more


def environment_words(name: str, cores: int, realtime: bool) -> list[str]:
    if name not in ENVIRONMENTS:
        raise ValueError(f"environment {name!r} is none of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name].format(quota=60 * cores, realtime="class=rrall" * realtime).split()


def step(
    request: Request,
    kind: str,
    env: str,
    scenario: str,
    given: Sequence[str],
    seconds: float,
    workers: int = 0,
) -> Step:
    labels: Line = {"bench": "prewake", "kind": kind, "env": env, "scenario": scenario}
    labels["workers"] = workers or max(1, request.cores - 1)
    more = words(workers=labels["workers"], cap=CAP_PERCENT, spin_price=SPIN_PRICE, seed=request.seed)
    return Step(labels, (*given, *more), seconds + OVERHEAD_S, f"{kind} {env} {scenario}")


def regret(
    request: Request, envs: Sequence[str], scenarios: Sequence[str], seconds: float | None, realtime: bool
) -> Iterator[Step]:
    """The recorded slots only where nothing is made up, unless they are asked for."""
    measure_s, warm_s = seconds or request.usual(5.8, 4.5), request.usual(1.0, 0.6)
    times = words(measure_ms=f"{measure_s * 1000:.0f}", warm_ms=f"{warm_s * 1000:.0f}")
    wanted = envs or request.usual(tuple(ENVIRONMENTS), QUICK_ENVS)
    of_envs = {env: environment_words(env, request.cores, realtime) for env in wanted}
    for env in (env for env in ENVIRONMENTS if env in of_envs and (realtime or env != "realtime")):
        for scenario in scenarios or request.usual(tuple(SCENARIOS), QUICK_SCENARIOS):
            if scenarios or scenario != "recorded" or env in RECORDED_ENVS:
                given = (*scenario_words(scenario, request.data), *of_envs[env], *times)
                yield step(request, "regret", env, scenario, given, measure_s + warm_s)


def steady(request: Request, classes: Sequence[str]) -> Iterator[Step]:
    """Slots at a steady 500 us, as in the part `slot`, but with what the pool has learnt. A pool that is hot
    spends without a cap. It is measured alone: it leaves no debt to the others."""
    measure_ms, warm_ms = request.usual((800, 500), (400, 300))
    settings = [(c, n, work) for c in classes for n in request.usual((1, 2), (1,)) for work in STEADY_WORK]
    for sched_class, workers, work in settings:
        for modes, part in (("off,auto", 1), ("hot", 4)):
            times = words(measure_ms=measure_ms // part, warm_ms=warm_ms // part, modes=modes)
            given = (f"class={sched_class}", *scenario_words(f"500:U:0:{work}", request.data), *times)
            seconds = 1e-3 * (measure_ms + warm_ms) / part
            yield step(request, "steady", sched_class, work, given, seconds, workers)


def rest(request: Request, classes: Sequence[str]) -> Iterator[Step]:
    """What was learnt becomes wrong: the machine, the radio's phase, its pattern. And a pool at rest."""
    realtime, quiet = "rrall" in classes, scenario_words("500:U:0:12x6", request.data)
    if not request.quick:
        radio = scenario_words("500:DDDDU:5:22x28:next_pattern=DDUDU", request.data)
        times = words(measure_ms=2500, inject_us=SLOWER_US, pin=1)
        given = ("bench=step", *["class=rrall"] * realtime, *radio, *times)
        yield step(request, "step", "pinned", "gap2", given, 2.5 * len(STEP_TEXT))
    for sched_class in classes:
        given = (*words(bench="idle", class_=sched_class, warm_ms=1000), *quiet)
        yield step(request, "idle", sched_class, "12x6", given, 2.2)
    if realtime:
        given = (*words(bench="canary", class_="rrall", warm_ms=500, measure_ms=2000), *quiet)
        yield step(request, "canary", "rrall", "12x6", given, 2.5)


def steps_of(
    request: Request,
    envs: tuple[str, ...] = (),
    scenarios: tuple[str, ...] = (),
    kinds: tuple[str, ...] = KINDS,
    seconds: float | None = None,
    realtime: bool = True,
) -> list[Step]:
    """In an order of chance, so that no environment has the machine's worst minute for itself. Empty or None:
    all, and the usual length.

    @param seconds  of one regret measurement. @param realtime  such threads are allowed"""
    classes = ("other", "rrall") if realtime else ("other",)
    kinds = ("regret",) if envs or scenarios else kinds
    found = [*regret(request, envs, scenarios, seconds, realtime)]
    found += [*steady(request, classes), *rest(request, classes)]
    chosen = [one for one in found if one.labels["kind"] in kinds]
    return random.Random(request.seed).sample(chosen, len(chosen))


def plan(request: Request, program: Path | None = None, **choice: Any) -> Plan:
    """@param choice  parameters of steps_of()"""
    ask = asks(there(program) if program else request.beside("ws-prewake"))
    realtime = host.realtime_allowed() and set(request.classes or CLASSES) != {"other"}
    steps = steps_of(request, **{"realtime": realtime, **choice})

    def twice(step: Step) -> list[Line]:
        """Once more where the program was killed: a host may have stopped the machine."""
        answers = ask(step)
        return ask(step) if "killed" in answers[0].get("error", "") else answers

    return Plan(steps, twice, {}, title=f"{len(steps)} cases")


REGRET = (
    "Regret: cost of a slot in us (lateness + CPU time beyond the work / spin_price).\n"
    "  best: the lead, or off, with the least cost; tuned: chosen in half of the rounds, paid in the other\n"
    "  ratio: auto / tuned, with its 95 % interval; rounds: without those in which other programs had more "
    f"than {judge.OTHERS_MAX:g} CPUs\n  met: ratio up to {judge.REGRET_MAX:g}"
)
LATE = (
    "Lateness of the first tasks on the other CPUs, in us; last: on the last of these CPUs.\n"
    f"  met: p50 at least {100 * judge.P50_CUT_MIN:.0f} % and p99 {100 * judge.P99_CUT_MIN:.0f} % shorter "
    f"with auto than with off; no result: off is late by {judge.LATE_US_MIN:g} us at most\n"
    "  spin: time that a worker looked for work, in % of a core, over all blocks; worst: in its worst block\n"
    "  took: CPU time of a worker beyond its tasks by the kernel's count, auto less off, in % of a core\n"
    f"  met: within the cap of {CAP_PERCENT} %; cpu: us a slot more than off, all threads"
)
CAUSES = "Starts of bursts above their 90th percentile with auto, by cause, as the pool counted them."
STEADY = (
    f"Slots at a steady 500 us: median makespan in us, limit {judge.STEADY_FACTOR:g} x bound + "
    f"{judge.STEADY_SLACK_US:g} us; CPU time / work, limit {judge.STEADY_CPU_MAX:g}"
)
STEPS = (
    "Steps: mean lateness in us in the first tenth of a second and in the second half, and the seconds "
    f"between;\n  met: up to {judge.RECOVERY_S_MAX:g} s, and then up to {judge.LATE_US_MIN:g} us"
)
CAUSE = "late: "  # before the name of a cause in an answer
CAUSES_SHOWN = 4
STEP_TEXT = {
    "start": "a new pool",
    "slower": f"each wake takes {SLOWER_US} us longer",
    "quicker": "wakes take the usual time again",
    "jump": "the grid of slots jumps",
    "pattern": "the pattern of slots changes",
}
Rows = Callable[[CaseKey, Modes], Iterator[dict[str, Any]]]


def _of_kind(cases: Cases, kind: str) -> list[tuple[CaseKey, Modes | str]]:
    order = [*ENVIRONMENTS, "other", "rrall"]

    def place(key: CaseKey) -> tuple[int, int, int, str]:
        position = STEADY_WORK.index(key.scenario) if key.scenario in STEADY_WORK else 0
        return order.index(key.env) if key.env in order else len(order), key.workers, position, key.scenario

    return [(key, cases[key]) for key in sorted(cases, key=place) if key.kind == kind]


def _measured(cases: Cases, kind: str) -> Iterator[tuple[CaseKey, Modes]]:
    yield from ((key, found) for key, found in _of_kind(cases, kind) if not isinstance(found, str))


def _regret(key: CaseKey, modes: Modes) -> Iterator[dict[str, Any]]:
    if found := judge.regret(modes):
        ratio = found.ratio.text(lambda value: f"{value:.2f}")
        yield {"key": key, "of": found, "ratio": ratio, "word": word(found.passed)}


def _late(key: CaseKey, modes: Modes) -> Iterator[dict[str, Any]]:
    late, last = judge.cut(modes, "lateness"), judge.cut(modes, "last_lag")
    if late is None or last is None:
        return
    auto, off = modes["auto"], modes["off"]
    cuts = [-100 * share for share in (late.p50, late.p99, last.p50, last.p99)]
    passed = None if late.passed is None else late.passed and last.passed is not False
    yield {
        "key": key, "auto": auto, "late": late, "cuts": cuts, "word": word(passed),
        "took": auto["worker_extra_percent"] - off["worker_extra_percent"],
        "kept": word(judge.cpu_kept(modes, CAP_PERCENT)), "more": auto["cpu_us"] - off["cpu_us"],
    }  # fmt: skip


def causes(line: Line) -> dict[str, int]:
    """Starts above the 90th percentile by cause, as the pool counted them; the largest first."""
    found = {name.removeprefix(CAUSE): line[name] for name in line if name.startswith(CAUSE)}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _causes(key: CaseKey, modes: Modes) -> Iterator[dict[str, Any]]:
    found = causes(modes.get("auto", {}))
    if late := sum(found.values()):
        shares = (f"{name} {100 * count / late:.0f}%" for name, count in list(found.items())[:CAUSES_SHOWN])
        yield {"key": key, "late": late, "because": ", ".join(shares)}


def _steady(key: CaseKey, modes: Modes) -> Iterator[dict[str, Any]]:
    if {"off", "auto", "hot"} <= modes.keys():
        limit, passed = judge.steady_limit_us(modes["auto"]["bound_us"]), judge.steady_passed(modes["auto"])
        yield {"key": key, "limit": limit, "word": word(passed), **modes}


def _steps(_: CaseKey, modes: Modes) -> Iterator[dict[str, Any]]:
    for step, line in modes.items():
        found = judge.recovery(line)
        yield {"text": STEP_TEXT.get(step, step), "of": found, "word": word(found.passed)}


TABLES: tuple[tuple[str, str, str, Rows], ...] = (  # kind, title, columns, rows
    (
        "regret",
        REGRET,
        "env {key.env}; scenario {key.scenario}; best {of.lead}; its cost {of.best_cost_us:.1f}; "
        "tuned {of.tuned_cost_us:.1f}; auto {of.auto_cost_us:.1f}; off {of.off_cost_us:.1f}; ratio {ratio}; "
        "rounds {of.rounds}/{of.all_rounds}; {word}",
        _regret,
    ),
    (
        "regret",
        LATE,
        "env {key.env}; scenario {key.scenario}; slots {auto[slots]}; off p50 {late.off_p50_us:.1f}; "
        "auto {late.auto_p50_us:.1f}; {cuts[0]:+.0f}%; off p99 {late.off_p99_us:.1f}; "
        "auto {late.auto_p99_us:.1f}; {cuts[1]:+.0f}%; last p50 {cuts[2]:+.0f}%; p99 {cuts[3]:+.0f}%; "
        "{word}; spin {auto[spin_percent]:.1f}; worst {auto[spin_percent_max]:.1f}; took {took:.1f}; {kept}; "
        "cpu {more:+.1f}",
        _late,
    ),
    (
        "regret",
        CAUSES,
        "env {key.env}; scenario {key.scenario}; late {late}; because {because}",
        _causes,
    ),
    (
        "steady",
        STEADY,
        "class {key.env}; workers {key.workers}; work {key.scenario}; bound {auto[bound_us]:.1f}; "
        "limit {limit:.1f}; off {off[makespan_p50_us]:.1f}; auto {auto[makespan_p50_us]:.1f}; "
        "hot {hot[makespan_p50_us]:.1f}; cpu off {off[cpu_per_work]:.2f}; auto {auto[cpu_per_work]:.2f}; "
        "hot {hot[cpu_per_work]:.2f}; {word}",
        _steady,
    ),
    (
        "step",
        STEPS,
        "step {text}; first {of.first_us:.1f}; settled {of.settled_us:.1f}; after s {of.seconds:.1f}; {word}",
        _steps,
    ),
)


def rest_lines(cases: Cases) -> Iterator[str]:
    for key, modes in _measured(cases, "idle"):
        if line := modes.get("auto"):
            yield (
                f"\nidle for a second, class {key.env}: {line['cpu_us']:.0f} us of CPU time, "
                f"{line['ctx_switches']} context switches (limit {judge.IDLE_CPU_US_MAX:g} and 0): "
                f"{word(judge.idle_passed(line))}"
            )
    for key, modes in _measured(cases, "canary"):
        if {"off", "auto"} <= modes.keys():
            shares = (modes[mode]["canary_share"] for mode in ("off", "auto"))
            off, auto = (" ".join(f"{share:.3f}" for share in of_mode) for of_mode in shares)
            passed = word(judge.canary_passed(modes, CAP_PERCENT))
            yield f"a normal thread's share of each CPU, class {key.env}: off {off}, auto {auto}: {passed}"


def summary(cases: Cases) -> Iterator[str]:
    by_env: dict[str, list[float]] = defaultdict(list)
    for key, modes in _measured(cases, "regret"):
        if found := judge.regret(modes):
            by_env[key.env].append(found.ratio.value)
    every = [value for of_env in by_env.values() for value in of_env]
    passed = sum(value <= judge.REGRET_MAX for value in every)
    yield f"\nregret within {judge.REGRET_MAX:g} in {passed} of {len(every)} cases"
    for env, of_env in by_env.items():
        mean = geometric_mean(of_env)
        yield f"  {env:<12} geometric mean {mean:.2f}  {word(mean <= judge.REGRET_MAX)}"


def report(results: Results) -> Iterator[Item]:
    cases = judge.collect(results)
    kinds = {key.kind: None for key in cases}
    for kind, title, columns, rows in (one for one in TABLES if one[0] in kinds):
        every = (row for key, modes in _measured(cases, kind) for row in rows(key, modes))
        yield from shown(title, columns, every)
        if title in (REGRET, STEADY, STEPS):
            found = ((key, reason) for key, reason in _of_kind(cases, kind) if isinstance(reason, str))
            yield from (f"  {key.env}, {key.scenario}: {reason}" for key, reason in found)
    yield from summary(cases) if "regret" in kinds else ()
    yield from rest_lines(cases)


def plots(results: Results) -> Iterator[Plot]:
    """Latency against CPU time: fixed leads are a curve, and auto should lie on it or below."""
    x, y = "CPU time a slot beyond the work, us", "lateness, mean, us"
    points = [
        {"environment": key.env, "scenario": key.scenario, "mode": mode.partition(":")[0]}
        | {x: line["cpu_us"] - line["work_us"], y: line["lateness_mean_us"]}
        for key, modes in _measured(judge.collect(results), "regret")
        for mode, line in modes.items()
    ]
    look = {"hue": "scenario", "style": "mode", "col": "environment", "col_wrap": 4, "s": 60}
    yield Plot("prewake", "Fixed leads, off, and auto", points, "scatter", (x, y), look)


def chosen(**choice: Any) -> Part:
    """The part with some of its cases only. @param choice  further parameters of plan()"""
    return Part("prewake", report, plan=partial(plan, **choice), plots=plots)


PART = chosen()
