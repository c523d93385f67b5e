# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as text."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from nrbench.backends import BACKENDS, CLASSES, FACADES, OWN
from nrbench.cases import SLOT_CASES
from nrbench.host import TEXT, fact_text
from nrbench.parts.pools.contest import HEADS, contest_ratios, facade_lines, usage_rows
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
from nrbench.parts.pools.verdict import slot_target
from nrbench.stats import Key, Summaries, Summary, matching, select
from nrbench.sweep.bootstrap import CONFIDENCE
from nrbench.text import layout

CLASS_TEXT = {
    "other": "all threads in the normal class",
    "rr": "workers real-time, producer normal",
    "rrall": "workers and producer real-time",
}
OTHERS = "the others"
START = f"the first {START_S * 1000:.0f} ms of a pool's life"
_ORDER = {backend.name: index for index, backend in enumerate(BACKENDS)}


def pool_order(key: Key) -> tuple[int, str, int]:
    return _ORDER.get(key.backend, len(_ORDER)), key.mode, key.workers


def pool_rows(summaries: Summaries) -> list[Key]:
    """One key for each pool and setting, the own pool first, then in the order of the list of backends."""
    first = {key._replace(case=""): None for key in summaries}
    return sorted(first, key=pool_order)


def cases_of(summaries: Summaries) -> list[str]:
    """Slot cases that were measured, in the order of the list."""
    return [case for case in SLOT_CASES if any(key.case == case for key in summaries)]


Column = tuple[str, str, Callable[[Summary], str]]  # heading, case, text of a cell


class Table(NamedTuple):
    """One for each class: a row a pool and setting."""

    title: str
    chosen: Summaries
    columns: Sequence[Column]

    def lines(self, helps: dict[str, bool]) -> Iterator[str]:
        """@param helps  by pool, whether its waiter runs tasks"""
        if self.chosen:
            yield f"\n{self.title}"
        for sched_class in CLASSES:
            of_class = matching(self.chosen, sched_class=sched_class)
            rows = [[CLASS_TEXT[sched_class], "waiter", *(heading for heading, _, _ in self.columns)]]
            for row in pool_rows(of_class):
                cells = (_cell(of_class.get(row._replace(case=case)), text) for _, case, text in self.columns)
                rows.append([row.pool(), "helps" if helps.get(row.backend) else "sleeps", *cells])
            if len(rows) > 1:
                yield from ["", *layout(rows)]


def _cell(summary: Summary | None, text: Callable[[Summary], str]) -> str:
    if summary is None or summary.rounds:
        return text(summary) if summary else ""
    why = summary.errors[0] if summary.errors else ""
    return "n/a" if why.startswith("n/a") else "hung" if "killed" in why or "left out" in why else "error"


def _of_cases(cases: Sequence[str], text: Callable[[Summary], str]) -> list[Column]:
    return [(case, case, text) for case in cases]


def settled_text(summaries: Summaries) -> str:
    """As "0.5 s (ws), 0.1 s (the others)": how long after the first slot those that count begin."""
    seconds: dict[str, float] = {}
    for key, summary in select(summaries, bench="slot").items():
        name, settled_s = OWN if key.backend == OWN else OTHERS, summary.get("settled_s")
        if settled_s is not None:  # results of an older version count from the 11th slot on
            seconds[name] = min(seconds.get(name, math.inf), settled_s)
    return ", ".join(f"{value:.1f} s ({name})" for name, value in sorted(seconds.items(), reverse=True))


def _slot_text(summary: Summary) -> str:
    return f"{summary['ratio_p50']:.2f}/{summary['ratio_p99']:.2f} [{summary.cpu_per_work:.1f}]"


def slot_table(summaries: Summaries, hog: bool) -> Table:
    settled = settled_text(summaries)
    part = f"Slots in the steady state, from {settled} after a pool's first slot on" if settled else "Slots"
    chosen = matching(summaries, bench="slot", hog=hog)
    beside = ", one CPU hog" if hog else ""
    title = f"{part}{beside}: makespan p50/p99 as ratio to the bound [CPU time / work]"
    return Table(title, chosen, _of_cases(cases_of(chosen), _slot_text))


def tail_table(summaries: Summaries) -> Table:
    """Few slots: a p99.9 over less than a thousand of them is the longest."""
    slots = matching(summaries, bench="slot", hog=False)
    chosen = {key: summary for key, summary in slots.items() if "ratio_p999" in summary.medians}
    columns = _of_cases(cases_of(chosen), lambda s: f"{s['ratio_p999']:.2f}")
    counts = [summary["slots"] for summary in chosen.values()]
    text = f" (of {min(counts):.0f} to {max(counts):.0f} slots a round)" if counts else ""
    return Table(f"The tail of the same slots: makespan p99.9 as ratio to the bound{text}", chosen, columns)


def drift_lines(summaries: Summaries) -> Iterator[str]:
    """Whether the pools had settled, over all slot measurements of a kind."""
    drifts: dict[str, list[float]] = {OWN: [], OTHERS: []}
    for key, summary in select(summaries, bench="slot", hog=False).items():
        if "drift" in summary.medians:
            drifts[OWN if key.backend == OWN else OTHERS].append(summary["drift"])
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


def start_table(summaries: Summaries) -> Table:
    """Of the same processes; the threads have been started before."""
    slots = matching(summaries, bench="slot", hog=False)
    chosen = {key: summary for key, summary in slots.items() if "start_ratio_p50" in summary.medians}
    columns = _of_cases(cases_of(chosen), lambda s: f"{s['start_ratio_p50']:.2f}/{s['start_ratio_p99']:.2f}")
    return Table(f"Start: the slots of {START}: makespan p50/p99 as ratio to the bound", chosen, columns)


def target_table(summaries: Summaries, cores: int) -> Iterator[str]:
    heads = ("bound", "wake", "target p50", "p50", "target p99", "p99", "list limit")
    rows = [["case", "class", "workers", *heads]]
    own = select(summaries, bench="slot", backend=OWN, mode="default", hog=False, workers=(1, 2))
    for key in sorted(own, key=lambda key: (SLOT_CASES.index(key.case), key.sched_class, key.workers)):
        if target := slot_target(summaries, key, own[key], cores):
            p50, p99 = own[key]["makespan_p50_us"], own[key]["makespan_p99_us"]
            values = (target.bound_us, target.wake_us, target.p50_us, p50, target.p99_us, p99)
            texts = (f"{value:.1f}" for value in (*values, target.list_limit_us))
            rows.append([key.case, key.sched_class, str(key.workers), *texts])
    if len(rows) > 1:
        yield (
            "\nThe own pool against its targets, in us (list limit: ideal scheduling of whole tasks when the"
            " producer begins after its pushes and the second core after the wake latency)"
        )
        yield from layout(rows)


def stream_table(summaries: Summaries) -> Table:
    """CPU time without the producer's, which polls all the time, and without the tasks' work."""

    def steady(s: Summary) -> str:
        cpus = max(0.0, (s["cpu_s"] - (s.get("work_s") or 0.0)) / s["wall_s"] - 1)
        return f"{s['lag_p50_us']:.1f}/{s['lag_p99_us']:.1f} [{cpus:.2f}]"

    def fan(s: Summary) -> str:
        return f"{s['fan_lag_p50_us']:.1f}/{s['fan_lag_p99_us']:.1f}"

    def share(s: Summary, what: str, of: float) -> str:
        return f"{100 * s[what] / of:.1f}" if what in s.medians else ""

    columns: list[Column] = [
        ("steady state", STREAM_CASE, steady),
        ("start", STREAM_CASE, lambda s: f"{s['start_lag_p50_us']:.1f}/{s['start_lag_p99_us']:.1f}"),
        ("overtaken, %", STREAM_CASE, lambda s: share(s, "overtaken", s["slots"])),
        ("out of order, %", STREAM_CASE, lambda s: share(s, "reordered", s["slots"])),
        (f"fan of {FAN}", FAN_CASE, fan),
        ("out of order, %", FAN_CASE, lambda s: share(s, "fan_reordered", s["slots"] * FAN)),
    ]
    title = (
        f"Stream: {STREAM_CASE} us every {STREAM_PERIOD_NS / 1000:.1f} us, never joined, the producer polls: "
        f"push to start p50/p99 in us [CPUs beyond the producer's and the work]; start: {START}; "
        f"overtaken: begun after {STREAM_RING} later pushes; out of order: after a later one; "
        f"fan: pushed by a task, every {FAN_PERIOD_NS / 1000:g} us"
    )
    return Table(title, matching(summaries, bench="stream"), columns)


def _contest_text(summary: Summary) -> str:
    if summary["work_s"] == 0:
        inline = 100 * summary["inline_tasks"] / summary["tasks"]
        return f"{summary['ns_per_task']:.1f} ({inline:.0f} %)"
    return f"{summary['wall_s'] / summary['ideal_s']:.2f} [{summary.cpu_per_work:.2f}]"


def coliseum_table(summaries: Summaries) -> Table:
    title = (
        "Coliseum: wall time as ratio to work/cores [CPU time / work]; empty in ns a task "
        "(% run inside the push)"
    )
    columns = _of_cases([*FIB_CASES, "nested", "empty"], _contest_text)
    return Table(title, matching(summaries, bench="coliseum", hog=False), columns)


def contest_ratio_tables(summaries: Summaries) -> Iterator[str]:
    """What the verdict takes: the own pool against each other one, round by round."""
    ratios = list(contest_ratios(summaries, "wall_s"))
    if ratios:
        yield (
            "\nColiseum: wall time of this pool against another's, in percent: "
            f"median of the rounds' ratios [{CONFIDENCE:.0%} interval]"
        )
    for sched_class in CLASSES:
        found = [ratio for ratio in ratios if ratio.key.sched_class == sched_class]
        cells: dict[Key, dict[str, str]] = defaultdict(dict)
        for ratio in found:
            cells[ratio.rival._replace(case="")][ratio.key.case] = ratio.ratio.percent(1)
        cases = [case for case in FIB_CASES if any(case in row for row in cells.values())]
        rows = [
            [rival.pool(), *(cells[rival].get(c, "") for c in cases)]
            for rival in sorted(cells, key=pool_order)
        ]
        if found:
            yield ""
            yield from layout([[f"{CLASS_TEXT[sched_class]}, {found[0].key.pool()} against", *cases], *rows])


def usage_tables(summaries: Summaries) -> Iterator[str]:
    if rows := usage_rows(summaries, pool_order):
        yield "\nColiseum, fib19: what it cost, by the kernel's count\n"
        yield from layout([["pool", "tasks", *HEADS], *rows])


def wake_table(summaries: Summaries) -> Table:
    def text(s: Summary) -> str:
        return f"{s['p50_us']:.1f}/{s['p99_us']:.1f} [{100 * s['other_cpu_starts'] / s['slots']:.0f}]"

    cases = [f"idle{us}us" for us in IDLE_US]
    title = "Push to start of the task after idleness: p50/p99 in us [% on another CPU]"
    return Table(title, matching(summaries, bench="wake", case=tuple(cases)), _of_cases(cases, text))


def idle_table(summaries: Summaries) -> Table:
    title = "Idle pool, from 100 ms after the last task, for 200 ms: CPU time in us, context switches"
    columns = _of_cases([IDLE_CASE], lambda s: f"{s['cpu_s'] * 1e6:.0f}, {s['ctx_switches']:.0f}")
    return Table(title, matching(summaries, bench="wake", case=IDLE_CASE), columns)


def error_lines(summaries: Summaries) -> Iterator[str]:
    """Measurements that failed, summed by pool, class and cause."""
    causes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for key, summary in summaries.items():
        pool = f"{key.bench} {key.sched_class} {key.pool()}{' with a hog' if key.hog else ''}"
        for error in summary.errors:
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


def full_report(host: dict[str, Any], summaries: Summaries) -> Iterator[str]:
    parts: list[Table | Iterator[str]] = [
        host_lines(host),
        slot_table(summaries, hog=False),
        tail_table(summaries),
        slot_table(summaries, hog=True),
        drift_lines(summaries),
        start_table(summaries),
        target_table(summaries, host["cores"]),
        stream_table(summaries),
        coliseum_table(summaries),
        contest_ratio_tables(summaries),
        facade_lines(summaries, FACADES),
        usage_tables(summaries),
        wake_table(summaries),
        idle_table(summaries),
        error_lines(summaries),
    ]
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    for part in parts:
        yield from part.lines(helps) if isinstance(part, Table) else part
