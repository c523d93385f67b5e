# SPDX-License-Identifier: BSD-3-Clause
"""A machine of a cluster as the client knows it, and what a worker answers about its machine."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.facts import BOOT_ID, CPUINFO
from nrbench.system import System

ROOT_VARIABLE = "NRBENCH_SYSTEM_ROOT"  # for tests: a made-up machine's /proc and /sys lie below it
NODE_VARIABLE = "SLURMD_NODENAME"  # of a job of Slurm


def system_here() -> System:
    return System(Path(os.environ.get(ROOT_VARIABLE, "/")))


@dataclass(frozen=True)
class ClusterHost:
    name: str  # of the worker: for messages and reports
    address: str  # of the worker, as Dask knows it
    description: dict[str, Any] = field(hash=False)  # fields of sweep.record.Host
    about: dict[str, Any] = field(hash=False)  # what else the worker answered: about_here()

    @property
    def id(self) -> str:
        return str(self.description["id"])

    @property
    def class_(self) -> str:
        """Machines of one class share it: CPU model, kernel, cores."""
        about = self.description
        return f"{about['cpu']}, {about['kernel']}, {about['cores']} cores"


def cpu_flags(system: System) -> tuple[str, ...]:
    """Empty: unknown."""
    fields = {name.strip(): value for name, value in CPUINFO(system).items()}
    return tuple(sorted((fields.get("flags") or fields.get("Features") or "").split()))


def about_here(label: str | None = None) -> dict[str, Any]:
    """Runs on a host. @return description: fields of sweep.record.Host; and what decides whether it may
    take part"""
    system = system_here()
    return {
        "description": host.describe(label, system).model_dump(mode="json"),
        "boot": BOOT_ID(system),
        "cpu_flags": cpu_flags(system),
        "nrbench": host.commit(Path(__file__).parent),
        "python": ".".join(map(str, sys.version_info[:3])),
        "time_s": time.time(),
        "user": os.getuid(),
        "node": os.environ.get(NODE_VARIABLE, ""),
    }


def one_each(hosts: Sequence[ClusterHost]) -> tuple[list[ClusterHost], list[str]]:
    """Of workers that share a machine the first. Machines that were copied have one machine-id, yet each its
    own boot: their ids are made different by the workers' names.

    @return the hosts, and a sentence for each one left out"""
    kept: dict[tuple[str, Any], ClusterHost] = {}
    said = []
    for one in sorted(hosts, key=lambda one: one.name):
        first = kept.setdefault((one.id, one.about["boot"]), one)
        if first is not one:
            said.append(f"{one.name}: left out: the same machine as {first.name}")
    ids = [one.id for one in kept.values()]
    return [_apart(one) if ids.count(one.id) > 1 else one for one in kept.values()], said


def _apart(one: ClusterHost) -> ClusterHost:
    import hashlib

    other = hashlib.sha256(f"{one.id} {one.name}".encode()).hexdigest()[:8]
    return ClusterHost(one.name, one.address, one.description | {"id": other}, one.about)
