# SPDX-License-Identifier: BSD-3-Clause
"""What the run must show: one check a line, each with its worst case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterable, Iterator

from nrbench.backends import ALONE, OWN
from nrbench.cases import TINY_CASE, bound_us, list_limit_us, period_us
from nrbench.contest import ContestRatio, contest_ratios
from nrbench.plan import IDLE_CASE
from nrbench.stats import Key, Summaries, Summary, select

CPU_PER_WORK_MAX = 2.5
P50_FACTOR, P50_SLACK_US = 1.03, 2.0
P99_FACTOR = 1.25
OVERSUBSCRIBED_FACTOR = 1.03
TIE_FACTOR = 1.01
TINY_FACTOR = 1.1
EMPTY_NS_MAX = 60.0
IDLE_CPU_US_MAX = 50.0


@dataclass(frozen=True)
class Score:
    """One case of a check: value ÷ limit, and the words for it. Above 1 it fails."""

    ratio: float
    text: str


@dataclass(frozen=True)
class Verdict:
    name: str
    passed: bool | None  # None = nothing to judge, or it is open
    detail: str
    is_open: bool = False  # measured, but the noise is larger than the question

    def __str__(self) -> str:
        undecided = "OPEN" if self.is_open else "----"
        word = undecided if self.passed is None else "PASS" if self.passed else "FAIL"
        return f"{word}  {self.name}: {self.detail}"


def judge(name: str, scores: Iterable[Score]) -> Verdict:
    scores = list(scores)
    if not scores:
        return Verdict(name, None, "not measured")
    worst = max(scores, key=lambda score: score.ratio)
    good = sum(score.ratio <= 1 for score in scores)
    return Verdict(name, good == len(scores), f"{good} of {len(scores)} cases; worst: {worst.text}")


def judge_ratios(name: str, ratios: Iterable[ContestRatio]) -> Verdict:
    """By intervals: FAIL when one lies beyond the tie as a whole, OPEN when the tie is inside of one."""
    ratios = list(ratios)
    if not ratios:
        return Verdict(name, None, "not measured")
    count = {holds: sum(ratio.holds is holds for ratio in ratios) for holds in (True, False, None)}
    worst = max(ratios, key=lambda ratio: (ratio.holds is False, ratio.value))
    detail = f"{count[True]} of {len(ratios)} comparisons hold, {count[False]} do not, {count[None]} are open"
    passed = False if count[False] else None if count[None] else True
    return Verdict(name, passed, f"{detail}; worst: {worst}", is_open=passed is None)


@dataclass(frozen=True)
class SlotTarget:
    """What a slot case may take, from the wake latency that this machine had in this run."""

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
    was always so in a class, another class tells how long a wake takes.
    """
    wakes = select(summaries, bench="wake", backend=OWN, mode="default", workers=1)
    wakes = {key: summary for key, summary in wakes.items() if summary.get("other_cpu_p50_us") is not None}
    same_class = {key: summary for key, summary in wakes.items() if key.sched_class == sched_class}
    if not wakes:
        return None
    nearest = min((same_class or wakes).values(), key=lambda summary: abs(summary["idle_us"] - idle_us))
    return nearest["other_cpu_p50_us"]


def slot_target(summaries: Summaries, key: Key, summary: Summary, cores: int) -> SlotTarget | None:
    idle = period_us(key.case, cores) - summary["makespan_p50_us"]
    wake = wake_us(summaries, key.sched_class, max(0.0, idle))
    if wake is None:
        return None
    used = min(cores, key.workers + 1)
    bound = bound_us(key.case, used)
    p50 = P50_FACTOR * (bound + wake * (used - 1) / used) + P50_SLACK_US
    call = min(wake, summary.get("push_us") or 0.0)  # a push that was itself interrupted tells nothing
    return SlotTarget(bound, wake, p50, list_limit_us(key.case, used, wake, call))


def _own_slots(summaries: Summaries, mode: str, workers: tuple[int, ...]) -> Summaries:
    """Without the tiny case, which has one question of its own: its CPU time is the waking itself."""
    own = select(summaries, bench="slot", backend=OWN, mode=mode, hog=False, workers=workers)
    return {key: summary for key, summary in own.items() if key.case != TINY_CASE}


def _against_target(summaries: Summaries, cores: int, field: str) -> Iterator[Score]:
    for key, summary in _own_slots(summaries, "default", (1, 2)).items():
        target = slot_target(summaries, key, summary, cores)
        if target:
            limit = target.p50_us if field == "p50" else target.p99_us
            value = summary[f"makespan_{field}_us"]
            yield Score(value / limit, f"{key}: {value:.1f} us, limit {limit:.1f} us")


def _against_list_limit(summaries: Summaries, cores: int) -> Iterator[Score]:
    for key, summary in _own_slots(summaries, "default", (1, 2)).items():
        target = slot_target(summaries, key, summary, cores)
        if target:
            limit = P50_FACTOR * target.list_limit_us + P50_SLACK_US
            value = summary["makespan_p50_us"]
            yield Score(value / limit, f"{key}: {value:.1f} us, limit {limit:.1f} us")


def _against_alone(summaries: Summaries, own: Summaries, margin: float) -> Iterator[Score]:
    for key, summary in own.items():
        for alone in select(
            summaries, bench="slot", backend=ALONE, case=key.case, sched_class=key.sched_class, hog=False
        ).values():
            value, limit = summary["makespan_p50_us"], alone["makespan_p50_us"]
            yield Score(value / (margin * limit), f"{key}: {value:.1f} us, alone {limit:.1f} us")


def _against_two_workers(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_slots(summaries, "default", (4, 8)).items():
        two = summaries.get(key._replace(workers=2))
        if two and two.rounds:
            value, base = summary["makespan_p50_us"], two["makespan_p50_us"]
            yield Score(
                value / base / OVERSUBSCRIBED_FACTOR, f"{key}: {value:.1f} us, with 2 workers {base:.1f} us"
            )


def _cpu_budget(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_slots(summaries, "default", (1, 2)).items():
        yield Score(
            summary.cpu_per_work / CPU_PER_WORK_MAX, f"{key}: CPU time {summary.cpu_per_work:.2f} x the work"
        )


def _rivals(summaries: Summaries, key: Key) -> Summaries:
    same = select(summaries, bench=key.bench, case=key.case, sched_class=key.sched_class, hog=key.hog)
    return {other: summary for other, summary in same.items() if other.backend != OWN}


def _against_rivals(
    summaries: Summaries, own: Summaries, field: str, tie: float, admit: Callable[[Summary], bool]
) -> Iterator[Score]:
    """The own pool against the best of the rivals admitted, in the same case and class."""
    for key, summary in own.items():
        rivals = {
            other: rival
            for other, rival in _rivals(summaries, key).items()
            if admit(rival) and rival.get(field) is not None
        }
        if rivals:
            best_key, best = min(rivals.items(), key=lambda item: item[1][field])
            text = f"{key}: {summary[field]:.4g}, {best_key.pool()} {best[field]:.4g} ({field})"
            yield Score(summary[field] / (tie * best[field]), text)


def slot_verdicts(summaries: Summaries, cores: int) -> list[Verdict]:
    own = _own_slots(summaries, "default", (1, 2))
    frugal = lambda summary: summary.cpu_per_work <= CPU_PER_WORK_MAX  # noqa: E731
    hot = _own_slots(summaries, "hot", (1, 2))
    tiny = select(summaries, bench="slot", backend=OWN, mode="default", hog=False, case=TINY_CASE)
    return [
        judge("slot p50 within 1.03 x (bound + wake share) + 2 us", _against_target(summaries, cores, "p50")),
        judge("slot p99 within 1.25 x that", _against_target(summaries, cores, "p99")),
        judge(
            "slot p50 within 1.03 x (whole tasks, after this machine's wake and its call) + 2 us",
            _against_list_limit(summaries, cores),
        ),
        judge("slot never slower than no pool", _against_alone(summaries, own, 1.0)),
        judge(
            f"slot {TINY_CASE} within {TINY_FACTOR} x no pool", _against_alone(summaries, tiny, TINY_FACTOR)
        ),
        judge("slot with 4 and 8 workers within 3 % of 2", _against_two_workers(summaries)),
        judge("slot CPU time within 2.5 x the work", _cpu_budget(summaries)),
        judge(
            "slot p50 better than every pool within that CPU budget",
            _against_rivals(summaries, own, "makespan_p50_us", 1.0, frugal),
        ),
        judge(
            "slot p99 better than every pool within that CPU budget",
            _against_rivals(summaries, own, "makespan_p99_us", 1.0, frugal),
        ),
        judge(
            "slot hot: p50 within 1 % of the best pool of any budget",
            _against_rivals(summaries, hot, "makespan_p50_us", TIE_FACTOR, lambda summary: True),
        ),
    ]


def _overtaken(summaries: Summaries) -> Iterator[Score]:
    for key, summary in select(summaries, bench="stream", backend=OWN, mode="default").items():
        count = summary["overtaken"]
        yield Score(
            0.0 if count == 0 else 1 + count, f"{key}: {count:.0f} of {summary['slots']:.0f} tasks overtaken"
        )


def _own_contests(summaries: Summaries, cases: tuple[str, ...]) -> Summaries:
    return select(summaries, bench="coliseum", backend=OWN, mode="default", case=cases, workers=(1, 2))


def _empty_cost(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_contests(summaries, ("empty",)).items():
        yield Score(summary["ns_per_task"] / EMPTY_NS_MAX, f"{key}: {summary['ns_per_task']:.1f} ns a task")


def _empty_inline(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_contests(summaries, ("empty",)).items():
        inline = summary["inline_tasks"]
        yield Score(
            0.0 if inline == 0 else 1 + inline, f"{key}: {inline:.0f} of {summary['tasks']:.0f} tasks inline"
        )


def _nested(summaries: Summaries) -> Iterator[Score]:
    for key, summary in _own_contests(summaries, ("nested",)).items():
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


def coliseum_verdicts(summaries: Summaries) -> list[Verdict]:
    return [
        judge_ratios(
            "coliseum not 1 % slower than any pool, by 95 % intervals: wall time",
            contest_ratios(summaries, "wall_s"),
        ),
        judge_ratios(
            "coliseum not 1 % slower than any pool, by 95 % intervals: CPU time",
            contest_ratios(summaries, "cpu_s"),
        ),
        judge("coliseum empty task within 60 ns", _empty_cost(summaries)),
        judge("coliseum no empty task run inside a push", _empty_inline(summaries)),
        judge("coliseum nested fib not slower than oneTBB", _nested(summaries)),
    ]


def _idle(summaries: Summaries) -> Iterator[Score]:
    for key, summary in select(summaries, bench="wake", case=IDLE_CASE, backend=OWN, mode="default").items():
        cpu_us, switches = summary["cpu_s"] * 1e6, summary["ctx_switches"]
        ratio = cpu_us / IDLE_CPU_US_MAX if switches == 0 else 1 + switches
        yield Score(
            ratio, f"{key}: {cpu_us:.0f} us of CPU time and {switches:.0f} context switches in 200 ms"
        )


def all_verdicts(summaries: Summaries, cores: int) -> list[Verdict]:
    return [
        *slot_verdicts(summaries, cores),
        judge("stream no task overtaken by 128 later pushes", _overtaken(summaries)),
        *coliseum_verdicts(summaries),
        judge("idle pool takes no CPU time 100 ms after the last task", _idle(summaries)),
    ]
