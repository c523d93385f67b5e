# SPDX-License-Identifier: BSD-3-Clause
"""Which environments and scenarios are measured, and for how long."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.prewake.judge import CaseKey

CAP_PERCENT, SPIN_PRICE = 10, 9
KINDS = ("regret", "steady", "step", "idle", "canary")
# Making the pool, warming up, ending; beside what is measured.
OVERHEAD_S = 0.1


class Environment(NamedTuple):
    """What is different about the machine."""

    name: str
    words: tuple[str, ...]


class Scenario(NamedTuple):
    """What the radio does."""

    name: str
    slot_us: int
    pattern: str
    jitter_us: int
    work: str  # bursts such as "12x6+22x28", or a file of recorded slots
    extra: tuple[str, ...] = ()  # further words, such as drift_ppm=50

    def words(self) -> tuple[str, ...]:
        work = f"file={self.work}" if self.work.endswith(".slots") else f"bursts={self.work}"
        timing = f"slot_us={self.slot_us}", f"pattern={self.pattern}", f"jitter_us={self.jitter_us}"
        return *timing, work, *self.extra


class Case(NamedTuple):
    """One call of ws-prewake."""

    kind: str  # of KINDS
    env: str
    scenario: str
    workers: int
    words: tuple[str, ...]
    seconds: float

    def labels(self) -> dict[str, object]:
        return {"bench": "prewake", **{name: getattr(self, name) for name in CaseKey._fields}}


@dataclass(frozen=True)
class Options:
    cores: int
    data: Path
    quick: bool = False
    envs: tuple[str, ...] = ()  # empty = all
    scenarios: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    seconds: float | None = None  # of one regret measurement
    realtime: bool = True  # permitted
    seed: int = 1


def environments(cores: int, realtime: bool = True) -> list[Environment]:
    """Injected latencies are for workers on CPUs of their own, and of a class that keeps them:
    the producer's CPU must not sleep with them."""
    other_machine = (*(("class=rrall",) if realtime else ()), "pin=1")
    return [
        Environment("normal", ()),
        Environment("realtime", ("class=rrall",)),
        Environment("hog", ("hog=1",)),
        Environment("quota", (f"quota_percent={60 * cores}",)),
        Environment("latency0", ("dma_latency=0",)),  # CPUs do not sleep deeply
        Environment("slack1", ("slack_ns=1",)),  # instead of 50 us
        *(Environment(f"wake{us}", (*other_machine, f"inject_us={us}")) for us in (5, 30, 100)),
        Environment("wake20or80", (*other_machine, "inject_us=20", "bimodal=20")),  # 80 in one wake of five
    ]


QUICK_ENVS = ("normal", "realtime", "wake30")
QUICK_SCENARIOS = ("steady", "gap2")
RECORDED = "v2.3.0_prb106_mcs25_l1.slots"
RECORDED_ENVS = ("normal", "realtime")


def scenarios(data: Path) -> list[Scenario]:
    """Each slot length, gap and jitter, though not each with each: the full grid takes hours."""
    return [
        Scenario("steady", 500, "U", 0, "12x6"),
        Scenario("gap2", 500, "DDDDU", 5, "22x28"),
        Scenario("gap4.5", 500, "DDDDDDDDDU", 20, "12x6+22x28"),
        Scenario("slow", 1000, "U", 50, "4x20"),
        Scenario("recorded", 500, "DDDDU", 5, str(data / RECORDED)),
    ]


def parse_scenario(text: str, data: Path) -> Scenario:
    """A name, or slot_us:pattern:jitter_us:bursts and perhaps more words, each after a colon."""
    for scenario in scenarios(data):
        if scenario.name == text:
            return scenario
    parts = text.split(":")
    if len(parts) >= 4 and parts[0].isdigit() and parts[2].isdigit() and set(parts[1]) <= {"U", "D"}:
        return Scenario(text, int(parts[0]), parts[1], int(parts[2]), parts[3], tuple(parts[4:]))
    names = ", ".join(scenario.name for scenario in scenarios(data))
    form = "slot_us:pattern:jitter_us:bursts[:key=value]"
    raise ValueError(f"scenario {text!r} is none of {names}, nor {form}")


def chosen_environments(options: Options) -> list[Environment]:
    known = environments(options.cores, options.realtime)
    wanted = options.envs or (QUICK_ENVS if options.quick else tuple(env.name for env in known))
    for name in wanted:
        if name not in {env.name for env in known}:
            raise ValueError(f"environment {name!r} is none of {', '.join(env.name for env in known)}")
    return [env for env in known if env.name in wanted and (options.realtime or env.name != "realtime")]


def regret_cases(options: Options) -> Iterator[Case]:
    names = options.scenarios or (
        QUICK_SCENARIOS if options.quick else tuple(s.name for s in scenarios(options.data))
    )
    measure_s = options.seconds or (4.5 if options.quick else 5.8)
    warm_s = 0.6 if options.quick else 1.0
    workers = max(1, options.cores - 1)
    times = (f"measure_ms={measure_s * 1000:.0f}", f"warm_ms={warm_s * 1000:.0f}")
    for env in chosen_environments(options):
        for scenario in (parse_scenario(name, options.data) for name in names):
            if scenario.name == "recorded" and not options.scenarios and env.name not in RECORDED_ENVS:
                continue
            words = (*scenario.words(), *env.words, *times, f"workers={workers}", *_policy(options))
            yield Case("regret", env.name, scenario.name, workers, words, measure_s + warm_s + OVERHEAD_S)


def _policy(options: Options) -> tuple[str, ...]:
    return f"cap={CAP_PERCENT}", f"spin_price={SPIN_PRICE}", f"seed={options.seed}"


STEADY_WORK = ("12x6", "4x20", "22x28", "12x6+22x28")


def steady_cases(options: Options) -> Iterator[Case]:
    """Slots at a steady 500 us, as in the part `slot`, but with what the pool has learnt.

    A pool that is hot spends without a cap; it is measured alone, so that it leaves no debt to the others.
    """
    measure_s, warm_s = (0.4, 0.3) if options.quick else (0.8, 0.5)
    for sched_class in ("other", "rrall") if options.realtime else ("other",):
        for workers in (1,) if options.quick else (1, 2):
            for work in STEADY_WORK:
                scenario = Scenario("", 500, "U", 0, work)
                head = (f"class={sched_class}", f"workers={workers}", *scenario.words(), *_policy(options))
                for modes, share in (("off,auto", 1.0), ("hot", 0.25)):
                    times_ms = [1000 * share * length_s for length_s in (measure_s, warm_s)]
                    words = (*head, f"measure_ms={times_ms[0]:.0f}", f"warm_ms={times_ms[1]:.0f}")
                    seconds = 1e-3 * sum(times_ms) + OVERHEAD_S
                    yield Case("steady", sched_class, work, workers, (*words, f"modes={modes}"), seconds)


STEPS = ("start", "slower", "quicker", "jump", "pattern")
SLOWER_US = 60


def step_cases(options: Options) -> Iterator[Case]:
    """What was learnt becomes wrong: the machine, the radio's phase, its pattern."""
    if options.quick:
        return
    each_s, workers = 2.5, max(1, options.cores - 1)
    sched_class = ("class=rrall",) if options.realtime else ()
    scenario = Scenario("", 500, "DDDDU", 5, "22x28", ("next_pattern=DDUDU",))
    times = (f"measure_ms={each_s * 1000:.0f}", f"inject_us={SLOWER_US}", "pin=1", f"workers={workers}")
    words = ("bench=step", *sched_class, *scenario.words(), *times, *_policy(options))
    yield Case("step", "pinned", "gap2", workers, words, len(STEPS) * each_s + OVERHEAD_S)


def rest_cases(options: Options) -> Iterator[Case]:
    workers = max(1, options.cores - 1)
    head = (*Scenario("", 500, "U", 0, "12x6").words(), f"workers={workers}", *_policy(options))
    for sched_class in ("other", "rrall") if options.realtime else ("other",):
        words = ("bench=idle", f"class={sched_class}", "warm_ms=1000", *head)
        yield Case("idle", sched_class, "12x6", workers, words, 2.2 + OVERHEAD_S)
    if options.realtime:
        words = ("bench=canary", "class=rrall", "warm_ms=500", "measure_ms=2000", *head)
        yield Case("canary", "rrall", "12x6", workers, words, 2.5 + OVERHEAD_S)


def make_plan(options: Options) -> list[Case]:
    """In an order of chance, so that no environment has the machine's worst minute for itself."""
    every = [*regret_cases(options), *steady_cases(options)]
    every += [*step_cases(options), *rest_cases(options)]
    named = options.envs or options.scenarios  # those of the regret
    cases = [case for case in every if case.kind in (("regret",) if named else options.kinds)]
    random.Random(options.seed).shuffle(cases)
    return cases
