# SPDX-License-Identifier: BSD-3-Clause
"""The tables of pools: of each class a row a pool and setting, a column a case. Their cells are texts with
figures, which are medians over the rounds."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from nrbench.backends import BACKENDS, CLASSES, FACADES, OWN
from nrbench.cases import SHAPES, SLOT_CASES
from nrbench.engine import Item, table
from nrbench.host import TEXT, fact_text
from nrbench.judge import CONFIDENCE
from nrbench.parts.pools.plan import (
    FAN,
    FAN_CASE,
    FAN_PERIOD_NS,
    FIB_CASES,
    IDLE_CASE,
    IDLE_US,
    START_S,
    STREAM_CASE,
    STREAM_PERIOD_NS,
    STREAM_RING,
)
from nrbench.parts.pools.verdict import contest_ratios, facade_cost, slot_target
from nrbench.render import Table
from nrbench.stats import Groups, Key, Results, matching, select

CLASS_TEXT = {
    "other": "all threads in the normal class",
    "rr": "workers real-time, producer normal",
    "rrall": "workers and producer real-time",
}
OTHERS = "the others"
START = f"the first {START_S * 1000:.0f} ms of a pool's life"
CASES = (*SLOT_CASES, *SHAPES)
WAKES = tuple(f"idle{us}us" for us in IDLE_US)
_ORDER = {backend.name: index for index, backend in enumerate(BACKENDS)}
Text = str | Callable[[Results], str]  # of a cell


class Grid(NamedTuple):
    title: str
    where: dict[str, Any]  # of the keys
    cells: dict[str, tuple[str, Text]]  # by heading: the case, and the text
    figure: str = ""  # in which all rows are left out that lack it


def _each(cases: Sequence[str], text: Text) -> dict[str, tuple[str, Text]]:
    return {case: (case, text) for case in cases}


def _job(at: Results) -> str:
    if at["work_s"] == 0:
        return f"{at['ns_per_task']:.1f} ({100 * at['inline_tasks'] / at['tasks']:.0f} %)"
    return f"{at['wall_s'] / at['ideal_s']:.2f} [{at.cpu_per_work:.2f}]"


def _stream(at: Results) -> str:
    """CPU time without the producer's, which polls all the time, and without the tasks' work."""
    cpus = max(0.0, (at["cpu_s"] - at.get("work_s", 0.0)) / at["wall_s"] - 1)
    return f"{at['lag_p50_us']:.1f}/{at['lag_p99_us']:.1f} [{cpus:.2f}]"


def _share(name: str, a_slot: int = 1) -> Text:
    """In percent of the tasks."""
    return lambda at: f"{100 * at[name] / (at['slots'] * a_slot):.1f}"


SLOTS: Text = lambda at: f"{at['ratio_p50']:.2f}/{at['ratio_p99']:.2f} [{at.cpu_per_work:.1f}]"  # noqa: E731
SLOT_TITLE = "{of}: makespan p50/p99 as ratio to the bound [CPU time / work]"
STEADY = Grid(SLOT_TITLE, {"bench": "slot", "hog": False}, _each(CASES, SLOTS))
TAIL = Grid(
    "The tail of the same slots: makespan p99.9 as ratio to the bound{counts}",
    {"bench": "slot", "hog": False},
    _each(CASES, "{ratio_p999:.2f}"),
    "ratio_p999",
)
HOG = Grid(SLOT_TITLE, {"bench": "slot", "hog": True}, _each(CASES, SLOTS))
BEGIN = Grid(
    f"Start: the slots of {START}: makespan p50/p99 as ratio to the bound",
    {"bench": "slot", "hog": False},
    _each(CASES, "{start_ratio_p50:.2f}/{start_ratio_p99:.2f}"),
    "start_ratio_p50",
)
STREAM = Grid(
    f"Stream: {STREAM_CASE} us every {STREAM_PERIOD_NS / 1000:.1f} us, never joined, the producer polls: "
    f"push to start p50/p99 in us [CPUs beyond the producer's and the work]; start: {START}; "
    f"overtaken: begun after {STREAM_RING} later pushes; out of order: after a later one; "
    f"fan: pushed by a task, every {FAN_PERIOD_NS / 1000:g} us",
    {"bench": "stream"},
    {
        "steady state": (STREAM_CASE, _stream),
        "start": (STREAM_CASE, "{start_lag_p50_us:.1f}/{start_lag_p99_us:.1f}"),
        "overtaken, %": (STREAM_CASE, _share("overtaken")),
        "out of order, %": (STREAM_CASE, _share("reordered")),
        f"fan of {FAN}": (FAN_CASE, "{fan_lag_p50_us:.1f}/{fan_lag_p99_us:.1f}"),
        "fan out of order, %": (FAN_CASE, _share("fan_reordered", FAN)),
    },
)
COLISEUM = Grid(
    "Coliseum: wall time as ratio to work/cores [CPU time / work]; empty in ns a task "
    "(% run inside the push)",
    {"bench": "coliseum", "hog": False},
    _each([*FIB_CASES, "nested", "empty"], _job),
)
WAKE = Grid(
    "Push to start of the task after idleness: p50/p99 in us [% on another CPU]",
    {"bench": "wake", "case": WAKES},
    _each(
        WAKES,
        lambda at: (
            f"{at['p50_us']:.1f}/{at['p99_us']:.1f} [{100 * at['other_cpu_starts'] / at['slots']:.0f}]"
        ),
    ),
)
IDLE = Grid(
    "Idle pool, from 100 ms after the last task, for 200 ms: CPU time in us, context switches",
    {"bench": "wake", "case": IDLE_CASE},
    _each([IDLE_CASE], lambda at: f"{at['cpu_s'] * 1e6:.0f}, {at['ctx_switches']:.0f}"),
)
USED = ("CPU time, s", "CPUs", "user, s", "system, s", "switches", "involuntary")


def pool_order(key: Key) -> tuple[int, str, int]:
    """The own pool first, then in the order of the list of backends."""
    return _ORDER.get(key.backend, len(_ORDER)), key.mode, key.workers


def _cell(at: Results | None, text: Text) -> str:
    if at is None:
        return ""
    if at.lines:
        try:
            return text.format_map(at) if isinstance(text, str) else text(at)
        except KeyError:
            return ""
    why = at.failed[0]["error"] if at.failed else ""
    return "n/a" if why.startswith("n/a") else "hung" if "killed" in why or "left out" in why else "error"


def _of_class(title: str, head: list[str], rows: list[list[str]]) -> Iterator[Table]:
    """Below a heading, if it is the first."""
    if rows and title:
        yield Table(title, [], [], [])
    yield from table("", head, rows)


def shown(grid: Grid, every: Groups, helps: dict[str, bool], **of_title: str) -> Iterator[Item]:
    """@param helps  by pool, whether its waiter runs tasks"""
    found = matching(every, **grid.where)
    if grid.figure:
        found = {key: at for key, at in found.items() if at.get(grid.figure) is not None}
    cells = {head: cell for head, cell in grid.cells.items() if any(key.case == cell[0] for key in found)}
    title = grid.title.format(**of_title)
    for sched_class in CLASSES:
        of_class = matching(found, sched_class=sched_class)
        rows = []
        for row in sorted({key._replace(case="") for key in of_class}, key=pool_order):
            texts = [_cell(of_class.get(row._replace(case=case)), text) for case, text in cells.values()]
            rows.append([row.pool(), "helps" if helps.get(row.backend) else "sleeps", *texts])
        yield from _of_class(title, [CLASS_TEXT[sched_class], "waiter", *cells], rows)
        title = "" if rows else title


def settled_text(every: Groups) -> str:
    """As "0.5 s (ws), 0.1 s (the others)": how long after the first slot those that count begin."""
    seconds: dict[str, float] = {}
    for key, at in select(every, bench="slot").items():
        name, settled_s = OWN if key.backend == OWN else OTHERS, at.get("settled_s")
        if settled_s is not None:  # results of an older version count from the 11th slot on
            seconds[name] = min(seconds.get(name, math.inf), settled_s)
    return ", ".join(f"{value:.1f} s ({name})" for name, value in sorted(seconds.items(), reverse=True))


def drift_lines(every: Groups) -> Iterator[str]:
    """Whether the pools had settled, over all slot measurements of a kind."""
    drifts: dict[str, list[float]] = {OWN: [], OTHERS: []}
    for key, at in select(every, bench="slot", hog=False).items():
        if at.get("drift") is not None:
            drifts[OWN if key.backend == OWN else OTHERS].append(at["drift"])
    texts = [
        f"{name} {', '.join(f'{quartile:.2f}' for quartile in statistics.quantiles(values, n=4))}"
        for name, values in drifts.items()
        if len(values) > 1
    ]
    if texts:
        yield (
            "\nSettled? Median makespan of the second half of the slots that count / that of the first half, "
            f"quartiles over the cases: {'; '.join(texts)}"
        )


def target_table(every: Groups, cores: int) -> Iterator[Table]:
    heads = ("bound", "wake", "target p50", "p50", "target p99", "p99", "list limit")
    own = select(every, bench="slot", backend=OWN, mode="default", hog=False, workers=(1, 2), case=SLOT_CASES)
    rows = []
    for key in sorted(own, key=lambda key: (SLOT_CASES.index(key.case), key.sched_class, key.workers)):
        if target := slot_target(every, key, own[key], cores):
            p50, p99 = own[key]["makespan_p50_us"], own[key]["makespan_p99_us"]
            values = (target.bound_us, target.wake_us, target.p50_us, p50, target.p99_us, p99)
            texts = (f"{value:.1f}" for value in (*values, target.list_limit_us))
            rows.append([key.case, key.sched_class, str(key.workers), *texts])
    title = (
        "The own pool against its targets, in us (list limit: ideal scheduling of whole tasks when the"
        " producer begins after its pushes and the second core after the wake latency)"
    )
    yield from table(title, ["case", "class", "workers", *heads], rows)


def ratio_tables(every: Groups) -> Iterator[Table]:
    """What the verdict takes: the own pool against each other one, round by round."""
    title = (
        "Coliseum: wall time of this pool against another's, in percent: "
        f"median of the rounds' ratios [{CONFIDENCE:.0%} interval]"
    )
    for sched_class in CLASSES:
        cells: dict[Key, dict[str, str]] = defaultdict(dict)
        own = ""
        for key, rival, ratio in contest_ratios(every, "wall_s"):
            if key.sched_class == sched_class:
                cells[rival._replace(case="")][key.case], own = ratio.percent(1), key.pool()
        cases = [case for case in FIB_CASES if any(case in row for row in cells.values())]
        rows = [[r.pool(), *(cells[r].get(c, "") for c in cases)] for r in sorted(cells, key=pool_order)]
        yield from _of_class(title, [f"{CLASS_TEXT[sched_class]}, {own} against", *cases], rows)
        title = "" if rows else title


def usage_table(every: Groups) -> Iterator[Table]:
    usage = select(every, bench="coliseum", case="fib19", sched_class="other", hog=False)
    names = {"cpu_s": 3, "user_s": 3, "system_s": 3, "ctx_switches": 0, "involuntary_switches": 0}
    rows = []
    for key in sorted(usage, key=pool_order):
        at = usage[key]
        cpu, *others = (
            f"{at[name]:.{digits}f}" if at.get(name) is not None else "" for name, digits in names.items()
        )
        rows.append([key.pool(), f"{at['tasks']:.0f}", cpu, f"{at['cpu_s'] / at['wall_s']:.2f}", *others])
    yield from table("Coliseum, fib19: what it cost, by the kernel's count", ["pool", "tasks", *USED], rows)


def facade_lines(every: Groups) -> Iterator[str]:
    costs = {name: cost for name in FACADES if (cost := facade_cost(every, name))}
    if costs:
        yield (
            "\nInterfaces of other pools on this one, empty tasks: cost over the core's interface, median of "
            f"the rounds' differences [{CONFIDENCE:.0%} interval]"
        )
    yield from (f"  {name}: {cost.text(lambda ns: f'{ns:+.1f}')} ns a task" for name, cost in costs.items())


def error_lines(every: Groups) -> Iterator[str]:
    """Measurements that failed, summed by pool, class and cause."""
    causes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for key, at in every.items():
        pool = f"{key.bench} {key.sched_class} {key.pool()}{' with a hog' if key.hog else ''}"
        for error in (line["error"] for line in at.failed):
            if not error.startswith("n/a"):
                causes[pool, re.sub(r"\d+\.\d+ s", "its time limit", error)][key.case] += 1
    if causes:
        yield "\nMeasurements without a result:"
    for (pool, error), cases in sorted(causes.items()):
        yield f"  {pool}: {', '.join(f'{case} x{count}' for case, count in sorted(cases.items()))}: {error}"


def host_lines(host: dict[str, Any]) -> Iterator[str]:
    for name, title in (TEXT | {"commit": "commit", "load": "load at the start"}).items():
        if text := fact_text(host.get(name)):
            yield f"{title}: {text}"
    yield f"rounds {host['rounds']}, seed {host['seed']}, length {host['scale']:.2f} of full"
    for what in ("missing", "skipped"):
        yield from (f"{what}: {name} ({reason})" for name, reason in host[what].items())


def tables(results: Results, every: Groups) -> Iterator[Item]:
    host = results.host
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    settled = settled_text(every)
    of = f"Slots in the steady state, from {settled} after a pool's first slot on" if settled else "Slots"
    slots = [at["slots"] for at in select(every, **TAIL.where).values() if at.get(TAIL.figure)]
    counts = f" (of {min(slots):.0f} to {max(slots):.0f} slots a round)" if slots else ""
    yield from host_lines(host)
    yield from shown(STEADY, every, helps, of=of)
    yield from shown(TAIL, every, helps, counts=counts)
    yield from shown(HOG, every, helps, of=f"{of}, one CPU hog")
    yield from drift_lines(every)
    yield from shown(BEGIN, every, helps)
    yield from target_table(every, host["cores"])
    yield from shown(STREAM, every, helps)
    yield from shown(COLISEUM, every, helps)
    yield from ratio_tables(every)
    yield from facade_lines(every)
    yield from usage_table(every)
    yield from shown(WAKE, every, helps)
    yield from shown(IDLE, every, helps)
    yield from error_lines(every)
