# SPDX-License-Identifier: BSD-3-Clause
"""The figures as text, each claim with PASS, MISS or OPEN."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterator, Sequence

import pandas as pd

from nrbench.table import host_line, layout
from nrbench.tracecost.judge import (
    EVENT_NS_MAX,
    FIELDS,
    OFF_RATIO_MAX,
    TASK_FIELD,
    Line,
    compare,
    event_costs,
    event_word,
    measurements,
    recorded_costs,
    word,
)

EVENTS = {
    "loop": "the loop alone",
    "phase": "start or end of a phase (3 or 4 fields)",
    "run_begin": "start of a task (5 fields)",
}
LIMIT = f"{100 * (OFF_RATIO_MAX - 1):g} %"


def _rows(table: pd.DataFrame, of: str, to: str, fields: Sequence[str], judged: bool) -> Iterator[list[str]]:
    """For each case, and for all: medians of the first field in both states, and ratios of all fields."""
    kept = []
    for (sched_class, _, case), group in table.groupby(["class", "place", "case"]):
        if {of, to} <= set(group["state"]):
            medians = group.groupby("state")[fields[0]].median()
            cells = (f"{medians[state]:.1f}" for state in (to, of))
            yield [f"{case} {sched_class}", *cells, *_ratios(group, of, to, fields, judged)]
            kept.append(group)
    if kept and len(fields) > 1:
        yield ["all", "", "", *_ratios(pd.concat(kept), of, to, fields, judged)]


def _ratios(table: pd.DataFrame, of: str, to: str, fields: Sequence[str], judged: bool) -> list[str]:
    ratios = [compare(table, field, of, to) for field in fields]
    cells = [ratio.percent if ratio else "" for ratio in ratios]
    return [*cells, word(ratios[0], OFF_RATIO_MAX)] if judged else cells


def off_table(slots: pd.DataFrame) -> Iterator[str]:
    rows = list(_rows(slots, "off", "untraced", FIELDS, judged=True))
    if rows:
        yield (
            "\nTracing compiled in, no session, against a build without tracing; percent more, with 95 % "
            f"interval.\nPASS: the whole interval of p50 is up to {LIMIT}; OPEN: a part of it"
        )
        head = ["case, class", "untraced p50 us", "off", "p50 %", "mean %", "CPU %", ""]
        yield from layout([head, *rows])


def recorded_table(slots: pd.DataFrame, counts: dict[str, dict[str, float]]) -> Iterator[str]:
    rows = list(_rows(slots, "recorded", "off", FIELDS, judged=False))
    if rows:
        yield "\nA session records all events, against no session; percent more, with 95 % interval"
        head = ["case, class", "off p50 us", "recorded", "p50 %", "mean %", "CPU %", "events a slot"]
        for row in rows:
            events = counts.get(row[0].split()[0])
            row.append(f"{sum(events.values()):.0f}" if events else "")
        yield from layout([head, *rows])


def task_table(tasks: pd.DataFrame) -> Iterator[str]:
    rows = list(_rows(tasks, "off", "untraced", (TASK_FIELD,), judged=False))
    if rows:
        yield "\nA task that does next to nothing, ns from push to end; a slot's tasks take microseconds"
        yield from layout([["", "untraced", "off", "%"], *rows])


def _cost(cost: Any) -> str:
    return f"{cost['ns_min']:.1f} / {cost['ns_p50']:.1f}"


def cost_table(costs: pd.DataFrame) -> Iterator[str]:
    if costs.empty:
        return
    yield "\nOne event, ns in the thread that makes it (lowest batch / median batch, median of the runs)"
    rows = [["", "no session", "a session records"]]
    for what, name in EVENTS.items():
        keys = [(what, recorded) for recorded in (False, True)]
        cells = [_cost(costs.loc[key]) if key in costs.index else "" for key in keys]
        rows.append([name, *cells])
    yield from layout(rows)


def verdicts(slots: pd.DataFrame, costs: pd.DataFrame, why_not: str) -> Iterator[str]:
    off = compare(slots, FIELDS[0], "off", "untraced")
    yield (
        f"  {word(off, OFF_RATIO_MAX)}  compiled in, no session, below {LIMIT} of a slot's p50, all cases: "
        f"{off.percent + ' %' if off else why_not}"
    )
    text = ", ".join(f"{what} {ns:.0f} ns" for what, ns in recorded_costs(costs).items()) or why_not
    yield f"  {event_word(costs)}  an event below {EVENT_NS_MAX:g} ns while a session records: {text}"


def _notes(lines: Sequence[Line]) -> Iterator[str]:
    yield from (f"skipped: {line['skipped']}" for line in lines if "skipped" in line)
    lost = sum(line.get("discarded", 0) for line in lines)
    if lost:
        yield f"{lost} events found no room in the buffers, so the recorded figures are too low"
    for error, count in sorted(Counter(line["error"] for line in lines if "error" in line).items()):
        yield f"without a result: {count} measurements: {error}"


def report(lines: Sequence[Line]) -> list[str]:
    host = next(line for line in lines if line.get("bench") == "host")
    void = next((line["void"] for line in lines if "void" in line), None)
    taken = [] if void else lines  # a foreign session makes all figures invalid
    slots = measurements(taken, "trace", host["cases"])
    counts = {line["case"]: line["events"] for line in taken if line.get("bench") == "trace-events"}
    costs = event_costs(taken)
    return [
        host_line(host),
        *off_table(slots),
        *recorded_table(slots, counts),
        *task_table(measurements(taken, "trace-tasks")),
        *cost_table(costs),
        "",
        "Requirements:",
        *verdicts(slots, costs, void or "not measured"),
        *_notes(lines),
    ]
