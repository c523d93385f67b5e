# SPDX-License-Identifier: BSD-3-Clause
"""The results as text, each with PASS or MISS."""

from __future__ import annotations

from collections import Counter
from statistics import geometric_mean
from typing import Callable, Iterator

from nrbench.prewake import judge
from nrbench.prewake.judge import CaseKey, Result, Results, word
from nrbench.prewake.plan import CAP_PERCENT, SLOWER_US, STEADY_WORK, environments
from nrbench.table import layout

Row = list[str]


def _of_kind(results: Results, kind: str) -> list[tuple[CaseKey, Result]]:
    order = [env.name for env in environments(1)] + ["other", "rrall"]
    work = list(STEADY_WORK)

    def place(item: tuple[CaseKey, Result]) -> tuple[int, int, int, str]:
        key = item[0]
        position = work.index(key.scenario) if key.scenario in work else 0
        return order.index(key.env) if key.env in order else len(order), key.workers, position, key.scenario

    return sorted(((key, result) for key, result in results.items() if key.kind == kind), key=place)


def _table(
    results: Results, kind: str, head: Row, row: Callable[[CaseKey, Result], Row | None]
) -> Iterator[str]:
    rows, reasons = [head], []
    for key, result in _of_kind(results, kind):
        cells = row(key, result) if result.reason is None else None
        if cells:
            rows.append(cells)
        elif result.reason:
            reasons.append(f"  {key.env}, {key.scenario}: {result.reason}")
    if len(rows) > 1:
        yield from layout(rows)
    yield from reasons


def _regret_row(key: CaseKey, result: Result) -> Row | None:
    found = judge.regret(result.modes)
    if found is None:
        return None
    return [
        key.env,
        key.scenario,
        found.best.removeprefix("fixed:"),
        f"{found.best_cost_us:.1f}",
        f"{found.tuned_cost_us:.1f}",
        f"{found.auto_cost_us:.1f}",
        f"{found.off_cost_us:.1f}",
        f"{found.ratio:.2f}",
        f"{found.low:.2f}..{found.high:.2f}",
        f"{found.rounds}/{found.all_rounds}",
        word(found.passed),
    ]


def regret_table(results: Results) -> Iterator[str]:
    yield (
        "Regret: cost of a slot in us (lateness + CPU time beyond the work / price). best: the lead, or off, "
        "with the\nleast cost; tuned: chosen in half of the rounds, paid in the other; ratio: auto / tuned, "
        f"with 90 % interval;\nrounds: those in which others had {judge.OTHERS_MAX:g} CPUs at most, of all; "
        f"PASS up to {judge.REGRET_MAX:g}"
    )
    head = ["env", "scenario", "best", "its cost", "tuned", "auto", "off", "ratio", "interval", "rounds", ""]
    yield from _table(results, "regret", head, _regret_row)


def _late_row(key: CaseKey, result: Result) -> Row | None:
    late, last = judge.cut(result.modes, "lateness"), judge.cut(result.modes, "last_lag")
    if late is None or last is None:
        return None
    auto = result.modes["auto"]
    return [
        key.env,
        key.scenario,
        f"{auto['slots']}",
        f"{late.off_p50_us:.1f}",
        f"{late.auto_p50_us:.1f}",
        f"{-100 * late.p50:+.0f}%",
        f"{late.off_p99_us:.1f}",
        f"{late.auto_p99_us:.1f}",
        f"{-100 * late.p99:+.0f}%",
        f"{-100 * last.p50:+.0f}%",
        f"{-100 * last.p99:+.0f}%",
        word(None if late.passed is None else late.passed and last.passed is not False),
        f"{auto['spin_percent']:.1f}",
        f"{auto['spin_percent_max']:.1f}",
        f"{auto['worker_extra_percent'] - result.modes['off']['worker_extra_percent']:.1f}",
        word(judge.cpu_kept(result.modes, CAP_PERCENT)),
        f"{auto['cpu_us'] - result.modes['off']['cpu_us']:+.1f}",
    ]


def late_table(results: Results) -> Iterator[str]:
    yield (
        "\nLateness of the other CPUs' first tasks in us, off and auto; last: of the last of these CPUs. "
        f"PASS: p50 -{100 * judge.P50_CUT_MIN:.0f} %\nand p99 -{100 * judge.P99_CUT_MIN:.0f} %; ----: off "
        f"loses {judge.LATE_US_MIN:g} us at most. spin: percent of a core that a worker looked for work,\n"
        "in all and in its worst block; took: what the kernel counts for a worker beyond its tasks, more "
        f"than off;\ncap {CAP_PERCENT} %. cpu: us a slot more than off, all threads"
    )
    head = ["env", "scenario", "slots", "off p50", "auto", "", "off p99", "auto", "", "last p50", "p99", ""]
    yield from _table(results, "regret", [*head, "spin", "worst", "took", "", "cpu"], _late_row)


def _steady_row(key: CaseKey, result: Result) -> Row | None:
    if not {"off", "auto", "hot"} <= result.modes.keys():
        return None
    auto = result.modes["auto"]
    return [
        key.env,
        f"{key.workers}",
        key.scenario,
        f"{auto['bound_us']:.1f}",
        f"{judge.steady_limit_us(auto['bound_us']):.1f}",
        *(f"{result.modes[mode]['makespan_p50_us']:.1f}" for mode in ("off", "auto", "hot")),
        *(f"{result.modes[mode]['cpu_per_work']:.2f}" for mode in ("off", "auto", "hot")),
        word(judge.steady_passed(auto)),
    ]


def steady_table(results: Results) -> Iterator[str]:
    yield (
        f"\nSlots at a steady 500 us: median makespan in us, limit {judge.STEADY_FACTOR:g} x bound + "
        f"{judge.STEADY_SLACK_US:g} us; CPU time / work, limit {judge.STEADY_CPU_MAX:g}"
    )
    head = ["class", "workers", "work", "bound", "limit", "off", "auto", "hot", "cpu off", "auto", "hot", ""]
    yield from _table(results, "steady", head, _steady_row)


STEP_TEXT = {
    "start": "a new pool",
    "slower": f"each wake takes {SLOWER_US} us longer",
    "quicker": "it no longer does",
    "jump": "the grid of slots jumps",
    "pattern": "the pattern of slots changes",
}


def step_table(results: Results) -> Iterator[str]:
    yield (
        "\nSteps: mean lateness in us in the first tenth of a second and in the second half, and the seconds "
        f"between; PASS up\nto {judge.RECOVERY_S_MAX:g} s and then {judge.LATE_US_MIN:g} us"
    )
    rows = [["step", "first", "settled", "after s", ""]]
    for _, result in _of_kind(results, "step"):
        for step, line in result.modes.items():
            found = judge.recovery(line)
            values = (f"{found.first_us:.1f}", f"{found.settled_us:.1f}", f"{found.seconds:.1f}")
            rows.append([STEP_TEXT.get(step, step), *values, word(found.passed)])
        if result.reason:
            yield f"  {result.reason}"
    yield from layout(rows)


def rest_lines(results: Results) -> Iterator[str]:
    for key, result in _of_kind(results, "idle"):
        if "auto" in result.modes:
            line = result.modes["auto"]
            yield (
                f"\nidle for a second, class {key.env}: {line['cpu_us']:.0f} us of CPU time, "
                f"{line['ctx_switches']} context switches (limit {judge.IDLE_CPU_US_MAX:g} and 0): "
                f"{word(judge.idle_passed(line))}"
            )
    for key, result in _of_kind(results, "canary"):
        shares = {
            mode: " ".join(f"{share:.3f}" for share in line["canary_share"])
            for mode, line in result.modes.items()
        }
        if {"off", "auto"} <= shares.keys():
            yield (
                f"a normal thread's share of each CPU, class {key.env}: off {shares['off']}, auto "
                f"{shares['auto']}: {word(judge.canary_passed(result.modes, CAP_PERCENT))}"
            )


def summary(results: Results) -> Iterator[str]:
    counts: Counter[str] = Counter()
    ratios: dict[str, list[float]] = {}
    for key, result in _of_kind(results, "regret"):
        found = judge.regret(result.modes)
        if found:
            counts[word(found.passed)] += 1
            ratios.setdefault(key.env, []).append(found.ratio)
    yield f"\nregret within {judge.REGRET_MAX:g} in {counts['PASS']} of {counts.total()} cases"
    means = {env: geometric_mean(of_env) for env, of_env in ratios.items()}
    for env, mean in means.items():
        yield f"  {env:<12} geometric mean {mean:.2f}  {word(mean <= judge.REGRET_MAX)}"


def report(results: Results) -> list[str]:
    parts = {"regret": (regret_table, late_table, summary), "steady": (steady_table,), "step": (step_table,)}
    kinds = {key.kind for key in results}
    chosen = [part for kind, of_kind in parts.items() if kind in kinds for part in of_kind]
    return [line for part in [*chosen, rest_lines] for line in part(results)]
