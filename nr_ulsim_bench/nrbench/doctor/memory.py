# SPDX-License-Identifier: BSD-3-Clause
"""Page faults, swap, and memory on another NUMA node."""

from __future__ import annotations

import re

from nrbench.doctor.finding import Finding, Target, Unseen, check, good, note, visible, warn
from nrbench.doctor.remedy import advice, boot, command, sysctl
from nrbench.system import CAP_IPC_LOCK

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


@check("locked memory")
def memlock(target: Target) -> Finding:
    limit = visible(target.system.limit("Max locked memory"), "/proc/self/limits is not visible")
    if limit == -1:
        return good("no limit")
    if target.system.has_capability(CAP_IPC_LOCK):
        return good(f"limit of {limit >> 20} MiB, which CAP_IPC_LOCK overrides")
    why = (
        "OAI locks its memory. If that is refused, a page that is swapped out or not yet used delays a slot."
    )
    limits = advice("in a file of /etc/security/limits.d: <user> - memlock unlimited")
    container = advice("in a container: docker run --ulimit memlock=-1 (or --cap-add IPC_LOCK)")
    return warn(f"limit of {limit >> 10} KiB", why, limits, container)


@check("huge pages")
def hugepages(target: Target) -> Finding:
    about = target.system.fields("/proc/meminfo")
    total = visible(about.get("HugePages_Total"), "/proc/meminfo does not show them")
    if total != "0":
        size = re.match(r"\d+", about.get("Hugepagesize", ""))
        size_mib = int(size[0]) >> 10 if size else 0
        return good(f"{total} of {size_mib} MiB, {about.get('HugePages_Free', '?')} free")
    why = "Radio units by DPDK (OAI's 7.2 fronthaul) need them. The pool and USRPs do not."
    return note("none reserved", why, boot("default_hugepagesz=1G hugepagesz=1G hugepages=<number>"))


@check("transparent huge pages")
def transparent(target: Target) -> Finding:
    match = visible(re.search(r"\[(\w+)\]", target.system.text(THP) or ""), f"{THP} is not visible")
    if match[1] != "always":
        return good(match[1])
    why = "The kernel joins pages while the program runs, which then waits: rarely, but long."
    return note("always", why, command(f"echo madvise > {THP}"), boot("transparent_hugepage=madvise"))


@check("swap")
def swap(target: Target) -> Finding:
    text = visible(target.system.text("/proc/swaps"), "/proc/swaps is not visible")
    rows = [line.split() for line in text.splitlines()[1:]]
    if not rows:
        return good("none")
    used_mib = sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()) >> 10
    why = "Reading a page back takes milliseconds, unless the program locks its memory."
    condition = "if memory suffices for all programs; otherwise some are killed"
    remedies = (command("swapoff -a", condition), advice("remove the swap lines from /etc/fstab"))
    return (warn if used_mib else note)(f"{len(rows)} in use, {used_mib} MiB of it used", why, *remedies)


@check("NUMA")
def numa(target: Target) -> Finding:
    nodes = _nodes(target)
    used = [name for name, cpus in nodes.items() if cpus & target.cpus]
    if len(used) <= 1:
        return good(f"the workers' CPUs are on one node of {len(nodes)}")
    why = "A cache line takes several times as long between nodes, and each task passes on at least one."
    remedy = advice("CPUs of one node, that of the network card: --cpus, numactl -m <node>")
    return warn(f"the workers' CPUs are on {', '.join(used)}", why, remedy)


@check("NUMA balancing")
def balancing(target: Target) -> Finding | list[Finding]:
    on = (target.system.number("/proc/sys/kernel/numa_balancing") or 0) > 0
    if not on or len(_nodes(target)) <= 1:
        return []
    why = "The kernel unmaps pages to see which threads use them. Threads then fault in the middle of a slot."
    return warn("on", why, *sysctl("kernel.numa_balancing", 0))


def _nodes(target: Target) -> dict[str, frozenset[int]]:
    """Nodes with CPUs."""
    folder = "/sys/devices/system/node"
    names = [name for name in target.system.names(folder) if re.fullmatch(r"node\d+", name)]
    nodes = {name: target.system.cpus(f"{folder}/{name}/cpulist") for name in names}
    if not any(nodes.values()):
        raise Unseen(f"{folder} is not visible")
    return {name: cpus for name, cpus in nodes.items() if cpus}


CHECKS = (memlock, hugepages, transparent, swap, numa, balancing)
