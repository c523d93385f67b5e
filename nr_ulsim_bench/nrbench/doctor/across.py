# SPDX-License-Identifier: BSD-3-Clause
"""The doctor on all hosts of a cluster: a row a host, and each finding with the hosts that have it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nrbench import host
from nrbench.doctor import checks, report
from nrbench.doctor.checks import QUESTION
from nrbench.doctor.target import Target
from nrbench.doctor.wakes import PROGRAM
from nrbench.driver import BenchError

LIMIT_S = 180.0  # of one host, its measurements included
SHOWN = ("bad", "warn")


def examine_here(measure: bool) -> dict[str, Any]:
    """Runs on a host. @return what `nrbench doctor --json` prints"""
    from nrbench.cluster.machines import system_here

    system = system_here()
    target = Target(system, system.affinity(), PROGRAM if system.is_real else None)
    findings, about = checks.examine(target, measure), host.describe(system=system)
    return dict(json.loads(report.to_json(about, target.names, findings)))


def run(spec: str, measure: bool, as_json: bool) -> int:
    """@return exit status: 2 = the cluster cannot be used. A host that does not answer counts as bad."""
    from nrbench.cluster.ways import open_cluster

    hosts = []
    try:
        with open_cluster(spec) as cluster:
            answers = [(one.name, cluster.run_on(one, examine_here, measure)) for one in cluster.machines]
            for name, answer in answers:
                try:
                    hosts.append({"name": name} | answer.result(timeout=LIMIT_S))
                except Exception as error:  # whatever the host's own software raises
                    reason = f"{type(error).__name__}: {error}"
                    hosts.append({"name": name, "error": reason, "worst": "bad", "findings": []})
    except (BenchError, OSError, ValueError) as error:
        print(f"doctor: {error}", file=sys.stderr)
        return 2
    lines = [json.dumps({"doctor": 1, "hosts": hosts}, indent=1)] if as_json else table(hosts)
    for line in lines:
        print(line)
    return int(any(about["worst"] == "bad" for about in hosts))


def table(hosts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for about in hosts:
        if "error" in about:
            yield f"{about['name']}: not examined: {about['error']}"
            continue
        machine = "{cpu}, {cores} CPUs, Linux {kernel}, governor {governor}".format_map(about["host"])
        yield f"{about['name']}: {machine}; worst: {about['worst']}; {QUESTION} {about['quiet']['answer']}"
        for finding in about["findings"]:
            if finding["checked"] and finding["level"] in SHOWN:
                found[finding["level"], f"{finding['check']}: {finding['seen']}"].append(about["name"])
    for (level, seen), names in sorted(found.items(), key=lambda of: SHOWN.index(of[0][0])):
        yield f"{level:<5}{seen} ({', '.join(names)})"
