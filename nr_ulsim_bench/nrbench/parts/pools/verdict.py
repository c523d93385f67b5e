# SPDX-License-Identifier: BSD-3-Clause
"""What the run must show: one check a line, each with its worst case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterable, Iterator, NamedTuple

from nrbench.backends import ALONE, FACADES, OWN
from nrbench.cases import TINY_CASE, bound_us, list_limit_us, period_us
from nrbench.parts.pools.contest import FACADE_NS_MAX, ContestRatio, contest_ratios, facade_costs, facade_text
from nrbench.parts.pools.plan import IDLE_CASE
from nrbench.stats import Key, Summaries, Summary, select
from nrbench.sweep.bootstrap import median_interval

CPU_PER_WORK_MAX = 2.5
P50_FACTOR, P50_SLACK_US = 1.03, 2.0
P99_FACTOR = 1.25
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
    word: str  # PASS, FAIL; OPEN: measured, but the noise is larger than the question; ----: nothing to judge
    detail: str = "not measured"

    def __str__(self) -> str:
        return f"{self.word}  {self.name}: {self.detail}"


def judge(name: str, found: Iterable[Score]) -> Verdict:
    scores = list(found)
    if not scores:
        return Verdict(name, "----")
    worst = max(scores, key=lambda score: score.ratio)
    good = sum(score.ratio <= 1 for score in scores)
    word = "PASS" if good == len(scores) else "FAIL"
    return Verdict(name, word, f"{good} of {len(scores)} cases; worst: {worst.text}")


def judge_ratios(name: str, found: Iterable[ContestRatio]) -> Verdict:
    """By intervals: FAIL when one lies beyond the tie as a whole, OPEN when the tie is inside of one."""
    ratios = list(found)
    if not ratios:
        return Verdict(name, "----")
    words = [ratio.word for ratio in ratios]
    good, bad, undecided = (words.count(word) for word in ("PASS", "MISS", "OPEN"))
    worst = max(ratios, key=lambda ratio: (ratio.word == "MISS", ratio.ratio.value))
    detail = f"{good} of {len(ratios)} comparisons hold, {bad} do not, {undecided} are open; worst: {worst}"
    return Verdict(name, "FAIL" if bad else "OPEN" if undecided else "PASS", detail)


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


def _time(key: Key, value_us: float, limit_us: float) -> Score:
    return Score(value_us / limit_us, f"{key}: {value_us:.1f} us, limit {limit_us:.1f} us")


def _none(count: float, text: str) -> Score:
    """It must not happen."""
    return Score(0.0 if count == 0 else 1 + count, text)


def target_verdicts(summaries: Summaries, own: Summaries, cores: int) -> Iterator[Verdict]:
    targets = [(key, s, slot_target(summaries, key, s, cores)) for key, s in own.items()]
    found = [(key, s, target) for key, s, target in targets if target]
    yield judge(
        "slot p50 within 1.03 x (bound + wake share) + 2 us",
        (_time(key, s["makespan_p50_us"], target.p50_us) for key, s, target in found),
    )
    yield judge(
        "slot p99 within 1.25 x that",
        (_time(key, s["makespan_p99_us"], target.p99_us) for key, s, target in found),
    )
    yield judge(
        "slot p50 within 1.03 x (whole tasks, after this machine's wake and its call) + 2 us",
        (
            _time(key, s["makespan_p50_us"], P50_FACTOR * target.list_limit_us + P50_SLACK_US)
            for key, s, target in found
        ),
    )


def _against_alone(summaries: Summaries, own: Summaries, margin: float) -> Iterator[Score]:
    for key, summary in own.items():
        same = {"bench": "slot", "case": key.case, "sched_class": key.sched_class, "hog": False}
        for alone in select(summaries, backend=ALONE, **same).values():
            value, limit = summary["makespan_p50_us"], alone["makespan_p50_us"]
            yield Score(value / (margin * limit), f"{key}: {value:.1f} us, alone {limit:.1f} us")


def _against_two_workers(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_slots(summaries, "default", (4, 8)).items():
        two = summaries.get(key._replace(workers=2))
        if two and two.rounds:
            value, base = summary["makespan_p50_us"], two["makespan_p50_us"]
            text = f"{key}: {value:.1f} us, with 2 workers {base:.1f} us"
            yield Score(value / base / OVERSUBSCRIBED_FACTOR, text)


def _is_frugal(summary: Summary) -> bool:
    return summary.cpu_per_work <= CPU_PER_WORK_MAX


def _against_rivals(
    summaries: Summaries, own: Summaries, field: str, tie: float, admit: Callable[[Summary], bool]
) -> Iterator[Score]:
    """The own pool against the best of the rivals admitted, in the same case and class."""
    for key, summary in own.items():
        same = select(summaries, bench=key.bench, case=key.case, sched_class=key.sched_class, hog=key.hog)
        rivals = {
            other: rival[field]
            for other, rival in same.items()
            if other.backend != OWN and admit(rival) and field in rival.medians
        }
        if rivals:
            best = min(rivals, key=lambda other: rivals[other])
            text = f"{key}: {summary[field]:.4g}, {best.pool()} {rivals[best]:.4g} ({field})"
            yield Score(summary[field] / (tie * rivals[best]), text)


def slot_verdicts(summaries: Summaries, cores: int) -> Iterator[Verdict]:
    own, hot = (_own_slots(summaries, mode, (1, 2)) for mode in ("default", "hot"))
    tiny = select(summaries, bench="slot", backend=OWN, mode="default", hog=False, case=TINY_CASE)
    yield from target_verdicts(summaries, own, cores)
    yield judge("slot never slower than no pool", _against_alone(summaries, own, 1.0))
    tiny_scores = _against_alone(summaries, tiny, TINY_FACTOR)
    yield judge(f"slot {TINY_CASE} within {TINY_FACTOR} x no pool", tiny_scores)
    yield judge("slot with 4 and 8 workers within 3 % of 2", _against_two_workers(summaries))
    yield judge(
        "slot CPU time within 2.5 x the work",
        (
            Score(s.cpu_per_work / CPU_PER_WORK_MAX, f"{key}: CPU time {s.cpu_per_work:.2f} x the work")
            for key, s in own.items()
        ),
    )
    for field in ("p50", "p99"):
        yield judge(
            f"slot {field} better than every pool within that CPU budget",
            _against_rivals(summaries, own, f"makespan_{field}_us", 1.0, _is_frugal),
        )
    yield judge(
        "slot hot: p50 within 1 % of the best pool of any budget",
        _against_rivals(summaries, hot, "makespan_p50_us", TIE_FACTOR, lambda summary: True),
    )


def _nested(summaries: Summaries, own: Summaries) -> Iterator[Score]:
    for key, summary in own.items():
        for rival_key, rival in select(
            summaries,
            bench="coliseum",
            case="nested",
            backend="onetbb",
            sched_class=key.sched_class,
            workers=key.workers,
        ).items():
            value, limit = summary["ns_per_task"], rival["ns_per_task"]
            yield Score(value / limit, f"{key}: {value:.0f} ns a task, {rival_key.pool()} {limit:.0f} ns")


def facade_verdict(summaries: Summaries, name: str) -> Verdict:
    """By the interval, as in judge_ratios()."""
    question = f"interface {name}: an empty task costs at most {FACADE_NS_MAX:.0f} ns more than by the core's"
    costs = facade_costs(summaries, name)
    if not costs:
        return Verdict(question, "----")
    interval = median_interval(costs)
    if interval is None or interval.low <= FACADE_NS_MAX < interval.high:
        return Verdict(question, "OPEN", facade_text(costs))
    return Verdict(question, "PASS" if interval.high <= FACADE_NS_MAX else "FAIL", facade_text(costs))


def coliseum_verdicts(summaries: Summaries) -> Iterator[Verdict]:
    for name, words in (("wall_s", "wall time"), ("cpu_s", "CPU time")):
        question = f"coliseum not 1 % slower than any pool, by 95 % intervals: {words}"
        yield judge_ratios(question, contest_ratios(summaries, name))
    own = select(summaries, bench="coliseum", backend=OWN, mode="default", workers=(1, 2))
    empty = select(own, case="empty")
    yield judge(
        "coliseum empty task within 60 ns",
        (
            Score(s["ns_per_task"] / EMPTY_NS_MAX, f"{key}: {s['ns_per_task']:.1f} ns a task")
            for key, s in empty.items()
        ),
    )
    yield judge(
        "coliseum no empty task run inside a push",
        (
            _none(s["inline_tasks"], f"{key}: {s['inline_tasks']:.0f} of {s['tasks']:.0f} tasks inline")
            for key, s in empty.items()
        ),
    )
    nested = _nested(summaries, select(own, case="nested"))
    yield judge("coliseum nested fib not slower than oneTBB", nested)
    yield from (facade_verdict(summaries, name) for name in FACADES)


def _overtaken(summaries: Summaries) -> Iterator[Score]:
    for key, s in select(summaries, bench="stream", backend=OWN, mode="default").items():
        yield _none(s["overtaken"], f"{key}: {s['overtaken']:.0f} of {s['slots']:.0f} tasks overtaken")


def _idle(summaries: Summaries) -> Iterator[Score]:
    for key, s in select(summaries, bench="wake", case=IDLE_CASE, backend=OWN, mode="default").items():
        cpu_us, switches = s["cpu_s"] * 1e6, s["ctx_switches"]
        text = f"{key}: {cpu_us:.0f} us of CPU time and {switches:.0f} context switches in 200 ms"
        yield _none(switches, text) if switches else Score(cpu_us / IDLE_CPU_US_MAX, text)


def all_verdicts(summaries: Summaries, cores: int) -> list[Verdict]:
    return [
        *slot_verdicts(summaries, cores),
        judge("stream no task overtaken by 128 later pushes", _overtaken(summaries)),
        *coliseum_verdicts(summaries),
        judge("idle pool takes no CPU time 100 ms after the last task", _idle(summaries)),
    ]
