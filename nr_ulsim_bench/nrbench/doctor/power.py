# SPDX-License-Identifier: BSD-3-Clause
"""Clock frequency and idle states of the workers' CPUs."""

from __future__ import annotations

import os

from nrbench import facts
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Level, Target, Unseen, area, good, note, visible, warn
from nrbench.doctor.remedy import Remedy
from nrbench.facts import File
from nrbench.system import System

check = area("Frequency and idle states")
SHALLOW_US = 10  # an exit latency that no slot minds
MAX_CSTATE = {"intel_idle": "intel_idle.max_cstate=1", "acpi_idle": "processor.max_cstate=1"}
# Drivers whose "powersave" follows the load; with others it is the lowest frequency.
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")


def _values(target: Target, fact: File[str | None]) -> list[str]:
    """Of the workers' CPUs, each value once."""
    return sorted(set(filter(None, (fact(target.system, cpu) for cpu in target.cpus))))


@check("frequency governor")
def governor(target: Target) -> Finding:
    governors = _values(target, facts.GOVERNOR)
    if not governors:
        virtual = "the host of this virtual machine decides"
        raise Unseen(virtual if facts.is_virtual(target.system) else "no cpufreq driver is visible")
    driver = (_values(target, facts.FREQUENCY_DRIVER) or ["unknown driver"])[0]
    text = f"{', '.join(governors)} ({driver})"
    if governors == ["performance"]:
        return good(text)
    why = "A CPU that was idle between slots begins the next one slowly, and is fast when the slot is over."
    fixed = "powersave" in governors and driver not in DYNAMIC_DRIVERS
    remedies = (
        do.command(f"cpupower -c {target.list} frequency-set -g performance"),
        do.boot("cpufreq.default_governor=performance"),
    )
    return Finding(Level.BAD if fixed else Level.WARN, text, why, remedies)


@check("boost")
def boost(target: Target) -> Finding:
    on = facts.BOOST(target.system)
    if on is None:
        on = visible(facts.NO_TURBO(target.system), "no such setting is visible") == 0
    if on:
        return note(
            "on", "Faster while few cores work. The frequency depends on the other cores: times vary."
        )
    return note("off", "All slots run at the same, lower, frequency: steady, but not fast.")


@check("energy preference")
def preference(target: Target) -> Finding | list[Finding]:
    found = _values(target, facts.PREFERENCE)
    if not found:
        return []  # the driver has no such setting
    if set(found) <= {"performance", "0"}:
        return good(", ".join(found))
    why = "The CPU picks its frequency by this. It prefers saving energy to being fast at once."
    write = f"for cpu in {facts.PREFERENCE.at('*')}; do echo performance > $cpu; done"
    return warn(", ".join(found), why, do.command(write))


def _used(system: System, cpu: int) -> list[facts.Idle]:
    """Idle states that the kernel may choose for a CPU."""
    limits = facts.latency_limit_us(system, cpu), facts.held_latency_us(system)
    limits_us = [us for us in limits if us is not None]
    states = [state for state in facts.idle_states(system, cpu) if not state.disabled]
    short = [state for state in states if all(state.exit_latency_us <= us for us in limits_us)]
    return short or states[:1]  # it has to idle somehow


def _limit(target: Target, limit: str, comment: str = "") -> Remedy:
    """The limit of each CPU, which leaves the others their idle states."""
    each = " ".join(map(str, sorted(target.cpus)))
    return do.command(f"for n in {each}; do echo {limit} > {facts.RESUME_LATENCY.at('$n')}; done", comment)


def _idle_remedies(target: Target, driver: str) -> tuple[Remedy, ...]:
    remedies = [do.command(f"cpupower -c {target.list} idle-set -D {SHALLOW_US}"), _limit(target, "n/a")]
    if driver in MAX_CSTATE:
        remedies.append(do.boot(MAX_CSTATE[driver], "of all CPUs"))
    measured = do.advice("or leave it to pre-wake: the measured wakes below show the gain of each")
    return (*remedies, measured)


@check("idle states")
def idle_states(target: Target) -> Finding:
    if not any(facts.idle_states(target.system, cpu) for cpu in target.cpus):
        raise Unseen("the kernel has no cpuidle driver")
    used = {cpu: _used(target.system, cpu) for cpu in sorted(target.cpus)}
    driver = facts.IDLE_DRIVER(target.system) or "unknown driver"
    deepest_us = {cpu: max((s.exit_latency_us for s in states), default=0) for cpu, states in used.items()}
    worst_us = max(deepest_us.values())
    worst = [cpu for cpu, us in deepest_us.items() if us == worst_us]
    states = ", ".join(f"{state.name} {state.exit_latency_us} us" for state in used[worst[0]]) or "none"
    text = f"{states} ({driver})" + (f" on {target.where(worst)}" if len(worst) < len(used) else "")
    held_us = facts.held_latency_us(target.system)
    if facts.is_virtual(target.system):
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


def _instead(target: Target) -> tuple[Remedy, ...]:
    """In place of the limit for all CPUs, where the kernel has one for each."""
    if not any(facts.RESUME_LATENCY(target.system, cpu) for cpu in target.cpus):
        return ()
    return (_limit(target, f"{SHALLOW_US}", "the workers' CPUs only; until the next boot"),)


@check("cpu_dma_latency")
def dma_latency(target: Target) -> Finding:
    path = target.system.path(facts.DMA_LATENCY.name)
    try:
        path.read_bytes()
    except OSError as error:
        raise Unseen(f"{facts.DMA_LATENCY.label}: {error.strerror}") from error
    value_us = facts.held_latency_us(target.system)
    if value_us is not None:
        why = (
            "CPUs stay out of deeper idle states while that program runs; afterwards wakes are slower again."
        )
        return note(
            f"held at {value_us} us by {facts.latency_holders(target.system)}", why, *_instead(target)
        )
    may_hold = target.system.is_real and os.access(path, os.W_OK)
    allowed = "this user may hold it" if may_hold else "only its owner may hold it"
    why = (
        "A program that holds it open with a small number keeps all CPUs out of deep idle states, which "
        "costs energy. OAI held it at 2 us up to v2.1.0 and no longer does; cyclictest does while it runs."
    )
    return note(f"no program holds it; {allowed}", why, *_instead(target))


@check("resume latency")
def resume_latency(target: Target) -> Finding | list[Finding]:
    """The same limit for one CPU. "0" means no limit, "n/a" means no idle state at all."""
    limits_us = {cpu: facts.latency_limit_us(target.system, cpu) for cpu in sorted(target.cpus)}
    found = {cpu: f"{us} us" if us else "no idle state" for cpu, us in limits_us.items() if us is not None}
    text = ", ".join(f"CPU {cpu} {limit}" for cpu, limit in found.items())
    return note(f"limited: {text}", "Deeper states are not used there.") if found else []
