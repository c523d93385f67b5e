# SPDX-License-Identifier: BSD-3-Clause
"""What the pools must show: one check a line, each with its worst case."""

import math
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.cases import SLOT_CASES, TINY_CASE, bound_us, period_us
from nrbench.engine import Verdict
from nrbench.judge import MET, MISSED, NONE, UNKNOWN, Ratio, at_most_word, passed_word, round_ratio, typical
from nrbench.stats import Groups, Key, Results, select

FIB_CASES = ("fib19", "fib17-19", "fib19x1-3")
IDLE_CASE = "idle-cpu"
TIE = 1.01  # slower by less than that is no loss
FACADE_NS_MAX = 10.0  # a task, over the core
CPU_PER_WORK_MAX = 2.5
DEFAULT: dict[str, Any] = {"backend": OWN, "mode": "default"}
LOADS = {"bench": "slot", "case": tuple(case for case in SLOT_CASES if case != TINY_CASE)} | DEFAULT
TINY = LOADS | {"case": TINY_CASE}  # its CPU time is the waking itself
HOT = LOADS | {"mode": "hot"}
NORMAL, REALTIME = LOADS | {"sched_class": "other"}, LOADS | {"sched_class": ("rr", "rrall")}
STREAM, EMPTY = {"bench": "stream"} | DEFAULT, {"bench": "coliseum", "case": "empty"} | DEFAULT
IDLE = {"bench": "wake", "case": IDLE_CASE} | DEFAULT

Figure = Callable[[Results], float]
P50, P99, OVERTAKEN = itemgetter("makespan_p50_us"), itemgetter("makespan_p99_us"), itemgetter("overtaken")
INLINE, SWITCHES, TASK_NS = itemgetter("inline_tasks"), itemgetter("ctx_switches"), itemgetter("ns_per_task")
CPU: Figure = attrgetter("cpu_per_work")
CPU_US: Figure = lambda at: 1e6 * float(at["cpu_s"])  # noqa: E731


class Against(NamedTuple):
    """A case of a check."""

    figure: Figure
    every: Groups
    key: Key
    cores: int


Base = Callable[[Against], tuple[float, str] | None]  # and of which pool; None: there is none


class Check(NamedTuple):
    """The figure is at most so many times the base's."""

    name: str
    where: dict[str, Any]  # of the keys
    figure: Figure
    factor: float
    base: Base
    unit: str = " µs"

    def verdict(self, every: Groups, cores: int) -> Verdict:
        chosen = select(every, **self.where).items()
        bases = ((key, at, self.base(Against(self.figure, every, key, cores))) for key, at in chosen)
        cases = [(self.figure(at), self.factor * base[0], key, base[1]) for key, at, base in bases if base]
        if not cases:
            return Verdict(NONE, f"{self.name}: not measured")
        value, limit, key, pool = max(cases, key=lambda case: case[0] / (case[1] or 1e-9))
        good = sum(value <= limit for value, limit, *_ in cases)
        worst = f"{key}: {value:.4g}{self.unit}, limit {limit:.4g}{self.unit}{pool and f' ({pool})'}"
        text = f"{self.name}: {good} of {len(cases)} cases; worst: {worst}"
        return Verdict(passed_word(good == len(cases)), text)


def one(of: Against) -> tuple[float, str]:
    return 1.0, ""


def wake_us(every: Groups, sched_class: str, idle_us: float) -> float | None:
    """Median time of the own pool to a start on another CPU, after the idle time nearest to the one wanted.

    A worker that the kernel lets run on the producer's CPU starts sooner, but brings no second CPU. If that
    was always so in a class, the wakes of another class are taken.
    """
    wakes = select(every, bench="wake", workers=1, **DEFAULT)
    wakes = {key: at for key, at in wakes.items() if at.get("other_cpu_p50_us") is not None}
    of_class = select(wakes, sched_class=sched_class) or wakes
    nearest = min(of_class.values(), key=lambda at: abs(at["idle_us"] - idle_us), default=None)
    return float(nearest["other_cpu_p50_us"]) if nearest else None


def target(of: Against) -> tuple[float, str] | None:
    """Of a slot, from the wake latency that this machine had in this run."""
    key = of.key
    idle_us = period_us(key.case, of.cores) - P50(of.every[key])
    wake = wake_us(of.every, key.sched_class, max(0.0, idle_us))
    used = min(of.cores, key.workers + 1)
    share = (used - 1) / used
    return None if wake is None else (1.03 * (bound_us(key.case, used) + wake * share) + 2, "")


def beside(**differs: Any) -> Base:
    """The measurement whose key differs so."""

    def base(of: Against) -> tuple[float, str] | None:
        key = of.key._replace(**differs)
        at = select(of.every, **key._asdict()).get(key)
        return (of.figure(at), key.pool()) if at else None

    return base


def best(of: Against, cpu_max: float = math.inf) -> tuple[float, str] | None:
    """Of the other pools in the same case and class that take no more CPU time than that."""
    same = select(of.every, bench=of.key.bench, case=of.key.case, sched_class=of.key.sched_class)
    rivals = {key: at for key, at in same.items() if key.backend != OWN and CPU(at) <= cpu_max}
    return min(((of.figure(at), key.pool()) for key, at in rivals.items()), default=None)


frugal: Base = partial(best, cpu_max=CPU_PER_WORK_MAX)
hot, no_pool = beside(mode="hot"), beside(backend=ALONE, workers=1)
BUDGET = "better than every pool within that CPU budget"
CHECKS = (
    Check("slot p50 within 1.03 x (bound + wake share) + 2 µs", LOADS, P50, 1, target),
    Check("slot p99 within 1.25 x that", LOADS, P99, 1.25, target),
    Check("slot p99 within 1.25 x hot's, normal workers", NORMAL, P99, 1.25, hot),
    Check("slot p99 within 1.10 x hot's, real-time workers", REALTIME, P99, 1.10, hot),
    Check("slot never slower than no pool", LOADS, P50, 1, no_pool),
    Check(f"slot {TINY_CASE} within 1.1 x no pool", TINY, P50, 1.1, no_pool),
    Check("slot CPU time within 2.5 x the work", LOADS, CPU, CPU_PER_WORK_MAX, one, " x"),
    Check(f"slot p50 {BUDGET}", LOADS, P50, 1, frugal),
    Check(f"slot p99 {BUDGET}", LOADS, P99, 1, frugal),
    Check("slot hot: p50 within 1 % of the best pool of any budget", HOT, P50, TIE, best),
    Check("stream no task overtaken by 128 later pushes", STREAM, OVERTAKEN, 0, one, " tasks"),
    Check("coliseum empty task within 60 ns", EMPTY, TASK_NS, 60, one, " ns"),
    Check("coliseum no empty task run inside a push", EMPTY, INLINE, 0, one, " tasks"),
    Check("idle pool takes at most 50 µs of CPU time in 200 ms", IDLE, CPU_US, 50, one),
    Check("idle pool has no context switch", IDLE, SWITCHES, 0, one, " switches"),
)


class Duel(NamedTuple):
    key: Key  # the own pool's with the fewest workers, which are as many computing threads as cores
    rival: Key
    ratio: Ratio  # of the own pool's figure to the rival's, round by round


def duels(every: Groups, figure: str, cases: Sequence[str] = FIB_CASES) -> Iterator[Duel]:
    """In each class and case. `alone` has no queue: no rival in CPU time."""
    left_out = {OWN, *FACADES, *([ALONE] if figure == "cpu_s" else [])}
    for sched_class, case in ((c, case) for c in CLASSES for case in cases):
        here = select(every, bench="coliseum", case=case, sched_class=sched_class)
        key = min(select(here, **DEFAULT), key=lambda key: key.workers, default=None)
        for rival in (rival for rival in here if key and rival.backend not in left_out):
            if key and (ratio := round_ratio(here[key].rounds(figure), here[rival].rounds(figure))):
                yield Duel(key, rival, ratio)


def duels_verdict(name: str, found: Sequence[Duel]) -> Verdict:
    """Missed when an interval lies beyond the tie as a whole, not known when the tie is inside of one."""
    if not found:
        return Verdict(NONE, f"{name}: not measured")
    words = [at_most_word(duel.ratio, TIE) for duel in found]
    good, bad, undecided = (words.count(word) for word in (MET, MISSED, UNKNOWN))
    _, (key, rival, ratio) = max(zip(words, found), key=lambda one: (one[0] == MISSED, one[1].ratio.value))
    worst = f"{key} against {rival.pool()}: {ratio.percent(1)} %"
    detail = f"{good} of {len(words)} comparisons hold, {bad} do not, {undecided} are open; worst: {worst}"
    return Verdict(MISSED if bad else UNKNOWN if undecided else MET, f"{name}: {detail}")


def facade_verdict(every: Groups, name: str) -> Verdict:
    """ns that an empty task costs over the core's: the differences in the rounds."""
    differences: list[float] = []
    for key, at in select(every, **EMPTY | {"backend": name, "sched_class": CLASSES[0]}).items():
        if core := every.get(key._replace(backend=OWN)):
            upper, lower = at.rounds("ns_per_task"), core.rounds("ns_per_task")
            differences = [upper[number] - lower[number] for number in sorted(upper.keys() & lower.keys())]
    cost = typical(differences)
    found = cost.text(lambda ns: f"{ns:+.1f}") + " ns a task" if cost else "not measured"
    limit = f"an empty task costs at most {FACADE_NS_MAX:.0f} ns more than by the core's"
    return Verdict(at_most_word(cost, FACADE_NS_MAX), f"interface {name}: {limit}: {found}")


def verdicts(every: Groups, cores: int) -> Iterator[Verdict]:
    """Of the parts that were measured."""
    benches = {key.bench for key in every}
    for check in (check for check in CHECKS if check.where["bench"] in benches):
        yield check.verdict(every, cores)
    if "coliseum" in benches:
        of = "coliseum not 1 % slower than any pool, by 95 % intervals"
        yield duels_verdict(f"{of}: wall time", list(duels(every, "wall_s")))
        yield duels_verdict(f"{of}: CPU time", list(duels(every, "cpu_s")))
        nested = [duel for duel in duels(every, "wall_s", ("nested",)) if duel.rival.backend == "onetbb"]
        yield duels_verdict("coliseum nested fib not 1 % slower than oneTBB, by 95 % intervals", nested)
        yield from (facade_verdict(every, name) for name in FACADES)
