# SPDX-License-Identifier: BSD-3-Clause
"""A machine of a cluster: what its worker answers about it, and what makes its figures doubtful beside those
of the others."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Iterator, Sequence

from nrbench import host
from nrbench.facts import boot_id, cpu_info
from nrbench.record import Host
from nrbench.system import CPU, System

ROOT_VARIABLE = "NRBENCH_SYSTEM_ROOT"  # for tests: a made-up machine's /proc and /sys lie below it
NODE_VARIABLE = "SLURMD_NODENAME"  # of a job of Slurm
KINDS = ("busy", "throttled", "slow", "clock", "kernel", "version")  # of doubts
CLOCK_MAX_S = 2.0  # between the clocks of a machine and of the client, the message's way included
SLOW_RATIO = 1.25  # over the median of the machine's class
PROBES, PROBE_BYTES = 5, 4 << 20


def system_here() -> System:
    return System(Path(os.environ.get(ROOT_VARIABLE, "/")))


@dataclass(frozen=True)
class Machine:
    name: str  # of the worker: for messages and reports
    address: str  # of the worker, as Dask knows it
    host: Host = field(hash=False)
    about: dict[str, Any] = field(hash=False)  # what else the worker answered: about_here()

    @property
    def id(self) -> str:
        return self.host.id

    @property
    def class_(self) -> str:
        """Machines of one class share it."""
        return f"{self.host.cpu}, {self.host.kernel}, {self.host.cores} cores"


def cpu_flags(system: System) -> list[str]:
    """Empty: unknown."""
    about = cpu_info(system)
    return sorted((about.get("flags") or about.get("Features") or "").split())


def _throttled(system: System) -> int:
    """How often CPUs were too hot or were given too little power, since the boot."""
    folders = [f"{CPU}/cpu{cpu}/thermal_throttle" for cpu in sorted(system.online())]
    files = [f"{folder}/{name}" for folder in folders for name in system.names(folder) if "count" in name]
    return sum(system.number(file) or 0 for file in files)


def _is_capped(system: System) -> bool:
    """Whether a CPU may not run as fast as it can."""
    for cpu in system.online():
        folder = f"{CPU}/cpu{cpu}/cpufreq"
        most, allowed = (system.number(f"{folder}/{name}_max_freq") for name in ("cpuinfo", "scaling"))
        if most and allowed and allowed < most:
            return True
    return False


def about_here() -> dict[str, Any]:
    """Runs on a machine while nothing is measured there. Takes a tenth of a second."""
    system = system_here()
    before, data, times = _throttled(system), bytes(PROBE_BYTES), []
    for _ in range(PROBES):
        begin = time.perf_counter()
        hashlib.sha256(data).digest()
        times.append(time.perf_counter() - begin)
    return {
        "host": host.describe(None, system),
        "boot": boot_id(system),
        "cpu_flags": cpu_flags(system),
        "nrbench": host.commit(Path(__file__).parent),
        "python": ".".join(map(str, sys.version_info[:3])),
        "node": os.environ.get(NODE_VARIABLE, ""),
        "speed_s": min(times),
        "throttled": _throttled(system) > before,
        "capped": _is_capped(system),
        "time_s": time.time(),
    }


def one_each(machines: Sequence[Machine]) -> tuple[list[Machine], list[str]]:
    """Of workers that share a machine the first. Machines that were copied have one machine-id, yet each its
    own boot: their ids are made different by the workers' names.

    @return the machines, and a sentence for each worker left out"""
    kept: dict[tuple[str, Any], Machine] = {}
    said = []
    for one in sorted(machines, key=lambda one: one.name):
        first = kept.setdefault((one.id, one.about["boot"]), one)
        if first is not one:
            said.append(f"{one.name}: left out: the same machine as {first.name}")
    ids = Counter(one.id for one in kept.values())
    return [_apart(one) if ids[one.id] > 1 else one for one in kept.values()], said


def _apart(one: Machine) -> Machine:
    other = hashlib.sha256(f"{one.id} {one.name}".encode()).hexdigest()[:8]
    return Machine(one.name, one.address, one.host.model_copy(update={"id": other}), one.about)


def leave_out_of(text: str | None) -> frozenset[str]:
    """Of --leave-out."""
    found = {word.strip() for word in (text or "").split(",") if word.strip()}
    if found == {"all"}:
        return frozenset(KINDS)
    for word in sorted(found - set(KINDS)):
        raise ValueError(f"--leave-out {text}: {word!r} is not one of {', '.join(KINDS)}, all")
    return frozenset(found)


def doubts(one: Machine, machines: Sequence[Machine], commit: str | None) -> Iterator[tuple[str, str]]:
    """
    @param machines  all, `one` among them
    @param commit    of nrbench here
    @return kinds, each with what was found
    """
    about = one.about
    if host.is_busy(one.host.load, one.host.cores_online):
        yield "busy", f"a load of {one.host.load:g} on {one.host.cores_online} CPUs"
    if about["throttled"]:
        yield "throttled", "its CPUs are throttled"
    if about["capped"]:
        yield "throttled", "its CPUs may not run as fast as they can"
    others = [other.about["speed_s"] for other in machines if other.class_ == one.class_]
    if len(others) > 1 and about["speed_s"] > SLOW_RATIO * median(others):
        times = about["speed_s"] / median(others)
        yield "slow", f"{times:.2f} times as long for the same work as its class"
    if abs(about["offset_s"]) > CLOCK_MAX_S:
        yield "clock", f"its clock is {about['offset_s']:+.0f} s from this machine's"
    for kind, name, title in (("clock", "clocksource", "clock source"), ("kernel", "kernel", "kernel")):
        ((usual, _),) = Counter(getattr(other.host, name) for other in machines).most_common(1)
        if getattr(one.host, name) != usual:
            yield kind, f"{title} {getattr(one.host, name)}; most have {usual}"
    if about["nrbench"] != commit:
        here, there = commit or "unknown", about["nrbench"] or "of an unknown commit"
        yield "version", f"nrbench {there}; here it is {here}"
