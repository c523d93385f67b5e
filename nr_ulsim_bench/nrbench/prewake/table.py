# SPDX-License-Identifier: BSD-3-Clause
"""The results as text, each with PASS or MISS."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean
from typing import Callable, Iterator

from nrbench.prewake import judge
from nrbench.prewake.judge import CaseKey, Regret, Result, Results, word
from nrbench.prewake.plan import CAP_PERCENT, SLOWER_US, STEADY_WORK, environments
from nrbench.table import layout

Row = list[str]
REGRET = (
    "Regret: cost of a slot in us (lateness + CPU time beyond the work / spin_price).\n"
    "  best: the lead, or off, with the least cost; tuned: chosen in half of the rounds, paid in the other\n"
    "  ratio: auto / tuned, with its 90 % interval; rounds: without those in which other programs had more "
    f"than {judge.OTHERS_MAX:g} CPUs\n  PASS: ratio up to {judge.REGRET_MAX:g}"
)
LATE = (
    "\nLateness of the first tasks on the other CPUs, in us; last: on the last of these CPUs.\n"
    f"  PASS: p50 at least {100 * judge.P50_CUT_MIN:.0f} % and p99 {100 * judge.P99_CUT_MIN:.0f} % shorter "
    f"with auto than with off; ----: off is late by {judge.LATE_US_MIN:g} us at most\n"
    "  spin: time that a worker looked for work, in % of a core, over all blocks; worst: in its worst block\n"
    "  took: CPU time of a worker beyond its tasks by the kernel's count, auto less off, in % of a core\n"
    f"  PASS: within the cap of {CAP_PERCENT} %; cpu: us a slot more than off, all threads"
)
STEADY = (
    f"\nSlots at a steady 500 us: median makespan in us, limit {judge.STEADY_FACTOR:g} x bound + "
    f"{judge.STEADY_SLACK_US:g} us; CPU time / work, limit {judge.STEADY_CPU_MAX:g}"
)
STEPS = (
    "\nSteps: mean lateness in us in the first tenth of a second and in the second half, and the seconds "
    f"between;\n  PASS: up to {judge.RECOVERY_S_MAX:g} s, and then up to {judge.LATE_US_MIN:g} us"
)
STEP_TEXT = {
    "start": "a new pool",
    "slower": f"each wake takes {SLOWER_US} us longer",
    "quicker": "wakes take the usual time again",
    "jump": "the grid of slots jumps",
    "pattern": "the pattern of slots changes",
}


def _of_kind(results: Results, kind: str) -> list[tuple[CaseKey, Result]]:
    order = [*(env.name for env in environments(1)), "other", "rrall"]

    def place(item: tuple[CaseKey, Result]) -> tuple[int, int, int, str]:
        key = item[0]
        position = STEADY_WORK.index(key.scenario) if key.scenario in STEADY_WORK else 0
        return order.index(key.env) if key.env in order else len(order), key.workers, position, key.scenario

    return sorted(((key, result) for key, result in results.items() if key.kind == kind), key=place)


def _table(
    results: Results, kind: str, title: str, head: Row, row: Callable[[CaseKey, Result], Row | None]
) -> Iterator[str]:
    cases = [(key, result) for key, result in _of_kind(results, kind) if result.reason is None]
    rows = [cells for key, result in cases if (cells := row(key, result))]
    yield title
    if rows:
        yield from layout([head, *rows])


def _reasons(results: Results, kind: str) -> Iterator[str]:
    for key, result in _of_kind(results, kind):
        if result.reason:
            yield f"  {key.env}, {key.scenario}: {result.reason}"


def _regret_row(key: CaseKey, result: Result) -> Row | None:
    found = judge.regret(result.modes)
    if found is None:
        return None
    costs = (found.best_cost_us, found.tuned_cost_us, found.auto_cost_us, found.off_cost_us)
    return [
        key.env,
        key.scenario,
        found.best.removeprefix("fixed:"),
        *(f"{cost:.1f}" for cost in costs),
        f"{found.ratio:.2f}",
        f"{found.low:.2f}..{found.high:.2f}",
        f"{found.rounds}/{found.all_rounds}",
        word(found.passed),
    ]


def regret_table(results: Results) -> Iterator[str]:
    head = ["env", "scenario", "best", "its cost", "tuned", "auto", "off", "ratio", "interval", "rounds", ""]
    yield from _table(results, "regret", REGRET, head, _regret_row)
    yield from _reasons(results, "regret")


def _late_row(key: CaseKey, result: Result) -> Row | None:
    late, last = judge.cut(result.modes, "lateness"), judge.cut(result.modes, "last_lag")
    if late is None or last is None:
        return None
    auto, off = result.modes["auto"], result.modes["off"]
    changes = [f"{-100 * share:+.0f}%" for share in (late.p50, late.p99, last.p50, last.p99)]
    extra = auto["worker_extra_percent"] - off["worker_extra_percent"]
    return [
        key.env,
        key.scenario,
        f"{auto['slots']}",
        *(f"{us:.1f}" for us in (late.off_p50_us, late.auto_p50_us)),
        changes[0],
        *(f"{us:.1f}" for us in (late.off_p99_us, late.auto_p99_us)),
        *changes[1:],
        word(None if late.passed is None else late.passed and last.passed is not False),
        *(f"{percent:.1f}" for percent in (auto["spin_percent"], auto["spin_percent_max"], extra)),
        word(judge.cpu_kept(result.modes, CAP_PERCENT)),
        f"{auto['cpu_us'] - off['cpu_us']:+.1f}",
    ]


def late_table(results: Results) -> Iterator[str]:
    head = ["env", "scenario", "slots", "off p50", "auto", "", "off p99", "auto", "", "last p50", "p99", ""]
    yield from _table(results, "regret", LATE, [*head, "spin", "worst", "took", "", "cpu"], _late_row)


def _steady_row(key: CaseKey, result: Result) -> Row | None:
    modes = [result.modes.get(mode) for mode in ("off", "auto", "hot")]
    auto = modes[1]
    if auto is None or not all(modes):
        return None
    bounds = (auto["bound_us"], judge.steady_limit_us(auto["bound_us"]))
    spans = (mode["makespan_p50_us"] for mode in modes if mode)
    shares = (f"{mode['cpu_per_work']:.2f}" for mode in modes if mode)
    times = (f"{us:.1f}" for us in (*bounds, *spans))
    return [key.env, f"{key.workers}", key.scenario, *times, *shares, word(judge.steady_passed(auto))]


def steady_table(results: Results) -> Iterator[str]:
    head = ["class", "workers", "work", "bound", "limit", "off", "auto", "hot", "cpu off", "auto", "hot", ""]
    yield from _table(results, "steady", STEADY, head, _steady_row)
    yield from _reasons(results, "steady")


def step_table(results: Results) -> Iterator[str]:
    yield STEPS
    rows = [["step", "first", "settled", "after s", ""]]
    for _, result in _of_kind(results, "step"):
        for step, line in result.modes.items():
            found = judge.recovery(line)
            rows.append([STEP_TEXT.get(step, step), *(f"{value:.1f}" for value in found), word(found.passed)])
    yield from _reasons(results, "step")
    yield from layout(rows)


def rest_lines(results: Results) -> Iterator[str]:
    for key, result in _of_kind(results, "idle"):
        if line := result.modes.get("auto"):
            yield (
                f"\nidle for a second, class {key.env}: {line['cpu_us']:.0f} us of CPU time, "
                f"{line['ctx_switches']} context switches (limit {judge.IDLE_CPU_US_MAX:g} and 0): "
                f"{word(judge.idle_passed(line))}"
            )
    for key, result in _of_kind(results, "canary"):
        if {"off", "auto"} <= result.modes.keys():
            off, auto = (
                " ".join(f"{share:.3f}" for share in result.modes[mode]["canary_share"])
                for mode in ("off", "auto")
            )
            passed = word(judge.canary_passed(result.modes, CAP_PERCENT))
            yield f"a normal thread's share of each CPU, class {key.env}: off {off}, auto {auto}: {passed}"


def summary(results: Results) -> Iterator[str]:
    by_env: dict[str, list[Regret]] = defaultdict(list)
    for key, result in _of_kind(results, "regret"):
        if found := judge.regret(result.modes):
            by_env[key.env].append(found)
    every = [found for of_env in by_env.values() for found in of_env]
    passed = sum(found.passed for found in every)
    yield f"\nregret within {judge.REGRET_MAX:g} in {passed} of {len(every)} cases"
    for env, of_env in by_env.items():
        mean = geometric_mean(found.ratio for found in of_env)
        yield f"  {env:<12} geometric mean {mean:.2f}  {word(mean <= judge.REGRET_MAX)}"


def report(results: Results) -> list[str]:
    parts = {"regret": (regret_table, late_table, summary), "steady": (steady_table,), "step": (step_table,)}
    kinds = {key.kind for key in results}
    chosen = [part for kind, of_kind in parts.items() if kind in kinds for part in of_kind]
    return [line for part in [*chosen, rest_lines] for line in part(results)]
