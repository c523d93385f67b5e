# SPDX-License-Identifier: BSD-3-Clause
"""The figures as text, each claim with PASS, MISS or OPEN."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from nrbench.table import layout
from nrbench.tracecost.judge import (
    EVENT_NS_MAX,
    FIELDS,
    OFF_RATIO_MAX,
    TASK_FIELD,
    CaseKey,
    Line,
    Ratio,
    Slots,
    collect,
    compare,
    event_costs,
    event_word,
    median,
    word,
)

WHAT_TEXT = {
    "loop": "the loop alone",
    "phase": "a phase's begin or end (3 or 4 fields)",
    "run_begin": "a task's begin (5 fields)",
}


def _percent(ratio: Ratio | None) -> str:
    return ratio.percent if ratio else ""


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _compare_rows(slots: Slots, of: str, to: str, limit: float | None) -> Iterator[list[str]]:
    shown = [key for key in slots if median(slots[key], of, FIELDS[0]) and median(slots[key], to, FIELDS[0])]
    for key in shown:
        ratios = [compare(slots, [key], field, of, to) for field in FIELDS]
        yield [
            f"{key.case} {key.sched_class}",
            _us(median(slots[key], to, FIELDS[0])),
            _us(median(slots[key], of, FIELDS[0])),
            *(_percent(found) for found in ratios),
            *([word(ratios[0], limit)] if limit else []),
        ]
    if shown:
        ratios = [compare(slots, shown, field, of, to) for field in FIELDS]
        verdict = [word(ratios[0], limit)] if limit else []
        yield ["all", "", "", *(_percent(found) for found in ratios), *verdict]


def off_table(slots: Slots) -> Iterator[str]:
    rows = list(_compare_rows(slots, "off", "untraced", OFF_RATIO_MAX))
    if rows:
        yield (
            "\nCompiled in, no session: built without tracing -> as users get it; percent more, with 95 % "
            f"interval;\nPASS up to {100 * (OFF_RATIO_MAX - 1):g} % in p50 with the whole interval, OPEN "
            "with a part of it"
        )
        head = ["case, class", "untraced p50 us", "off", "p50 %", "mean %", "CPU %", ""]
        yield from layout([head, *rows])


def recorded_table(slots: Slots, counts: dict[str, dict[str, float]]) -> Iterator[str]:
    rows = list(_compare_rows(slots, "recorded", "off", None))
    if rows:
        yield "\nA session records: no session -> one that takes all events; percent more, with 95 % interval"
        head = ["case, class", "off p50 us", "recorded", "p50 %", "mean %", "CPU %", "events a slot"]
        for row in rows:
            events = counts.get(row[0].split()[0])
            row.append(f"{sum(events.values()):.0f}" if events else "")
        yield from layout([head, *rows])


def task_table(tasks: Slots) -> Iterator[str]:
    rows = [["", "untraced", "off", "%"]]
    for key, series in tasks.items():
        cells = [median(series, state, TASK_FIELD) for state in ("untraced", "off")]
        found = compare(tasks, [key], TASK_FIELD, "off", "untraced")
        rows.append([f"{key.case} {key.sched_class}", *(_us(cell) for cell in cells), _percent(found)])
    if len(rows) > 1:
        yield "\nA task that does next to nothing, ns from push to end; the slots' tasks take microseconds"
        yield from layout(rows)


def cost_table(lines: Sequence[Line]) -> Iterator[str]:
    costs = event_costs(lines)
    if not costs:
        return
    yield "\nOne event, ns in the thread that makes it (lowest batch / median batch, median of the runs)"
    rows = [["", "no session", "a session records"]]
    for what, text in WHAT_TEXT.items():
        cells = [costs.get((what, recorded)) for recorded in (False, True)]
        rows.append([text, *(f"{cell.minimum:.1f} / {cell.p50:.1f}" if cell else "" for cell in cells)])
    yield from layout(rows)


def verdicts(slots: Slots, lines: Sequence[Line], why_not: str) -> Iterator[str]:
    off = compare(slots, [key for key in slots if "off" in slots[key]], FIELDS[0], "off", "untraced")
    yield (
        f"  {word(off, OFF_RATIO_MAX)}  compiled in, no session, below {100 * (OFF_RATIO_MAX - 1):g} % of a "
        f"slot's p50, all cases: {off.percent + ' %' if off else why_not}"
    )
    costs = event_costs(lines)
    made = {what: cost for (what, recorded), cost in costs.items() if recorded and what != "loop"}
    text = ", ".join(f"{what} {cost.p50:.0f} ns" for what, cost in made.items()) or why_not
    yield f"  {event_word(costs)}  an event below {EVENT_NS_MAX:g} ns while a session records: {text}"


def _notes(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        if "skipped" in line:
            yield f"skipped: {line['skipped']}"
    lost = sum(line.get("discarded", 0) for line in lines)
    if lost:
        yield f"{lost} events found no room in the buffers: what they cost is not the price of a recorded one"
    errors = [line for line in lines if "error" in line]
    for error in sorted({line["error"] for line in errors}):
        yield f"without a result: {sum(line['error'] == error for line in errors)} measurements: {error}"


def host_line(host: dict[str, Any]) -> str:
    return (
        f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}, "
        f"commit {host['commit'] or 'unknown'}, load {host['load']} at the start, "
        f"{host['rounds']} rounds, seed {host['seed']}"
    )


def report(lines: Sequence[Line]) -> list[str]:
    host = next(line for line in lines if line.get("bench") == "host")
    void = next((line["void"] for line in lines if "void" in line), None)
    taken = [] if void else lines  # what was taken before it was noticed is in the file, and no figure
    slots = collect(taken)
    counts = {line["case"]: line["events"] for line in taken if line.get("bench") == "trace-events"}
    ordered = {key: slots[key] for key in sorted(slots, key=lambda key: _place(key, host["cases"]))}
    return [
        host_line(host),
        *off_table(ordered),
        *recorded_table(ordered, counts),
        *task_table(collect(taken, "trace-tasks", (TASK_FIELD,))),
        *cost_table(taken),
        "",
        "What it must show:",
        *verdicts(ordered, taken, void or "not measured"),
        *_notes(lines),
    ]


def _place(key: CaseKey, cases: Sequence[str]) -> tuple[str, int]:
    return key.sched_class, cases.index(key.case) if key.case in cases else len(cases)
