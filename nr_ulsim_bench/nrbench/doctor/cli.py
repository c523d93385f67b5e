# SPDX-License-Identifier: BSD-3-Clause
"""nrbench doctor: examine the host, or all hosts of a cluster. Write a profile for tuned, which keeps other
work off the workers' CPUs at each boot, and takes that back (https://tuned-project.org)."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from nrbench.cluster.machines import system_here
from nrbench.doctor import report
from nrbench.doctor.checks import QUESTION
from nrbench.doctor.layout import Layout
from nrbench.doctor.target import Target
from nrbench.doctor.wakes import PROGRAM
from nrbench.host import describe
from nrbench.session import MachineLost
from nrbench.system import System, format_cpus, parse_cpus

SHOWN = ("bad", "warn")  # of a cluster
PROFILE = """\
[main]
summary=CPUs {cpus} for real-time workers, all other work on {rest}

[variables]
others=${{f:cpulist2hex:{rest}}}

[cpu]
devices={devices}
governor=performance

[sysctl]
kernel.nmi_watchdog=0
kernel.numa_balancing=0
kernel.timer_migration=0
kernel.watchdog_cpumask={rest}
vm.stat_interval=120

[sysfs]
/sys/devices/virtual/workqueue/cpumask=${{others}}
/sys/devices/virtual/workqueue/*/cpumask=${{others}}

[irqbalance]
banned_cpus={cpus}

[scheduler]
isolated_cores={cpus}
ps_blacklist=nr-softmodem;nr-uesoftmodem

[bootloader]
cmdline_nrbench=+{isolcpus} irqaffinity={rest} nohz_full={cpus} rcu_nocbs={cpus} \
rcu_nocb_poll skew_tick=1 nosoftlockup
"""

Cpus = Annotated[str | None, Option(help="CPUs of the pool's workers, as in 2-5,8; default: affinity mask")]
Json = Annotated[bool, Option("--json", help="Print the findings as JSON")]
Quick = Annotated[bool, Option("--quick", help="Skip the measurements, which take seconds")]
WAKES = Option(metavar="PATH", help="ws-wakes; default: that of ci/bench, or compiled now")
TUNED = Option(metavar="FOLDER", help="Write a profile for tuned: keep work off --cpus")
LAYOUT = Option(metavar="WORKERS", min=1, help="Propose which threads run where, for a pool of so many")
Cluster = Annotated[str | None, Option(metavar="SPEC", help="Examine all hosts of a cluster: ssh:FILE, …")]
Root = Annotated[Path, Option(hidden=True, help="Where /proc and /sys are; for tests")]


def examine_here(measure: bool) -> dict[str, Any]:
    """Runs on a host. @return what `nrbench doctor --json` prints"""
    system = system_here()
    target = Target(system, system.affinity(), PROGRAM if system.is_real else None)
    return report.answer(target, measure)


def across(spec: str, measure: bool, as_json: bool) -> int:
    """@return exit status: 2 = the cluster cannot be used. A host that does not answer counts as bad."""
    from nrbench.cluster.ways import open_cluster

    hosts: list[dict[str, Any]] = []
    with open_cluster(spec) as cluster:
        every = cluster.on_each(lambda one: cluster.link.run_on(one.address, examine_here, measure))
        for one, answer in every:
            lost = {"error": str(answer), "worst": "bad", "findings": []}
            hosts.append({"name": one.name} | (lost if isinstance(answer, MachineLost) else answer))
    print(json.dumps({"doctor": 2, "hosts": hosts}, indent=1) if as_json else "\n".join(table(hosts)))
    return int(any(about["worst"] == "bad" for about in hosts))


def table(hosts: list[dict[str, Any]]) -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for about in hosts:
        if "error" in about:
            yield f"{about['name']}: not examined: {about['error']}"
            continue
        governor = about["host"]["governor"] or "not visible"
        machine = "{cpu}, {cores} CPUs, Linux {kernel}".format_map(about["host"]) + f", governor {governor}"
        yield f"{about['name']}: {machine}; worst: {about['worst']}; {QUESTION} {about['quiet']['answer']}"
        for finding in about["findings"]:
            if finding["level"] in SHOWN:
                found[finding["level"], f"{finding['check']}: {finding['seen']}"].append(about["name"])
    for (level, seen), names in sorted(found.items(), key=lambda of: SHOWN.index(of[0][0])):
        yield f"{level:<5}{seen} ({', '.join(names)})"


def write_profile(target: Target, folder: Path) -> str:
    """@return what to do with it. An existing profile is not overwritten. ValueError: none is possible."""
    online = target.system.online()
    if not target.others or not target.cpus <= online:
        raise ValueError(f"--cpus {target.names}: name some, and not all, of the CPUs {format_cpus(online)}")
    devices = ",".join(f"cpu{cpu}" for cpu in sorted(target.cpus))
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tuned.conf", "x", encoding="utf-8") as file:
        file.write(PROFILE.format_map(target.values | {"devices": devices}))
    return (
        f"{file.name} is written. Use it, as root, with no gNB running: "
        f"tuned-adm profile {folder.resolve().name}\n"
        "Its boot parameters hold from the next boot on (Debian and Ubuntu: update-grub before). "
        "Take it back: tuned-adm off"
    )


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
        return across(cluster, not quick, as_json)
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
        typer.echo(write_profile(target, tuned))
        return 0
    answer = report.answer(target, not quick)
    if as_json:
        typer.echo(json.dumps(answer, indent=1))
    else:
        report.show(answer)
    return int(answer["worst"] == "bad")
