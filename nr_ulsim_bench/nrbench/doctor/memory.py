# SPDX-License-Identifier: BSD-3-Clause
"""Page faults, swap, and memory that is far away."""

from __future__ import annotations

import re

from nrbench.doctor.finding import Finding, Level, Target, advice, boot, command, sysctl, unseen
from nrbench.system import CAP_IPC_LOCK

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def memlock(target: Target) -> list[Finding]:
    name = "locked memory"
    limit = target.system.limit("Max locked memory")
    if limit is None:
        return [unseen(name, "/proc/self/limits is not visible")]
    if limit == -1 or target.system.has_capability(CAP_IPC_LOCK):
        text = "no limit" if limit == -1 else f"limit of {limit >> 20} MiB, which CAP_IPC_LOCK overrides"
        return [Finding(name, Level.GOOD, text)]
    why = "OAI locks its memory; refused, a page that was swapped out or not yet touched stops a slot."
    remedies = (
        advice("in a file of /etc/security/limits.d: <user> - memlock unlimited"),
        advice("in a container: docker run --ulimit memlock=-1 (or --cap-add IPC_LOCK)"),
    )
    return [Finding(name, Level.WARN, f"limit of {limit >> 10} KiB", why, remedies)]


def hugepages(target: Target) -> list[Finding]:
    about = target.system.fields("/proc/meminfo")
    if "HugePages_Total" not in about:
        return [unseen("huge pages", "/proc/meminfo does not tell")]
    size = re.match(r"\d+", about.get("Hugepagesize", ""))
    size_mib = int(size[0]) >> 10 if size else 0
    total, free = about["HugePages_Total"], about.get("HugePages_Free", "?")
    if total != "0":
        return [Finding("huge pages", Level.GOOD, f"{total} of {size_mib} MiB, {free} free")]
    why = "Radio units by DPDK (OAI's 7.2 fronthaul) need them. The pool and USRPs do not."
    lasting = boot("default_hugepagesz=1G hugepagesz=1G hugepages=<number>")
    return [Finding("huge pages", Level.NOTE, "none reserved", why, (lasting,))]


def transparent(target: Target) -> list[Finding]:
    name = "transparent huge pages"
    match = re.search(r"\[(\w+)\]", target.system.text(THP) or "")
    if not match:
        return [unseen(name, f"{THP} is not visible")]
    if match[1] != "always":
        return [Finding(name, Level.GOOD, match[1])]
    why = "The kernel joins pages behind the program's back and makes it wait for that: rare, and long."
    remedies = (command(f"echo madvise > {THP}"), boot("transparent_hugepage=madvise"))
    return [Finding(name, Level.NOTE, "always", why, remedies)]


def swap(target: Target) -> list[Finding]:
    text = target.system.text("/proc/swaps")
    if text is None:
        return [unseen("swap", "/proc/swaps is not visible")]
    rows = [line.split() for line in text.splitlines()[1:]]
    if not rows:
        return [Finding("swap", Level.GOOD, "none")]
    used_mib = sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()) >> 10
    why = "A page that has to be read back costs milliseconds, unless the program locks its memory."
    note = "if memory suffices: what is swapped out comes back, or programs are killed"
    remedies = (command("swapoff -a", note), advice("take the swap lines out of /etc/fstab"))
    seen = f"{len(rows)} in use, {used_mib} MiB of it taken"
    return [Finding("swap", Level.WARN if used_mib else Level.NOTE, seen, why, remedies)]


def numa(target: Target) -> list[Finding]:
    folder = "/sys/devices/system/node"
    nodes = {}
    for name in target.system.names(folder):
        cpus = target.system.cpus(f"{folder}/{name}/cpulist") if re.fullmatch(r"node\d+", name) else None
        if cpus:
            nodes[name] = cpus
    if not nodes:
        return [unseen("NUMA", f"{folder} is not visible")]
    used = [name for name, cpus in nodes.items() if cpus & target.cpus]
    if len(used) <= 1:
        findings = [Finding("NUMA", Level.GOOD, f"the workers' CPUs are on one node of {len(nodes)}")]
    else:
        why = "A cache line takes several times as long between nodes, and each task is handed over in one."
        remedy = advice("CPUs of one node, that of the network card: --cpus, numactl -m <node>")
        text = f"the workers' CPUs are on {', '.join(used)}"
        findings = [Finding("NUMA", Level.WARN, text, why, (remedy,))]
    if len(nodes) > 1 and (target.system.number("/proc/sys/kernel/numa_balancing") or 0) > 0:
        why = "The kernel unmaps pages to see who uses them, so that threads fault in the middle of a slot."
        off = sysctl("kernel.numa_balancing", 0)
        findings.append(Finding("NUMA balancing", Level.WARN, "on", why, off))
    return findings


CHECKS = (memlock, hugepages, transparent, swap, numa)
