# SPDX-License-Identifier: BSD-3-Clause
"""Clock, watchdogs, housekeeping and mitigations of the kernel."""

from __future__ import annotations

from nrbench import wakefacts
from nrbench.doctor.finding import Finding, Target, Unseen, bad, check, good, note, visible
from nrbench.doctor.remedy import advice, boot, command, sysctl
from nrbench.doctor.settings import STAT_INTERVAL_GOOD_S, STAT_INTERVAL_S
from nrbench.system import CPU
from nrbench.wakefacts import CLOCK

# Read without a system call. The others take a microsecond and more, and the pool reads the clock often.
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")


@check("clocksource")
def clocksource(target: Target) -> Finding:
    now = visible(wakefacts.clocksource(target.system) or None, f"{CLOCK} is not visible")
    if now in FAST_CLOCKS:
        return good(now)
    offered = (target.system.text(f"{CLOCK}/available_clocksource") or "").split()
    why = "Reading this clock is a system call or a slow device: 1 us and more, instead of 25 ns."
    fast = next((name for name in offered if name in FAST_CLOCKS), None)
    if fast:
        remedy = command(f"echo {fast} > {CLOCK}/current_clocksource", "dmesg has the reason for the change")
    else:
        remedy = advice("find out with dmesg | grep -i clocksource why the kernel offers no faster one")
    return bad(f"{now} (of {', '.join(offered)})", why, remedy)


@check("watchdogs")
def watchdogs(target: Target) -> list[Finding]:
    soft, hard = (target.system.number(f"/proc/sys/kernel/{name}") for name in ("watchdog", "nmi_watchdog"))
    if soft is None and hard is None:
        raise Unseen("kernel.watchdog is not visible, or the kernel has none")
    findings = []
    mask = target.system.cpus("/proc/sys/kernel/watchdog_cpumask")
    watched = target.cpus if mask is None else mask & target.cpus
    if soft and watched:
        why = (
            "A timer and a thread of the highest class run every few seconds on each CPU, some us each time."
        )
        keep = (command(target.apply_command), *sysctl("kernel.watchdog", 0)) if target.others else ()
        findings.append(note(f"the soft lockup watchdog runs on {target.where(watched)}", why, *keep))
    if hard:
        why = "It causes non-maskable interrupts, and uses a performance counter of each CPU."
        off = (*sysctl("kernel.nmi_watchdog", 0), boot("nmi_watchdog=0"))
        findings.append(note("kernel.nmi_watchdog=1", why, *off))
    return findings or [good(f"off on {target.list}")]


@check("vm.stat_interval")
def stat_interval(target: Target) -> Finding:
    seconds = visible(target.system.number("/proc/sys/vm/stat_interval"), "not visible")
    if seconds >= STAT_INTERVAL_GOOD_S:
        return good(f"{seconds} s")
    why = "At this interval a thread of the kernel runs on each CPU to sum up memory statistics."
    return note(f"{seconds} s", why, *sysctl("vm.stat_interval", STAT_INTERVAL_S))


@check("mitigations")
def mitigations(target: Target) -> Finding:
    folder = f"{CPU}/vulnerabilities"
    states = {name: target.system.text(f"{folder}/{name}") or "" for name in target.system.names(folder)}
    if not states:
        raise Unseen(f"{folder} is not visible")
    active = [name for name, text in states.items() if text.startswith("Mitigation")]
    if not active:
        return good("none active")
    why = (
        "Each makes entering the kernel slower, and so each wake. Leave them on where others can run "
        "programs on this machine."
    )
    off = boot("mitigations=off", "only where all programs are trusted")
    return note(f"active: {', '.join(active)}", why, off)


CHECKS = (clocksource, watchdogs, stat_interval, mitigations)
