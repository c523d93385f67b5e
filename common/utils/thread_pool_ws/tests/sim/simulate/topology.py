# SPDX-License-Identifier: BSD-3-Clause
"""CPUs of this machine that this process may use, and how far they are from each other (sysfs)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

SYSFS = Path("/sys/devices/system")
DISTANCES = ("smt", "llc", "node", "far")


def cpu_list(text: str) -> set[int]:
    """0-3,8"""
    found: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def _cpus_in(path: Path) -> set[int]:
    try:
        return cpu_list(path.read_text())
    except (OSError, ValueError):
        return set()


@dataclass(frozen=True)
class Topology:
    cpus: tuple[int, ...]
    core: dict[int, set[int]]
    llc: dict[int, set[int]]
    node: dict[int, set[int]]

    def distance(self, a: int, b: int) -> str:
        for name, groups in (("smt", self.core), ("llc", self.llc), ("node", self.node)):
            if b in groups[a]:
                return name
        return "far"

    def pairs(self, most: int) -> dict[str, list[tuple[int, int]]]:
        """Up to `most` pairs of CPUs of each distance that exists, spread over the machine."""
        found: dict[str, list[tuple[int, int]]] = {}
        for a, b in combinations(self.cpus, 2):
            found.setdefault(self.distance(a, b), []).append((a, b))
        return {name: pairs[:: max(1, len(pairs) // most)][:most] for name, pairs in found.items()}

    def sizes(self) -> dict[str, int]:
        """CPUs of each group; where groups do not fit into each other, of the next larger one that does."""
        wanted = {
            "smt": max(len(group) for group in self.core.values()),
            "llc_cpus": max(len(group) for group in self.llc.values()),
            "node_cpus": max(len(group) for group in self.node.values()),
            "cpus": len(self.cpus),
        }
        sizes, smaller = {}, 1
        for name, count in wanted.items():
            fits = count % smaller == 0 and len(self.cpus) % count == 0
            sizes[name] = count if fits else len(self.cpus)
            smaller = sizes[name]
        return sizes


def _last_cache(cpu: int) -> Path:
    caches = sorted((SYSFS / f"cpu/cpu{cpu}/cache").glob("index*"))
    return caches[-1] / "shared_cpu_list" if caches else Path("none")


def read_topology() -> Topology:
    cpus = sorted(os.sched_getaffinity(0))
    allowed = set(cpus)
    nodes = [_cpus_in(path) for path in (SYSFS / "node").glob("node[0-9]*/cpulist")]

    def within(group: set[int], cpu: int) -> set[int]:
        return (group & allowed) | {cpu}

    return Topology(
        tuple(cpus),
        {cpu: within(_cpus_in(SYSFS / f"cpu/cpu{cpu}/topology/thread_siblings_list"), cpu) for cpu in cpus},
        {cpu: within(_cpus_in(_last_cache(cpu)), cpu) for cpu in cpus},
        {cpu: within(next((node for node in nodes if cpu in node), allowed), cpu) for cpu in cpus},
    )
