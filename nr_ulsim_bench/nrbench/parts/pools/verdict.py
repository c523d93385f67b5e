# SPDX-License-Identifier: BSD-3-Clause
"""What the run must show: one check a line, each with its worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple

from nrbench.backends import ALONE, FACADES, OWN
from nrbench.cases import TINY_CASE, bound_us, list_limit_us, period_us
from nrbench.judge import at_most_word
from nrbench.parts.pools.contest import FACADE_NS_MAX, ContestRatio, contest_ratios, facade_cost, facade_text
from nrbench.parts.pools.plan import IDLE_CASE
from nrbench.stats import Key, Summaries, Summary, select

CPU_PER_WORK_MAX = 2.5
P50_FACTOR, P50_SLACK_US = 1.03, 2.0
P99_FACTOR = 1.25
# p99 ÷ that of the pool that never sleeps, by the class of the workers.
HOT_P99_FACTORS = {"normal": (1.25, ("other",)), "real-time": (1.10, ("rr", "rrall"))}
OVERSUBSCRIBED_FACTOR = 1.03
TIE_FACTOR = 1.01
TINY_FACTOR = 1.1
EMPTY_NS_MAX = 60.0
IDLE_CPU_US_MAX = 50.0


class Score(NamedTuple):
    """One case of a check: value ÷ limit, and the words for it. Above 1 it fails."""

    ratio: float
    text: str


class Verdict(NamedTuple):
    name: str
    word: str  # met, missed; not known: the noise is larger than the question; no result: nothing to judge
    detail: str = "not measured"

    def __str__(self) -> str:
        return f"{self.word}  {self.name}: {self.detail}"


def judge(name: str, found: Iterable[Score | None]) -> Verdict:
    scores = [score for score in found if score]
    if not scores:
        return Verdict(name, "no result")
    worst = max(scores, key=lambda score: score.ratio)
    good = sum(score.ratio <= 1 for score in scores)
    word = "met" if good == len(scores) else "missed"
    return Verdict(name, word, f"{good} of {len(scores)} cases; worst: {worst.text}")


def check(name: str, chosen: Summaries, score: Callable[[Key, Summary], Score | None]) -> Verdict:
    """@param score  of a measurement; None: nothing to judge"""
    return judge(name, (score(key, summary) for key, summary in chosen.items()))


def judge_ratios(name: str, found: Iterable[ContestRatio]) -> Verdict:
    """Missed when an interval lies beyond the tie as a whole, not known when the tie is inside of one."""
    ratios = list(found)
    if not ratios:
        return Verdict(name, "no result")
    words = [ratio.word for ratio in ratios]
    good, bad, undecided = (words.count(word) for word in ("met", "missed", "not known"))
    worst = max(ratios, key=lambda ratio: (ratio.word == "missed", ratio.ratio.value))
    detail = f"{good} of {len(ratios)} comparisons hold, {bad} do not, {undecided} are open; worst: {worst}"
    return Verdict(name, "missed" if bad else "not known" if undecided else "met", detail)


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


def wake_us(summaries: Summaries, sched_class: str, idle_us: float) -> float | None:
    """Median time of the own pool to a start on another CPU, after the idle time nearest to the one wanted.

    A worker that the kernel lets run on the producer's CPU starts sooner, but brings no second CPU. If that
    was always so in a class, the wakes of another class are taken.
    """
    wakes = select(summaries, bench="wake", backend=OWN, mode="default", workers=1)
    wakes = {key: summary for key, summary in wakes.items() if "other_cpu_p50_us" in summary.medians}
    if not wakes:
        return None
    of_class = select(wakes, sched_class=sched_class) or wakes
    nearest = min(of_class.values(), key=lambda summary: abs(summary["idle_us"] - idle_us))
    return nearest["other_cpu_p50_us"]


def slot_target(summaries: Summaries, key: Key, summary: Summary, cores: int) -> SlotTarget | None:
    idle = period_us(key.case, cores) - summary["makespan_p50_us"]
    wake = wake_us(summaries, key.sched_class, max(0.0, idle))
    if wake is None:
        return None
    used = min(cores, key.workers + 1)
    bound = bound_us(key.case, used)
    p50 = P50_FACTOR * (bound + wake * (used - 1) / used) + P50_SLACK_US
    call = min(wake, summary.get("push_us") or 0.0)  # not the time of an interruption of the push
    return SlotTarget(bound, wake, p50, list_limit_us(key.case, used, wake, call))


def _own_slots(summaries: Summaries, mode: str, workers: tuple[int, ...]) -> Summaries:
    """Without the tiny case, which has one question of its own: its CPU time is the waking itself."""
    own = select(summaries, bench="slot", backend=OWN, mode=mode, hog=False, workers=workers)
    return {key: summary for key, summary in own.items() if key.case != TINY_CASE}


def _none(count: float, text: str) -> Score:
    """It must not happen."""
    return Score(0.0 if count == 0 else 1 + count, text)


def _against(key: Key, value: float, limit: float, factor: float, what: str) -> Score:
    return Score(value / (factor * limit), f"{key}: {value:.1f} us, {what} {limit:.1f} us")


def target_verdicts(summaries: Summaries, own: Summaries, cores: int) -> Iterator[Verdict]:
    targets = {key: slot_target(summaries, key, s, cores) for key, s in own.items()}

    def within(percentile: str, limit_us: Callable[[SlotTarget], float]) -> Iterator[Score]:
        for key, target in targets.items():
            if target:
                yield _against(key, own[key][f"makespan_{percentile}_us"], limit_us(target), 1, "limit")

    yield judge(
        "slot p50 within 1.03 x (bound + wake share) + 2 us", within("p50", lambda target: target.p50_us)
    )
    yield judge("slot p99 within 1.25 x that", within("p99", lambda target: target.p99_us))
    yield judge(
        "slot p50 within 1.03 x (whole tasks, after this machine's wake and its call) + 2 us",
        within("p50", lambda target: P50_FACTOR * target.list_limit_us + P50_SLACK_US),
    )


def best_rival(
    summaries: Summaries, key: Key, summary: Summary, field: str, tie: float, cpu_max: float
) -> Score | None:
    """The own pool against the best in the same case and class that takes no more CPU time than that."""
    same = select(summaries, bench=key.bench, case=key.case, sched_class=key.sched_class, hog=key.hog)
    rivals = {
        other: rival[field]
        for other, rival in same.items()
        if other.backend != OWN and field in rival.medians and rival.cpu_per_work <= cpu_max
    }
    if not rivals:
        return None
    best = min(rivals, key=lambda other: rivals[other])
    text = f"{key}: {summary[field]:.4g}, {best.pool()} {rivals[best]:.4g} ({field})"
    return Score(summary[field] / (tie * rivals[best]), text)


def against(
    summaries: Summaries, factor: float, what: str, other: Mapping[str, object], percentile: str = "p50"
) -> Callable[[Key, Summary], Score | None]:
    """@param other  in which the key that is compared with differs"""
    field = f"makespan_{percentile}_us"

    def score(key: Key, s: Summary) -> Score | None:
        for limit in select(summaries, **{**key._asdict(), **other}).values():
            return _against(key, s[field], limit[field], factor, what)
        return None

    return score


def frugal(key: Key, s: Summary) -> Score:
    return Score(s.cpu_per_work / CPU_PER_WORK_MAX, f"{key}: CPU time {s.cpu_per_work:.2f} x the work")


def slot_verdicts(summaries: Summaries, cores: int) -> Iterator[Verdict]:
    own, hot = (_own_slots(summaries, mode, (1, 2)) for mode in ("default", "hot"))
    tiny = select(summaries, bench="slot", backend=OWN, mode="default", hog=False, case=TINY_CASE)
    no_pool = {"backend": ALONE, "workers": 1}

    def rival(field: str, tie: float, cpu_max: float) -> Callable[[Key, Summary], Score | None]:
        return lambda key, s: best_rival(summaries, key, s, f"makespan_{field}_us", tie, cpu_max)

    yield from target_verdicts(summaries, own, cores)
    for threads, (factor, classes) in HOT_P99_FACTORS.items():
        within = against(summaries, factor, "hot", {"mode": "hot"}, "p99")
        chosen = select(own, sched_class=classes)
        yield check(f"slot p99 within {factor:.2f} x hot's, {threads} workers", chosen, within)
    yield check("slot never slower than no pool", own, against(summaries, 1.0, "alone", no_pool))
    within = against(summaries, TINY_FACTOR, "alone", no_pool)
    yield check(f"slot {TINY_CASE} within {TINY_FACTOR} x no pool", tiny, within)
    within = against(summaries, OVERSUBSCRIBED_FACTOR, "with 2 workers", {"workers": 2})
    yield check("slot with 4 and 8 workers within 3 % of 2", _own_slots(summaries, "default", (4, 8)), within)
    yield check("slot CPU time within 2.5 x the work", own, frugal)
    for field in ("p50", "p99"):
        question = f"slot {field} better than every pool within that CPU budget"
        yield check(question, own, rival(field, 1.0, CPU_PER_WORK_MAX))
    question = "slot hot: p50 within 1 % of the best pool of any budget"
    yield check(question, hot, rival("p50", TIE_FACTOR, math.inf))


def facade_verdict(summaries: Summaries, name: str) -> Verdict:
    """By the interval, as in judge_ratios()."""
    question = f"interface {name}: an empty task costs at most {FACADE_NS_MAX:.0f} ns more than by the core's"
    cost = facade_cost(summaries, name)
    if cost is None:
        return Verdict(question, "no result")
    return Verdict(question, at_most_word(cost, FACADE_NS_MAX).replace("missed", "missed"), facade_text(cost))


def coliseum_verdicts(summaries: Summaries) -> Iterator[Verdict]:
    for name, words in (("wall_s", "wall time"), ("cpu_s", "CPU time")):
        question = f"coliseum not 1 % slower than any pool, by 95 % intervals: {words}"
        yield judge_ratios(question, contest_ratios(summaries, name))
    own = select(summaries, bench="coliseum", backend=OWN, mode="default", workers=(1, 2))
    empty = select(own, case="empty")

    def cheap(key: Key, s: Summary) -> Score:
        return Score(s["ns_per_task"] / EMPTY_NS_MAX, f"{key}: {s['ns_per_task']:.1f} ns a task")

    def inline(key: Key, s: Summary) -> Score:
        return _none(s["inline_tasks"], f"{key}: {s['inline_tasks']:.0f} of {s['tasks']:.0f} tasks inline")

    def nested(key: Key, s: Summary) -> Score | None:
        other = key._replace(backend="onetbb")
        if other not in summaries or not summaries[other].rounds:
            return None
        value, limit = s["ns_per_task"], summaries[other]["ns_per_task"]
        return Score(value / limit, f"{key}: {value:.0f} ns a task, {other.pool()} {limit:.0f} ns")

    yield check("coliseum empty task within 60 ns", empty, cheap)
    yield check("coliseum no empty task run inside a push", empty, inline)
    yield check("coliseum nested fib not slower than oneTBB", select(own, case="nested"), nested)
    yield from (facade_verdict(summaries, name) for name in FACADES)


def _overtaken(key: Key, s: Summary) -> Score:
    return _none(s["overtaken"], f"{key}: {s['overtaken']:.0f} of {s['slots']:.0f} tasks overtaken")


def _idle(key: Key, s: Summary) -> Score:
    cpu_us, switches = s["cpu_s"] * 1e6, s["ctx_switches"]
    text = f"{key}: {cpu_us:.0f} us of CPU time and {switches:.0f} context switches in 200 ms"
    return _none(switches, text) if switches else Score(cpu_us / IDLE_CPU_US_MAX, text)


def all_verdicts(summaries: Summaries, cores: int) -> list[Verdict]:
    streams = select(summaries, bench="stream", backend=OWN, mode="default")
    idle = select(summaries, bench="wake", case=IDLE_CASE, backend=OWN, mode="default")
    return [
        *slot_verdicts(summaries, cores),
        check("stream no task overtaken by 128 later pushes", streams, _overtaken),
        *coliseum_verdicts(summaries),
        check("idle pool takes no CPU time 100 ms after the last task", idle, _idle),
    ]
