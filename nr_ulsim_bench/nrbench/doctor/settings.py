# SPDX-License-Identifier: BSD-3-Clause
"""What --apply would write: the settings of a running kernel that keep work off some CPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nrbench.doctor.finding import Target
from nrbench.host import MANAGED_IRQ_SINCE, built_without, kernel_version
from nrbench.system import CPU, Cpus, System, format_cpus, format_mask, parse_cpus, parse_mask

Kind = Literal["list", "mask", "text"]
WORKQUEUES = "/sys/devices/virtual/workqueue"
STAT_INTERVAL_S = 120
STAT_INTERVAL_GOOD_S = 10  # and more
# The only files that are ever written, also by --undo.
WRITABLE = re.compile(
    r"/proc/irq/(\d+/smp_affinity_list|default_smp_affinity)"
    r"|/sys/devices/virtual/workqueue/((?!\.)[\w.:-]+/)?cpumask"
    r"|/proc/sys/vm/stat_interval"
    r"|/proc/sys/kernel/(nmi_watchdog|watchdog|watchdog_cpumask|timer_migration)"
    r"|/sys/devices/system/cpu/cpu\d+/cpufreq/scaling_governor"
)


class SettingsError(Exception):
    """Nothing can be applied or undone, and why."""


@dataclass(frozen=True)
class Change:
    """One file: what it says, and what it is to say."""

    path: str
    kind: Kind
    old: str
    new: str

    @property
    def is_irq(self) -> bool:
        return self.path.startswith("/proc/irq/") and self.path.endswith("/smp_affinity_list")


def same(kind: Kind, one: str, other: str) -> bool:
    """The kernel writes lists and masks in its own way."""
    try:
        if kind == "list":
            return parse_cpus(one) == parse_cpus(other)
        if kind == "mask":
            return parse_mask(one) == parse_mask(other)
    except ValueError:
        return False
    return one == other


def _change(system: System, path: str, kind: Kind, new: str) -> Iterator[Change]:
    old = system.text(path)
    if old and not same(kind, old, new):
        yield Change(path, kind, old, new)


def interrupt_actions(system: System, irq: str) -> str:
    """Names of its handlers; "" = none."""
    names = system.text(f"/sys/kernel/irq/{irq}/actions")
    if names is not None:
        return names.strip(",")
    folder = f"/proc/irq/{irq}"
    return ",".join(name for name in system.names(folder) if system.path(f"{folder}/{name}").is_dir())


def interrupt_numbers(system: System) -> list[str]:
    """Of interrupts with a handler."""
    return [name for name in system.names("/proc/irq") if name.isdigit() and interrupt_actions(system, name)]


def _kept(target: Target, now: Cpus) -> Cpus:
    """What is left of a mask without the workers' CPUs; the kernel refuses one with no CPU that is online."""
    return (now - target.cpus) & target.system.online() or target.others


def _interrupts(target: Target) -> Iterator[Change]:
    system = target.system
    for irq in interrupt_numbers(system):
        path = f"/proc/irq/{irq}/smp_affinity_list"
        now = system.cpus(path) or frozenset()
        if now & target.cpus and system.is_writable(path):
            yield from _change(system, path, "list", format_cpus(_kept(target, now)))
    path = "/proc/irq/default_smp_affinity"
    default = system.mask(path) or frozenset()
    if default & target.cpus:
        yield from _change(system, path, "mask", format_mask(_kept(target, default)))


def _workqueues(target: Target) -> Iterator[Change]:
    """Those of writeback and others that have a mask of their own, and the one that bounds them all."""
    folders = [f"{WORKQUEUES}/{name}" for name in target.system.names(WORKQUEUES)]
    for folder in [WORKQUEUES, *folders]:
        path = f"{folder}/cpumask"
        now = target.system.mask(path) or frozenset()
        if now & target.cpus:
            yield from _change(target.system, path, "mask", format_mask(_kept(target, now)))


def _kernel(target: Target) -> Iterator[Change]:
    system, folder = target.system, "/proc/sys/kernel"
    if (system.number("/proc/sys/vm/stat_interval") or STAT_INTERVAL_S) < STAT_INTERVAL_GOOD_S:
        yield from _change(system, "/proc/sys/vm/stat_interval", "text", str(STAT_INTERVAL_S))
    yield from _change(system, f"{folder}/timer_migration", "text", "0")
    yield from _change(system, f"{folder}/nmi_watchdog", "text", "0")
    watched = system.cpus(f"{folder}/watchdog_cpumask")
    if watched is None:
        yield from _change(system, f"{folder}/watchdog", "text", "0")
    elif watched & target.cpus:
        yield from _change(system, f"{folder}/watchdog_cpumask", "list", format_cpus(_kept(target, watched)))


def _governors(target: Target) -> Iterator[Change]:
    for cpu in sorted(target.cpus):
        folder = f"{CPU}/cpu{cpu}/cpufreq"
        offered = (target.system.text(f"{folder}/scaling_available_governors") or "").split()
        if "performance" in offered:
            yield from _change(target.system, f"{folder}/scaling_governor", "text", "performance")


def plan(target: Target) -> list[Change]:
    """What differs from what it should be. Files that cannot be read or are read-only are left out."""
    if not target.others:
        raise SettingsError(f"the workers' CPUs {target.list} are all there are: name fewer, with --cpus")
    if not target.cpus <= target.system.online():
        raise SettingsError(f"of --cpus {target.list} only {format_cpus(target.system.online())} are online")
    steps = (_interrupts, _workqueues, _kernel, _governors)
    return [change for step in steps for change in step(target)]


def isolcpus_parameter(target: Target) -> str:
    """With domain, without which flags leave other threads there."""
    flags = "managed_irq,domain," if kernel_version(target.system) >= MANAGED_IRQ_SINCE else ""
    return f"isolcpus={flags}{target.list}"


def boot_parameters(target: Target) -> str:
    """What only the boot loader can set, for these CPUs; never written."""
    cpus, system = target.list, target.system
    words = [isolcpus_parameter(target), f"irqaffinity={format_cpus(target.others)}"]
    if not built_without(system, "NO_HZ_FULL"):
        words.append(f"nohz_full={cpus}")
    if not built_without(system, "RCU_NOCB_CPU"):
        words.append(f"rcu_nocbs={cpus} rcu_nocb_poll")
    return " ".join([*words, "skew_tick=1 nosoftlockup"])
