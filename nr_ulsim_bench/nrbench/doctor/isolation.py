# SPDX-License-Identifier: BSD-3-Clause
"""Who else runs on the workers' CPUs: other threads, siblings, work of the kernel."""

from __future__ import annotations

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, bad, check, good, listed, note, visible, warn
from nrbench.doctor.remedy import Remedy, advice, boot, command, sysctl
from nrbench.doctor.settings import isolcpus_parameter
from nrbench.system import CPU, Cpus, format_cpus, hierarchies

LATE_TIMERS = "pre-wake's timers become late, unless kernel.timer_migration=0"
_GROUP = (
    "Isolation by control groups (cpuset partitions, cset shield) does not move threads of the kernel away; "
    "srsRAN removed its own option for it."
)


def _boot_list(
    target: Target, name: str, found: str | None, why: str, absent: Level, remedy: Remedy
) -> Finding:
    """A boot parameter that should name all CPUs of the workers."""
    named, given = listed(found), target.system.boot_parameter(name)
    if not named:
        visible(target.system.text("/proc/cmdline"), "/proc/cmdline is not readable")
    if target.cpus <= named:
        return good(f"{found}, which includes all of the workers' CPUs {target.list}")
    if not target.others:
        text = f"not used, and the workers may use every CPU ({target.list})"
        return note(text, why, advice("leave a CPU to the rest of the system: --cpus"))
    missing = (
        f"lacks {format_cpus(target.cpus - named)}" if named else f"not set for {target.where(target.cpus)}"
    )
    if given is not None:
        missing += f": the kernel uses {named and found or 'nothing'} of {name}={given}"
    return Finding(absent, missing, why, (remedy,))


@check("isolcpus")
def isolcpus(target: Target) -> Finding:
    why = f"The kernel may put any thread on a worker's CPU, and then a slot waits for that thread. {_GROUP}"
    found = host.isolated(target.system)
    if host.managed_irq(target.system) and not found:
        why = f"managed_irq alone keeps only interrupts away. Add the flag domain to it. {why}"
    return _boot_list(target, "isolcpus", found, why, Level.WARN, boot(isolcpus_parameter(target)))


@check("cpuset partition")
def partition(target: Target) -> list[Finding]:
    folders = [folder for group in hierarchies(target.system, "cpuset") for folder in group.folders()]
    states = {folder: target.system.text(f"{folder}/cpuset.cpus.partition") or "" for folder in folders}
    isolated = (folder for folder, state in states.items() if state.startswith("isolated"))
    return [note(f"{folder} is an isolated partition", _GROUP) for folder in isolated]


@check("affinity mask")
def mask_in_isolcpus(target: Target) -> Finding | list[Finding]:
    isolated = listed(host.isolated(target.system))
    mask = target.system.affinity() & target.system.online()
    why = (
        "The kernel does not balance threads over isolated CPUs. Threads whose mask has several of them, as "
        "after taskset, all stay on one CPU."
    )
    pin = advice(f"pin each worker: OAI's --thread-pool {','.join(map(str, sorted(target.cpus)))}")
    if len(mask) > 1 and mask <= isolated:
        return bad(f"{format_cpus(mask)}, all inside isolcpus", why, pin)
    if len(target.cpus & isolated) > 1:
        text = f"the workers' CPUs {target.list} are isolated: only pinned threads use more than one of them"
        return note(text, why, pin)
    return []


@check("nohz_full")
def nohz_full(target: Target) -> Finding:
    why = (
        "The timer tick interrupts a worker 100 to 1000 times a second. Without it system calls take longer."
    )
    if host.built_without(target.system, "NO_HZ_FULL"):
        return note("this kernel is built without it", why)
    remedy = boot(f"nohz_full={target.list}", LATE_TIMERS)
    return _boot_list(target, "nohz_full", host.nohz_full(target.system), why, Level.NOTE, remedy)


@check("rcu_nocbs")
def rcu_nocbs(target: Target) -> Finding:
    why = "The kernel frees memory in callbacks on the CPU that asked for it, in bursts of unknown length."
    if host.built_without(target.system, "RCU_NOCB_CPU"):
        return note("this kernel is built without it", why)
    # nohz_full implies it
    found = listed(host.rcu_nocbs(target.system)) | listed(host.nohz_full(target.system))
    remedy = boot(f"rcu_nocbs={target.list}")
    return _boot_list(target, "rcu_nocbs", format_cpus(found), why, Level.NOTE, remedy)


@check("workqueues")
def workqueues(target: Target) -> Finding:
    path = "/sys/devices/virtual/workqueue/cpumask"
    mask = visible(target.system.mask(path), "the mask of unbound workqueues is not visible")
    if not mask & target.cpus:
        return good(f"unbound work stays off {target.where(target.cpus)}")
    text = f"unbound work of the kernel may run on {target.where(mask)}"
    why = "Writeback, crypto and drivers put work there. Its threads share the CPU with normal workers."
    return note(text, why, *([command(target.apply_command)] if target.others else []))


@check("timer migration")
def timer_migration(target: Target) -> Finding:
    name = "kernel.timer_migration"
    value = visible(target.system.number("/proc/sys/kernel/timer_migration"), f"{name} is not visible")
    tickless = listed(host.nohz_full(target.system)) & target.cpus
    if value == 0:
        return good(f"{name}=0")
    if not tickless:
        return good(f"{name}={value}, and no worker's CPU is nohz_full")
    why = (
        "Timers of threads on nohz_full CPUs move to another CPU, which must send an interrupt. The timers "
        "with which pre-wake wakes workers are then late at times."
    )
    return warn(f"{name}=1 and nohz_full={format_cpus(tickless)}", why, *sysctl(name, 0))


def _cores(target: Target) -> dict[Cpus, Cpus]:
    """For each core of the workers: its CPUs that are online, and the workers' CPUs among them."""
    cores: dict[Cpus, Cpus] = {}
    for cpu in sorted(target.cpus):
        siblings = visible(
            target.system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list"),
            f"the topology of CPUs {target.list} is not visible",
        )
        cores[siblings & target.system.online() | {cpu}] = siblings & target.cpus | {cpu}
    return cores


def _smt_remedies(target: Target, cores: dict[Cpus, Cpus]) -> tuple[Remedy, ...]:
    """None of them takes a CPU of the workers offline."""
    if any(len(workers) > 1 for workers in cores.values()):
        chosen = format_cpus(min(workers) for workers in cores.values())
        return (advice(f"choose one CPU of each core: --cpus {chosen}"),)
    idle = sorted(frozenset().union(*cores) - target.cpus)
    if 0 in idle:  # it cannot be taken offline
        return (advice("choose CPUs of another core than CPU 0, which cannot be taken offline: --cpus"),)
    off = "; ".join(f"echo 0 > {CPU}/cpu{cpu}/online" for cpu in idle)
    remedies: tuple[Remedy, ...] = (command(off, "takes the siblings away from all programs"),)
    if all(workers == {min(core)} for core, workers in cores.items()):
        remedies += (boot("nosmt", "disables the siblings of all cores"),)
    return remedies


@check("SMT")
def smt(target: Target) -> Finding:
    shared = {core: workers for core, workers in _cores(target).items() if len(core) > 1}
    if not shared:
        seen = ", as far as this virtual machine shows" if host.is_virtual(target.system) else ""
        return good(f"each worker's CPU is a core of its own{seen}")
    both = sum(len(workers) > 1 for workers in shared.values())
    text = f"siblings share a core: {'; '.join(format_cpus(core) for core in list(shared)[:8])}"
    text += f"; in {both} of them several workers" if both else ""
    why = "A thread on the sibling uses part of the core and slows the worker, even when it only busy-polls."
    return warn(text, why, *_smt_remedies(target, _cores(target)))


CHECKS = (
    isolcpus,
    partition,
    mask_in_isolcpus,
    nohz_full,
    rcu_nocbs,
    workqueues,
    timer_migration,
    smt,
)
