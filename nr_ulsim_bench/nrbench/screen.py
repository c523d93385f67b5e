# SPDX-License-Identifier: BSD-3-Clause
"""The screen with which ci/bench ends: how this pool compares on this machine, in some ratios.

A ratio is the median over cases and rounds. A round of a case has one value: this pool's ÷ the other's."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Callable, Collection, Iterator, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.cases import SLOT_CASES, TINY_CASE
from nrbench.engine import Item, table
from nrbench.judge import CONFIDENCE, EQUAL, UNKNOWN, Interval, Ratio, Rounds, judge, typical
from nrbench.parts.lives_judge import AUTO, NO_POOL, Lives
from nrbench.parts.pools import CLASS_TEXT
from nrbench.parts.pools_judge import FIB_CASES
from nrbench.render import busy_lines, machine_line
from nrbench.stats import Groups, Key, Results, groups, read_lines, select
from nrbench.sweep.figures import RX
from nrbench.sweep.record import RUNS, Run, read_runs
from nrbench.sweep.replay import OLD_AND_NEW

POOLS, LIVES, REPLAY = "results.ndjson", "lives.ndjson", f"replay/{RUNS}"
TABLES, PAGE = "tables.txt", "report.html"
SKETCH, SKETCH_TEXT = OLD_AND_NEW[0], "the sketch of OAI's pool"
CASES = tuple(case for case in SLOT_CASES if case != TINY_CASE)
Figure = Callable[[Results], Rounds]


def _per_work(at: Results) -> Rounds:
    work_s = at.rounds("work_s")
    return {number: cpu_s / work_s[number] for number, cpu_s in at.rounds("cpu_s").items()}


def _figure(name: str) -> Figure:
    return lambda at: at.rounds(name)


class Contest:
    """The own pool with as many threads as cores against others, in the first class that was measured."""

    def __init__(self, groups: Groups, bench: str, cases: Collection[str], cores: int) -> None:
        every = select(groups, bench=bench, case=tuple(cases))
        self.class_ = next((name for name in CLASSES if select(every, sched_class=name)), "")
        every = select(every, sched_class=self.class_)
        own = select(every, backend=OWN, mode="default", workers=max(1, cores - 1))
        self.own = {key.case: at for key, at in own.items()}
        self.rivals: dict[Key, dict[str, Results]] = {}  # those with all cases
        for key, at in every.items():
            if key.backend not in (OWN, *FACADES):
                self.rivals.setdefault(key._replace(case=""), {})[key.case] = at
        self.rivals = {key: of for key, of in self.rivals.items() if self.own.keys() <= of.keys()}

    def ratio(self, rival: Key | None, figure: Figure) -> Ratio | None:
        of = self.rivals[rival] if rival else {}
        pairs = [(figure(own), figure(of[case])) for case, own in self.own.items() if case in of]
        return typical([own[n] / to[n] for own, to in pairs for n in own.keys() & to.keys()])

    def best(self, figure: Figure, name: str = "") -> Key | None:
        """The rival, with any of its settings, against which this pool does worst. @param name  one pool"""
        ratios = {
            key: ratio
            for key in self.rivals
            if (key.backend == name if name else key.backend != ALONE) and (ratio := self.ratio(key, figure))
        }
        return max(ratios, key=lambda key: ratios[key].value, default=None)


def _recorded(runs: Sequence[Run]) -> Ratio | None:
    """Whole RX of recorded slots, each number of threads of each file."""
    found: dict[str, dict[tuple[str, int, int], float]] = {}
    for run in (run for run in runs if run.status == "ok" and run.spin in (None, "auto")):
        found.setdefault(run.pool, {})[run.case, run.threads, run.repeat] = run.figures[RX]
    old, new = (found.get(name, {}) for name in OLD_AND_NEW)
    return typical([new[key] / old[key] for key in new if key in old])


def _worst_life(lives: Lives) -> Ratio | None:
    """Median slot of the worst life ÷ that of all lives without a pool beside the same. A life without a
    result is the worst."""
    worst = []
    for place in lives.at:
        alone, own, failed = lives.p50s(place, NO_POOL), lives.p50s(place, AUTO), lives.failed(place, AUTO)
        if alone and (own or failed):
            worst += [us / statistics.median(alone) for us in own] + [math.inf] * failed
    return Ratio(max(worst), Interval(max(worst), max(worst))) if worst else None


Row = tuple[str, Ratio | None]


def _rows(slots: Contest, jobs: Contest, runs: Sequence[Run], lives: Lives) -> Iterator[Row]:
    p50, wall = _figure("makespan_p50_us"), _figure("wall_s")
    sketch, best, alone = slots.best(p50, SKETCH), slots.best(p50), slots.best(p50, ALONE)
    job = jobs.best(wall)
    yield f"recorded slots of nr_ulsim ÷ {SKETCH_TEXT}", _recorded(runs)
    yield f"slots ÷ {SKETCH_TEXT}", slots.ratio(sketch, p50)
    yield f"slots ÷ the best other pool{_named(best)}", slots.ratio(best, p50)
    yield "slots ÷ no pool", slots.ratio(alone, p50)
    yield f"many small jobs ÷ the best other pool{_named(job)}", jobs.ratio(job, wall)
    yield f"CPU time of slots ÷ {SKETCH_TEXT}", slots.ratio(sketch, _per_work)
    yield f"CPU time of slots ÷ the best other pool{_named(best)}", slots.ratio(best, _per_work)
    count = sum(lives.share(place, AUTO).lives for place in lives.at)
    yield f"worst of {count} lives ÷ no pool", _worst_life(lives)


def _named(key: Key | None) -> str:
    return f", {key.pool()}" if key else ""


def _cells(what: str, ratio: Ratio | None) -> list[str]:
    if ratio is None:
        return [what, "not measured", UNKNOWN]
    lived = ratio.interval and ratio.interval.low == ratio.interval.high  # nothing is estimated
    text = (ratio._replace(interval=None) if lived else ratio).text(lambda value: f"{value:.2f}")
    return [what, text.removesuffix(" [?]"), judge(ratio.interval, 0, EQUAL - 1 if lived else 0.0).word]


def screen(out: Path, names: Collection[str]) -> Iterator[Item]:
    """@param names  of results in `out`: those of the parts that were measured"""
    pools, lives = (
        Results(read_lines(out / name) if name in names and (out / name).is_file() else ())
        for name in (POOLS, LIVES)
    )
    recorded = out / REPLAY if REPLAY in names else out
    runs = read_runs(recorded) if recorded.is_file() else []
    host = next((found.host for found in (pools, lives) if found.all), None)
    if host is None:
        return
    every = groups(pools)
    slots = Contest(every, "slot", CASES, host["cores"])
    jobs = Contest(every, "coliseum", FIB_CASES, host["cores"])
    yield f"This pool on {machine_line(host)}"
    rows = [_cells(*row) for row in _rows(slots, jobs, runs, Lives(lives))]
    yield from table("", ["", f"median [{CONFIDENCE:.0%} interval]", "this pool is"], rows)
    yield ""
    yield f"below 1: this pool takes less; same: within {EQUAL - 1:.0%}; {UNKNOWN}: the repeats do not tell"
    yield f"slots and jobs: {CLASS_TEXT.get(slots.class_ or jobs.class_, 'not measured')}"
    yield from busy_lines(host)
    yield f"tables, verdicts and plots: {out / PAGE}; as text: {out / TABLES}"
