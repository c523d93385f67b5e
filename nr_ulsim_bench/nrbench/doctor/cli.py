# SPDX-License-Identifier: BSD-3-Clause
"""nrbench doctor: examine the host, change what can be changed while it runs, and take that back."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer import Option

from nrbench import facts, host
from nrbench.doctor import checks, latency, report, settings, wakes
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Level, Target
from nrbench.doctor.isolation import LATE_TIMERS
from nrbench.doctor.settings import Change, SettingsError, boot_parameters, plan
from nrbench.options import command_of
from nrbench.system import System, format_cpus, parse_cpus

PLAIN_COLUMNS = 110  # where the output is no terminal


def _console() -> Console:
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_COLUMNS)


def _target(system: System, cpus: str | None) -> Target:
    try:
        chosen = parse_cpus(cpus) if cpus is not None else system.affinity()
        missing = chosen - system.possible()
        if missing:
            raise ValueError(f"this machine has no CPU {format_cpus(missing)}")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cpus") from error
    return Target(system, chosen)


def _show_results(results: Iterable[settings.Result]) -> bool:
    """Prints each result at once. @return whether all went well"""
    good = True
    for result in results:
        detail = f": {result.detail}" if result.detail else ""
        typer.echo(f"{result.outcome}: {result.change.path}{detail}")
        good = good and result.good
    return good


def _show_plan(changes: list[Change]) -> None:
    for entry in changes:
        typer.echo(f"{entry.path}: {entry.old} -> {entry.new}")
    if not changes:
        typer.echo("nothing to write: everything is as --apply would set it")


def _apply(target: Target, undo_file: Path | None, yes: bool) -> int:
    if yes:
        settings.require_root(target.system)
    changes = plan(target)
    typer.echo(f"Workers' CPUs: {target.list}. {'Written now' if yes else 'Would be written'}, old -> new:")
    _show_plan(changes)
    good = True
    if yes and changes:
        now = datetime.datetime.now(datetime.timezone.utc)
        path = undo_file or Path(f"nrbench-undo-{now:%Y%m%dT%H%M%SZ}.json")
        typer.echo(f"\nTo take it back: nrbench doctor --undo {path}")
        good = _show_results(settings.apply(target.system, changes, path.absolute()))
    if "irqbalance" in target.system.processes().values():
        typer.echo("\nirqbalance runs and will move interrupts back. Stop it: systemctl stop irqbalance")
    parameters = boot_parameters(target)
    typer.echo(f"\nBoot parameters, which this program never writes:\n  {parameters}")
    if "nohz_full=" in parameters:
        typer.echo(f"With nohz_full {LATE_TIMERS}. Set that at each boot:")
        typer.echo(f"  {do.sysctl(facts.TIMER_MIGRATION, 0)[1].text}")
    if not yes:
        typer.echo("\nNothing was written. Add --yes to write it.")
    return 0 if good else 1


def _examine(target: Target, program: Path, measure: bool, as_json: bool) -> int:
    findings = checks.examine(target, measure)
    if measure and (target.system.is_real or program != wakes.PROGRAM):
        findings["Wake latency"] = latency.examine(target, program)
    about = host.describe(system=target.system)
    if as_json:
        typer.echo(report.to_json(about, target.list, findings))
    else:
        report.show(_console(), about, target.list, findings)
    return 1 if report.worst(findings) is Level.BAD else 0


def _across(cluster: str, measure: bool, as_json: bool) -> int:
    """@return exit status: 2 = the cluster cannot be used"""
    from nrbench.cluster.connect import open_cluster
    from nrbench.doctor import across
    from nrbench.driver import BenchError

    try:
        with open_cluster(cluster) as opened:
            hosts = across.examine(opened, measure)
    except (BenchError, OSError, ValueError) as error:
        typer.echo(f"doctor: {error}", err=True)
        return 2
    if as_json:
        typer.echo(across.to_json(hosts))
    else:
        across.show(_console(), hosts)
    return across.status_of(hosts)


@dataclass(frozen=True)
class Options:
    cpus: Annotated[
        str | None, Option(help="CPUs of the pool's workers, as in 2-5,8; default: the affinity mask")
    ] = None
    as_json: Annotated[bool, Option("--json", help="Print the findings as JSON")] = False
    quick: Annotated[
        bool, Option("--quick", "--no-measure", help="Skip the measurements, which take seconds")
    ] = False
    program: Annotated[
        Path,
        Option(
            "--wakes",
            metavar="PATH",
            show_default=False,
            help="The program ws-wakes; default: the one that ci/bench built, or one that is compiled now",
        ),
    ] = wakes.PROGRAM
    apply: Annotated[
        bool,
        Option("--apply", help="Keep other work off --cpus; without --yes it prints what it would write"),
    ] = False
    dry_run: Annotated[bool, Option("--dry-run", help="Same as --apply without --yes")] = False
    yes: Annotated[bool, Option("--yes", help="With --apply: write the settings; needs root")] = False
    undo_file: Annotated[Path | None, Option(help="With --apply --yes: new file for the values before")] = (
        None
    )
    undo: Annotated[
        Path | None, Option(metavar="FILE", help="Restore the values in this undo file; needs root")
    ] = None
    cluster: Annotated[
        str | None,
        Option(
            metavar="SPEC", help="Examine all hosts of a cluster at once: ssh:FILE, tcp://SCHEDULER:PORT, …"
        ),
    ] = None
    root: Annotated[Path, Option(hidden=True, help="Where /proc and /sys are; for tests")] = Path("/")


@command_of(Options)
def doctor(options: Options) -> None:
    """Examine this host for real-time work, explain each finding, and show the possible gain of pre-wake.

    Exit status: 0 nothing is bad; 1 something is bad, or could not be set or restored; 2 wrong options, no
    valid undo file, or not root.
    """
    system, applies = System(options.root), options.apply or options.dry_run
    if options.yes and (options.dry_run or not applies) or options.undo is not None and applies:
        raise typer.BadParameter("--yes belongs to --apply; --undo and --dry-run exclude it")
    if options.cluster is not None:
        if applies or options.undo is not None or options.cpus is not None:
            raise typer.BadParameter("--cluster examines only: not with --cpus, --apply or --undo")
        raise typer.Exit(_across(options.cluster, not options.quick, options.as_json))
    try:
        if options.undo is not None:
            changes = settings.read_undo(options.undo, system)
            status = 0 if _show_results(settings.undo(system, changes)) else 1
        elif applies:
            status = _apply(_target(system, options.cpus), options.undo_file, options.yes)
        else:
            target = _target(system, options.cpus)
            status = _examine(target, options.program, not options.quick, options.as_json)
    except SettingsError as error:
        typer.echo(f"doctor: {error}", err=True)
        status = 2
    raise typer.Exit(status)
