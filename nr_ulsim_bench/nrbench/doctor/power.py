# SPDX-License-Identifier: BSD-3-Clause
"""Clock frequency and idle states of the workers' CPUs."""

from __future__ import annotations

import os
import struct

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, Unseen, check, good, note, visible, warn
from nrbench.doctor.remedy import Remedy, advice, boot, command
from nrbench.system import CPU, System

DMA_LATENCY = "/dev/cpu_dma_latency"
NO_CONSTRAINT_US = 2_000_000_000  # the kernel's value when no program holds it
SHALLOW_US = 10  # an exit latency that no slot minds
MAX_CSTATE = {"intel_idle": "intel_idle.max_cstate=1", "acpi_idle": "processor.max_cstate=1"}
# Drivers whose "powersave" follows the load; with others it is the lowest frequency.
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")


def _values(target: Target, name: str) -> list[str]:
    """Of the workers' CPUs, each value once."""
    texts = {target.system.text(f"{CPU}/cpu{cpu}/cpufreq/{name}") for cpu in target.cpus}
    return sorted(text for text in texts if text)


@check("frequency governor")
def governor(target: Target) -> Finding:
    governors = _values(target, "scaling_governor")
    if not governors:
        virtual = host.is_virtual(target.system)
        raise Unseen(
            "the host of this virtual machine decides" if virtual else "no cpufreq driver is visible"
        )
    driver = (_values(target, "scaling_driver") or ["unknown driver"])[0]
    text = f"{', '.join(governors)} ({driver})"
    if governors == ["performance"]:
        return good(text)
    why = "A CPU that was idle between slots begins the next one slowly, and is fast when the slot is over."
    fixed = "powersave" in governors and driver not in DYNAMIC_DRIVERS
    remedies = (
        command(f"cpupower -c {target.list} frequency-set -g performance"),
        boot("cpufreq.default_governor=performance"),
    )
    return Finding(Level.BAD if fixed else Level.WARN, text, why, remedies)


@check("boost")
def boost(target: Target) -> Finding:
    on = target.system.number(f"{CPU}/cpufreq/boost")
    if on is None:
        on = visible(target.system.number(f"{CPU}/intel_pstate/no_turbo"), "no such setting is visible") == 0
    if on:
        return note(
            "on", "Faster while few cores work. The frequency depends on the other cores: times vary."
        )
    return note("off", "All slots run at the same, lower, frequency: steady, but not fast.")


@check("energy preference")
def preference(target: Target) -> Finding | list[Finding]:
    name = "energy_performance_preference"
    found = _values(target, name)
    if not found:
        return []  # the driver has no such setting
    if set(found) <= {"performance", "0"}:
        return good(", ".join(found))
    why = "The CPU picks its frequency by this. It prefers saving energy to being fast at once."
    write = f"for cpu in {CPU}/cpu*/cpufreq/{name}; do echo performance > $cpu; done"
    return warn(", ".join(found), why, command(write))


def held_latency_us(system: System) -> int | None:
    """The exit latency to which programs limit all CPUs; None = no program does, or it cannot be read."""
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
    measured = advice("or leave it to pre-wake: the measured wakes below show the gain of each")
    return (*remedies, measured)


@check("idle states")
def idle_states(target: Target) -> Finding:
    if not any(host.idle_states(target.system, cpu) for cpu in target.cpus):
        raise Unseen("the kernel has no cpuidle driver")
    used = {cpu: _used(target.system, cpu) for cpu in sorted(target.cpus)}
    driver = target.system.text(f"{CPU}/cpuidle/current_driver") or "unknown driver"
    deepest_us = {cpu: max((s.exit_latency_us for s in states), default=0) for cpu, states in used.items()}
    worst_us = max(deepest_us.values())
    worst = [cpu for cpu, us in deepest_us.items() if us == worst_us]
    states = ", ".join(f"{state.name} {state.exit_latency_us} us" for state in used[worst[0]]) or "none"
    text = f"{states} ({driver})" + (f" on {target.where(worst)}" if len(worst) < len(used) else "")
    held_us = held_latency_us(target.system)
    if host.is_virtual(target.system):
        return note(
            text, "The host has idle states that a virtual machine does not see: only measuring shows."
        )
    if held_us is not None and held_us <= SHALLOW_US:
        why = "When the program that holds cpu_dma_latency ends, deeper ones are used again."
        return note(f"{text}, as long as {held_us} us are held", why)
    if worst_us <= SHALLOW_US:
        return good(text)
    why = (
        f"A worker that slept between slots may start {worst_us} us late, because its CPU must leave its "
        "idle state first. Neither isolation nor real-time priority changes that."
    )
    return warn(text, why, *_idle_remedies(target, driver))


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


@check("cpu_dma_latency")
def dma_latency(target: Target) -> Finding:
    try:
        target.system.path(DMA_LATENCY).read_bytes()
    except OSError as error:
        raise Unseen(f"{DMA_LATENCY}: {error.strerror}") from error
    value_us = held_latency_us(target.system)
    if value_us is not None:
        why = (
            "CPUs stay out of deeper idle states while that program runs; afterwards wakes are slower again."
        )
        return note(f"held at {value_us} us by {holders(target.system)}", why)
    may_hold = target.system.is_real and os.access(DMA_LATENCY, os.W_OK)
    allowed = "this user may hold it" if may_hold else "only its owner may hold it"
    why = (
        "A program that holds it open with a small number keeps all CPUs out of deep idle states, which "
        "costs energy. OAI held it at 2 us up to v2.1.0 and no longer does; cyclictest does while it runs."
    )
    return note(f"no program holds it; {allowed}", why)


@check("resume latency")
def resume_latency(target: Target) -> Finding | list[Finding]:
    """The same limit for one CPU. "0" means no limit, "n/a" means no idle state at all."""
    found = {}
    for cpu in sorted(target.cpus):
        text = target.system.text(f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us")
        if text not in (None, "0"):
            found[cpu] = "no idle state" if text == "n/a" else f"{text} us"
    if not found:
        return []
    text = ", ".join(f"CPU {cpu} {limit}" for cpu, limit in found.items())
    return note(f"limited: {text}", "Deeper states are not used there.")


CHECKS = (governor, boost, preference, idle_states, dma_latency, resume_latency)
