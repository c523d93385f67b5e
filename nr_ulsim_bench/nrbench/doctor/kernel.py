# SPDX-License-Identifier: BSD-3-Clause
"""Clock, watchdogs, housekeeping and mitigations of the kernel."""

from __future__ import annotations

from nrbench import wakefacts
from nrbench.doctor.finding import Finding, Level, Target, advice, boot, command, sysctl, unseen
from nrbench.doctor.settings import STAT_INTERVAL_GOOD_S, STAT_INTERVAL_S
from nrbench.system import CPU
from nrbench.wakefacts import CLOCK

# Read without a system call. The others take a microsecond and more, and the pool reads the clock often.
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")


def clocksource(target: Target) -> list[Finding]:
    now = wakefacts.clocksource(target.system)
    if not now:
        return [unseen("clocksource", f"{CLOCK} is not visible")]
    if now in FAST_CLOCKS:
        return [Finding("clocksource", Level.GOOD, now)]
    offered = (target.system.text(f"{CLOCK}/available_clocksource") or "").split()
    why = "Reading this clock is a system call or a slow device: 1 us and more, instead of 25 ns."
    fast = next((name for name in offered if name in FAST_CLOCKS), None)
    if fast:
        remedy = command(f"echo {fast} > {CLOCK}/current_clocksource", "dmesg says why the kernel left it")
    else:
        remedy = advice("see with dmesg | grep -i clocksource why the kernel trusts no faster one")
    return [Finding("clocksource", Level.BAD, f"{now} (of {', '.join(offered)})", why, (remedy,))]


def watchdogs(target: Target) -> list[Finding]:
    soft, hard = (target.system.number(f"/proc/sys/kernel/{name}") for name in ("watchdog", "nmi_watchdog"))
    if soft is None and hard is None:
        return [unseen("watchdogs", "kernel.watchdog is not visible, or the kernel has none")]
    findings = []
    mask = target.system.cpus("/proc/sys/kernel/watchdog_cpumask")
    watched = target.cpus if mask is None else mask & target.cpus
    if soft and watched:
        why = "A timer and a thread of the highest class every few seconds on each CPU: some us each time."
        keep = (command(target.apply_command), *sysctl("kernel.watchdog", 0)) if target.others else ()
        text = f"soft lockups are watched for on {target.where(watched)}"
        findings.append(Finding("watchdogs", Level.NOTE, text, why, keep))
    if hard:
        why = "Non-maskable interrupts, and a performance counter of each CPU taken from perf."
        off = (*sysctl("kernel.nmi_watchdog", 0), boot("nmi_watchdog=0"))
        findings.append(Finding("watchdogs", Level.NOTE, "kernel.nmi_watchdog=1", why, off))
    return findings or [Finding("watchdogs", Level.GOOD, f"off on {target.list}")]


def stat_interval(target: Target) -> list[Finding]:
    seconds = target.system.number("/proc/sys/vm/stat_interval")
    if seconds is None:
        return [unseen("vm.stat_interval", "not visible")]
    if seconds >= STAT_INTERVAL_GOOD_S:
        return [Finding("vm.stat_interval", Level.GOOD, f"{seconds} s")]
    why = "So often a thread of the kernel runs on each CPU to sum up memory statistics."
    return [
        Finding(
            "vm.stat_interval", Level.NOTE, f"{seconds} s", why, sysctl("vm.stat_interval", STAT_INTERVAL_S)
        )
    ]


def mitigations(target: Target) -> list[Finding]:
    folder = f"{CPU}/vulnerabilities"
    states = {name: target.system.text(f"{folder}/{name}") or "" for name in target.system.names(folder)}
    if not states:
        return [unseen("mitigations", f"{folder} is not visible")]
    active = [name for name, text in states.items() if text.startswith("Mitigation")]
    if not active:
        return [Finding("mitigations", Level.GOOD, "none active")]
    why = (
        "Each costs something at every entry into the kernel, and so at every wake. Leave them on where "
        "others can run programs on this machine."
    )
    text = f"active: {', '.join(active)}"
    off = boot("mitigations=off", "only on a machine that runs nobody else's programs")
    return [Finding("mitigations", Level.NOTE, text, why, (off,))]


CHECKS = (clocksource, watchdogs, stat_interval, mitigations)
