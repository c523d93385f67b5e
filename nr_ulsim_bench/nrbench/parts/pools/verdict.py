# SPDX-License-Identifier: BSD-3-Clause
"""What the run must show: one check a line, each with its worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.cases import SHAPES, TINY_CASE, bound_us, list_limit_us, period_us
from nrbench.engine import Verdict
from nrbench.judge import MET, MISSED, NONE, UNKNOWN, Ratio, at_most_word, passed_word, round_ratio, typical
from nrbench.parts.pools.plan import FIB_CASES, IDLE_CASE
from nrbench.stats import Groups, Key, Results, select

TIE = 1.01  # slower by less than that is no loss
FACADE_NS_MAX = 10.0  # a task, over the core
CPU_PER_WORK_MAX = 2.5
P50_FACTOR, P50_SLACK_US = 1.03, 2.0
P99_FACTOR = 1.25
# p99 ÷ that of the pool that never sleeps, by the class of the workers.
HOT_P99_FACTORS = {"normal": (1.25, ("other",)), "real-time": (1.10, ("rr", "rrall"))}
OVERSUBSCRIBED_FACTOR = 1.03
TINY_FACTOR = 1.1
EMPTY_NS_MAX = 60.0
IDLE_CPU_US_MAX = 50.0
OWN_DEFAULT = {"backend": OWN, "mode": "default"}


class Score(NamedTuple):
    """One case of a check: value ÷ limit, and the words for it. Above 1 it fails."""

    ratio: float
    text: str


Scored = Callable[[Key, Results], Score | None]  # None: nothing to judge


def check(name: str, chosen: Groups, score: Scored) -> Verdict:
    scores = [found for key, at in chosen.items() if (found := score(key, at))]
    if not scores:
        return Verdict(NONE, f"{name}: not measured")
    worst, good = max(scores, key=lambda one: one.ratio), sum(one.ratio <= 1 for one in scores)
    word = passed_word(good == len(scores))
    return Verdict(word, f"{name}: {good} of {len(scores)} cases; worst: {worst.text}")


def contest_ratios(every: Groups, name: str) -> Iterator[tuple[Key, Key, Ratio]]:
    """Time of the own pool ÷ time of a rival, round by round, in each class and case: the own pool with the
    fewest workers, which are as many computing threads as cores. `alone` has no queue: no rival in CPU
    time."""
    for sched_class, case in ((c, case) for c in CLASSES for case in FIB_CASES):
        here = select(every, bench="coliseum", case=case, sched_class=sched_class, hog=False)
        key = min(select(here, **OWN_DEFAULT), key=lambda key: key.workers, default=None)
        left_out = {OWN, *FACADES, *([ALONE] if name == "cpu_s" else [])}
        for rival in (rival for rival in here if key and rival.backend not in left_out):
            if key and (ratio := round_ratio(here[key].rounds(name), here[rival].rounds(name))):
                yield key, rival, ratio


def contest_verdict(name: str, found: Iterable[tuple[Key, Key, Ratio]]) -> Verdict:
    """Missed when an interval lies beyond the tie as a whole, not known when the tie is inside of one."""
    ratios = [(at_most_word(ratio, TIE), key, rival, ratio) for key, rival, ratio in found]
    if not ratios:
        return Verdict(NONE, f"{name}: not measured")
    words = [word for word, *_ in ratios]
    good, bad, undecided = (words.count(word) for word in (MET, MISSED, UNKNOWN))
    _, key, rival, ratio = max(ratios, key=lambda one: (one[0] == MISSED, one[3].value))
    worst = f"{key} against {rival.pool()}: {ratio.percent(1)} %"
    detail = f"{good} of {len(ratios)} comparisons hold, {bad} do not, {undecided} are open; worst: {worst}"
    return Verdict(MISSED if bad else UNKNOWN if undecided else MET, f"{name}: {detail}")


def facade_cost(every: Groups, facade: str) -> Ratio | None:
    """ns a task that an interface costs over the core's: empty tasks, the differences in the rounds."""
    where = {"bench": "coliseum", "case": "empty", "mode": "default", "hog": False, "sched_class": "other"}
    empty = select(every, **where)
    for key, at in select(empty, backend=facade).items():
        if core := empty.get(key._replace(backend=OWN)):
            upper, lower = at.rounds("ns_per_task"), core.rounds("ns_per_task")
            return typical([upper[number] - lower[number] for number in sorted(upper.keys() & lower.keys())])
    return None


def facade_verdict(every: Groups, name: str) -> Verdict:
    cost = facade_cost(every, name)
    found = cost.text(lambda ns: f"{ns:+.1f}") + " ns a task" if cost else "not measured"
    limit = f"an empty task costs at most {FACADE_NS_MAX:.0f} ns more than by the core's"
    return Verdict(at_most_word(cost, FACADE_NS_MAX), f"interface {name}: {limit}: {found}")


@dataclass(frozen=True)
class SlotTarget:
    """How long a slot case may take, from the wake latency that this machine had in this run."""

    bound_us: float
    wake_us: float
    p50_us: float
    list_limit_us: float

    @property
    def p99_us(self) -> float:
        return P99_FACTOR * self.p50_us


def wake_us(every: Groups, sched_class: str, idle_us: float) -> float | None:
    """Median time of the own pool to a start on another CPU, after the idle time nearest to the one wanted.

    A worker that the kernel lets run on the producer's CPU starts sooner, but brings no second CPU. If that
    was always so in a class, the wakes of another class are taken.
    """
    wakes = select(every, bench="wake", workers=1, **OWN_DEFAULT)
    wakes = {key: at for key, at in wakes.items() if at.get("other_cpu_p50_us") is not None}
    if not wakes:
        return None
    of_class = select(wakes, sched_class=sched_class) or wakes
    nearest = min(of_class.values(), key=lambda at: abs(at["idle_us"] - idle_us))
    return float(nearest["other_cpu_p50_us"])


def slot_target(every: Groups, key: Key, at: Results, cores: int) -> SlotTarget | None:
    idle = period_us(key.case, cores) - at["makespan_p50_us"]
    wake = wake_us(every, key.sched_class, max(0.0, idle))
    if wake is None:
        return None
    used = min(cores, key.workers + 1)
    bound = bound_us(key.case, used)
    p50 = P50_FACTOR * (bound + wake * (used - 1) / used) + P50_SLACK_US
    call = min(wake, at.get("push_us", 0.0))  # not the time of an interruption of the push
    return SlotTarget(bound, wake, p50, list_limit_us(key.case, used, wake, call))


def _against(key: Key, value: float, limit: float, factor: float, what: str) -> Score:
    return Score(value / (factor * limit), f"{key}: {value:.1f} us, {what} {limit:.1f} us")


def _none(count: float, text: str) -> Score:
    """It must not happen."""
    return Score(0.0 if count == 0 else 1 + count, text)


def slot_verdicts(every: Groups, cores: int) -> Iterator[Verdict]:
    """Without the tiny case, which has one question of its own: its CPU time is the waking itself."""

    def slots(mode: str, workers: tuple[int, ...]) -> Groups:
        own = select(every, bench="slot", backend=OWN, mode=mode, hog=False, workers=workers)
        return {key: at for key, at in own.items() if key.case not in (TINY_CASE, *SHAPES)}

    def within(field: str, limit_us: Callable[[SlotTarget], float]) -> Scored:
        def score(key: Key, at: Results) -> Score | None:
            target = slot_target(every, key, at, cores)
            return _against(key, at[field], limit_us(target), 1, "limit") if target else None

        return score

    def other(factor: float, what: str, differs: dict[str, Any], p: str = "p50") -> Scored:
        """@param differs  in which the key that is compared with differs"""
        field = f"makespan_{p}_us"

        def score(key: Key, at: Results) -> Score | None:
            limits = select(every, **{**key._asdict(), **differs}).values()
            return next((_against(key, at[field], limit[field], factor, what) for limit in limits), None)

        return score

    def rival(p: str, tie: float, cpu_max: float) -> Scored:
        """The best in the same case and class that takes no more CPU time than that."""
        field = f"makespan_{p}_us"

        def score(key: Key, at: Results) -> Score | None:
            same = select(every, bench=key.bench, case=key.case, sched_class=key.sched_class, hog=key.hog)
            found = {k: r[field] for k, r in same.items() if k.backend != OWN and r.cpu_per_work <= cpu_max}
            if not found:
                return None
            best = min(found, key=lambda k: found[k])
            text = f"{key}: {at[field]:.4g}, {best.pool()} {found[best]:.4g} ({field})"
            return Score(at[field] / (tie * found[best]), text)

        return score

    def frugal(key: Key, at: Results) -> Score:
        return Score(at.cpu_per_work / CPU_PER_WORK_MAX, f"{key}: CPU time {at.cpu_per_work:.2f} x the work")

    own, hot, no_pool = slots("default", (1, 2)), slots("hot", (1, 2)), {"backend": ALONE, "workers": 1}
    tiny = select(every, bench="slot", hog=False, case=TINY_CASE, **OWN_DEFAULT)
    p50, p99 = "makespan_p50_us", "makespan_p99_us"
    yield check("slot p50 within 1.03 x (bound + wake share) + 2 us", own, within(p50, lambda t: t.p50_us))
    yield check("slot p99 within 1.25 x that", own, within(p99, lambda t: t.p99_us))
    whole = within(p50, lambda target: P50_FACTOR * target.list_limit_us + P50_SLACK_US)
    yield check(
        "slot p50 within 1.03 x (whole tasks, after this machine's wake and its call) + 2 us", own, whole
    )
    for threads, (factor, classes) in HOT_P99_FACTORS.items():
        question = f"slot p99 within {factor:.2f} x hot's, {threads} workers"
        score = other(factor, "hot", {"mode": "hot"}, "p99")
        yield check(question, select(own, sched_class=classes), score)
    yield check("slot never slower than no pool", own, other(1.0, "alone", no_pool))
    score = other(TINY_FACTOR, "alone", no_pool)
    yield check(f"slot {TINY_CASE} within {TINY_FACTOR} x no pool", tiny, score)
    score = other(OVERSUBSCRIBED_FACTOR, "with 2 workers", {"workers": 2})
    yield check("slot with 4 and 8 workers within 3 % of 2", slots("default", (4, 8)), score)
    yield check("slot CPU time within 2.5 x the work", own, frugal)
    for p in ("p50", "p99"):
        question = f"slot {p} better than every pool within that CPU budget"
        yield check(question, own, rival(p, 1.0, CPU_PER_WORK_MAX))
    question = "slot hot: p50 within 1 % of the best pool of any budget"
    yield check(question, hot, rival("p50", TIE, math.inf))


def coliseum_verdicts(every: Groups) -> Iterator[Verdict]:
    for name, what in (("wall_s", "wall time"), ("cpu_s", "CPU time")):
        question = f"coliseum not 1 % slower than any pool, by 95 % intervals: {what}"
        yield contest_verdict(question, contest_ratios(every, name))
    own = select(every, bench="coliseum", workers=(1, 2), **OWN_DEFAULT)
    empty = select(own, case="empty")

    def cheap(key: Key, at: Results) -> Score:
        return Score(at["ns_per_task"] / EMPTY_NS_MAX, f"{key}: {at['ns_per_task']:.1f} ns a task")

    def inline(key: Key, at: Results) -> Score:
        return _none(at["inline_tasks"], f"{key}: {at['inline_tasks']:.0f} of {at['tasks']:.0f} tasks inline")

    def nested(key: Key, at: Results) -> Score | None:
        other = key._replace(backend="onetbb")
        if other not in every or not every[other].lines:
            return None
        value, limit = at["ns_per_task"], every[other]["ns_per_task"]
        return Score(value / limit, f"{key}: {value:.0f} ns a task, {other.pool()} {limit:.0f} ns")

    yield check("coliseum empty task within 60 ns", empty, cheap)
    yield check("coliseum no empty task run inside a push", empty, inline)
    yield check("coliseum nested fib not slower than oneTBB", select(own, case="nested"), nested)
    yield from (facade_verdict(every, name) for name in FACADES)


def _overtaken(key: Key, at: Results) -> Score:
    return _none(at["overtaken"], f"{key}: {at['overtaken']:.0f} of {at['slots']:.0f} tasks overtaken")


def _idle(key: Key, at: Results) -> Score:
    cpu_us, switches = at["cpu_s"] * 1e6, at["ctx_switches"]
    text = f"{key}: {cpu_us:.0f} us of CPU time and {switches:.0f} context switches in 200 ms"
    return _none(switches, text) if switches else Score(cpu_us / IDLE_CPU_US_MAX, text)


def verdicts(every: Groups, cores: int) -> Iterator[Verdict]:
    """Of the parts that were measured."""
    benches = {key.bench for key in every}
    if "slot" in benches:
        yield from slot_verdicts(every, cores)
    if "stream" in benches:
        streams = select(every, bench="stream", **OWN_DEFAULT)
        yield check("stream no task overtaken by 128 later pushes", streams, _overtaken)
    if "coliseum" in benches:
        yield from coliseum_verdicts(every)
    if "wake" in benches:
        idle = select(every, bench="wake", case=IDLE_CASE, **OWN_DEFAULT)
        yield check("idle pool takes no CPU time 100 ms after the last task", idle, _idle)
