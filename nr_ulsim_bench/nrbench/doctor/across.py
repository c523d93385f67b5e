# SPDX-License-Identifier: BSD-3-Clause
"""The doctor on all hosts of a cluster: a row a host, and each finding with the hosts that have it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from nrbench import host
from nrbench.doctor import checks, report
from nrbench.doctor.target import Target
from nrbench.doctor.wakes import PROGRAM

LIMIT_S = 180.0  # of one host, its measurements included
SHOWN = ("bad", "warn")


def examine_here(measure: bool) -> dict[str, Any]:
    """Runs on a host. @return what `nrbench doctor --json` prints"""
    from nrbench.cluster.hosts import system_here

    system = system_here()
    target = Target(system, system.affinity(), PROGRAM if system.is_real else None)
    about = host.describe(system=system)
    answer: dict[str, Any] = json.loads(report.to_json(about, target.names, checks.examine(target, measure)))
    return answer


def run(console: Console, spec: str, measure: bool, as_json: bool) -> int:
    """@return exit status: 2 = the cluster cannot be used. A host that does not answer counts as bad."""
    from nrbench.cluster.connect import open_cluster
    from nrbench.driver import BenchError

    hosts: dict[str, Mapping[str, Any]] = {}
    try:
        with open_cluster(spec) as cluster:
            answers = [(one.name, cluster.run_on(one, examine_here, measure)) for one in cluster.hosts]
            for name, answer in answers:
                try:
                    hosts[name] = answer.result(timeout=LIMIT_S)
                except Exception as error:  # whatever the host's own software raises
                    hosts[name] = {
                        "worst": "bad",
                        "error": f"{type(error).__name__}: {error}",
                        "findings": [],
                    }
    except (BenchError, OSError, ValueError) as error:
        print(f"doctor: {error}", file=sys.stderr)
        return 2
    if as_json:
        print(
            json.dumps(
                {"doctor": 1, "hosts": [{"name": name} | dict(about) for name, about in hosts.items()]},
                indent=1,
            )
        )
    else:
        show(console, hosts)
    return int(any(about["worst"] == "bad" for about in hosts.values()))


def show(console: Console, hosts: Mapping[str, Mapping[str, Any]]) -> None:
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, about in hosts.items():
        if "error" in about:
            console.print(f"{name}: not examined: {about['error']}")
            continue
        machine, quiet = about["host"], about["quiet"]["answer"]
        facts = "{cpu}, {cores} CPUs, Linux {kernel}, governor {governor}".format_map(machine)
        console.print(
            f"{name}: {facts}; worst: {about['worst']}; quiet enough to measure? {quiet}", soft_wrap=True
        )
        for finding in about["findings"]:
            if finding["checked"] and finding["level"] in SHOWN:
                found[finding["level"], finding["check"], finding["seen"]].append(name)
    for (level, check, seen), names in sorted(found.items(), key=lambda of: SHOWN.index(of[0][0])):
        console.print(f"{level:<5}{check}: {seen} ({', '.join(names)})", soft_wrap=True)
