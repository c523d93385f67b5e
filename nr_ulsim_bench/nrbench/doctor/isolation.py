# SPDX-License-Identifier: BSD-3-Clause
"""Who else runs on the workers' CPUs: other threads, interrupts, kernel work."""

from __future__ import annotations

import contextlib

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, advice, boot, command, sysctl, unseen
from nrbench.system import CPU, Cpus, format_cpus, hierarchies, parse_cpus

APPLY = "nrbench doctor --apply"
_GROUP = (
    "Isolation by control groups (cpuset partitions, cset shield) leaves threads of the kernel where they "
    "are; srsRAN took its own option for it out again."
)


def _listed(text: str | None) -> Cpus:
    with contextlib.suppress(ValueError):
        return parse_cpus(text or "")
    return frozenset()


def _boot_list(target: Target, name: str, found: str | None, why: str, absent: Level, value: str) -> Finding:
    """A boot parameter that is to name all CPUs of the workers."""
    if target.system.text("/proc/cmdline") is None:
        return unseen(name, "/proc/cmdline is not readable")
    named = _listed(found)
    if found and (target.cpus <= named or found == "all"):
        return Finding(name, Level.GOOD, f"{found}, which has all of the workers' CPUs {target.list}")
    if not target.others:
        text = f"not used, and the workers may use every CPU ({target.list})"
        choose = advice("leave a CPU to the rest of the system, and say so: --cpus")
        return Finding(name, Level.NOTE, text, why, (choose,))
    missing = f"lacks {format_cpus(target.cpus - named)}" if named else f"not set for {target.list}"
    return Finding(name, absent, missing, why, (boot(f"{name}={value}{target.list}"),))


def isolcpus(target: Target) -> list[Finding]:
    why = f"Any thread of the system may be put on a worker's CPU, and then a slot waits for it. {_GROUP}"
    found = host.isolated(target.system)
    findings = [_boot_list(target, "isolcpus", found, why, Level.WARN, "managed_irq,domain,")]
    for hierarchy in hierarchies(target.system, "cpuset"):
        for folder in hierarchy.folders():
            if (target.system.text(f"{folder}/cpuset.cpus.partition") or "").startswith("isolated"):
                findings.append(
                    Finding("cpuset partition", Level.NOTE, f"{folder} is an isolated partition", _GROUP)
                )
    return findings


def mask_in_isolcpus(target: Target) -> list[Finding]:
    isolated = _listed(host.isolated(target.system))
    mask = target.system.affinity() & target.system.online()
    why = (
        "The kernel does not balance threads over isolated CPUs: all that share a mask of several of them, "
        "as taskset gives it, stay on one CPU."
    )
    pin = advice(f"pin each worker by itself: OAI's --thread-pool {','.join(map(str, sorted(target.cpus)))}")
    if len(mask) > 1 and mask <= isolated:
        return [Finding("affinity mask", Level.BAD, f"{format_cpus(mask)}, all inside isolcpus", why, (pin,))]
    if len(target.cpus & isolated) > 1:
        text = f"the workers' CPUs {target.list} are isolated: only pinned threads use more than one of them"
        return [Finding("affinity mask", Level.NOTE, text, why, (pin,))]
    return []


def nohz_full(target: Target) -> list[Finding]:
    why = (
        "The timer tick interrupts a worker 100 to 1000 times a second. Without it, each system call costs a "
        "little more."
    )
    if host.built_without(target.system, "NO_HZ_FULL"):
        return [Finding("nohz_full", Level.NOTE, "this kernel is built without it", why)]
    return [_boot_list(target, "nohz_full", host.nohz_full(target.system), why, Level.NOTE, "")]


def rcu_nocbs(target: Target) -> list[Finding]:
    why = "The kernel frees memory in callbacks on the CPU that asked for it, in bursts of unknown length."
    found = host.rcu_nocbs(target.system) or host.nohz_full(target.system)  # nohz_full brings it along
    return [_boot_list(target, "rcu_nocbs", found, why, Level.NOTE, "")]


def _irq_name(target: Target, irq: str) -> str:
    folder = f"/proc/irq/{irq}"
    actions = [n for n in target.system.names(folder) if target.system.path(f"{folder}/{n}").is_dir()]
    return f"{irq} ({', '.join(actions)})" if actions else irq


def interrupts(target: Target) -> list[Finding]:
    irqs = [name for name in target.system.names("/proc/irq") if name.isdigit()]
    lists = {irq: target.system.cpus(f"/proc/irq/{irq}/smp_affinity_list") for irq in irqs}
    if not any(lists.values()):
        return [unseen("interrupts", "/proc/irq is not visible, as in a container or for a plain user")]
    landing = [irq for irq, cpus in lists.items() if (cpus or frozenset()) & target.cpus]
    default = target.system.mask("/proc/irq/default_smp_affinity") or frozenset()
    if not landing and not default & target.cpus:
        return [Finding("interrupts", Level.GOOD, f"none of {len(irqs)} may land on {target.list}")]
    why = "An interrupt, and the work that it brings, takes the CPU from a worker, real-time or not."
    shown = ", ".join(_irq_name(target, irq) for irq in landing[:4]) + (", ..." if len(landing) > 4 else "")
    text = f"{len(landing)} of {len(irqs)} may land on {target.list}" + (f": {shown}" if shown else "")
    if default & target.cpus:
        text += "; so will those of new devices (default_smp_affinity)"
    if not target.others:
        return [Finding("interrupts", Level.NOTE, text, why, (advice("leave a CPU to them: --cpus"),))]
    fixed = [irq for irq in landing if not target.system.is_writable(f"/proc/irq/{irq}/smp_affinity_list")]
    if fixed:
        text += f"; the kernel keeps {', '.join(fixed[:4])}{', ...' * (len(fixed) > 4)} where it is (managed)"
    managed = [boot(f"isolcpus=managed_irq,{target.list}")] if fixed else []
    movable = [command(APPLY)] if len(fixed) < len(landing) or default & target.cpus else []
    lasting = boot(f"irqaffinity={format_cpus(target.others)}")
    return [Finding("interrupts", Level.WARN, text, why, (*movable, *managed, lasting))]


def irqbalance(target: Target) -> list[Finding]:
    names = target.system.process_names()
    if "irqbalance" not in names:
        if target.system.text("/proc/2/comm") != "kthreadd":
            return [unseen("irqbalance", "only this container's processes are visible")]
        return [Finding("irqbalance", Level.GOOD, "does not run")]
    why = "It moves interrupts between CPUs every ten seconds, and undoes what was set by hand."
    remedies = (
        command("systemctl stop irqbalance"),
        advice(f"IRQBALANCE_BANNED_CPULIST={target.list} in /etc/default/irqbalance, then restart it"),
    )
    banned = target.system.text("/etc/default/irqbalance") or ""
    left_alone = _listed(host.isolated(target.system)) | _listed(host.nohz_full(target.system))
    if target.cpus <= left_alone or any(ln.startswith("IRQBALANCE_BANNED") for ln in banned.splitlines()):
        return [Finding("irqbalance", Level.NOTE, "runs; CPUs are isolated or banned from it", why)]
    return [Finding("irqbalance", Level.WARN, "runs", why, remedies)]


def workqueues(target: Target) -> list[Finding]:
    mask = target.system.mask("/sys/devices/virtual/workqueue/cpumask")
    if mask is None:
        return [unseen("workqueues", "no mask of unbound workqueues is visible")]
    if not mask & target.cpus:
        return [Finding("workqueues", Level.GOOD, f"unbound work stays off {target.list}")]
    text = f"unbound work of the kernel may run on {target.where(mask)}"
    why = "Writeback, crypto and drivers put work there, in threads that a normal worker has to share with."
    remedies = (command(APPLY),) if target.others else ()
    return [Finding("workqueues", Level.NOTE, text, why, remedies)]


def timer_migration(target: Target) -> list[Finding]:
    value = target.system.number("/proc/sys/kernel/timer_migration")
    tickless = _listed(host.nohz_full(target.system)) & target.cpus
    if value is None:
        return [unseen("timer migration", "kernel.timer_migration is not visible")]
    if value == 0 or not tickless:
        text = f"kernel.timer_migration={value}" + (
            "" if value == 0 else ", and no worker's CPU is nohz_full"
        )
        return [Finding("timer migration", Level.GOOD, text)]
    text = f"kernel.timer_migration=1 and nohz_full={format_cpus(tickless)}"
    why = (
        "Timers of threads on nohz_full CPUs move to another CPU, which must send an interrupt: those by "
        "which pre-wake gets workers up become late at times."
    )
    return [Finding("timer migration", Level.WARN, text, why, sysctl("kernel.timer_migration", 0))]


def smt(target: Target) -> list[Finding]:
    shared: dict[Cpus, Cpus] = {}
    for cpu in sorted(target.cpus):
        siblings = target.system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
        if siblings is None:
            return [unseen("SMT", f"no topology of CPU {cpu} is visible")]
        if len(siblings & target.system.online()) > 1:
            shared[siblings] = siblings & target.cpus
    if not shared:
        text = "each worker's CPU is a core of its own" + (
            ", as far as this virtual machine is told" if host.is_virtual(target.system) else ""
        )
        return [Finding("SMT", Level.GOOD, text)]
    cores = "; ".join(format_cpus(siblings) for siblings in list(shared)[:8])
    both = sum(len(used) > 1 for used in shared.values())
    text = f"siblings share a core: {cores}" + (f"; both are workers' in {both}" if both else "")
    why = "A thread on the sibling has its share of the core, and slows the worker, also when it only spins."
    remedies = (command(f"echo off > {CPU}/smt/control"), boot("nosmt"))
    return [Finding("SMT", Level.WARN, text, why, remedies)]


CHECKS = (
    isolcpus,
    mask_in_isolcpus,
    nohz_full,
    rcu_nocbs,
    interrupts,
    irqbalance,
    workqueues,
    timer_migration,
    smt,
)
