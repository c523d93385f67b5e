# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts that land on the workers' CPUs, and who moves them there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Remedy, Target, advice, boot, command, unseen
from nrbench.doctor.isolation import listed
from nrbench.doctor.settings import interrupt_actions, interrupt_numbers, isolcpus_parameter
from nrbench.system import Cpus, System, format_cpus, parse_cpus, parse_mask

IRQBALANCE_FILES = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")


@dataclass(frozen=True)
class Interrupt:
    name: str  # number and devices
    movable: bool
    may: Cpus  # where it may land
    lands: Cpus  # where it does until somebody moves it


def _interrupts(system: System) -> list[Interrupt]:
    found = []
    for irq in interrupt_numbers(system):
        path = f"/proc/irq/{irq}/smp_affinity_list"
        may = system.cpus(path)
        if may is not None:
            lands = system.cpus(f"/proc/irq/{irq}/effective_affinity_list") or may
            found.append(
                Interrupt(f"{irq} ({interrupt_actions(system, irq)})", system.is_writable(path), may, lands)
            )
    return found


def _shown(interrupts: list[Interrupt]) -> str:
    return ", ".join(irq.name for irq in interrupts[:4]) + (", ..." if len(interrupts) > 4 else "")


def _remedies(target: Target, apply: bool, fixed: bool) -> tuple[Remedy, ...]:
    remedies = [command(target.apply_command)] if apply else []
    if fixed and host.kernel_version(target.system) >= host.MANAGED_IRQ_SINCE:
        remedies.append(boot(isolcpus_parameter(target), "keeps those away that the kernel manages"))
    return (*remedies, boot(f"irqaffinity={format_cpus(target.others)}"))


def interrupts(target: Target) -> list[Finding]:
    every = _interrupts(target.system)
    if not every:
        return [unseen("interrupts", "/proc/irq is not visible, as in a container or for a plain user")]
    movable = [irq for irq in every if irq.movable and irq.may & target.cpus]
    fixed = [irq for irq in every if not irq.movable and irq.lands & target.cpus]
    default = (target.system.mask("/proc/irq/default_smp_affinity") or frozenset()) & target.cpus
    if not movable and not fixed and not default:
        return [Finding("interrupts", Level.GOOD, f"none of {len(every)} may land on {target.list}")]
    landing = [irq for irq in movable if irq.lands & target.cpus]
    parts = []
    if movable:
        parts.append(f"{len(movable)} of {len(every)} may land on {target.list}: {_shown(movable)}")
        parts += ["now they do not"] * (not landing)
    if default:
        parts.append(f"those of new devices may land on {target.where(default)} (default_smp_affinity)")
    if fixed:
        parts.append(f"{len(fixed)} cannot be moved from {target.list}: {_shown(fixed)}")
    why = "An interrupt, and the work that it brings, takes the CPU from a worker, real-time or not."
    if not target.others:
        leave = advice("leave a CPU to them: --cpus")
        return [Finding("interrupts", Level.NOTE, "; ".join(parts), why, (leave,))]
    avoidable = bool(fixed) and not target.cpus <= host.managed_irq(target.system)
    level = Level.WARN if landing or default or avoidable else Level.NOTE
    remedies = _remedies(target, bool(movable or default), avoidable)
    if fixed and not avoidable:
        why += " Those that cannot be moved avoid isolated CPUs already as far as the kernel can place them."
    return [
        Finding(
            "interrupts", level, "; ".join(parts), why, remedies if level is Level.WARN or movable else ()
        )
    ]


def _banned(target: Target) -> Cpus | None:
    """CPUs that irqbalance was told to leave alone; None = it was told nothing."""
    for line in "\n".join(target.system.text(name) or "" for name in IRQBALANCE_FILES).splitlines():
        match = re.match(r"\s*(?:export\s+)?IRQBALANCE_BANNED_CPU(S|LIST)=[\"']?([^\"'#\s]+)", line)
        if match:
            try:
                return parse_mask(match[2]) if match[1] == "S" else parse_cpus(match[2])
            except ValueError:
                return frozenset()
    return None


def irqbalance(target: Target) -> list[Finding]:
    if "irqbalance" not in target.system.process_names():
        if not target.system.shows_kernel_threads():
            return [unseen("irqbalance", "only this container's processes are visible")]
        return [Finding("irqbalance", Level.GOOD, "does not run")]
    banned = _banned(target)
    if banned is None:  # then it leaves these alone by itself
        banned = listed(host.isolated(target.system)) | listed(host.nohz_full(target.system))
    if target.cpus <= banned:
        return [Finding("irqbalance", Level.GOOD, f"runs, and leaves {format_cpus(banned)} alone")]
    why = "It moves interrupts between CPUs every ten seconds, and undoes what was set by hand."
    file = next((name for name in IRQBALANCE_FILES if target.system.exists(name)), IRQBALANCE_FILES[0])
    setting = f"IRQBALANCE_BANNED_CPULIST={format_cpus(target.cpus | banned)}"
    remedies = (
        command("systemctl stop irqbalance"),
        command(f"echo {setting} >> {file}; systemctl restart irqbalance", lasts=True),
    )
    text = f"runs, and may use {format_cpus(target.cpus - banned)}"
    return [Finding("irqbalance", Level.WARN, text, why, remedies)]


CHECKS = (interrupts, irqbalance)
