# SPDX-License-Identifier: BSD-3-Clause
"""Clock frequency and idle states of the workers' CPUs."""

from __future__ import annotations

import os
import struct
from collections import Counter

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Remedy, Target, advice, boot, command, unseen
from nrbench.system import CPU, System

DMA_LATENCY = "/dev/cpu_dma_latency"
NO_CONSTRAINT_US = 2_000_000_000  # what the kernel says when nobody asks for anything
SHALLOW_US = 10  # an exit latency that no slot minds
MAX_CSTATE = {"intel_idle": "intel_idle.max_cstate=1", "acpi_idle": "processor.max_cstate=1"}
# Drivers whose "powersave" follows the load; with others it is the lowest frequency.
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")


def _values(target: Target, name: str) -> Counter[str]:
    texts = (target.system.text(f"{CPU}/cpu{cpu}/cpufreq/{name}") for cpu in target.cpus)
    return Counter(text for text in texts if text)


def governor(target: Target) -> list[Finding]:
    governors = _values(target, "scaling_governor")
    if not governors:
        virtual = host.is_virtual(target.system)
        reason = "the host of this virtual machine decides" if virtual else "no cpufreq driver is visible"
        return [unseen("frequency governor", reason)]
    driver = next(iter(_values(target, "scaling_driver")), "unknown driver")
    text = f"{', '.join(sorted(governors))} ({driver})"
    if set(governors) == {"performance"}:
        return [Finding("frequency governor", Level.GOOD, text)]
    why = "A CPU that was idle between slots begins the next one slowly, and is fast when the slot is over."
    fixed = "powersave" in governors and driver not in DYNAMIC_DRIVERS
    remedies = (
        command(f"cpupower -c {target.list} frequency-set -g performance"),
        boot("cpufreq.default_governor=performance"),
    )
    return [Finding("frequency governor", Level.BAD if fixed else Level.WARN, text, why, remedies)]


def boost(target: Target) -> list[Finding]:
    on, turbo_off = (
        target.system.number(f"{CPU}/{name}") for name in ("cpufreq/boost", "intel_pstate/no_turbo")
    )
    if on is None and turbo_off is None:
        return [unseen("boost", "no such setting is visible")]
    boosts = on == 1 if on is not None else turbo_off == 0
    if boosts:
        why = "Faster while few cores work; the frequency depends on what the others do, and figures vary."
        return [Finding("boost", Level.NOTE, "on", why)]
    return [Finding("boost", Level.NOTE, "off", "All slots at the same, lower, frequency: steady, not fast.")]


def preference(target: Target) -> list[Finding]:
    name = "energy_performance_preference"
    found = _values(target, name)
    if not found:
        return []  # the driver has no such thing
    if set(found) <= {"performance", "0"}:
        return [Finding("energy preference", Level.GOOD, ", ".join(sorted(found)))]
    why = "The CPU itself picks its frequency by this, and prefers saving energy to being fast at once."
    write = f"for cpu in {CPU}/cpu*/cpufreq/{name}; do echo performance > $cpu; done"
    return [Finding("energy preference", Level.WARN, ", ".join(sorted(found)), why, (command(write),))]


def held_latency_us(system: System) -> int | None:
    """What programs hold all CPUs to through cpu_dma_latency; None = nobody does, or it cannot be read."""
    try:
        (value_us,) = struct.unpack("i", system.path(DMA_LATENCY).read_bytes()[:4])
    except (OSError, struct.error):
        return None
    return int(value_us) if value_us < NO_CONSTRAINT_US else None


def _limit_us(system: System, cpu: int) -> int | None:
    """A limit of this CPU alone. In its file "0" is no limit; "n/a" allows no exit latency at all."""
    text = system.text(f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us")
    if text == "n/a":
        return 0
    return int(text) if text and text.isdecimal() and text != "0" else None


def _used(system: System, cpu: int) -> list[host.Idle]:
    """Idle states that the kernel may choose for a CPU."""
    limits_us = [us for us in (_limit_us(system, cpu), held_latency_us(system)) if us is not None]
    states = [state for state in host.idle_states(system, cpu) if not state.disabled]
    short = [state for state in states if all(state.exit_latency_us <= us for us in limits_us)]
    return short or states[:1]  # it has to idle somehow


def _idle_remedies(target: Target, driver: str) -> tuple[Remedy, ...]:
    each = " ".join(map(str, sorted(target.cpus)))
    limit = f"for n in {each}; do echo n/a > {CPU}/cpu$n/power/pm_qos_resume_latency_us; done"
    remedies = [command(f"cpupower -c {target.list} idle-set -D {SHALLOW_US}"), command(limit)]
    if driver in MAX_CSTATE:
        remedies.append(boot(MAX_CSTATE[driver], "of all CPUs"))
    prewake = "pre-wake, which needs none of it: the measured wakes below say what each would gain"
    return (*remedies, advice(prewake))


def idle_states(target: Target) -> list[Finding]:
    used = {cpu: _used(target.system, cpu) for cpu in sorted(target.cpus)}
    driver = target.system.text(f"{CPU}/cpuidle/current_driver") or "unknown driver"
    if not any(host.idle_states(target.system, cpu) for cpu in target.cpus):
        return [unseen("idle states", "the kernel has no cpuidle driver")]
    deepest_us = {cpu: max((s.exit_latency_us for s in states), default=0) for cpu, states in used.items()}
    worst_us = max(deepest_us.values())
    worst = [cpu for cpu, us in deepest_us.items() if us == worst_us]
    states = ", ".join(f"{state.name} {state.exit_latency_us} us" for state in used[worst[0]]) or "none"
    text = f"{states} ({driver})" + (f" on {target.where(worst)}" if len(worst) < len(used) else "")
    held_us = held_latency_us(target.system)
    if host.is_virtual(target.system):
        why = "The host has idle states that a virtual machine does not see: only measuring tells."
        return [Finding("idle states", Level.NOTE, text, why)]
    if held_us is not None and held_us <= SHALLOW_US:
        why = "When the program that holds cpu_dma_latency ends, deeper ones are used again."
        return [Finding("idle states", Level.NOTE, f"{text}, as long as {held_us} us are held", why)]
    if worst_us <= SHALLOW_US:
        return [Finding("idle states", Level.GOOD, text)]
    why = (
        f"A worker that slept between slots may start {worst_us} us late, because its CPU has to come back "
        "from its idle state. Neither isolation nor real-time priority changes that."
    )
    return [Finding("idle states", Level.WARN, text, why, _idle_remedies(target, driver))]


def holders(system: System) -> str:
    """Programs that have cpu_dma_latency open."""
    found = []
    for pid in filter(str.isdigit, system.names("/proc")):
        folder = system.path(f"/proc/{pid}/fd")
        for descriptor in system.names(f"/proc/{pid}/fd"):
            try:
                held = os.readlink(folder / descriptor) == DMA_LATENCY
            except OSError:
                continue
            if held:
                found.append(system.text(f"/proc/{pid}/comm") or pid)
    return ", ".join(sorted(set(found))) or "a program that is not visible"


def dma_latency(target: Target) -> list[Finding]:
    name = "cpu_dma_latency"
    try:
        target.system.path(DMA_LATENCY).read_bytes()
    except OSError as error:
        return [unseen(name, f"{DMA_LATENCY}: {error.strerror}")]
    value_us = held_latency_us(target.system)
    may_hold = target.system.is_real and os.access(DMA_LATENCY, os.W_OK)
    who = "this user may hold it" if may_hold else "only its owner may hold it"
    if value_us is None:
        why = (
            "Holding it open with a small number keeps all CPUs out of deep idle states, for the energy that "
            "costs. OAI held it at 2 us up to v2.1.0 and no longer does; cyclictest does while it runs."
        )
        return [Finding(name, Level.NOTE, f"nobody holds it; {who}", why)]
    why = "CPUs stay out of deeper idle states as long as it runs; afterwards wakes are slower again."
    return [Finding(name, Level.NOTE, f"held at {value_us} us by {holders(target.system)}", why)]


def resume_latency(target: Target) -> list[Finding]:
    """The same, for one CPU: "0" is no limit there, "n/a" is none at all."""
    found = {}
    for cpu in sorted(target.cpus):
        text = target.system.text(f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us")
        if text not in (None, "0"):
            found[cpu] = text
    if not found:
        return []
    text = ", ".join(f"CPU {cpu} {'no idle state' if text == 'n/a' else text}" for cpu, text in found.items())
    return [Finding("resume latency", Level.NOTE, f"limited: {text}", "Deeper states are not used there.")]


CHECKS = (governor, boost, preference, idle_states, dma_latency, resume_latency)
