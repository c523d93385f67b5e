# SPDX-License-Identifier: BSD-3-Clause
"""Clock frequency and idle states of the workers' CPUs."""

from __future__ import annotations

import os
import struct
from collections import Counter

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Remedy, Target, advice, boot, command, unseen
from nrbench.system import CPU

DMA_LATENCY = "/dev/cpu_dma_latency"
NO_CONSTRAINT_US = 2_000_000_000  # what the kernel says when nobody asks for anything
SHALLOW_US = 10  # an exit latency that no slot minds
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


def _idle_remedies(target: Target, driver: str) -> tuple[Remedy, ...]:
    each = " ".join(map(str, sorted(target.cpus)))
    limit = f"for n in {each}; do echo n/a > {CPU}/cpu$n/power/pm_qos_resume_latency_us; done"
    kernel = "intel_idle.max_cstate=1" if driver == "intel_idle" else "processor.max_cstate=1"
    return (
        command(f"cpupower -c {target.list} idle-set -D {SHALLOW_US}"),
        command(limit),
        boot(kernel),
        advice("pre-wake, which needs none of it: the measured wakes below say what each would gain"),
    )


def idle_states(target: Target) -> list[Finding]:
    states = host.idle_states(target.system, target.first)
    driver = target.system.text(f"{CPU}/cpuidle/current_driver") or "unknown driver"
    virtual = host.is_virtual(target.system)
    if not states:
        return [unseen("idle states", "the kernel has no cpuidle driver")]
    allowed = [state for state in states if not state.disabled]
    text = ", ".join(f"{state.name} {state.exit_latency_us} us" for state in allowed) + f" ({driver})"
    deepest_us = max((state.exit_latency_us for state in allowed), default=0)
    if virtual:
        why = "The host has idle states that a virtual machine does not see: only measuring tells."
        return [Finding("idle states", Level.NOTE, text, why)]
    if deepest_us <= SHALLOW_US:
        return [Finding("idle states", Level.GOOD, text)]
    why = (
        f"A worker that slept between slots may start {deepest_us} us late, because its CPU has to come back "
        "from its idle state. Neither isolation nor real-time priority changes that."
    )
    return [Finding("idle states", Level.WARN, text, why, _idle_remedies(target, driver))]


def _holders(target: Target) -> list[str]:
    """Programs that have the file open."""
    found = []
    for pid in filter(str.isdigit, target.system.names("/proc")):
        folder = target.system.path(f"/proc/{pid}/fd")
        for descriptor in target.system.names(f"/proc/{pid}/fd"):
            try:
                held = os.readlink(folder / descriptor) == DMA_LATENCY
            except OSError:
                continue
            if held:
                found.append(target.system.text(f"/proc/{pid}/comm") or pid)
    return sorted(set(found))


def dma_latency(target: Target) -> list[Finding]:
    name = "cpu_dma_latency"
    try:
        (value_us,) = struct.unpack("i", target.system.path(DMA_LATENCY).read_bytes()[:4])
    except (OSError, struct.error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it has another format"
        return [unseen(name, f"{DMA_LATENCY}: {reason}")]
    may_hold = target.system.is_real and os.access(DMA_LATENCY, os.W_OK)
    who = "this user may hold it" if may_hold else "only its owner may hold it"
    if value_us >= NO_CONSTRAINT_US:
        why = (
            "Holding it open with a small number keeps all CPUs out of deep idle states, for the energy that "
            "costs. OAI held it at 2 us up to v2.1.0 and no longer does; cyclictest does while it runs."
        )
        return [Finding(name, Level.NOTE, f"nobody holds it; {who}", why)]
    names = ", ".join(_holders(target)) or "a program that is not visible"
    why = "CPUs stay out of deeper idle states as long as it runs; afterwards wakes are slower again."
    return [Finding(name, Level.NOTE, f"held at {value_us} us by {names}", why)]


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
