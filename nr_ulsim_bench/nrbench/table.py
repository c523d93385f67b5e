# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as text."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from typing import Any, Callable, Iterator, Sequence

from nrbench.backends import BACKENDS, OWN
from nrbench.cases import SLOT_CASES
from nrbench.contest import contest_ratios
from nrbench.host import TEXT
from nrbench.plan import (
    CLASSES,
    FIB_CASES,
    IDLE_CASE,
    IDLE_US,
    START_S,
    STREAM_CASE,
    STREAM_PERIOD_NS,
    STREAM_RING,
)
from nrbench.stats import Key, Summaries, Summary, select
from nrbench.sweep.bootstrap import CONFIDENCE
from nrbench.verdict import slot_target

CLASS_TEXT = {
    "other": "all threads in the normal class",
    "rr": "workers real-time, producer normal",
    "rrall": "workers and producer real-time",
}
_ORDER = {backend.name: index for index, backend in enumerate(BACKENDS)}


def layout(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need; the first flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        )


def pool_order(key: Key) -> tuple[int, str, int]:
    return _ORDER.get(key.backend, len(_ORDER)), key.mode, key.workers


def pool_rows(summaries: Summaries) -> list[Key]:
    """One key for each pool and setting, the own pool first, then in the order of the list of backends."""
    first = {key._replace(case=""): None for key in summaries}
    return sorted(first, key=pool_order)


def _grid(
    summaries: Summaries, cases: Sequence[str], cell: Callable[[Summary], str], helps: dict[str, bool]
) -> Iterator[str]:
    rows = [["pool", "waiter", *cases]]
    for row in pool_rows(summaries):
        cells = []
        for case in cases:
            summary = summaries.get(row._replace(case=case))
            cells.append("" if summary is None else cell(summary) if summary.rounds else _short(summary))
        rows.append([row.pool(), "helps" if helps.get(row.backend) else "sleeps", *cells])
    yield from layout(rows)


def _short(summary: Summary) -> str:
    text = summary.errors[0] if summary.errors else ""
    return "n/a" if text.startswith("n/a") else "hung" if "killed" in text or "left out" in text else "error"


def _slot_cell(summary: Summary) -> str:
    return f"{summary['ratio_p50']:.2f}/{summary['ratio_p99']:.2f} [{summary.cpu_per_work:.1f}]"


def _every(summaries: Summaries, **wanted: Any) -> Summaries:
    """Like select(), with those that gave no result."""
    return {
        key: s
        for key, s in summaries.items()
        if all(getattr(key, name) == value for name, value in wanted.items())
    }


def _start_cell(summary: Summary) -> str:
    return f"{summary['start_ratio_p50']:.2f}/{summary['start_ratio_p99']:.2f}"


def settled_text(summaries: Summaries) -> str:
    """As "0.5 s (ws), 0.1 s (the others)": how long after the first slot those that count begin."""
    seconds: dict[str, float] = {}
    for key, summary in select(summaries, bench="slot").items():
        name, settled_s = OWN if key.backend == OWN else "the others", summary.get("settled_s")
        if settled_s is not None:  # results of an older version count from the 11th slot on
            seconds[name] = min(seconds.get(name, math.inf), settled_s)
    return ", ".join(f"{value:.1f} s ({name})" for name, value in sorted(seconds.items(), reverse=True))


def cases_of(summaries: Summaries) -> list[str]:
    """Slot cases that were measured, in the order of the list."""
    return [case for case in SLOT_CASES if any(key.case == case for key in summaries)]


def slot_tables(summaries: Summaries, helps: dict[str, bool]) -> Iterator[str]:
    settled = settled_text(summaries)
    part = f"Slots in the steady state, from {settled} after a pool's first slot on" if settled else "Slots"
    for sched_class in CLASSES:
        for hog in (False, True):
            chosen = _every(summaries, bench="slot", sched_class=sched_class, hog=hog)
            if chosen:
                yield (
                    f"\n{part}, {CLASS_TEXT[sched_class]}{', one CPU hog' if hog else ''}: "
                    "makespan p50/p99 as ratio to the bound [CPU time / work]"
                )
                yield from _grid(chosen, cases_of(chosen), _slot_cell, helps)


def drift_lines(summaries: Summaries) -> Iterator[str]:
    """Whether the pools had settled, over all slot measurements of a kind."""
    drifts: dict[str, list[float]] = {"ws": [], "the others": []}
    for key, summary in select(summaries, bench="slot", hog=False).items():
        if summary.get("drift") is not None:
            drifts["ws" if key.backend == OWN else "the others"].append(summary["drift"])
    said = [
        f"{name} {low:.2f}, {middle:.2f}, {high:.2f}"
        for name, values in drifts.items()
        if len(values) > 1
        for low, middle, high in [statistics.quantiles(values, n=4)]
    ]
    if said:
        yield (
            "\nSettled? Median makespan of the second half of the slots that count / that of the first half, "
            f"quartiles over the cases: {'; '.join(said)}"
        )


def start_tables(summaries: Summaries, helps: dict[str, bool]) -> Iterator[str]:
    """Of the same processes; the threads have been started before."""
    for sched_class in CLASSES:
        chosen = _every(summaries, bench="slot", sched_class=sched_class, hog=False)
        chosen = {k: s for k, s in chosen.items() if s.get("start_ratio_p50") is not None}
        if chosen:
            yield (
                f"\nStart: the slots of the first {START_S * 1000:.0f} ms of a pool's life, "
                f"{CLASS_TEXT[sched_class]}: makespan p50/p99 as ratio to the bound"
            )
            yield from _grid(chosen, cases_of(chosen), _start_cell, helps)


def target_table(summaries: Summaries, cores: int) -> Iterator[str]:
    rows = [
        ["case", "class", "workers", "bound", "wake", "target p50", "p50", "target p99", "p99", "list limit"]
    ]
    own = select(summaries, bench="slot", backend=OWN, mode="default", hog=False, workers=(1, 2))
    for key in sorted(own, key=lambda key: (SLOT_CASES.index(key.case), key.sched_class, key.workers)):
        target = slot_target(summaries, key, own[key], cores)
        if target:
            values = (
                target.bound_us,
                target.wake_us,
                target.p50_us,
                own[key]["makespan_p50_us"],
                target.p99_us,
                own[key]["makespan_p99_us"],
                target.list_limit_us,
            )
            rows.append([key.case, key.sched_class, str(key.workers), *(f"{value:.1f}" for value in values)])
    if len(rows) > 1:
        yield (
            "\nThe own pool against its targets, in us (list limit: ideal scheduling of whole tasks when the"
            " producer begins after its pushes and the second core after the wake latency)"
        )
        yield from layout(rows)


def stream_tables(summaries: Summaries) -> Iterator[str]:
    """CPU time without the producer's, which polls all the time."""
    chosen = _every(summaries, bench="stream")
    if chosen:
        yield (
            f"\nStream: {STREAM_CASE} us every {STREAM_PERIOD_NS / 1000:.1f} us, never joined, the "
            "producer polls: push to start p50/p99 in us [CPUs beside the producer's]; start: the "
            f"first {START_S * 1000:.0f} ms of its life; overtaken: begun after {STREAM_RING} later pushes"
        )
    for sched_class in CLASSES:
        of_class = {key: s for key, s in chosen.items() if key.sched_class == sched_class}
        rows = [[CLASS_TEXT[sched_class], "steady state", "start", "overtaken, %"]]
        for key in pool_rows(of_class):
            summary = of_class[key._replace(case=STREAM_CASE)]
            if not summary.rounds:
                rows.append([key.pool(), _short(summary), "", ""])
                continue
            cpus = max(0.0, summary["cpu_s"] / summary["wall_s"] - 1)
            rows.append(
                [
                    key.pool(),
                    f"{summary['lag_p50_us']:.1f}/{summary['lag_p99_us']:.1f} [{cpus:.2f}]",
                    f"{summary['start_lag_p50_us']:.1f}/{summary['start_lag_p99_us']:.1f}",
                    f"{100 * summary['overtaken'] / summary['slots']:.1f}",
                ]
            )
        if of_class:
            yield from layout(rows)


def coliseum_tables(summaries: Summaries, helps: dict[str, bool]) -> Iterator[str]:
    for sched_class in CLASSES:
        chosen = _every(summaries, bench="coliseum", sched_class=sched_class, hog=False)
        if not chosen:
            continue
        yield (
            f"\nColiseum, {CLASS_TEXT[sched_class]}: wall time as ratio to work/cores [CPU time / work]; "
            "empty in ns a task (% run inside the push)"
        )
        yield from _grid(chosen, [*FIB_CASES, "nested", "empty"], _contest_cell, helps)


def contest_ratio_tables(summaries: Summaries) -> Iterator[str]:
    """What the verdict takes: the own pool against each other one, round by round."""
    for sched_class in CLASSES:
        found = [r for r in contest_ratios(summaries, "wall_s") if r.key.sched_class == sched_class]
        if not found:
            continue
        cases = [case for case in FIB_CASES if any(ratio.key.case == case for ratio in found)]
        rows = [[f"{found[0].key.pool()} against", *cases]]
        for rival in sorted({ratio.rival._replace(case="") for ratio in found}, key=pool_order):
            cells = {r.key.case: r.percent for r in found if r.rival._replace(case="") == rival}
            rows.append([rival.pool(), *(cells.get(case, "") for case in cases)])
        yield (
            f"\nColiseum, {CLASS_TEXT[sched_class]}: wall time of this pool against another's, in percent: "
            f"median of the rounds' ratios [{CONFIDENCE:.0%} interval]"
        )
        yield from layout(rows)


def _contest_cell(summary: Summary) -> str:
    if summary["work_s"] == 0:
        inline = 100 * summary["inline_tasks"] / summary["tasks"]
        return f"{summary['ns_per_task']:.1f} ({inline:.0f} %)"
    return f"{summary['wall_s'] / summary['ideal_s']:.2f} [{summary.cpu_per_work:.2f}]"


def _wake_cell(summary: Summary) -> str:
    other = 100 * summary["other_cpu_starts"] / summary["slots"]
    return f"{summary['p50_us']:.1f}/{summary['p99_us']:.1f} [{other:.0f}]"


def wake_tables(summaries: Summaries, helps: dict[str, bool]) -> Iterator[str]:
    cases = [f"idle{idle_us}us" for idle_us in IDLE_US]
    for sched_class in CLASSES:
        chosen = {
            key: summary
            for key, summary in _every(summaries, bench="wake", sched_class=sched_class).items()
            if key.case != IDLE_CASE
        }
        if chosen:
            title = f"Push to start of the task after idleness, {CLASS_TEXT[sched_class]}"
            yield f"\n{title}: p50/p99 in us [% on another CPU]"
            yield from _grid(chosen, cases, _wake_cell, helps)
    idle = _every(summaries, bench="wake", case=IDLE_CASE)
    if idle:
        yield "\nIdle pool, from 100 ms after the last task, for 200 ms: CPU time in us, context switches"
        yield from _grid(
            idle, [IDLE_CASE], lambda s: f"{s['cpu_s'] * 1e6:.0f}, {s['ctx_switches']:.0f}", helps
        )


def error_lines(summaries: Summaries) -> Iterator[str]:
    """Measurements that failed, summed by pool, class and cause."""
    causes: dict[tuple[str, str], Counter[str]] = {}
    for key, summary in summaries.items():
        for error in summary.errors:
            if not error.startswith("n/a"):
                who = f"{key.bench} {key.sched_class} {key.pool()}{' with a hog' if key.hog else ''}"
                causes.setdefault((who, re.sub(r"\d+\.\d+ s", "its time limit", error)), Counter())[
                    key.case
                ] += 1
    if causes:
        yield "\nMeasurements without a result:"
    for (who, error), cases in sorted(causes.items()):
        yield f"  {who}: {', '.join(f'{case} x{count}' for case, count in sorted(cases.items()))}: {error}"


# What decides how long a wake takes, in the order of the report.
WAKE_FACTS = (
    "hypervisor",
    "preemption",
    "halt_polling",
    "vcpu_packing",
    "idle_driver",
    "idle_governor",
    "idle_states",
    "clocksource",
    "smt",
    "quota_cpus",
    "rt_runtime_us",
    "kernel_version",
    "command_line",
)


def _fact(value: Any) -> str:
    if isinstance(value, list):
        off = {True: " off", False: ""}
        return ", ".join(f"{s['name']} ({s['exit_latency_us']} us{off[s['disabled']]})" for s in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)


def wake_fact_lines(host: dict[str, Any]) -> Iterator[str]:
    """Results of an older version lack them."""
    if "halt_polling" in host:
        yield "What decides about wakes here:"
    for name in WAKE_FACTS:
        if name in host:
            value = (
                "none" if name in ("hypervisor", "quota_cpus") and host[name] is None else _fact(host[name])
            )
            yield f"  {TEXT[name]}: {value}"


def host_lines(host: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{host['cpu']}, {host['cores']} cores, Linux {host['kernel']}, "
        f"governor {host['governor'] or 'unknown'}, "
        f"commit {host['commit'] or 'unknown'}, load {host['load']} at the start"
    )
    yield from wake_fact_lines(host)
    yield f"rounds {host['rounds']}, seed {host['seed']}, length {host['scale']:.2f} of full"
    for name, reason in host["missing"].items():
        yield f"missing: {name} ({reason})"
    for name, reason in host["skipped"].items():
        yield f"skipped: {name} ({reason})"


def full_report(host: dict[str, Any], summaries: Summaries) -> Iterator[str]:
    helps = {name: pool["waiter_helps"] for name, pool in host["pools"].items()}
    yield from host_lines(host)
    yield from slot_tables(summaries, helps)
    yield from drift_lines(summaries)
    yield from start_tables(summaries, helps)
    yield from target_table(summaries, host["cores"])
    yield from stream_tables(summaries)
    yield from coliseum_tables(summaries, helps)
    yield from contest_ratio_tables(summaries)
    yield from wake_tables(summaries, helps)
    yield from error_lines(summaries)
