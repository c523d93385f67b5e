# SPDX-License-Identifier: BSD-3-Clause
"""The screen with which ci/bench ends: how this pool compares on this machine, in some ratios.

A ratio is of medians of rounds, over their cases. A round of a case has one value: this pool's ÷ the
other's."""

import math
import statistics
from pathlib import Path
from typing import Callable, Collection, Iterator, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.cases import SLOT_CASES, TINY_CASE
from nrbench.engine import BOTH, Item, table
from nrbench.judge import EQUAL, NONE, ROUNDS_MIN, UNKNOWN, Interval, Ratio, judge, of_cost, over_rounds
from nrbench.parts.lives import AUTO, lives_of
from nrbench.parts.pools import CLASS_TEXT
from nrbench.parts.pools_judge import FIB_CASES
from nrbench.render import busy_lines, machine_line
from nrbench.stats import Groups, Line, Results, groups, read_lines, select
from nrbench.sweep.figures import RX
from nrbench.sweep.record import RUNS, Run, read_runs
from nrbench.sweep.replay import OLD_AND_NEW

POOLS, LIVES, REPLAY = "results.ndjson", "lives.ndjson", f"replay/{RUNS}"
TABLES, PAGE = "tables.txt", "report.html"
SKETCH, SKETCH_TEXT = OLD_AND_NEW[0], "mutex-per-worker (as OAI)"
CASES = tuple(case for case in SLOT_CASES if case != TINY_CASE)
QUICK = "--quick gives this screen no verdicts, by design: it measures few rounds of few settings"
FEW = f"{UNKNOWN}: the interval holds 1, or there are fewer than {ROUNDS_MIN} rounds (--rounds)"
Row = tuple[str, Ratio | None]
Figure = Callable[[Results], dict[int, float]]  # by round
Ratios = dict[str, list[tuple[int, float]]]  # by pool: rounds, and the ratio in each


def first_class(results: Results, bench: str, cases: Collection[str]) -> Groups:
    """What was measured in the first class in which anything was."""
    every = groups(results.only(bench=bench, case=tuple(cases)))
    return next(filter(None, (select(every, sched_class=name) for name in CLASSES)), {})


def ratios(every: Groups, cores: int, figure: Figure) -> Ratios:
    """Of this pool, with as many threads as cores, to each other pool that has all its cases."""
    mine = select(every, backend=OWN, mode="default", workers=max(1, cores - 1))
    own, found = {key.case: figure(at) for key, at in mine.items()}, dict[str, Ratios]()
    for key, at in every.items():
        if key.backend not in (OWN, *FACADES):
            above, below = own.get(key.case, {}), figure(at)
            shared = [(number, above[number] / below[number]) for number in above.keys() & below.keys()]
            found.setdefault(key.pool(), {})[key.case] = shared
    return {pool: sum(of.values(), []) for pool, of in found.items() if own.keys() <= of.keys()}


def cpu_per_work(at: Results) -> dict[int, float]:
    return {line["round"]: line["cpu_s"] / line["work_s"] for line in at.lines}


def best(of: Ratios, name: str = "") -> str:
    """The pool against which this one does worst. @param name  one pool"""
    wanted = {p: r for p, r in of.items() if r and (p.split()[0] == name if name else p.split()[0] != ALONE)}
    return max(wanted, key=lambda pool: statistics.median(ratio for _, ratio in wanted[pool]), default="")


def _recorded(runs: Sequence[Run]) -> Ratio | None:
    """Whole RX of recorded slots, each number of threads of each file."""
    found: dict[str, dict[tuple[str, int, int], float]] = {}
    for run in (run for run in runs if run.status == "ok" and run.spin in (None, "auto")):
        found.setdefault(run.pool, {})[run.case, run.threads, run.repeat] = run.figures[RX]
    old, new = (found.get(name, {}) for name in OLD_AND_NEW)
    return over_rounds((key[-1], new[key] / old[key]) for key in new if key in old)


def _worst_life(own: Sequence[Line]) -> Ratio | None:
    """Median slot of the worst life ÷ that of all lives without a pool beside the same. A life without a
    result is the worst."""
    worst = []
    for of in (of for of in own if of["alone"] < math.inf):
        failed = of["lives"] - len(of["p50s"])
        worst += [us / of["alone"] for us in of["p50s"]] + [math.inf] * failed
    return Ratio(max(worst), Interval(max(worst), max(worst))) if worst else None


def _rows(
    slots: Groups, jobs: Groups, cores: int, runs: Sequence[Run], lives: Sequence[Line]
) -> Iterator[Row]:
    p50 = ratios(slots, cores, lambda at: at.rounds("makespan_p50_us"))
    wall = ratios(jobs, cores, lambda at: at.rounds("wall_s"))
    cpu = ratios(slots, cores, cpu_per_work)
    sketch, rival, job = best(p50, SKETCH), best(p50), best(wall)
    named = f"the best other pool{rival and ', '}{rival}"
    yield f"recorded slots of nr_ulsim ÷ {SKETCH_TEXT}", _recorded(runs)
    yield f"slots ÷ {SKETCH_TEXT}", over_rounds(p50.get(sketch, ()))
    yield f"slots ÷ {named}", over_rounds(p50.get(rival, ()))
    yield "slots ÷ no pool", over_rounds(p50.get(best(p50, ALONE), ()))
    yield f"many small jobs ÷ the best other pool{job and ', '}{job}", over_rounds(wall.get(job, ()))
    yield f"CPU time of slots ÷ {SKETCH_TEXT}", over_rounds(cpu.get(sketch, ()))
    yield f"CPU time of slots ÷ {named}", over_rounds(cpu.get(rival, ()))
    yield f"worst of {sum(of['lives'] for of in lives)} lives ÷ no pool", _worst_life(lives)


def _cells(what: str, ratio: Ratio | None, quick: bool) -> list[str]:
    if ratio is None:
        return [what, NONE, ""]
    lived = ratio.interval and ratio.interval.low == ratio.interval.high  # nothing is estimated
    text = (ratio._replace(interval=None) if lived else ratio).text(lambda value: f"{value:.2f}")
    word = UNKNOWN if quick else judge(ratio.interval, EQUAL - 1 if lived else 0.0)
    return [what, of_cost(word) if what.startswith("CPU") else word, text]


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
    slots, jobs = first_class(pools, "slot", CASES), first_class(pools, "coliseum", FIB_CASES)
    yield f"This pool on {machine_line(host)}"
    own, quick = [of for of in lives_of(lives) if of["pool"] == AUTO], bool(host.get("quick"))
    rows = [_cells(*row, quick) for row in _rows(slots, jobs, host["cores"], runs, own)]
    yield from table("", ["this pool", "verdict", f"median{BOTH}"], rows)
    yield ""
    yield f"below 1: this pool takes less; same: within {100 * (EQUAL - 1):.0f} %"
    yield QUICK if quick else FEW
    measured = next((CLASS_TEXT[key.sched_class] for key in (*slots, *jobs)), "not measured")
    yield f"slots and jobs: {measured}"
    yield from busy_lines(host)
