# SPDX-License-Identifier: BSD-3-Clause
"""Who else runs on the workers' CPUs: other threads, siblings, work of the kernel."""

from __future__ import annotations

import contextlib

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Remedy, Target, advice, boot, command, sysctl, unseen
from nrbench.doctor.settings import isolcpus_parameter
from nrbench.system import CPU, Cpus, format_cpus, hierarchies, parse_cpus

LATE_TIMERS = "pre-wake's timers become late, unless kernel.timer_migration=0"
_GROUP = (
    "Isolation by control groups (cpuset partitions, cset shield) leaves threads of the kernel where they "
    "are; srsRAN took its own option for it out again."
)


def listed(text: str | None) -> Cpus:
    with contextlib.suppress(ValueError):
        return parse_cpus(text or "")
    return frozenset()


def _boot_list(
    target: Target, name: str, found: str | None, why: str, absent: Level, remedy: Remedy
) -> Finding:
    """A boot parameter that is to name all CPUs of the workers."""
    named, given = listed(found), target.system.boot_parameter(name)
    if not named and target.system.text("/proc/cmdline") is None:
        return unseen(name, "/proc/cmdline is not readable")
    if target.cpus <= named:
        return Finding(name, Level.GOOD, f"{found}, which has all of the workers' CPUs {target.list}")
    if not target.others:
        text = f"not used, and the workers may use every CPU ({target.list})"
        choose = advice("leave a CPU to the rest of the system, and say so: --cpus")
        return Finding(name, Level.NOTE, text, why, (choose,))
    missing = f"lacks {format_cpus(target.cpus - named)}" if named else f"not set for {target.list}"
    if given is not None:
        missing += f": the kernel makes {named and found or 'nothing'} of {name}={given}"
    return Finding(name, absent, missing, why, (remedy,))


def isolcpus(target: Target) -> list[Finding]:
    why = f"Any thread of the system may be put on a worker's CPU, and then a slot waits for it. {_GROUP}"
    if host.managed_irq(target.system) and not host.isolated(target.system):
        why = f"Alone, managed_irq keeps only interrupts away: with any flag, domain has to be one. {why}"
    found, remedy = host.isolated(target.system), boot(isolcpus_parameter(target))
    findings = [_boot_list(target, "isolcpus", found, why, Level.WARN, remedy)]
    for hierarchy in hierarchies(target.system, "cpuset"):
        for folder in hierarchy.folders():
            if (target.system.text(f"{folder}/cpuset.cpus.partition") or "").startswith("isolated"):
                findings.append(
                    Finding("cpuset partition", Level.NOTE, f"{folder} is an isolated partition", _GROUP)
                )
    return findings


def mask_in_isolcpus(target: Target) -> list[Finding]:
    isolated = listed(host.isolated(target.system))
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
    remedy = boot(f"nohz_full={target.list}", LATE_TIMERS)
    return [_boot_list(target, "nohz_full", host.nohz_full(target.system), why, Level.NOTE, remedy)]


def rcu_nocbs(target: Target) -> list[Finding]:
    why = "The kernel frees memory in callbacks on the CPU that asked for it, in bursts of unknown length."
    if host.built_without(target.system, "RCU_NOCB_CPU"):
        return [Finding("rcu_nocbs", Level.NOTE, "this kernel is built without it", why)]
    found = listed(host.rcu_nocbs(target.system)) | listed(
        host.nohz_full(target.system)
    )  # which brings it along
    remedy = boot(f"rcu_nocbs={target.list}")
    return [_boot_list(target, "rcu_nocbs", format_cpus(found), why, Level.NOTE, remedy)]


def workqueues(target: Target) -> list[Finding]:
    mask = target.system.mask("/sys/devices/virtual/workqueue/cpumask")
    if mask is None:
        return [unseen("workqueues", "no mask of unbound workqueues is visible")]
    if not mask & target.cpus:
        return [Finding("workqueues", Level.GOOD, f"unbound work stays off {target.list}")]
    text = f"unbound work of the kernel may run on {target.where(mask)}"
    why = "Writeback, crypto and drivers put work there, in threads that a normal worker has to share with."
    remedies = (command(target.apply_command),) if target.others else ()
    return [Finding("workqueues", Level.NOTE, text, why, remedies)]


def timer_migration(target: Target) -> list[Finding]:
    value = target.system.number("/proc/sys/kernel/timer_migration")
    tickless = listed(host.nohz_full(target.system)) & target.cpus
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


def _cores(target: Target) -> dict[Cpus, Cpus] | None:
    """Of each core of the workers all CPUs that are online, and the workers' among them."""
    cores: dict[Cpus, Cpus] = {}
    for cpu in sorted(target.cpus):
        siblings = target.system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
        if siblings is None:
            return None
        cores[siblings & target.system.online() | {cpu}] = siblings & target.cpus | {cpu}
    return cores


def _smt_remedies(target: Target, cores: dict[Cpus, Cpus]) -> tuple[Remedy, ...]:
    """None that takes a CPU of the workers offline."""
    if any(len(workers) > 1 for workers in cores.values()):
        chosen = format_cpus(min(workers) for workers in cores.values())
        return (advice(f"choose one CPU a core: --cpus {chosen}"),)
    idle = sorted(frozenset().union(*cores) - target.cpus)
    if 0 in idle:  # it cannot be taken offline
        return (advice("CPUs of another core than CPU 0's, which cannot be taken offline: --cpus"),)
    off = "; ".join(f"echo 0 > {CPU}/cpu{cpu}/online" for cpu in idle)
    remedies: tuple[Remedy, ...] = (command(off, "takes the siblings from everybody"),)
    if all(workers == {min(core)} for core, workers in cores.items()):
        remedies += (boot("nosmt", "no core has siblings then, the other programs' neither"),)
    return remedies


def smt(target: Target) -> list[Finding]:
    cores = _cores(target)
    if cores is None:
        return [unseen("SMT", f"no topology of CPUs {target.list} is visible")]
    shared = {core: workers for core, workers in cores.items() if len(core) > 1}
    if not shared:
        text = "each worker's CPU is a core of its own" + (
            ", as far as this virtual machine is told" if host.is_virtual(target.system) else ""
        )
        return [Finding("SMT", Level.GOOD, text)]
    both = sum(len(workers) > 1 for workers in shared.values())
    text = f"siblings share a core: {'; '.join(format_cpus(core) for core in list(shared)[:8])}"
    text += f"; both are workers' in {both}" if both else ""
    why = "A thread on the sibling has its share of the core, and slows the worker, also when it only spins."
    return [Finding("SMT", Level.WARN, text, why, _smt_remedies(target, cores))]


CHECKS = (
    isolcpus,
    mask_in_isolcpus,
    nohz_full,
    rcu_nocbs,
    workqueues,
    timer_migration,
    smt,
)
