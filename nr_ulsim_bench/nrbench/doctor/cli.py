# SPDX-License-Identifier: BSD-3-Clause
"""nrbench doctor: examine the host, and write a profile for tuned that changes what can be changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer import Option

from nrbench import host
from nrbench.doctor import checks, report, tuned
from nrbench.doctor.target import Level, Target
from nrbench.doctor.wakes import PROGRAM
from nrbench.system import System, format_cpus, parse_cpus

PLAIN_COLUMNS = 110  # where the output is no terminal


def _target(system: System, cpus: str | None, program: Path) -> Target:
    try:
        chosen = parse_cpus(cpus) if cpus is not None else system.affinity()
        missing = chosen - system.possible()
        if missing:
            raise ValueError(f"this machine has no CPU {format_cpus(missing)}")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cpus") from error
    return Target(system, chosen, program if system.is_real or program != PROGRAM else None)


def doctor(
    cpus: Annotated[
        str | None, Option(help="CPUs of the pool's workers, as in 2-5,8; default: the affinity mask")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the findings as JSON")] = False,
    quick: Annotated[
        bool, Option("--quick", "--no-measure", help="Skip the measurements, which take seconds")
    ] = False,
    program: Annotated[
        Path,
        Option(
            "--wakes",
            metavar="PATH",
            show_default=False,
            help="The program ws-wakes; default: the one that ci/bench built, or one that is compiled now",
        ),
    ] = PROGRAM,
    profile: Annotated[
        Path | None,
        Option(
            "--tuned", metavar="FOLDER", help="Write a profile for tuned that keeps other work off --cpus"
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        Option(metavar="SPEC", help="Examine all hosts of a cluster: ssh:FILE, tcp://SCHEDULER:PORT, …"),
    ] = None,
    root: Annotated[Path, Option(hidden=True, help="Where /proc and /sys are; for tests")] = Path("/"),
) -> None:
    """Examine this host for real-time work, explain each finding, and show the possible gain of pre-wake.

    Exit status: 0 nothing is bad; 1 something is bad; 2 wrong options, or the profile could not be written.
    """
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_COLUMNS)
    if cluster is not None:
        from nrbench.doctor import across

        if profile is not None or cpus is not None:
            raise typer.BadParameter("--cluster examines only: not with --cpus or --tuned")
        raise typer.Exit(across.run(console, cluster, not quick, as_json))
    target = _target(System(root), cpus, program)
    if profile is not None:
        try:
            typer.echo(tuned.write(target, profile))
        except (OSError, ValueError) as error:
            typer.echo(f"doctor: {error}", err=True)
            raise typer.Exit(2) from error
        return
    findings, about = checks.examine(target, not quick), host.describe(system=target.system)
    if as_json:
        typer.echo(report.to_json(about, target.names, findings))
    else:
        report.show(console, about, target.names, findings)
    raise typer.Exit(int(report.worst(findings) is Level.BAD))
