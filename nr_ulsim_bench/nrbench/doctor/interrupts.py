# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts on the workers' CPUs, and irqbalance, which moves them there."""

from __future__ import annotations

import re
from typing import NamedTuple

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, Unseen, check, good, listed, note, warn
from nrbench.doctor.remedy import Remedy, advice, boot, command
from nrbench.doctor.settings import interrupt_actions, interrupt_numbers, isolcpus_parameter
from nrbench.system import Cpus, System, format_cpus, parse_cpus, parse_mask

IRQBALANCE_FILES = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")


class Interrupt(NamedTuple):
    name: str  # number and devices
    movable: bool
    may: Cpus  # where it may land
    lands: Cpus  # where it lands now


def _interrupts(system: System) -> list[Interrupt]:
    found = []
    for irq in interrupt_numbers(system):
        path = f"/proc/irq/{irq}/smp_affinity_list"
        may = system.cpus(path)
        if may is not None:
            lands = system.cpus(f"/proc/irq/{irq}/effective_affinity_list") or may
            name = f"{irq} ({interrupt_actions(system, irq)})"
            found.append(Interrupt(name, system.is_writable(path), may, lands))
    return found


def _shown(interrupts: list[Interrupt]) -> str:
    return ", ".join(irq.name for irq in interrupts[:4]) + (", ..." if len(interrupts) > 4 else "")


def _remedies(target: Target, apply: bool, fixed: bool) -> tuple[Remedy, ...]:
    remedies = [command(target.apply_command)] if apply else []
    if fixed and host.kernel_version(target.system) >= host.MANAGED_IRQ_SINCE:
        remedies.append(boot(isolcpus_parameter(target), "for those that the kernel manages"))
    return (*remedies, boot(f"irqaffinity={format_cpus(target.others)}"))


@check("interrupts")
def interrupts(target: Target) -> Finding:
    every, workers = _interrupts(target.system), target.where(target.cpus)
    if not every:
        raise Unseen("/proc/irq is not visible, as in a container or for a plain user")
    movable = [irq for irq in every if irq.movable and irq.may & target.cpus]
    fixed = [irq for irq in every if not irq.movable and irq.lands & target.cpus]
    default = (target.system.mask("/proc/irq/default_smp_affinity") or frozenset()) & target.cpus
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
        return note(text, why, advice("leave a CPU to interrupts: --cpus"))
    avoidable = bool(fixed) and not target.cpus <= host.managed_irq(target.system)
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
    if "irqbalance" not in target.system.process_names():
        if not target.system.shows_kernel_threads():
            raise Unseen("only this container's processes are visible")
        return good("does not run")
    banned = _banned(target)
    if banned is None:  # its default
        banned = listed(host.isolated(target.system)) | listed(host.nohz_full(target.system))
    if target.cpus <= banned:
        return good(f"runs, and does not use {format_cpus(banned)}")
    why = "It moves interrupts between CPUs every ten seconds, and undoes manual settings."
    file = next((name for name in IRQBALANCE_FILES if target.system.exists(name)), IRQBALANCE_FILES[0])
    setting = f"IRQBALANCE_BANNED_CPULIST={format_cpus(target.cpus | banned)}"
    stop = command("systemctl stop irqbalance")
    ban = command(f"echo {setting} >> {file}; systemctl restart irqbalance", lasts=True)
    return warn(f"runs, and may use {format_cpus(target.cpus - banned)}", why, stop, ban)


CHECKS = (interrupts, irqbalance)
