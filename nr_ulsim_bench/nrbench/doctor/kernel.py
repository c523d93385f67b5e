# SPDX-License-Identifier: BSD-3-Clause
"""Clock, watchdogs, housekeeping and mitigations of the kernel; page faults, swap, and memory on another NUMA
node."""

from __future__ import annotations

import re

from nrbench import facts
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Target, Unseen, area, bad, good, note, visible, warn
from nrbench.doctor.settings import STAT_INTERVAL_GOOD_S, STAT_INTERVAL_S
from nrbench.system import CAP_IPC_LOCK

check = area("Kernel")

# Read without a system call. The others take a microsecond and more, and the pool reads the clock often.
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")


@check("clocksource")
def clocksource(target: Target) -> Finding:
    now = target.see(facts.CLOCK)
    if now in FAST_CLOCKS:
        return good(now)
    offered = (facts.CLOCKS(target.system) or "").split()
    why = "Reading this clock is a system call or a slow device: 1 us and more, instead of 25 ns."
    fast = next((name for name in offered if name in FAST_CLOCKS), None)
    if fast:
        remedy = do.command(f"echo {fast} > {facts.CLOCK.name}", "dmesg has the reason for the change")
    else:
        remedy = do.advice("find out with dmesg | grep -i clocksource why the kernel offers no faster one")
    return bad(f"{now} (of {', '.join(offered)})", why, remedy)


@check("watchdogs")
def watchdogs(target: Target) -> list[Finding]:
    soft, hard = facts.WATCHDOG(target.system), facts.NMI_WATCHDOG(target.system)
    if soft is None and hard is None:
        raise Unseen(f"{facts.WATCHDOG.label} is not visible, or the kernel has none")
    findings = []
    mask = facts.WATCHDOG_CPUS(target.system)
    watched = target.cpus if mask is None else mask & target.cpus
    if soft and watched:
        why = (
            "A timer and a thread of the highest class run every few seconds on each CPU, some us each time."
        )
        keep = (target.apply_command, *do.sysctl(facts.WATCHDOG, 0)) if target.others else ()
        findings.append(note(f"the soft lockup watchdog runs on {target.where(watched)}", why, *keep))
    if hard:
        why = "It causes non-maskable interrupts, and uses a performance counter of each CPU."
        off = (*do.sysctl(facts.NMI_WATCHDOG, 0), do.boot("nmi_watchdog=0"))
        findings.append(note("kernel.nmi_watchdog=1", why, *off))
    return findings or [good(f"off on {target.list}")]


@check("vm.stat_interval")
def stat_interval(target: Target) -> Finding:
    seconds = target.see(facts.STAT_INTERVAL_S)
    if seconds >= STAT_INTERVAL_GOOD_S:
        return good(f"{seconds} s")
    why = "At this interval a thread of the kernel runs on each CPU to sum up memory statistics."
    return note(f"{seconds} s", why, *do.sysctl(facts.STAT_INTERVAL_S, STAT_INTERVAL_S))


@check("mitigations")
def mitigations(target: Target) -> Finding:
    states = target.see(facts.MITIGATIONS)
    active = [name for name, text in states.items() if text.startswith("Mitigation")]
    if not active:
        return good("none active")
    why = (
        "Each makes entering the kernel slower, and so each wake. Leave them on where others can run "
        "programs on this machine."
    )
    off = do.boot("mitigations=off", "only where all programs are trusted")
    return note(f"active: {', '.join(active)}", why, off)


memory = area("Memory")


@memory("locked memory")
def memlock(target: Target) -> Finding:
    limit = visible(target.system.limit("Max locked memory"), "/proc/self/limits is not visible")
    if limit == -1:
        return good("no limit")
    if target.system.has_capability(CAP_IPC_LOCK):
        return good(f"limit of {limit >> 20} MiB, which CAP_IPC_LOCK overrides")
    why = (
        "OAI locks its memory. If that is refused, a page that is swapped out or not yet used delays a slot."
    )
    limits = do.advice("in a file of /etc/security/limits.d: <user> - memlock unlimited")
    container = do.advice("in a container: docker run --ulimit memlock=-1 (or --cap-add IPC_LOCK)")
    return warn(f"limit of {limit >> 10} KiB", why, limits, container)


@memory("huge pages")
def hugepages(target: Target) -> Finding:
    about = facts.MEMORY(target.system)
    total = visible(about.get("HugePages_Total"), f"{facts.MEMORY.label} does not show them")
    if total != "0":
        size = re.match(r"\d+", about.get("Hugepagesize", ""))
        size_mib = int(size[0]) >> 10 if size else 0
        return good(f"{total} of {size_mib} MiB, {about.get('HugePages_Free', '?')} free")
    why = "Radio units by DPDK (OAI's 7.2 fronthaul) need them. The pool and USRPs do not."
    return note("none reserved", why, do.boot("default_hugepagesz=1G hugepagesz=1G hugepages=<number>"))


@memory("transparent huge pages")
def transparent(target: Target) -> Finding:
    chosen = re.findall(r"\[(\w+)\]", target.see(facts.THP))
    if chosen != ["always"]:
        return good(", ".join(chosen))
    why = "The kernel joins pages while the program runs, which then waits: rarely, but long."
    remedies = do.command(f"echo madvise > {facts.THP.name}"), do.boot("transparent_hugepage=madvise")
    return note("always", why, *remedies)


@memory("swap")
def swap(target: Target) -> Finding:
    text = target.see(facts.SWAPS)
    rows = [line.split() for line in text.splitlines()[1:]]
    if not rows:
        return good("none")
    used_mib = sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()) >> 10
    why = "Reading a page back takes milliseconds, unless the program locks its memory."
    condition = "if memory suffices for all programs; otherwise some are killed"
    remedies = (do.command("swapoff -a", condition), do.advice("remove the swap lines from /etc/fstab"))
    return (warn if used_mib else note)(f"{len(rows)} in use, {used_mib} MiB of it used", why, *remedies)


@memory("NUMA")
def numa(target: Target) -> Finding:
    nodes = target.see(facts.NODES)
    used = [name for name, cpus in nodes.items() if cpus & target.cpus]
    if len(used) <= 1:
        return good(f"the workers' CPUs are on one node of {len(nodes)}")
    why = "A cache line takes several times as long between nodes, and each task passes on at least one."
    remedy = do.advice("CPUs of one node, that of the network card: --cpus, numactl -m <node>")
    return warn(f"the workers' CPUs are on {', '.join(used)}", why, remedy)


@memory("NUMA balancing")
def balancing(target: Target) -> Finding | list[Finding]:
    on = (facts.NUMA_BALANCING(target.system) or 0) > 0
    if not on or len(target.see(facts.NODES)) <= 1:
        return []
    why = "The kernel unmaps pages to see which threads use them. Threads then fault in the middle of a slot."
    return warn("on", why, *do.sysctl(facts.NUMA_BALANCING, 0))
