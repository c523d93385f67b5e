# SPDX-License-Identifier: BSD-3-Clause
"""The screen with which ci/bench ends: how this pool compares on this machine, in some ratios.

A ratio is of medians of rounds, over their cases. A round of a case has one value: this pool's ÷ the
other's."""

import math
from pathlib import Path
from typing import Any, Collection, Iterator, Sequence

from nrbench.backends import ALONE, CLASSES, FACADES, OWN
from nrbench.cases import SLOT_CASES, TINY_CASE
from nrbench.engine import BOTH, Item, table
from nrbench.judge import EQUAL, NONE, ROUNDS_MIN, UNKNOWN, Interval, Ratio, judge, of_cost, over_rounds
from nrbench.parts.lives import AUTO, lives_of
from nrbench.parts.pools import CLASS_TEXT
from nrbench.parts.pools_judge import FIB_CASES
from nrbench.render import busy_lines, machine_line
from nrbench.stats import Line, Results, read_lines
from nrbench.sweep.figures import RX
from nrbench.sweep.record import RUNS, Run, read_runs
from nrbench.sweep.replay import OLD_AND_NEW

POOLS, LIVES, REPLAY = "results.ndjson", "lives.ndjson", f"replay/{RUNS}"
TABLES, PAGE = "tables.txt", "report.html"
SKETCH, SKETCH_TEXT = OLD_AND_NEW[0], "the sketch of OAI's pool"
CASES = tuple(case for case in SLOT_CASES if case != TINY_CASE)
QUICK = "--quick gives no verdicts here, by design: it measures few rounds of few settings"
FEW = f"{UNKNOWN}: the interval holds 1, or there are fewer than {ROUNDS_MIN} rounds (--rounds)"
Row = tuple[str, Ratio | None]


class Contest:
    """The own pool with as many threads as cores against others, in the first class that was measured."""

    def __init__(self, results: Results, bench: str, cases: Collection[str], cores: int) -> None:
        import pandas as pd  # loads for a second

        names = "case round class backend mode workers makespan_p50_us wall_s cpu_s work_s".split()
        of_bench = results.only(bench=bench, case=tuple(cases)).lines
        frame = pd.DataFrame(of_bench, columns=names)
        self.class_ = next((name for name in CLASSES if (frame["class"] == name).any()), "")
        frame = frame[frame["class"] == self.class_].set_index(["case", "round"])
        hot = frame["mode"].map(lambda mode: " hot" if mode == "hot" else "")
        frame["pool"] = frame["backend"] + " " + frame["workers"].astype(str) + "w" + hot
        frame["cpu_per_work"] = frame["cpu_s"] / frame["work_s"]
        is_own, usual = frame["backend"] == OWN, frame["mode"] == "default"
        self.own = frame[is_own & usual & (frame["workers"] == max(1, cores - 1))]
        self.rivals = frame[~frame["backend"].isin([OWN, *FACADES])]

    def ratios(self, figure: str) -> Any:
        """A row a case and round, a column a rival with any of its settings, which has all cases."""
        wide = self.rivals.set_index("pool", append=True)[figure].unstack("pool")
        has = wide.notna().groupby("case").any().reindex(self.own.index.unique("case"), fill_value=False)
        return wide.loc[:, has.all()].rdiv(self.own[figure], axis=0)

    def ratio(self, rival: str, figure: str) -> Ratio | None:
        if not rival:
            return None
        of = self.ratios(figure)[rival].dropna()
        return over_rounds(zip(of.index.get_level_values("round"), of))

    def best(self, figure: str, name: str = "") -> str:
        """The rival against which this pool does worst. @param name  one pool"""
        medians = self.ratios(figure).median().dropna()
        of = {pool: pool.split()[0] for pool in medians.index}
        wanted = [pool for pool in medians.index if (of[pool] == name if name else of[pool] != ALONE)]
        return str(medians[wanted].idxmax()) if wanted else ""


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


def _rows(slots: Contest, jobs: Contest, runs: Sequence[Run], lives: Sequence[Line]) -> Iterator[Row]:
    p50, wall, cpu = "makespan_p50_us", "wall_s", "cpu_per_work"
    sketch, best, job = slots.best(p50, SKETCH), slots.best(p50), jobs.best(wall)
    rival = f"the best other pool{best and ', '}{best}"
    yield f"recorded slots of nr_ulsim ÷ {SKETCH_TEXT}", _recorded(runs)
    yield f"slots ÷ {SKETCH_TEXT}", slots.ratio(sketch, p50)
    yield f"slots ÷ {rival}", slots.ratio(best, p50)
    yield "slots ÷ no pool", slots.ratio(slots.best(p50, ALONE), p50)
    yield f"many small jobs ÷ the best other pool{job and ', '}{job}", jobs.ratio(job, wall)
    yield f"CPU time of slots ÷ {SKETCH_TEXT}", slots.ratio(sketch, cpu)
    yield f"CPU time of slots ÷ {rival}", slots.ratio(best, cpu)
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
    slots = Contest(pools, "slot", CASES, host["cores"])
    jobs = Contest(pools, "coliseum", FIB_CASES, host["cores"])
    yield f"This pool on {machine_line(host)}"
    own, quick = [of for of in lives_of(lives) if of["pool"] == AUTO], bool(host.get("quick"))
    rows = [_cells(*row, quick) for row in _rows(slots, jobs, runs, own)]
    yield from table("", ["this pool", "verdict", f"median{BOTH}"], rows)
    yield ""
    yield f"below 1: this pool takes less; same: within {100 * (EQUAL - 1):.0f} %"
    yield QUICK if quick else FEW
    yield f"slots and jobs: {CLASS_TEXT.get(slots.class_ or jobs.class_, 'not measured')}"
    yield from busy_lines(host)
