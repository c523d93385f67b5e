# SPDX-License-Identifier: BSD-3-Clause
"""What makes a host's figures doubtful beside those of the others: said, and with --leave-out a reason not to
use the host."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from statistics import median
from typing import Any, Iterator, Sequence

from nrbench import host
from nrbench.cluster.hosts import ClusterHost
from nrbench.system import CPU, System

KINDS = ("busy", "throttled", "slow", "clock", "kernel", "version")
CLOCK_MAX_S = 2.0  # between the clocks of a host and of the client, the message's way included
SLOW_RATIO = 1.25  # over the median of the host's class
PROBES, PROBE_BYTES = 5, 4 << 20


def leave_out_of(text: str | None) -> frozenset[str]:
    """Of --leave-out."""
    found = {word.strip() for word in (text or "").split(",") if word.strip()}
    if found == {"all"}:
        return frozenset(KINDS)
    for word in sorted(found - set(KINDS)):
        raise ValueError(f"--leave-out {text}: {word!r} is not one of {', '.join(KINDS)}, all")
    return frozenset(found)


def _throttled(system: System) -> int:
    """How often CPUs were too hot or were given too little power, since the boot."""
    counts = 0
    for cpu in sorted(system.online()):
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        names = (name for name in system.names(folder) if "count" in name)
        counts += sum(system.number(f"{folder}/{name}") or 0 for name in names)
    return counts


def _is_capped(system: System) -> bool:
    """Whether a CPU may not run as fast as it can."""
    for cpu in system.online():
        folder = f"{CPU}/cpu{cpu}/cpufreq"
        most, allowed = (system.number(f"{folder}/{name}_max_freq") for name in ("cpuinfo", "scaling"))
        if most and allowed and allowed < most:
            return True
    return False


def probe(system: System) -> dict[str, Any]:
    """Runs on a host while nothing is measured there. Takes a tenth of a second."""
    before, data, times = _throttled(system), bytes(PROBE_BYTES), []
    for _ in range(PROBES):
        begin = time.perf_counter()
        hashlib.sha256(data).digest()
        times.append(time.perf_counter() - begin)
    return {"speed_s": min(times), "throttled": _throttled(system) > before, "capped": _is_capped(system)}


def _most(values: Sequence[Any]) -> Any:
    return Counter(values).most_common(1)[0][0]


def complaints(
    one: ClusterHost, hosts: Sequence[ClusterHost], speeds: dict[str, dict[str, Any]], commit: str | None
) -> Iterator[tuple[str, str]]:
    """
    @param hosts   all, `one` among them
    @param speeds  answers of probe() by host id, as far as they are known
    @param commit  of nrbench here
    @return        kinds, each with what was found
    """
    about, description = one.about, one.description
    load, cpus = description["load"], description["cores_online"]
    if host.is_busy(load, cpus):
        yield "busy", f"a load of {load:g} on {cpus} CPUs"
    own = speeds.get(one.id)
    if own and own["throttled"]:
        yield "throttled", "its CPUs are throttled"
    if own and own["capped"]:
        yield "throttled", "its CPUs may not run as fast as they can"
    alike = (other for other in hosts if other.class_ == one.class_ and other.id in speeds)
    others = [speeds[other.id]["speed_s"] for other in alike]
    if own and len(others) > 1 and own["speed_s"] > SLOW_RATIO * median(others):
        yield "slow", f"{own['speed_s'] / median(others):.2f} times as long for the same work as its class"
    if abs(about["offset_s"]) > CLOCK_MAX_S:
        yield "clock", f"its clock is {about['offset_s']:+.0f} s from this machine's"
    for kind, name, title in (("clock", "clocksource", "clock source"), ("kernel", "kernel", "kernel")):
        usual = _most([other.description[name] for other in hosts])
        if description[name] != usual:
            yield kind, f"{title} {description[name]}; most have {usual}"
    if about["nrbench"] != commit:
        here, there = commit or "unknown", about["nrbench"] or "of an unknown commit"
        yield "version", f"nrbench {there}; here it is {here}"
