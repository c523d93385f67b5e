# SPDX-License-Identifier: BSD-3-Clause
"""What else runs on the workers' CPUs: other threads, siblings, work of the kernel, interrupts."""

from __future__ import annotations

import re
from typing import NamedTuple

from nrbench import facts
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Level, Target, Unseen, area, bad, good, note, visible, warn
from nrbench.doctor.remedy import Remedy
from nrbench.doctor.settings import MANAGED_IRQ_SINCE, isolcpus_parameter
from nrbench.system import CPU, Cpus, System, format_cpus, hierarchies, parse_cpus, parse_mask

check = area("Isolation")
IRQBALANCE_FILES = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")

LATE_TIMERS = "pre-wake's timers become late, unless kernel.timer_migration=0"
_GROUP = (
    "Isolation by control groups (cpuset partitions, cset shield) does not move threads of the kernel away; "
    "srsRAN removed its own option for it."
)


def _boot_list(target: Target, name: str, named: Cpus, why: str, absent: Level, remedy: Remedy) -> Finding:
    """A boot parameter that should name all CPUs of the workers."""
    found, given = format_cpus(named), target.system.boot_parameter(name)
    if not named:
        visible(target.system.command_line(), "/proc/cmdline is not readable")
    if target.cpus <= named:
        return good(f"{found}, which includes all of the workers' CPUs {target.list}")
    if not target.others:
        text = f"not used, and the workers may use every CPU ({target.list})"
        return note(text, why, do.advice("leave a CPU to the rest of the system: --cpus"))
    missing = (
        f"lacks {format_cpus(target.cpus - named)}" if named else f"not set for {target.where(target.cpus)}"
    )
    if given is not None:
        missing += f": the kernel uses {found or 'nothing'} of {name}={given}"
    return Finding(absent, missing, why, (remedy,))


@check("isolcpus")
def isolcpus(target: Target) -> Finding:
    why = f"The kernel may put any thread on a worker's CPU, and then a slot waits for that thread. {_GROUP}"
    found = facts.isolated(target.system)
    if facts.managed_irq(target.system) and not found:
        why = f"managed_irq alone keeps only interrupts away. Add the flag domain to it. {why}"
    return _boot_list(target, "isolcpus", found, why, Level.WARN, do.boot(isolcpus_parameter(target)))


@check("cpuset partition")
def partition(target: Target) -> list[Finding]:
    folders = [folder for group in hierarchies(target.system, "cpuset") for folder in group.folders()]
    states = {folder: target.system.text(f"{folder}/cpuset.cpus.partition") or "" for folder in folders}
    isolated = (folder for folder, state in states.items() if state.startswith("isolated"))
    return [note(f"{folder} is an isolated partition", _GROUP) for folder in isolated]


@check("affinity mask")
def mask_in_isolcpus(target: Target) -> Finding | list[Finding]:
    isolated = facts.isolated(target.system)
    mask = target.system.affinity() & target.system.online()
    why = (
        "The kernel does not balance threads over isolated CPUs. Threads whose mask has several of them, as "
        "after taskset, all stay on one CPU."
    )
    pin = do.advice(f"pin each worker: OAI's --thread-pool {','.join(map(str, sorted(target.cpus)))}")
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
    if facts.built_without(target.system, "NO_HZ_FULL"):
        return note("this kernel is built without it", why)
    remedy = do.boot(f"nohz_full={target.list}", LATE_TIMERS)
    return _boot_list(target, "nohz_full", facts.nohz_full(target.system), why, Level.NOTE, remedy)


@check("rcu_nocbs")
def rcu_nocbs(target: Target) -> Finding:
    why = "The kernel frees memory in callbacks on the CPU that asked for it, in bursts of unknown length."
    if facts.built_without(target.system, "RCU_NOCB_CPU"):
        return note("this kernel is built without it", why)
    found = facts.rcu_nocbs(target.system) | facts.nohz_full(target.system)  # which implies it
    remedy = do.boot(f"rcu_nocbs={target.list}")
    return _boot_list(target, "rcu_nocbs", found, why, Level.NOTE, remedy)


@check("workqueues")
def workqueues(target: Target) -> Finding:
    mask = visible(facts.WORKQUEUES_CPUS(target.system), "the mask of unbound workqueues is not visible")
    if not mask & target.cpus:
        return good(f"unbound work stays off {target.where(target.cpus)}")
    text = f"unbound work of the kernel may run on {target.where(mask)}"
    why = "Writeback, crypto and drivers put work there. Its threads share the CPU with normal workers."
    return note(text, why, *([target.apply_command] if target.others else []))


@check("timer migration")
def timer_migration(target: Target) -> Finding:
    name, value = facts.TIMER_MIGRATION.label, target.see(facts.TIMER_MIGRATION)
    tickless = facts.nohz_full(target.system) & target.cpus
    if value == 0:
        return good(f"{name}=0")
    if not tickless:
        return good(f"{name}={value}, and no worker's CPU is nohz_full")
    why = (
        "Timers of threads on nohz_full CPUs move to another CPU, which must send an interrupt. The timers "
        "with which pre-wake wakes workers are then late at times."
    )
    return warn(f"{name}=1 and nohz_full={format_cpus(tickless)}", why, *do.sysctl(facts.TIMER_MIGRATION, 0))


def _cores(target: Target) -> dict[Cpus, Cpus]:
    """For each core of the workers: its CPUs that are online, and the workers' CPUs among them."""
    cores: dict[Cpus, Cpus] = {}
    for cpu in sorted(target.cpus):
        unknown = f"the topology of CPUs {target.list} is not visible"
        siblings = visible(facts.SIBLINGS(target.system, cpu), unknown)
        cores[siblings & target.system.online() | {cpu}] = siblings & target.cpus | {cpu}
    return cores


def _smt_remedies(target: Target, cores: dict[Cpus, Cpus]) -> tuple[Remedy, ...]:
    """None of them takes a CPU of the workers offline."""
    if any(len(workers) > 1 for workers in cores.values()):
        chosen = format_cpus(min(workers) for workers in cores.values())
        return (do.advice(f"choose one CPU of each core: --cpus {chosen}"),)
    idle = sorted(frozenset().union(*cores) - target.cpus)
    if 0 in idle:  # it cannot be taken offline
        return (do.advice("choose CPUs of another core than CPU 0, which cannot be taken offline: --cpus"),)
    off = "; ".join(f"echo 0 > {CPU}/cpu{cpu}/online" for cpu in idle)
    remedies: tuple[Remedy, ...] = (do.command(off, "takes the siblings away from all programs"),)
    if all(workers == {min(core)} for core, workers in cores.items()):
        remedies += (do.boot("nosmt", "disables the siblings of all cores"),)
    return remedies


@check("SMT")
def smt(target: Target) -> Finding:
    shared = {core: workers for core, workers in _cores(target).items() if len(core) > 1}
    if not shared:
        seen = ", as far as this virtual machine shows" if facts.is_virtual(target.system) else ""
        return good(f"each worker's CPU is a core of its own{seen}")
    both = sum(len(workers) > 1 for workers in shared.values())
    text = f"siblings share a core: {'; '.join(format_cpus(core) for core in list(shared)[:8])}"
    text += f"; in {both} of them several workers" if both else ""
    why = "A thread on the sibling uses part of the core and slows the worker, even when it only busy-polls."
    return warn(text, why, *_smt_remedies(target, _cores(target)))


class Interrupt(NamedTuple):
    name: str  # number and devices
    movable: bool
    may: Cpus  # where it may land
    lands: Cpus  # where it lands now


def _interrupts(system: System) -> list[Interrupt]:
    found = []
    for irq in facts.irqs(system):
        may = facts.IRQ_CPUS(system, irq)
        if may is not None:
            name, lands = f"{irq} ({facts.irq_actions(system, irq)})", facts.IRQ_LANDS(system, irq) or may
            found.append(Interrupt(name, system.is_writable(facts.IRQ_CPUS.at(irq)), may, lands))
    return found


def _shown(interrupts: list[Interrupt]) -> str:
    return ", ".join(irq.name for irq in interrupts[:4]) + (", ..." if len(interrupts) > 4 else "")


def _remedies(target: Target, apply: bool, fixed: bool) -> tuple[Remedy, ...]:
    remedies = [target.apply_command] if apply else []
    if fixed and facts.kernel_number(target.system) >= MANAGED_IRQ_SINCE:
        remedies.append(do.boot(isolcpus_parameter(target), "for those that the kernel manages"))
    return (*remedies, do.boot(f"irqaffinity={format_cpus(target.others)}"))


@check("interrupts")
def interrupts(target: Target) -> Finding:
    every, workers = _interrupts(target.system), target.where(target.cpus)
    if not every:
        raise Unseen(f"{facts.IRQS.label} is not visible, as in a container or for a plain user")
    movable = [irq for irq in every if irq.movable and irq.may & target.cpus]
    fixed = [irq for irq in every if not irq.movable and irq.lands & target.cpus]
    default = (facts.IRQ_DEFAULT_CPUS(target.system) or frozenset()) & target.cpus
    if not movable and not fixed and not default:
        return good(f"none of {len(every)} may land on {workers}")
    landing = [irq for irq in movable if irq.lands & target.cpus]
    parts = []
    if movable:
        parts.append(f"{len(movable)} of {len(every)} may land on {workers}: {_shown(movable)}")
        parts += ["none of these lands there now"] * (not landing)
    if default:
        parts.append(f"those of new devices may land on {target.where(default)} (default_smp_affinity)")
    if fixed:
        parts.append(f"{len(fixed)} cannot be moved from {workers}: {_shown(fixed)}")
    text = "; ".join(parts)
    why = "An interrupt, and the work that it causes, takes the CPU from a worker, real-time or not."
    if not target.others:
        return note(text, why, do.advice("leave a CPU to interrupts: --cpus"))
    avoidable = bool(fixed) and not target.cpus <= facts.managed_irq(target.system)
    if fixed and not avoidable:
        why += " The kernel already places those that cannot be moved on other CPUs where it can."
    remedies = _remedies(target, bool(movable or default), avoidable)
    level = Level.WARN if landing or default or avoidable else Level.NOTE
    return Finding(level, text, why, remedies if level is Level.WARN or movable else ())


def _banned(target: Target) -> Cpus | None:
    """CPUs that irqbalance must not use by its configuration; None where nothing is configured."""
    for line in "\n".join(target.system.text(name) or "" for name in IRQBALANCE_FILES).splitlines():
        match = re.match(r"\s*(?:export\s+)?IRQBALANCE_BANNED_CPU(S|LIST)=[\"']?([^\"'#\s]+)", line)
        if match:
            try:
                return parse_mask(match[2]) if match[1] == "S" else parse_cpus(match[2])
            except ValueError:
                return frozenset()
    return None


@check("irqbalance")
def irqbalance(target: Target) -> Finding:
    if "irqbalance" not in target.system.processes().values():
        if not target.system.shows_kernel_threads():
            raise Unseen("only this container's processes are visible")
        return good("does not run")
    banned = _banned(target)
    if banned is None:  # its default
        banned = facts.isolated(target.system) | facts.nohz_full(target.system)
    if target.cpus <= banned:
        return good(f"runs, and does not use {format_cpus(banned)}")
    why = "It moves interrupts between CPUs every ten seconds, and undoes manual settings."
    file = next((name for name in IRQBALANCE_FILES if target.system.exists(name)), IRQBALANCE_FILES[0])
    setting = f"IRQBALANCE_BANNED_CPULIST={format_cpus(target.cpus | banned)}"
    stop = do.command("systemctl stop irqbalance")
    ban = do.command(f"echo {setting} >> {file}; systemctl restart irqbalance", lasts=True)
    return warn(f"runs, and may use {format_cpus(target.cpus - banned)}", why, stop, ban)
