# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake by what was learnt against waking by the push and against leads tuned by hand: ws-prewake, once
for each environment and scenario."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Callable, Iterator, NamedTuple

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.driver import there
from nrbench.engine import Item, Part, Plan, Request, Step, asks, table, words
from nrbench.judge import passed_word as word
from nrbench.parts import prewake_judge as judge
from nrbench.parts.prewake_judge import CaseKey, Cases, Modes
from nrbench.plot import Plot
from nrbench.stats import Line, Results

CAP_PERCENT, SPIN_PRICE = 10, 9
KINDS = ("regret", "steady", "step", "idle", "canary")
OVERHEAD_S = 0.1  # making the pool, warming up, ending; beside what is measured
QUICK_ENVS, QUICK_SCENARIOS = ("normal", "realtime", "wake30"), ("steady", "gap2")
RECORDED, RECORDED_ENVS = "v2.3.0_prb106_mcs25_l1.slots", ("normal", "realtime")
STEADY_WORK = ("12x6", "4x20", "22x28", "12x6+22x28")
SLOWER_US = 60


def environments(cores: int, realtime: bool = True) -> dict[str, tuple[str, ...]]:
    """What is different about the machine. Injected latencies are for workers on CPUs of their own, and of a
    class that keeps them: the producer's CPU must not sleep with them."""
    other_machine = (*(("class=rrall",) if realtime else ()), "pin=1")
    return {
        "normal": (),
        "realtime": ("class=rrall",),
        "hog": ("hog=1",),
        "quota": (f"quota_percent={60 * cores}",),
        "latency0": ("dma_latency=0",),  # CPUs do not sleep deeply
        "slack1": ("slack_ns=1",),  # instead of 50 us
        **{f"wake{us}": (*other_machine, f"inject_us={us}") for us in (5, 30, 100)},
        "wake20or80": (*other_machine, "inject_us=20", "bimodal=20"),  # 80 in one wake of five
    }


class Scenario(NamedTuple):
    """What the radio does."""

    name: str
    slot_us: int
    pattern: str
    jitter_us: int
    work: str  # bursts such as "12x6+22x28", or a file of recorded slots
    extra: tuple[str, ...] = ()  # further words, such as drift_ppm=50

    def words(self) -> tuple[str, ...]:
        work = {"file" if self.work.endswith(".slots") else "bursts": self.work}
        timing = words(slot_us=self.slot_us, pattern=self.pattern, jitter_us=self.jitter_us, **work)
        return (*timing, *self.extra)


def scenarios(data: Path) -> dict[str, Scenario]:
    """Each slot length, gap and jitter, though not each with each: the full grid takes hours."""
    every = (
        Scenario("steady", 500, "U", 0, "12x6"),
        Scenario("gap2", 500, "DDDDU", 5, "22x28"),
        Scenario("gap4.5", 500, "DDDDDDDDDU", 20, "12x6+22x28"),
        Scenario("slow", 1000, "U", 50, "4x20"),
        Scenario("recorded", 500, "DDDDU", 5, str(data / RECORDED)),
    )
    return {scenario.name: scenario for scenario in every}


def parse_scenario(text: str, data: Path) -> Scenario:
    """A name, or slot_us:pattern:jitter_us:bursts and perhaps more words, each after a colon."""
    known, parts = scenarios(data), text.split(":")
    if text in known:
        return known[text]
    if len(parts) >= 4 and parts[0].isdigit() and parts[2].isdigit() and set(parts[1]) <= {"U", "D"}:
        return Scenario(text, int(parts[0]), parts[1], int(parts[2]), parts[3], tuple(parts[4:]))
    form = "slot_us:pattern:jitter_us:bursts[:key=value]"
    raise ValueError(f"scenario {text!r} is none of {', '.join(known)}, nor {form}")


@dataclass(frozen=True)
class Planner:
    """Of steps that are made of these options. Empty or None: all of them, and the usual length."""

    request: Request
    envs: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    seconds: float | None = None  # of one regret measurement
    realtime: bool = field(default_factory=host.realtime_allowed)

    @property
    def workers(self) -> int:
        return max(1, self.request.cores - 1)

    @property
    def classes(self) -> tuple[str, ...]:
        return ("other", "rrall") if self.realtime else ("other",)

    def step(
        self, kind: str, env: str, scenario: str, given: tuple[str, ...], seconds: float, workers: int = 0
    ) -> Step:
        labels: Line = {"bench": "prewake", "kind": kind, "env": env, "scenario": scenario}
        labels["workers"] = workers or self.workers
        more = words(
            workers=labels["workers"], cap=CAP_PERCENT, spin_price=SPIN_PRICE, seed=self.request.seed
        )
        return Step(labels, (*given, *more), seconds + OVERHEAD_S, f"{kind} {env} {scenario}")

    def environments(self) -> dict[str, tuple[str, ...]]:
        known = environments(self.request.cores, self.realtime)
        wanted = self.envs or self.request.usual(tuple(known), QUICK_ENVS)
        for name in wanted:
            if name not in known:
                raise ValueError(f"environment {name!r} is none of {', '.join(known)}")
        there = (name for name in known if name in wanted and (self.realtime or name != "realtime"))
        return {name: known[name] for name in there}

    def regret(self) -> Iterator[Step]:
        data = self.request.data
        names = self.scenarios or self.request.usual(tuple(scenarios(data)), QUICK_SCENARIOS)
        measure_s, warm_s = self.seconds or self.request.usual(5.8, 4.5), self.request.usual(1.0, 0.6)
        times = (f"measure_ms={measure_s * 1000:.0f}", f"warm_ms={warm_s * 1000:.0f}")
        for env, of_env in self.environments().items():
            for scenario in (parse_scenario(name, data) for name in names):
                if scenario.name == "recorded" and not self.scenarios and env not in RECORDED_ENVS:
                    continue
                given = (*scenario.words(), *of_env, *times)
                yield self.step("regret", env, scenario.name, given, measure_s + warm_s)

    def steady(self) -> Iterator[Step]:
        """Slots at a steady 500 us, as in the part `slot`, but with what the pool has learnt.

        A pool that is hot spends without a cap. It is measured alone: it leaves no debt to the others.
        """
        measure_s, warm_s = self.request.usual((0.8, 0.5), (0.4, 0.3))
        settings = [(c, n) for c in self.classes for n in self.request.usual((1, 2), (1,))]
        for (sched_class, workers), work in ((s, work) for s in settings for work in STEADY_WORK):
            for modes, share in (("off,auto", 1000), ("hot", 250)):
                times = (
                    f"measure_ms={share * measure_s:.0f}",
                    f"warm_ms={share * warm_s:.0f}",
                    f"modes={modes}",
                )
                given = (f"class={sched_class}", *Scenario("", 500, "U", 0, work).words(), *times)
                seconds = 1e-3 * share * (measure_s + warm_s)
                yield self.step("steady", sched_class, work, given, seconds, workers)

    def steps(self) -> Iterator[Step]:
        """What was learnt becomes wrong: the machine, the radio's phase, its pattern."""
        each_s, sched_class = 2.5, ("class=rrall",) if self.realtime else ()
        scenario = Scenario("", 500, "DDDDU", 5, "22x28", ("next_pattern=DDUDU",))
        times = words(measure_ms=int(1000 * each_s), inject_us=SLOWER_US, pin=1)
        given = ("bench=step", *sched_class, *scenario.words(), *times)
        if not self.request.quick:
            yield self.step("step", "pinned", "gap2", given, len(STEP_TEXT) * each_s)

    def rest(self) -> Iterator[Step]:
        head = Scenario("", 500, "U", 0, "12x6").words()
        for sched_class in self.classes:
            given = words(bench="idle", class_=sched_class, warm_ms=1000)
            yield self.step("idle", sched_class, "12x6", (*given, *head), 2.2)
        if self.realtime:
            given = words(bench="canary", class_="rrall", warm_ms=500, measure_ms=2000)
            yield self.step("canary", "rrall", "12x6", (*given, *head), 2.5)

    def all(self) -> list[Step]:
        """In an order of chance, so that no environment has the machine's worst minute for itself."""
        kinds = ("regret",) if self.envs or self.scenarios else self.kinds
        every = [*self.regret(), *self.steady(), *self.steps(), *self.rest()]
        chosen = [step for step in every if step.labels["kind"] in kinds]
        return random.Random(self.request.seed).sample(chosen, len(chosen))


def plan(request: Request, program: Path | None = None, **choice: Any) -> Plan:
    """@param choice  fields of Planner"""
    ask = asks(there(program) if program else request.beside("ws-prewake"))
    realtime = host.realtime_allowed() and set(request.classes or CLASSES) != {"other"}
    steps = Planner(request, **{"realtime": realtime, **choice}).all()

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
Row = list[str]
Rows = Callable[[CaseKey, Modes], Iterator[Row]]


def _of_kind(cases: Cases, kind: str) -> list[tuple[CaseKey, Modes | str]]:
    order = [*environments(1), "other", "rrall"]

    def place(key: CaseKey) -> tuple[int, int, int, str]:
        position = STEADY_WORK.index(key.scenario) if key.scenario in STEADY_WORK else 0
        return order.index(key.env) if key.env in order else len(order), key.workers, position, key.scenario

    return [(key, cases[key]) for key in sorted(cases, key=place) if key.kind == kind]


def _measured(cases: Cases, kind: str) -> Iterator[tuple[CaseKey, Modes]]:
    yield from ((key, found) for key, found in _of_kind(cases, kind) if not isinstance(found, str))


def _regret_row(key: CaseKey, modes: Modes) -> Iterator[Row]:
    if found := judge.regret(modes):
        costs = (found.best_cost_us, found.tuned_cost_us, found.auto_cost_us, found.off_cost_us)
        texts = [f"{cost:.1f}" for cost in costs]
        ratio = [found.ratio.text(lambda value: f"{value:.2f}"), f"{found.rounds}/{found.all_rounds}"]
        yield [key.env, key.scenario, found.best.removeprefix("fixed:"), *texts, *ratio, word(found.passed)]


def _late_row(key: CaseKey, modes: Modes) -> Iterator[Row]:
    late, last = judge.cut(modes, "lateness"), judge.cut(modes, "last_lag")
    if late is None or last is None:
        return
    auto, off = modes["auto"], modes["off"]
    p50, *others = (f"{-100 * share:+.0f}%" for share in (late.p50, late.p99, last.p50, last.p99))
    extra = auto["worker_extra_percent"] - off["worker_extra_percent"]
    times = [f"{us:.1f}" for us in late]
    spins = (f"{percent:.1f}" for percent in (auto["spin_percent"], auto["spin_percent_max"], extra))
    passed = word(None if late.passed is None else late.passed and last.passed is not False)
    kept, more = word(judge.cpu_kept(modes, CAP_PERCENT)), f"{auto['cpu_us'] - off['cpu_us']:+.1f}"
    head = [key.env, key.scenario, f"{auto['slots']}"]
    yield [*head, *times[:2], p50, *times[2:], *others, passed, *spins, kept, more]


def causes(line: Line) -> dict[str, int]:
    """Starts above the 90th percentile by cause, as the pool counted them; the largest first."""
    found = {name.removeprefix(CAUSE): line[name] for name in line if name.startswith(CAUSE)}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _cause_row(key: CaseKey, modes: Modes) -> Iterator[Row]:
    found = causes(modes.get("auto", {}))
    if late := sum(found.values()):
        shares = (f"{name} {100 * count / late:.0f}%" for name, count in list(found.items())[:CAUSES_SHOWN])
        yield [key.env, key.scenario, f"{late}", ", ".join(shares)]


def _steady_row(key: CaseKey, modes: Modes) -> Iterator[Row]:
    if {"off", "auto", "hot"} <= modes.keys():
        auto, every = modes["auto"], [modes[name] for name in ("off", "auto", "hot")]
        bounds = (auto["bound_us"], judge.steady_limit_us(auto["bound_us"]))
        times = (f"{us:.1f}" for us in (*bounds, *(mode["makespan_p50_us"] for mode in every)))
        shares = (f"{mode['cpu_per_work']:.2f}" for mode in every)
        passed = word(judge.steady_passed(auto))
        yield [key.env, f"{key.workers}", key.scenario, *times, *shares, passed]


def _step_rows(_: CaseKey, modes: Modes) -> Iterator[Row]:
    for step, line in modes.items():
        found = judge.recovery(line)
        yield [STEP_TEXT.get(step, step), *(f"{value:.1f}" for value in found), word(found.passed)]


TABLES: tuple[tuple[str, str, str, Rows], ...] = (  # kind, title, heads, rows
    ("regret", REGRET, "env scenario best its_cost tuned auto off ratio rounds _", _regret_row),
    (
        "regret",
        LATE,
        "env scenario slots off_p50 auto _ off_p99 auto _ last_p50 p99 _ spin worst took _ cpu",
        _late_row,
    ),
    ("regret", CAUSES, "env scenario late because", _cause_row),
    ("steady", STEADY, "class workers work bound limit off auto hot cpu_off auto hot _", _steady_row),
    ("step", STEPS, "step first settled after_s _", _step_rows),
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
    for kind, title, heads, rows in (one for one in TABLES if one[0] in kinds):
        head = [name.replace("_", " ").strip() for name in heads.split()]
        yield from table(
            title, head, (row for key, modes in _measured(cases, kind) for row in rows(key, modes))
        )
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
