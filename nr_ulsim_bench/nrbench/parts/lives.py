# SPDX-License-Identifier: BSD-3-Clause
"""Lives: by how much one run of a pool differs from the next, alone and beside other programs. Each life is a
process of ws-bench, which starts and ends the other programs, too."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from nrbench import host
from nrbench.backends import ALONE, BACKENDS, CLASSES, OWN
from nrbench.driver import there
from nrbench.engine import Part, Plan, Request, Step, asks, chosen_classes, nothing_to_measure, words
from nrbench.parts import lives_judge as judge
from nrbench.parts.lives_judge import AUTO, HOT, NO_POOL, Lives, Place
from nrbench.render import ending, host_line, layout
from nrbench.session import in_rounds
from nrbench.stats import Line, Results

CASES = ("12x6", "4x20")
POOLS: dict[str, tuple[str, ...]] = {
    AUTO: words(backend=OWN),
    HOT: words(backend=OWN, mode="hot"),
    "off": words(backend=OWN, env="TPOOL_WS_SPIN=off"),
    NO_POOL: words(backend=ALONE),
    "onetbb": words(backend="onetbb"),
}
TITLES = {AUTO: "ws", HOT: "ws hot", "off": "ws off", NO_POOL: "no pool", "onetbb": "onetbb"}
_LOWEST, _BUSY = words(noise="lowest:20000:20000"), words(hog=1)
NOISES: dict[str, tuple[str, ...]] = {
    "alone": (),
    "a": _LOWEST,
    "b": _BUSY,
    "c": _LOWEST + _BUSY,
    "d": words(noise="realtime:1000:9000"),
    "e": 2 * words(noise="session:30000:20000"),
    "f1": words(noise="host:300:6000"),
    "f2": words(noise="host:1500:15000"),
    "f3": words(noise="host:60:700"),
}
NOISE_TEXT = {
    "alone": "alone",
    "a": "(a) a lowest-priority process, 20 ms on and 20 ms off",
    "b": "(b) a busy normal process",
    "c": "(c) both",
    "d": "(d) a real-time process below the workers, 1 ms in 10",
    "e": "(e) two lowest-priority processes in sessions of their own, 30 ms on and 20 ms off",
    "f1": "(f1) a host that takes each CPU away, for 0.3 ms each 6 ms",
    "f2": "(f2) a host that takes each CPU away, for 1.5 ms each 15 ms",
    "f3": "(f3) a host that takes each CPU away, for 0.06 ms each 0.7 ms",
}
REALTIME = {"d": 10, "f1": 99, "f2": 99, "f3": 99}  # priorities of the noises in real-time classes
PERIOD_US, WARM, SLOTS = 500, 1000, 600
PROCESS_S = 0.1  # start and end of a life's process
LIMIT_S = 20  # of a life; with too few CPUs its slots are late
# The short form, which is a part of a plain ci/bench: for each class one noise, and the case that noise
# disturbs most.
SHORT_CASES = {"other": "4x20", "rr": "12x6", "rrall": "12x6"}
SHORT_NOISES = {"other": ("alone", "b"), "rr": ("b",), "rrall": ("f2",)}
QUANTILES = (0.1, 0.5, 0.9, 1.0)
COLORS = {AUTO: "C0", HOT: "C3", "off": "C1", NO_POOL: "C7", "onetbb": "C2"}
TICKS_US = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 1000, 2000, 5000)


class Setting(NamedTuple):
    place: Place
    pool: str

    def step(self, number: int) -> Step:
        labels: Line = {"bench": "lives", "case": self.place.case, "class": self.place.sched_class}
        labels |= {"noise": self.place.noise, "pool": self.pool, "round": number}
        given = words(
            bench="slot",
            workers=1,
            class_=self.place.sched_class,
            bursts=self.place.case,
            period_us=PERIOD_US,
            warm=WARM,
            slots=SLOTS,
            limit_s=LIMIT_S,
        )
        seconds = (WARM + SLOTS) * PERIOD_US * 1e-6 + PROCESS_S
        return Step(labels, (*POOLS[self.pool], *given, *NOISES[self.place.noise]), seconds, self.text)

    @property
    def text(self) -> str:
        return f"{self.place.case} {self.place.sched_class} {self.place.noise} {TITLES[self.pool]}"


def is_short(request: Request) -> bool:
    return request.quick or PART.name not in request.only


def places(request: Request, classes: Sequence[str]) -> list[Place]:
    if is_short(request):
        return [Place(SHORT_CASES[c], c, noise) for c in classes for noise in SHORT_NOISES[c]]
    return [Place(case, c, noise) for c in classes for case in CASES for noise in NOISES]


def refused(found: Iterable[Place]) -> dict[str, str]:
    """The noises of these places that may not run here, and why not."""
    wanted = {place.noise for place in found}
    return {
        noise: f"no permission for real-time classes with priority {priority}"
        for noise, priority in REALTIME.items()
        if noise in wanted and not host.realtime_allowed(priority)
    }


def settings(request: Request, found: Iterable[Place], missing: Iterable[str]) -> list[Setting]:
    """Of one round. The short form has most lives of what is judged."""
    own = (AUTO,) * request.usual(3, 2)
    pools = (*own, HOT, NO_POOL) if is_short(request) else tuple(p for p in POOLS if p not in missing)
    return [Setting(place, pool) for place in found for pool in pools]


def plan(request: Request) -> Plan:
    """All pools of a place side by side, in an order of their own in each round."""
    program = there(request.program)
    classes, skipped = chosen_classes(request.classes)
    found = places(request, classes)
    noises = refused(found)
    skipped |= {f"noise {noise}": why for noise, why in noises.items()}
    found = [place for place in found if place.noise not in noises]
    if not found:
        raise nothing_to_measure(skipped)
    missing, short = dict[str, str](), is_short(request)
    install = {backend.name: backend.install for backend in BACKENDS}
    if not short and not program.with_name("libbench_onetbb.so").is_file():
        missing["onetbb"] = f"not built; get it: {install['onetbb']}"
    count = request.rounds or (request.usual(3, 1) if short else 20)
    every = settings(request, found, missing)
    steps = [s.step(number) for number, s in in_rounds(every, count, request.seed, lambda s: s.place)]
    about = {"rounds": count, "warm": WARM, "slots": SLOTS, "missing": missing, "skipped": skipped}
    return Plan(steps, asks(program), about, f"{len(steps)} lives")


def quantile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that so large a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _row(lives: Lives, place: Place, pool: str) -> list[str]:
    taken, found = lives.taken[place][pool], judge.share(lives, place, pool)
    good = "" if found.good is None else f"{100 * found.good / found.lives:.0f} %"
    slow = "" if found.slower is None else f"{found.slower}"
    head = [f"{place.case} {place.sched_class} {TITLES[pool]}", f"{found.lives}", good, slow]
    if not taken:
        return head + [""] * (len(HEAD) - len(head))
    p50s, p99s = (
        [quantile([line[f"makespan_{p}_us"] for line in taken], share) for share in QUANTILES]
        for p in ("p50", "p99")
    )
    cpus = statistics.median(line["cpu_s"] / line["wall_s"] for line in taken)
    stops = [line["stopped_callers"] for line in taken if "stopped_callers" in line]
    stopped = f"{statistics.median(stops):.0f}/{max(stops)}" if stops else ""
    return [*head, *(f"{us:.0f}" for us in p50s + p99s), f"{cpus:.2f}", stopped]


HEAD = ["", "lives", "good", "slower", *("p50", "", "", "", "p99", "", "", ""), "CPUs", "stopped"]


def tables(lives: Lives) -> Iterator[str]:
    if lives.taken:
        yield (
            f"\np50 and p99 of the makespan of a life's {SLOTS} slots, in us. The columns are quantiles over"
            " the lives: 10, 50, 90 and 100 %\n"
            f"  good: lives whose p50 is at most {judge.GOOD:g} x the median of hot's lives beside the same\n"
            f"  slower: lives whose p50 is above {judge.SLOWER:g} x the median without a pool\n"
            "  CPUs: CPU time / wall time, median\n"
            "  stopped: wakes in a life that put the worker on its waker's CPU, median/most"
        )
    for noise in NOISES:
        here = sorted((p for p in lives.taken if p.noise == noise), key=place_order)
        rows = [_row(lives, place, pool) for place in here for pool in POOLS if pool in lives.taken[place]]
        if rows:
            yield from ["", *layout([[NOISE_TEXT[noise].partition(",")[0], *HEAD[1:]], *rows])]


def place_order(place: Place) -> tuple[int, int]:
    return CLASSES.index(place.sched_class), CASES.index(place.case) if place.case in CASES else len(CASES)


def report(results: Results) -> Iterator[str]:
    lives = judge.collect(results)
    yield host_line(results.host)
    yield from tables(lives)
    skipped = (f"skipped: {what} ({why})" for what, why in results.host.get("skipped", {}).items())
    found = judge.verdicts(lives, results.host["cores"], NOISE_TEXT)
    yield from ending(results, found, "pool", skipped)


def _draw_place(axis: Any, lives: Lives, place: Place, pools: Sequence[str]) -> None:
    limits = judge.limits_us(lives, place)
    for limit_us, style in ((limits.good, "--"), (limits.slow, ":")):
        if limit_us is not None:
            axis.axhline(limit_us, color="0.4", linewidth=0.8, linestyle=style)
    for index, pool in enumerate(pools):
        p50s = [line["makespan_p50_us"] for line in lives.taken[place].get(pool, ())]
        places = [index + 0.6 * ((0.618 * number) % 1 - 0.5) for number in range(len(p50s))]
        axis.plot(places, p50s, "o", color=COLORS[pool], markersize=2.5, alpha=0.7)
    axis.set_xticks(range(len(pools)), [TITLES[pool] for pool in pools], rotation=90, fontsize=7)
    axis.set_xlim(-0.5, len(pools) - 0.5)
    axis.grid(axis="y", alpha=0.3)


def draw(results: Results, out: Path) -> Iterator[str]:
    """A dot a life. A row of panels for each noise, a column for each class and case."""
    from nrbench.drawing import plain_numbers, plt, save  # loads for a second

    lives = judge.collect(results)
    if not results.lines:
        return
    noises = [noise for noise in NOISES if any(place.noise == noise for place in lives.taken)]
    columns = sorted({place._replace(noise="") for place in lives.taken}, key=place_order)
    pools = [pool for pool in POOLS if any(pool in of_place for of_place in lives.taken.values())]
    size = (1.2 + (0.6 + 0.3 * len(pools)) * len(columns), 1.4 + 1.9 * len(noises))
    look: Any = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained", "figsize": size}
    figure, axes = plt.subplots(len(noises), len(columns), **look)
    for row, noise in zip(axes, noises):
        row[0].set_ylabel(noise if noise == "alone" else f"({noise})")
        for axis, column in zip(row, columns):
            place = column._replace(noise=noise)
            if place in lives.taken:
                _draw_place(axis, lives, place, pools)
    for axis, column in zip(axes[0], columns):
        axis.set_title(f"{column.case} {column.sched_class}", fontsize=9)
    axes[0][0].set_yscale("log")
    axes[0][0].set_yticks(TICKS_US)
    p50s = [line["makespan_p50_us"] for line in results.lines]
    axes[0][0].set_ylim(0.9 * min(p50s), 1.1 * max(p50s))
    plain_numbers(axes[0][0].yaxis)
    figure.supylabel("median makespan of a life, us", fontsize=9)
    figure.suptitle(f"dashed: {judge.GOOD:g} x hot; dotted: {judge.SLOWER:g} x no pool", fontsize=9)
    yield save(figure, out / "lives.png", dpi=130)


PART = Part("lives", report, plan, draw=draw)
