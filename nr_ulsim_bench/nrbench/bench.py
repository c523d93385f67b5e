# SPDX-License-Identifier: BSD-3-Clause
"""What ci/bench runs: pools against pools, recorded slots, pre-wake, cost of tracing, simulated scaling."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.driver import BenchError, Driver
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.plan import CLASSES, PARTS, Machine, Options, Plan, make_plan
from nrbench.prewake import plan as prewake_plan
from nrbench.prewake import run as prewake
from nrbench.run import Runner
from nrbench.scale import run as scale
from nrbench.stats import Line, Summaries, read_lines, summarize
from nrbench.sweep import replay
from nrbench.sweep.session import INTERRUPTED
from nrbench.table import full_report
from nrbench.tracecost import plan as tracecost_plan
from nrbench.tracecost import run as tracecost
from nrbench.verdict import all_verdicts

# Parts with programs or reports of their own
PREWAKE, TRACE, REPLAY, SCALE = "prewake", "trace", "replay", "scale"
BUDGET_S, QUICK_BUDGET_S = 430.0, 90.0
RESULTS, REPORT = "results.ndjson", "report.txt"


@dataclass(frozen=True)
class Request:
    """Empty = all."""

    program: Path
    data: Path
    out: Path
    only: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    quick: bool = False
    rounds: int | None = None
    seed: int = 1
    backends: tuple[str, ...] = ()
    budget_s: float | None = None


def choose_classes(wanted: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    classes = tuple(name for name in CLASSES if not wanted or name in wanted)
    if host.realtime_allowed():
        return classes, {}
    reason = "no permission for real-time classes: run as root, or raise the limit 'rtprio' to 50"
    return tuple(c for c in classes if c == "other"), {f"class {c}": reason for c in classes if c != "other"}


def prepare(request: Request, driver: Driver) -> tuple[dict[str, Any], Plan, float]:
    pools, missing = driver.chosen(request.backends)
    classes, skipped = choose_classes(request.classes)
    parts = tuple(part for part in PARTS if not request.only or part in request.only)
    if not pools or not classes:
        raise BenchError(
            "nothing to measure: " + "; ".join(f"{n}: {r}" for n, r in {**missing, **skipped}.items())
        )
    budget_s = request.budget_s or (QUICK_BUDGET_S if request.quick else BUDGET_S)
    machine = Machine(host.cores(), tuple(pools), driver.calibrate())
    chosen = bool(request.backends)
    options = Options(parts, request.quick, classes, request.rounds, request.seed, budget_s, chosen)
    plan = make_plan(machine, options)
    about = host.facts() | {
        "seed": request.seed,
        "rounds": plan.rounds,
        "scale": plan.scale,
        "quick": request.quick,
        "missing": missing,
        "skipped": skipped,
        "pools": {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools},
    }
    return about, plan, budget_s


def run_pools(request: Request) -> None:
    request.out.mkdir(parents=True, exist_ok=True)
    with open(request.out / "bench.log", "w") as log, open(request.out / RESULTS, "w") as results:
        driver = Driver(request.program, log)
        try:
            about, plan, budget_s = prepare(request, driver)
            runner = Runner(driver, results, budget_s)
            runner.write(about)
            minutes = plan.seconds / 60
            print(f"nrbench: {len(plan.steps)} measurements, about {minutes:.1f} minutes", file=sys.stderr)
            cut = runner.run(plan)
        finally:
            driver.close()
    report_lines(runner.lines, request.out)
    if cut:
        print(f"\nnrbench: {cut}")


def run_replay(request: Request, by_name: bool) -> int:
    """The sweep over thread counts without OAI; among other parts with fewer recorded slots and pools."""
    out = request.out / "replay"
    (out / replay.RUNS).unlink(missing_ok=True)
    options = replay.Options(
        program=request.program,
        data=request.data,
        out=out,
        sched_class=request.classes[0] if request.classes else replay.CLASS,
        backends=request.backends or (replay.OLD_AND_NEW if request.quick else ()),
        short=request.quick or not by_name,
        repeats=request.rounds or (3 if request.quick else replay.REPEATS),
        seed=request.seed,
    )
    return replay.run(options)


def run_trace(request: Request) -> None:
    """Only when it is asked for by name: in the normal class, unless others are named."""
    classes, skipped = choose_classes(request.classes or ["other"])
    if not classes:
        raise BenchError("; ".join(f"{name}: {reason}" for name, reason in skipped.items()))
    options = tracecost_plan.Options(host.cores(), classes, request.quick, request.rounds, request.seed)
    tracecost.run(request.program, options, request.out)


def run_prewake(request: Request, quick: bool) -> None:
    options = prewake_plan.Options(
        cores=host.cores(),
        data=request.data,
        quick=quick,
        realtime=host.realtime_allowed() and set(request.classes or CLASSES) != {"other"},
        seed=request.seed,
    )
    prewake.run(request.program.with_name("ws-prewake"), options, request.out)


def run_scale(request: Request) -> int:
    """Nothing is measured on this machine: it only computes."""
    return scale.run(scale.Options(request.quick, request.backends, request.rounds), request.out)


def run(request: Request) -> int:
    """
    All parts; pre-wake among them shortly, unless it is asked for by name; tracing and scaling only then.

    @return exit status: see sweep.session.carry_out()
    """
    only = set(request.only)
    status = 0
    if not only or only & set(PARTS):
        run_pools(request)
    if REPLAY in only or not only:
        print()
        status = run_replay(request, by_name=REPLAY in only)
    if status == INTERRUPTED:
        return status
    if TRACE in only:
        run_trace(request)
    everything = not (only or request.quick or request.backends)
    if PREWAKE in only or (everything and request.program.with_name("ws-prewake").is_file()):
        print()
        run_prewake(request, request.quick or PREWAKE not in only)
    if SCALE in only:
        status = max(status, run_scale(request))
    return status


def report_lines(lines: list[Line], out: Path) -> None:
    """Print the report, keep a copy in report.txt, and draw the plots."""
    about = lines[0]
    if about.get("bench") != "host":
        raise BenchError(f"{out / RESULTS}: the first line does not describe the host")
    summaries = summarize(lines)
    text = list(full_report(about, summaries))
    text += [
        "",
        "What it must show:",
        *(f"  {verdict}" for verdict in all_verdicts(summaries, about["cores"])),
    ]
    print("\n".join(text))
    (out / REPORT).write_text("\n".join(text) + "\n")
    names = draw(about, summaries, out)
    print(f"\nwritten to {out}/: {' '.join([RESULTS, REPORT, *names])}")


def report_again(out: Path) -> None:
    """On the results of every part that are in a folder."""
    parts = {
        RESULTS: lambda: report_lines(read_lines(out / RESULTS), out),
        f"replay/{replay.RUNS}": lambda: replay.report_again(out / "replay"),
        replay.RUNS: lambda: replay.report_again(out),
        prewake.RESULTS: lambda: prewake.report_again(out),
        tracecost.RESULTS: lambda: tracecost.report_again(out),
        scale.RESULTS: lambda: scale.report_again(out),
    }
    there = [name for name in parts if (out / name).is_file()]
    if not there:
        raise BenchError(f"{out}: holds none of {', '.join(parts)}")
    for name in there:
        parts[name]()


def draw(about: Line, summaries: Summaries, out: Path) -> list[str]:
    """@return names of the plots"""
    with matplotlib_apart():
        try:
            from nrbench.plots import draw_all  # loads for a second, which --help should not wait for
        except ModuleNotFoundError as error:
            print(f"\nnrbench: no plots: the Python package {error.name} is missing", file=sys.stderr)
            return []
        return draw_all(about, summaries, out)
