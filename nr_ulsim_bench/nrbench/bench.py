# SPDX-License-Identifier: BSD-3-Clause
"""What ci/bench runs: pools against pools, recorded slots, pre-wake, tracing, scaling, scans, reduction,
demos, latches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.demos import plan as demos_plan
from nrbench.demos import run as demos
from nrbench.driver import BenchError, Driver
from nrbench.latch import plan as latch_plan
from nrbench.latch import run as latch
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.pi import plan as pi_plan
from nrbench.pi import run as pi
from nrbench.places import EXAMPLES
from nrbench.plan import CLASSES, PARTS, Machine, Options, Plan, make_plan
from nrbench.prewake import plan as prewake_plan
from nrbench.prewake import run as prewake
from nrbench.progress import say
from nrbench.run import Runner
from nrbench.scale import run as scale
from nrbench.scan import plan as scan_plan
from nrbench.scan import run as scan
from nrbench.stats import Line, read_lines, summarize
from nrbench.sweep import options as sweep_options
from nrbench.sweep import replay, session
from nrbench.sweep.record import RUNS
from nrbench.table import full_report
from nrbench.tracecost import plan as tracecost_plan
from nrbench.tracecost import run as tracecost
from nrbench.usage_table import counters_source
from nrbench.verdict import all_verdicts

# Parts with programs or reports of their own
PREWAKE, TRACE, REPLAY, SCALE, SCAN, PI = "prewake", "trace", "replay", "scale", "scan", "pi"
DEMOS, LATCH = "demos", "latch"
FULL_PARTS = {"coliseum", DEMOS}  # that have a --full
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
    full: bool = False


def choose_classes(wanted: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Those that can be measured, and for each of the others why not."""
    classes = tuple(name for name in CLASSES if not wanted or name in wanted)
    if host.realtime_allowed():
        return classes, {}
    reason = "no permission for real-time classes: run as root, or raise the limit 'rtprio' to 50"
    return tuple(c for c in classes if c == "other"), {f"class {c}": reason for c in classes if c != "other"}


def nothing_to_measure(reasons: dict[str, str]) -> BenchError:
    return BenchError("nothing to measure: " + "; ".join(f"{name}: {why}" for name, why in reasons.items()))


def prepare(request: Request, driver: Driver) -> tuple[dict[str, Any], Plan, float]:
    pools, missing = driver.chosen(request.backends)
    classes, skipped = choose_classes(request.classes)
    parts = tuple(part for part in PARTS if not request.only or part in request.only)
    if not pools or not classes:
        raise nothing_to_measure({**missing, **skipped})
    usual_s = math.inf if request.full else QUICK_BUDGET_S if request.quick else BUDGET_S
    budget_s = request.budget_s or usual_s
    machine = Machine(host.cores(), tuple(pools), driver.calibrate())
    chosen = bool(request.backends)
    options = Options(
        parts, request.quick, classes, request.rounds, request.seed, budget_s, chosen, request.full
    )
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
            say(f"{len(plan.steps)} measurements, about {plan.seconds / 60:.1f} minutes")
            cut = runner.run(plan)
        finally:
            driver.close()
    report_lines(runner.lines, request.out)
    if cut:
        print(f"\nnrbench: {cut}")


def run_replay(request: Request, by_name: bool) -> int:
    """The sweep over thread counts without OAI; among other parts with fewer recorded slots and pools."""
    options = sweep_options.Options(
        program=request.program,
        data=request.data,
        out=request.out / REPLAY,
        sched_class=next(iter(request.classes), None),
        backends=request.backends or (replay.OLD_AND_NEW if request.quick else ()),
        short=request.quick or not by_name,
        repeats=request.rounds or (3 if request.quick else None),
        seed=request.seed,
    )
    (options.out / RUNS).unlink(missing_ok=True)
    return replay.run(options)


def run_trace(request: Request) -> None:
    """In the normal class, unless others are named."""
    classes, skipped = choose_classes(request.classes or ["other"])
    if not classes:
        raise nothing_to_measure(skipped)
    options = tracecost_plan.Options(host.cores(), classes, request.quick, request.rounds, request.seed)
    tracecost.run(request.program, options, request.out)


def run_prewake(request: Request, quick: bool) -> None:
    realtime = host.realtime_allowed() and set(request.classes or CLASSES) != {"other"}
    options = prewake_plan.Options(
        host.cores(), request.data, quick=quick, realtime=realtime, seed=request.seed
    )
    prewake.run(request.program.with_name("ws-prewake"), options, request.out)


def run_scan(request: Request) -> None:
    options = scan_plan.Options(request.quick, request.rounds, request.seed)
    scan.run(request.program.with_name(scan.NAME), options, request.out)


def run_pi(request: Request) -> None:
    options = pi_plan.Options(host.cores(), request.quick, request.rounds, request.seed, request.backends)
    pi.run(request.program.with_name(pi.NAME), options, request.out)


def run_demos(request: Request) -> None:
    options = demos_plan.Options(host.cores(), request.quick, request.full, request.rounds, request.seed)
    demos.run(request.program.parents[1] / DEMOS, EXAMPLES, options, request.out)


def run_latch(request: Request) -> None:
    options = latch_plan.Options(host.cores(), request.quick, request.rounds, request.seed)
    latch.run(request.program.with_name(latch.NAME), options, request.out)


def run_named(request: Request) -> None:
    """The measurements that are made only if they are asked for by name."""
    named = (
        (TRACE, run_trace),
        (SCAN, run_scan),
        (PI, run_pi),
        (DEMOS, run_demos),
        (LATCH, run_latch),
    )
    for part, run_part in named:
        if part in request.only:
            run_part(request)


def run(request: Request) -> int:
    """
    All parts; pre-wake among them shortly, unless it is asked for by name; the others only then.

    @return exit status: see sweep.session.carry_out()
    """
    only = set(request.only)
    if request.full and (not only or only - FULL_PARTS or request.quick):
        raise BenchError(f"--full: needs --only {' or --only '.join(sorted(FULL_PARTS))}, and no --quick")
    status = session.OK
    if not only or only & set(PARTS):
        run_pools(request)
    if REPLAY in only or not only:
        print()
        status = run_replay(request, by_name=REPLAY in only)
    if status == session.INTERRUPTED:
        return status
    everything = not (only or request.quick or request.backends)
    if PREWAKE in only or (everything and request.program.with_name("ws-prewake").is_file()):
        print()
        run_prewake(request, request.quick or PREWAKE not in only)
    run_named(request)
    if SCALE in only:  # computes only: nothing is measured on this machine
        status = max(status, scale.run(request.out, request.quick, request.backends, request.rounds))
    return status


def report_lines(lines: list[Line], out: Path) -> None:
    """Print the report, keep a copy in report.txt, and draw the plots."""
    about = lines[0]
    if about.get("bench") != "host":
        raise BenchError(f"{out / RESULTS}: the first line does not describe the host")
    summaries = summarize(lines)
    verdicts = [f"  {verdict}" for verdict in all_verdicts(summaries, about["cores"])]
    text = "\n".join([*full_report(about, summaries, counters_source(lines)), "", "Verdicts:", *verdicts])
    print(text)
    (out / REPORT).write_text(text + "\n")
    with matplotlib_apart():
        from nrbench.plots import draw_all  # loads for a second, which --help should not wait for

        names = draw_all(about, summaries, out)
    print(f"\nwritten to {out}/: {' '.join([RESULTS, REPORT, *names])}")


def report_again(out: Path) -> None:
    """On the results of every part that are in a folder."""
    parts = {
        RESULTS: lambda: report_lines(read_lines(out / RESULTS), out),
        f"{REPLAY}/{RUNS}": lambda: session.report_again(out / REPLAY),
        RUNS: lambda: session.report_again(out),
        prewake.RESULTS: lambda: prewake.report_again(out),
        tracecost.RESULTS: lambda: tracecost.report_again(out),
        scale.RESULTS: lambda: scale.report_again(out),
        scan.RESULTS: lambda: scan.report_again(out),
        pi.RESULTS: lambda: pi.report_again(out),
        demos.RESULTS: lambda: demos.report_again(out),
        latch.RESULTS: lambda: latch.report_again(out),
    }
    there = [name for name in parts if (out / name).is_file()]
    if not there:
        raise BenchError(f"{out}: holds none of {', '.join(parts)}")
    for name in there:
        parts[name]()
