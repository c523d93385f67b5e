# SPDX-License-Identifier: BSD-3-Clause
"""nrbench doctor: examine the host, and write a profile for tuned that changes what can be changed."""

import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from nrbench.doctor import across, profile, report
from nrbench.doctor.layout import Layout
from nrbench.doctor.target import Target
from nrbench.doctor.wakes import PROGRAM
from nrbench.host import describe
from nrbench.system import System, format_cpus, parse_cpus

Cpus = Annotated[str | None, Option(help="CPUs of the pool's workers, as in 2-5,8; default: affinity mask")]
Json = Annotated[bool, Option("--json", help="Print the findings as JSON")]
Quick = Annotated[bool, Option("--quick", help="Skip the measurements, which take seconds")]
WAKES = Option(metavar="PATH", help="ws-wakes; default: that of ci/bench, or compiled now")
TUNED = Option(metavar="FOLDER", help="Write a profile for tuned: keep work off --cpus")
LAYOUT = Option(metavar="WORKERS", min=1, help="Propose which threads run where, for a pool of so many")
Cluster = Annotated[str | None, Option(metavar="SPEC", help="Examine all hosts of a cluster: ssh:FILE, …")]
Root = Annotated[Path, Option(hidden=True, help="Where /proc and /sys are; for tests")]


def doctor(
    cpus: Cpus = None,
    as_json: Json = False,
    quick: Quick = False,
    wakes: Annotated[Path | None, WAKES] = None,
    tuned: Annotated[Path | None, TUNED] = None,
    layout: Annotated[int | None, LAYOUT] = None,
    cluster: Cluster = None,
    root: Root = Path("/"),
) -> int:
    """Examine this host for real-time work, explain each finding, and show the possible gain of pre-wake.

    Exit status: 0 nothing is bad; 1 something is bad; 2 wrong options, or the profile could not be written.
    """
    if cluster is not None:
        if (tuned, cpus, layout) != (None, None, None):
            raise ValueError("--cluster examines only: not with --cpus, --tuned or --layout")
        return across.run(cluster, not quick, as_json)
    system = System(root)
    if layout is not None:
        if tuned is not None or cpus is not None:
            raise ValueError("--layout chooses the CPUs: not with --cpus or --tuned")
        lines = Layout(system, layout).lines()
        if as_json:
            typer.echo(json.dumps([line._asdict() for line in lines], indent=1))
        else:
            title = "{label}, Linux {kernel}".format_map(describe(system=system).model_dump())
            report.show_layout(f"{title}. A layout for {layout} workers", lines)
        return 0
    chosen = parse_cpus(cpus) if cpus is not None else system.affinity()
    if missing := chosen - system.possible():
        raise ValueError(f"--cpus {cpus}: this machine has no CPU {format_cpus(missing)}")
    target = Target(system, chosen, PROGRAM if wakes is None and system.is_real else wakes)
    if tuned is not None:
        typer.echo(profile.write(target, tuned))
        return 0
    answer = report.answer(target, not quick)
    if as_json:
        typer.echo(json.dumps(answer, indent=1))
    else:
        report.show(answer)
    return int(answer["worst"] == "bad")
