# SPDX-License-Identifier: BSD-3-Clause
"""The doctor on all hosts of a cluster: a row a host, and each finding with the hosts that have it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from nrbench.doctor import report
from nrbench.doctor.checks import QUESTION
from nrbench.doctor.target import Target
from nrbench.doctor.wakes import PROGRAM
from nrbench.session import MachineLost

SHOWN = ("bad", "warn")


def examine_here(measure: bool) -> dict[str, Any]:
    """Runs on a host. @return what `nrbench doctor --json` prints"""
    from nrbench.cluster.machines import system_here

    system = system_here()
    target = Target(system, system.affinity(), PROGRAM if system.is_real else None)
    return report.answer(target, measure)


def run(spec: str, measure: bool, as_json: bool) -> int:
    """@return exit status: 2 = the cluster cannot be used. A host that does not answer counts as bad."""
    from nrbench.cluster.ways import open_cluster

    hosts: list[dict[str, Any]] = []
    with open_cluster(spec) as cluster:
        every = cluster.on_each(lambda one: cluster.run_on(one.address, examine_here, measure))
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
