# SPDX-License-Identifier: BSD-3-Clause
"""Command line: `run` measures and reports, `prewake` does so for pre-wake alone, `report` reports on the
results of an earlier run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.driver import BenchError, Driver
from nrbench.plan import CLASSES, PARTS, Machine, Options, Plan, make_plan
from nrbench.prewake import run as prewake
from nrbench.run import Runner
from nrbench.slots import SlotFile, SlotFileError, read_slot_file
from nrbench.stats import Line, Summaries, read_lines, summarize
from nrbench.table import full_report
from nrbench.tracecost import plan as tracecost_plan
from nrbench.tracecost import run as tracecost
from nrbench.verdict import all_verdicts

DATA = Path(__file__).resolve().parent.parent / "data"
BUILT = DATA.parent.parent / "build-bench" / "nr_ulsim_bench" / "bin" / "ws-prewake"
PREWAKE, TRACE = "prewake", "trace"  # parts with programs and reports of their own
BUDGET_S, QUICK_BUDGET_S = 540.0, 100.0


def add_run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument("--program", type=Path, required=True, help="ws-bench, with its modules beside it")
    run.add_argument(
        "--only",
        action="append",
        choices=(*PARTS, PREWAKE, TRACE),
        help="this part only; may be given several times",
    )
    run.add_argument(
        "--class",
        dest="classes",
        action="append",
        choices=CLASSES,
        help="this scheduling class only; may be given several times",
    )
    run.add_argument("--quick", action="store_true", help="fewer settings, shorter: under two minutes")
    run.add_argument("--rounds", type=int, help="rounds of every part")
    run.add_argument("--seed", type=int, default=1, help="of the order within the rounds (default: 1)")
    run.add_argument("--backends", help="these pools only, separated by commas")
    run.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help=f"time for the measurements (default: {BUDGET_S:.0f}, quick {QUICK_BUDGET_S:.0f})",
    )


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nrbench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, then report")
    add_run_arguments(run)
    alone = commands.add_parser(PREWAKE, help="measure pre-wake alone, then report")
    alone.add_argument("--program", type=Path, default=BUILT, help="ws-prewake (default: of ci/bench)")
    prewake.add_arguments(alone)
    for measuring in (run, alone):
        measuring.add_argument("--data", type=Path, default=DATA, help="folder of recorded slots")
    report = commands.add_parser("report", help="tables, plots and verdicts of an earlier run")
    for command in (run, alone, report):
        command.add_argument("--out", type=Path, default=Path("out"), help="folder of results (default: out)")
    args = parser.parse_args(argv)
    if args.command == "run" and args.rounds is not None and args.rounds < 1:
        parser.error("--rounds must be at least 1")
    return args


def load_slot_files(folder: Path) -> tuple[SlotFile, ...]:
    files = tuple(read_slot_file(path) for path in sorted(folder.glob("*.slots")))
    if not files:
        print(f"nrbench: no recorded slots in {folder}: the replay is left out", file=sys.stderr)
    return files


def choose_pools(driver: Driver, wanted: str | None) -> tuple[list[Any], dict[str, str]]:
    pools, missing = driver.present()
    if wanted is None:
        return pools, missing
    names = [name.strip() for name in wanted.split(",")]
    known = {pool.backend.name for pool in pools} | set(missing)
    for name in names:
        if name not in known:
            raise BenchError(f"--backends: {name!r} is none of {', '.join(sorted(known))}")
    return [pool for pool in pools if pool.backend.name in names], {
        n: r for n, r in missing.items() if n in names
    }


def choose_classes(wanted: Sequence[str] | None) -> tuple[tuple[str, ...], dict[str, str]]:
    classes = tuple(name for name in CLASSES if not wanted or name in wanted)
    if host.realtime_allowed():
        return classes, {}
    reason = "no permission for real-time classes: run as root, or raise the limit 'rtprio' to 50"
    return tuple(c for c in classes if c == "other"), {f"class {c}": reason for c in classes if c != "other"}


def prepare(args: argparse.Namespace, driver: Driver) -> tuple[dict[str, Any], Plan, float]:
    pools, missing = choose_pools(driver, args.backends)
    classes, skipped = choose_classes(args.classes)
    parts = tuple(part for part in PARTS if not args.only or part in args.only)
    files = load_slot_files(args.data) if "replay" in parts else ()
    if not files:
        skipped |= {"replay": "no recorded slots"} if "replay" in parts else {}
        parts = tuple(part for part in parts if part != "replay")
    if not pools or not classes or not parts:
        raise BenchError(
            "nothing to measure: " + "; ".join(f"{n}: {r}" for n, r in {**missing, **skipped}.items())
        )
    budget_s = args.budget or (QUICK_BUDGET_S if args.quick else BUDGET_S)
    machine = Machine(host.cores(), tuple(pools), driver.calibrate(), files)
    plan = make_plan(machine, Options(parts, args.quick, classes, args.rounds, args.seed, budget_s))
    about = host.facts() | {
        "seed": args.seed,
        "rounds": plan.rounds,
        "scale": plan.scale,
        "quick": args.quick,
        "missing": missing,
        "skipped": skipped,
        "pools": {p.backend.name: {"version": p.version, "waiter_helps": p.waiter_helps} for p in pools},
    }
    return about, plan, budget_s


def run_pools(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "bench.log", "w") as log, open(args.out / "results.ndjson", "w") as results:
        driver = Driver(args.program, log)
        try:
            about, plan, budget_s = prepare(args, driver)
            runner = Runner(driver, results, budget_s)
            runner.write(about)
            print(
                f"nrbench: {len(plan.steps)} measurements, about {plan.seconds / 60:.1f} minutes",
                file=sys.stderr,
            )
            cut = runner.run(plan)
        finally:
            driver.close()
    report_lines(runner.lines, args.out)
    if cut:
        print(f"\nnrbench: {cut}")


def run_prewake(args: argparse.Namespace, program: Path, quick: bool) -> None:
    """With options of its own when it is measured alone."""
    options = prewake.Options(
        cores=host.cores(),
        data=args.data,
        quick=quick,
        envs=tuple(getattr(args, "env", ())),
        scenarios=tuple(getattr(args, "scenario", ())),
        kinds=tuple(getattr(args, "kind", None) or prewake.KINDS),
        seconds=getattr(args, "seconds", None),
        realtime=host.realtime_allowed() and set(getattr(args, "classes", None) or CLASSES) != {"other"},
        seed=args.seed,
    )
    prewake.run(program, options, args.out)


def run_trace(args: argparse.Namespace) -> None:
    """Only when it is asked for by name: in the normal class, unless others are named."""
    classes, skipped = choose_classes(args.classes or ["other"])
    if not classes:
        raise BenchError("; ".join(f"{name}: {reason}" for name, reason in skipped.items()))
    options = tracecost_plan.Options(host.cores(), classes, args.quick, args.rounds, args.seed)
    tracecost.run(args.program, options, args.out)


def run(args: argparse.Namespace) -> None:
    """All parts; pre-wake among them shortly, unless it is asked for by name; tracing only then."""
    by_name = PREWAKE in (args.only or ())
    if not args.only or set(args.only) - {PREWAKE, TRACE}:
        run_pools(args)
    if TRACE in (args.only or ()):
        run_trace(args)
    program = args.program.with_name("ws-prewake")
    everything = not (args.only or args.quick or args.backends)
    if by_name or (everything and program.is_file()):
        print()
        run_prewake(args, program, args.quick or not by_name)


def report_lines(lines: list[Line], out: Path) -> None:
    """Print the report, keep a copy in report.txt, and draw the plots."""
    about = lines[0]
    if about.get("bench") != "host":
        raise BenchError(f"{out / 'results.ndjson'}: the first line does not describe the host")
    summaries = summarize(lines)
    text = list(full_report(about, summaries))
    text += [
        "",
        "What it must show:",
        *(f"  {verdict}" for verdict in all_verdicts(summaries, about["cores"])),
    ]
    print("\n".join(text))
    (out / "report.txt").write_text("\n".join(text) + "\n")
    names = draw(about, summaries, out)
    print(f"\nwritten to {out}/: results.ndjson report.txt {' '.join(names)}")


def report_again(out: Path) -> None:
    pools, alone = out / "results.ndjson", out / prewake.RESULTS
    traced = out / tracecost.RESULTS
    if pools.is_file() or not (alone.is_file() or traced.is_file()):
        report_lines(read_lines(pools), out)
    if alone.is_file():
        prewake.report_again(out)
    if traced.is_file():
        tracecost.report_again(out)


def draw(about: Line, summaries: Summaries, out: Path) -> list[str]:
    """@return names of the plots"""
    os.environ.setdefault("MPLCONFIGDIR", str(out / ".matplotlib"))
    try:
        from nrbench.plots import draw_all  # loads for a second, which --help should not wait for
    except ModuleNotFoundError as error:
        print(f"\nnrbench: no plots: the Python package {error.name} is missing", file=sys.stderr)
        return []
    return draw_all(about, summaries, out)


def main(argv: Sequence[str] | None = None) -> int:
    args = parse_args(argv)
    try:
        if args.command == "run":
            run(args)
        elif args.command == PREWAKE:
            run_prewake(args, args.program, args.quick)
        else:
            report_again(args.out)
        return 0
    except (BenchError, SlotFileError, ValueError, OSError) as error:
        print(f"nrbench: {error}", file=sys.stderr)
        return 1
