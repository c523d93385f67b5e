# SPDX-License-Identifier: BSD-3-Clause
"""What the scheduler grants to the workers: class, CPUs, time."""

from __future__ import annotations

import re
from typing import NamedTuple

from nrbench import host
from nrbench.doctor.finding import Finding, Level, Target, advice, boot, command, sysctl, unseen
from nrbench.system import CAP_SYS_NICE, format_cpus, hierarchies, parse_cpus, quota, quotas

WINDOW_S = 1.0
RUNAWAY = "a real-time thread that runs away then hangs its CPU: before Linux 6.12 nothing else stops it"
STEAL_BAD, STEAL_WARN = 0.02, 0.002  # shares of time
BUSY_WARN = 0.1
FAIR_SERVER = (6, 12)  # the kernel since which all classes but real-time have a server instead of throttling


def permission(target: Target) -> list[Finding]:
    name = "real-time class"
    limit = target.system.limit("Max realtime priority")
    capable, possible = target.system.has_capability(CAP_SYS_NICE), host.realtime_possible(target.system)
    if possible and capable:
        return [Finding(name, Level.GOOD, f"allowed at {host.OAI_PRIORITY} (CAP_SYS_NICE)")]
    why = (
        "Without CAP_SYS_NICE OAI drops the priorities and the CPUs of its threads, silently: any other "
        "process delays a slot by milliseconds."
    )
    remedies = (
        advice("sudo setcap cap_sys_nice+ep <program>, again after each build"),
        advice("in a container: docker run --cap-add SYS_NICE; Kubernetes: capabilities.add: [SYS_NICE]"),
    )
    if possible:
        text = f"allowed by RLIMIT_RTPRIO {limit}, but not by CAP_SYS_NICE, which OAI asks for"
        return [Finding(name, Level.WARN, text, why, remedies)]
    if capable:
        reason = "in spite of CAP_SYS_NICE: the control group's budget, or a filter of system calls"
        return [Finding(name, Level.BAD, f"refused, {reason}", why)]
    return [Finding(name, Level.BAD, f"refused (RLIMIT_RTPRIO {limit})", why, remedies)]


def throttling(target: Target) -> list[Finding]:
    name = "real-time throttling"
    runtime_us = target.system.number("/proc/sys/kernel/sched_rt_runtime_us")
    period_us = target.system.number("/proc/sys/kernel/sched_rt_period_us") or 1_000_000
    if runtime_us is None:
        return [unseen(name, "kernel.sched_rt_runtime_us is not visible")]
    text = f"kernel.sched_rt_runtime_us={runtime_us}"
    served = host.kernel_version(target.system) >= FAIR_SERVER
    if runtime_us < 0 or runtime_us >= period_us:
        why = "Nothing stops a real-time thread that spins for ever, not even the administrator's shell."
        if served:
            why = "Since Linux 6.12 normal threads get 50 ms a second of a CPU where real-time threads spin."
        return [Finding(name, Level.GOOD, f"off ({text})", why)]
    text += f" of {period_us}"
    stop_ms = (period_us - runtime_us) / 1000
    if served:
        why = (
            "Since Linux 6.12 it acts only in control groups with real-time budgets; in its stead normal "
            "threads get 50 ms a second of a CPU that real-time threads would not leave."
        )
        return [Finding(name, Level.NOTE, text, why)]
    why = (
        f"When real-time threads (a radio thread that polls) use up {runtime_us / 1000:.0f} ms of a period, "
        f"all of them stop for {stop_ms:.0f} ms: many slots."
    )
    return [Finding(name, Level.WARN, text, why, sysctl("kernel.sched_rt_runtime_us", -1, RUNAWAY))]


def group_scheduling(target: Target) -> list[Finding]:
    """Kernels with RT_GROUP_SCHED give real-time budgets to control groups of version 1: 0 to new ones."""
    for hierarchy in hierarchies(target.system, "cpu"):
        folder = next(hierarchy.folders())
        budget_us = target.system.number(f"{folder}/cpu.rt_runtime_us")
        if budget_us == 0:
            why = "Threads of this group are refused the real-time class, even as root."
            fix = command(f"echo 950000 > {folder}/cpu.rt_runtime_us")
            other = boot("rt_group_sched=0")
            return [Finding("real-time budget", Level.BAD, f"0 in {folder}", why, (fix, other))]
        if budget_us is not None:
            text = f"{budget_us} us a period in {folder} (RT_GROUP_SCHED)"
            why = "Groups that are made below it, as for containers and services, begin with none."
            return [Finding("real-time budget", Level.NOTE, text, why)]
    return []


def cpu_quota(target: Target) -> list[Finding]:
    found = quota(target.system)
    if found is None:
        if target.system.text("/proc/self/cgroup") is None:
            return [unseen("CPU quota", "control groups are not visible")]
        return [Finding("CPU quota", Level.GOOD, "none")]
    text = f"{found.cpus:g} CPUs in each {found.period_us / 1000:g} ms ({found.group})"
    stopped = (_throttled(target, bound.group) for bound in quotas(target.system))
    times = max((count for count in stopped if count is not None), default=0)
    if times:
        text += f"; it has stopped the group {times} times"
    why = (
        "When it is used up, all threads stop until the period ends, in the middle of a slot, for up to "
        f"{found.period_us / 1000:g} ms. Threads that spin use it up sooner."
    )
    instead = advice(f"CPUs instead of a share: docker run --cpuset-cpus {target.list}, without --cpus")
    kubernetes = advice("Kubernetes: CPU manager policy static, whole CPUs, requests equal to limits")
    mask = target.system.affinity()
    if found.cpus >= len(mask):
        why = f"It is no less than the {len(mask)} CPUs of this process's mask can use."
        return [Finding("CPU quota", Level.NOTE, text, why)]
    return [Finding("CPU quota", Level.BAD, text, why, (instead, kubernetes))]


def _throttled(target: Target, group: str) -> int | None:
    match = re.search(r"^nr_throttled (\d+)", target.system.text(f"{group}/cpu.stat") or "", re.MULTILINE)
    return int(match[1]) if match else None


def cpuset(target: Target) -> list[Finding]:
    mask, online = target.system.affinity(), target.system.online()
    offline, outside = target.cpus - online, target.cpus & online - mask
    if offline:
        text = f"CPUs {format_cpus(offline)} are not online"
        return [Finding("CPUs", Level.BAD, text, "Nothing can be pinned there.")]
    findings = _cpu_0(target)
    if not outside:
        if findings:
            return findings
        return [Finding("CPUs", Level.GOOD, f"{target.list}, all of them in this process's mask")]
    text = f"CPUs {format_cpus(outside)} are outside of the mask {format_cpus(mask)} of this process"
    why = "A program cannot be pinned to CPUs outside of its control group's cpuset; it floats instead."
    remedies = (
        advice(f"taskset -c {target.list} <program>"),
        advice(f"docker run --cpuset-cpus {target.list}"),
    )
    limits = (target.system.cpus(f"{folder}/{name}") for folder, name in _cpuset_files(target))
    in_set = next((cpus for cpus in limits if cpus), online)
    level = Level.BAD if outside - in_set else Level.NOTE
    return [*findings, Finding("CPUs", level, text, why, remedies)]


def _cpu_0(target: Target) -> list[Finding]:
    if 0 not in target.cpus:
        return []
    why = (
        "It keeps the time for all others, is where interrupts and work of the kernel go first, cannot be "
        "taken offline, and is taken out of nohz_full."
    )
    leave = advice("leave CPU 0 to the rest of the system: --cpus")
    level = Level.WARN if target.others else Level.NOTE
    return [Finding("CPUs", level, f"CPU 0 is among {target.list}", why, (leave,))]


def _cpuset_files(target: Target) -> list[tuple[str, str]]:
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    folders = (next(hierarchy.folders()) for hierarchy in hierarchies(target.system, "cpuset"))
    return [(folder, name) for folder in folders for name in names]


def timer_slack(target: Target) -> list[Finding]:
    slack_ns = target.system.number("/proc/self/timerslack_ns")
    if slack_ns is None:
        return [unseen("timer slack", "not visible")]
    text = f"{slack_ns / 1000:g} us"
    if slack_ns <= 1000:
        return [Finding("timer slack", Level.GOOD, text)]
    why = (
        "Timers of normal threads may be that much later than asked for. This pool's workers ask for 1 ns; "
        "other threads, as of OAI's radio, have it unless they are real-time."
    )
    return [Finding("timer slack", Level.NOTE, text, why, (advice("run them in a real-time class"),))]


def preemption(target: Target) -> list[Finding]:
    model = host.preemption(target.system)
    if model is None:
        reason = "neither the kernel's version nor debugfs nor its configuration says (try as root)"
        return [unseen("preemption model", reason)]
    if model in ("rt", "full"):
        return [Finding("preemption model", Level.GOOD, model)]
    why = (
        "A thread that is in the kernel for another program keeps the CPU until it leaves the kernel or "
        "offers it: a worker may wait for milliseconds. It does not matter on CPUs that nobody else uses."
    )
    remedies = (boot("preempt=full", "kernels with PREEMPT_DYNAMIC"), advice("a PREEMPT_RT kernel"))
    level = Level.NOTE if model == "lazy" or _alone(target) else Level.WARN
    return [Finding("preemption model", level, model, why, remedies)]


def _alone(target: Target) -> bool:
    try:
        return target.cpus <= parse_cpus(host.isolated(target.system) or "")
    except ValueError:
        return False


class Usage(NamedTuple):
    total: int
    busy: int
    steal: int


def _usage(target: Target) -> Usage | None:
    """Ticks of the workers' CPUs since boot."""
    wanted = {f"cpu{cpu}" for cpu in target.cpus}
    total = busy = steal = 0
    for line in (target.system.text("/proc/stat") or "").splitlines():
        name, *counts = line.split()
        if name in wanted and len(counts) >= 8:
            ticks = [int(count) for count in counts[:8]]  # guest time is in user time already
            total += sum(ticks)
            busy += sum(ticks) - ticks[3] - ticks[4]
            steal += ticks[7]
    return Usage(total, busy, steal) if total else None


def activity(target: Target) -> list[Finding]:
    """Steal time and other programs, over a second."""
    before = _usage(target)
    target.wait(WINDOW_S)
    after = _usage(target)
    if before is None or after is None:
        return [unseen("steal time", "/proc/stat does not show the workers' CPUs")]
    ticks = max(after.total - before.total, 1)
    steal, busy = (
        (after.steal - before.steal) / ticks,
        (after.busy - before.busy - after.steal + before.steal),
    )
    findings = [_steal(steal)]
    share = busy / ticks
    text = f"{target.where(target.cpus)}: {100 * share:.0f} % busy over {WINDOW_S:g} s"
    if share < BUSY_WARN:
        return [*findings, Finding("other programs", Level.GOOD, text)]
    why = "Whoever it is shares caches and CPUs with the workers, and makes figures worth little."
    seen = advice("see who it is: top -1, or perf sched timehist")
    return [*findings, Finding("other programs", Level.WARN, text, why, (seen,))]


def _steal(share: float) -> Finding:
    text = f"{100 * share:.1f} % over {WINDOW_S:g} s"
    if share < STEAL_WARN:
        return Finding("steal time", Level.GOOD, text)
    why = "The host of this virtual machine gave the CPU to somebody else, for milliseconds, at any moment."
    remedies = (advice("dedicated CPUs (pinned vCPUs, a dedicated instance), or a machine of your own"),)
    return Finding("steal time", Level.BAD if share >= STEAL_BAD else Level.WARN, text, why, remedies)


def load(target: Target) -> list[Finding]:
    average, cpus = host.load(target.system), len(target.system.online())
    text = f"{average:g} over one minute, {cpus} CPUs"
    if average <= 0.25 * cpus:
        return [Finding("load", Level.GOOD, text)]
    why = "Something else runs on this machine: measure when it is quiet, or isolate the workers' CPUs."
    return [Finding("load", Level.WARN, text, why)]


CHECKS = (
    permission,
    group_scheduling,
    throttling,
    cpu_quota,
    cpuset,
    timer_slack,
    preemption,
    load,
)
SLOW_CHECKS = (activity,)
