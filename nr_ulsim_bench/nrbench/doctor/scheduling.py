# SPDX-License-Identifier: BSD-3-Clause
"""What the scheduler grants to the workers: class, CPUs, time. Steal time, other programs and real-time
threads that poll on their CPUs, measured over a second."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nrbench import facts, host
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Level, Target, Unseen, area, bad, good, note, visible, warn
from nrbench.doctor.remedy import Remedy
from nrbench.system import CAP_SYS_NICE, format_cpus, hierarchies, quota, quotas

check = area("Scheduling")

RUNAWAY = "a real-time thread in an endless loop then hangs its CPU: before Linux 6.12 nothing else stops it"
FAIR_SERVER = (6, 12)  # since this kernel normal threads have a deadline server instead of throttling
WINDOW_S = 1.0
STEAL_BAD, STEAL_WARN = 0.02, 0.002  # shares of time
BUSY_WARN = 0.1
FIELDS = 8  # of a CPU; those behind are in user time already
IDLE, IOWAIT, STEAL = 3, 4, 7
POLLS = 0.9  # share of the time
REALTIME = {1: "SCHED_FIFO", 2: "SCHED_RR", 6: "SCHED_DEADLINE"}
ACTIVITY = "Activity"


@check("real-time class")
def permission(target: Target) -> Finding:
    limit = target.system.limit("Max realtime priority")
    capable, possible = target.system.has_capability(CAP_SYS_NICE), host.realtime_possible(target.system)
    if possible and capable:
        return good(f"allowed at {host.OAI_PRIORITY} (CAP_SYS_NICE)")
    why = (
        "Without CAP_SYS_NICE OAI silently drops the priorities and the CPUs of its threads. Any other "
        "process then delays a slot by milliseconds."
    )
    remedies = (
        do.advice("sudo setcap cap_sys_nice+ep <program>, again after each build"),
        do.advice("in a container: docker run --cap-add SYS_NICE; Kubernetes: capabilities.add: [SYS_NICE]"),
    )
    if possible:
        return warn(
            f"allowed by RLIMIT_RTPRIO {limit}, but not by CAP_SYS_NICE, which OAI checks", why, *remedies
        )
    if capable:
        reason = "in spite of CAP_SYS_NICE: the control group's budget, or a filter of system calls"
        return bad(f"refused, {reason}", why)
    return bad(f"refused (RLIMIT_RTPRIO {limit})", why, *remedies)


@check("real-time budget")
def group_scheduling(target: Target) -> list[Finding]:
    """Kernels with RT_GROUP_SCHED give real-time budgets to control groups of version 1: 0 to new ones."""
    for hierarchy in hierarchies(target.system, "cpu"):
        folder = next(hierarchy.folders())
        budget_us = target.system.number(f"{folder}/cpu.rt_runtime_us")
        if budget_us == 0:
            why = "Threads of this group are refused the real-time class, even as root."
            fix = do.command(f"echo 950000 > {folder}/cpu.rt_runtime_us")
            return [bad(f"0 in {folder}", why, fix, do.boot("rt_group_sched=0"))]
        if budget_us is not None:
            why = "New groups below it, as for containers and services, start with a budget of 0."
            return [note(f"{budget_us} us a period in {folder} (RT_GROUP_SCHED)", why)]
    return []


@check("autogroups")
def autogroups(target: Target) -> Finding:
    name = facts.AUTOGROUPS.label
    if not target.see(facts.AUTOGROUPS):
        return good(f"off ({name}=0)")
    why = (
        "The kernel shares CPU time equally among sessions; nice acts within one. A program at nice 19 in "
        "another terminal gets as much as this one. The real-time class is not affected."
    )
    return note(f"on ({name}=1)", why, *do.sysctl(facts.AUTOGROUPS, 0))


@check("real-time throttling")
def throttling(target: Target) -> Finding:
    runtime_us = target.see(facts.RT_RUNTIME_US)
    period_us = facts.RT_PERIOD_US(target.system) or 1_000_000
    text = f"{facts.RT_RUNTIME_US.label}={runtime_us}"
    served = facts.kernel_number(target.system) >= FAIR_SERVER
    share = "Since Linux 6.12 normal threads get 50 ms a second of a CPU that real-time threads keep busy."
    if runtime_us < 0 or runtime_us >= period_us:
        unstopped = "Nothing stops a real-time thread in an endless loop, not even the administrator's shell."
        return good(f"off ({text})", share if served else unstopped)
    text += f" of {period_us}"
    if served:
        return note(text, f"{share} This limit acts only in control groups with real-time budgets.")
    why = (
        f"When real-time threads (a radio thread that polls) have used {runtime_us / 1000:.0f} ms of a "
        f"period, all of them stop for {(period_us - runtime_us) / 1000:.0f} ms: many slots."
    )
    return warn(text, why, *do.sysctl(facts.RT_RUNTIME_US, -1, RUNAWAY))


@check("CPU quota")
def cpu_quota(target: Target) -> Finding:
    found = quota(target.system)
    if found is None:
        visible(target.system.groups(), "control groups are not visible")
        return good("none")
    text = f"{found.cpus:g} CPUs in each {found.period_us / 1000:g} ms ({found.group})"
    times = max(_throttled(target, bound.group) for bound in quotas(target.system))
    if times:
        text += f"; it has stopped the group {times} times"
    mask = target.system.affinity()
    if found.cpus >= len(mask):
        return note(text, f"It does not limit the {len(mask)} CPUs in this process's affinity mask.")
    why = (
        "When the quota is used up, all threads stop until the period ends, in the middle of a slot, for "
        f"up to {found.period_us / 1000:g} ms. Threads that busy-poll use it up sooner."
    )
    instead = do.advice(f"CPUs instead of a share: docker run --cpuset-cpus {target.list}, without --cpus")
    kubernetes = do.advice("Kubernetes: CPU manager policy static, whole CPUs, requests equal to limits")
    return bad(text, why, instead, kubernetes)


def _throttled(target: Target, group: str) -> int:
    match = re.search(r"^nr_throttled (\d+)", target.system.text(f"{group}/cpu.stat") or "", re.MULTILINE)
    return int(match[1]) if match else 0


@check("CPUs")
def cpuset(target: Target) -> list[Finding]:
    mask, online = target.system.affinity(), target.system.online()
    offline, outside = target.cpus - online, target.cpus & online - mask
    if offline:
        return [bad(f"CPUs {format_cpus(offline)} are not online", "No thread can be pinned there.")]
    findings = _cpu_0(target) if 0 in target.cpus else []
    if not outside:
        return findings or [good(f"{target.list}, all of them in this process's affinity mask")]
    text = f"CPUs {format_cpus(outside)} are outside this process's affinity mask {format_cpus(mask)}"
    why = "A thread cannot be pinned to CPUs outside its control group's cpuset; it floats instead."
    remedies = (
        do.advice(f"taskset -c {target.list} <program>"),
        do.advice(f"docker run --cpuset-cpus {target.list}"),
    )
    level = Level.BAD if outside - _allowed(target) else Level.NOTE
    return [*findings, Finding(level, text, why, remedies)]


def _cpu_0(target: Target) -> list[Finding]:
    why = (
        "CPU 0 keeps the time for all others, gets interrupts and work of the kernel first, cannot be taken "
        "offline, and cannot be in nohz_full."
    )
    leave = do.advice("leave CPU 0 to the rest of the system: --cpus")
    level = Level.WARN if target.others else Level.NOTE
    return [Finding(level, f"CPU 0 is among {target.list}", why, (leave,))]


def _allowed(target: Target) -> frozenset[int]:
    """CPUs of the control group; all that are online where no group says."""
    for hierarchy in hierarchies(target.system, "cpuset"):
        folder = next(hierarchy.folders())
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            cpus = target.system.cpus(f"{folder}/{name}")
            if cpus:
                return cpus
    return target.system.online()


@check("timer slack")
def timer_slack(target: Target) -> Finding:
    slack_ns = target.see(facts.TIMER_SLACK_NS)
    if slack_ns <= 1000:
        return good(f"{slack_ns / 1000:g} us")
    why = (
        "Timers of normal threads may be that late. This pool's workers set 1 ns for themselves. Other "
        "threads, such as those of OAI's radio, have it unless they are real-time."
    )
    return note(f"{slack_ns / 1000:g} us", why, do.advice("run those threads in a real-time class"))


UNPREEMPTED = (
    "A thread of another program that is in the kernel keeps the CPU until it leaves the kernel or "
    "yields: a worker may wait for milliseconds. This does not matter on isolated CPUs."
)
LAZY = (
    "A normal thread is preempted by another normal one at the next tick only. Real-time workers preempt at "
    "once. This does not matter on isolated CPUs."
)


@check("preemption model")
def preemption(target: Target) -> Finding:
    model = visible(
        facts.preemption(target.system),
        "neither the kernel's version nor debugfs nor its configuration names it (try as root)",
    )
    if model in ("rt", "full"):
        return good(model)
    why = LAZY if model == "lazy" else UNPREEMPTED
    remedies = (do.boot("preempt=full", "kernels with PREEMPT_DYNAMIC"), do.advice("a PREEMPT_RT kernel"))
    isolated = target.cpus <= facts.isolated(target.system)
    return Finding(Level.NOTE if model == "lazy" or isolated else Level.WARN, model, why, remedies)


@check("HRTICK")
def precise_slices(target: Target) -> Finding:
    on = visible(
        facts.scheduler_feature(target.system, "HRTICK"),
        f"{facts.SCHED_FEATURES.label} is not visible, or the kernel was has no SCHED_HRTICK (try as root)",
    )
    if on:
        return good("on")
    why = (
        "The time slice of a normal thread ends with a tick, up to 4 ms late. Normal workers on a CPU that "
        "other normal threads use start that late. Real-time workers do not need it."
    )
    write = f"echo HRTICK > {facts.SCHED_FEATURES.name}"
    return note("off", why, do.command(write, "a timer for each slice: some hundred ns a switch"))


@check("load")
def load(target: Target) -> Finding:
    average, cpus = facts.load(target.system), len(target.system.online())
    text = f"{average:g} over one minute, {cpus} CPUs"
    if not host.is_busy(average, cpus):
        return good(text)
    return warn(text, "Other programs run here: measure when it is quiet, or isolate the workers' CPUs.")


activity = area(ACTIVITY)


def _ticks(target: Target) -> np.ndarray:
    """Sums over the workers' CPUs since boot."""
    wanted = {f"cpu{cpu}" for cpu in target.cpus}
    rows = [line.split() for line in (facts.CPU_TIMES(target.system) or "").splitlines()]
    found = [list(map(int, row[1 : FIELDS + 1])) for row in rows if row[0] in wanted and len(row) > FIELDS]
    if not found:
        raise Unseen(f"{facts.CPU_TIMES.label} does not show the workers' CPUs")
    total: np.ndarray = np.sum(found, axis=0)
    return total


@activity("steal time")
def busy_cpus(target: Target) -> list[Finding]:
    before, threads = _ticks(target), _realtime_threads(target)
    target.wait(WINDOW_S)
    spent, pollers = _ticks(target) - before, _pollers(target, threads)
    share = spent / max(spent.sum(), 1)
    busy = 1 - share[IDLE] - share[IOWAIT] - share[STEAL] if spent.sum() else 0.0
    return [
        _steal(share[STEAL]),
        replace(_others(target, busy), check="other programs"),
        replace(pollers, check="real-time pollers"),
    ]


def _steal(share: float) -> Finding:
    text = f"{100 * share:.1f} % over {WINDOW_S:g} s"
    if share < STEAL_WARN:
        return good(text)
    why = "The host of this virtual machine gave the CPU to another one, for milliseconds at any moment."
    remedy = do.advice("dedicated CPUs (pinned vCPUs, a dedicated instance), or a machine of your own")
    return (bad if share >= STEAL_BAD else warn)(text, why, remedy)


def _others(target: Target, share: float) -> Finding:
    text = f"{target.where(target.cpus)}: {100 * share:.0f} % busy over {WINDOW_S:g} s"
    if share < BUSY_WARN:
        return good(text)
    why = "Other programs share caches and CPUs with the workers. Measurements mean little meanwhile."
    return warn(text, why, do.advice("find them: top -1, or perf sched timehist"), *_nice(target))


def _nice(target: Target) -> tuple[Remedy, ...]:
    if not facts.AUTOGROUPS(target.system):
        return ()
    return (do.advice("stop them: nice does not hold back another session's programs, see autogroups"),)


class _Thread(NamedTuple):
    cpu: int
    ticks: int  # of CPU time
    text: str


def _realtime_threads(target: Target) -> dict[tuple[str, str], _Thread]:
    """By process and thread id, those that were last on one of the workers' CPUs."""
    found, system = {}, target.system
    for process in system.processes():
        for thread in system.names(system.of_process(process, "task")):
            stat = system.text(system.of_process(process, f"task/{thread}/stat")) or ""
            name, fields = stat[stat.find("(") + 1 : stat.rfind(")")], stat[stat.rfind(")") + 1 :].split()
            if len(fields) < 39 or int(fields[38]) not in REALTIME or int(fields[36]) not in target.cpus:
                continue
            kind = f"{REALTIME[int(fields[38])]} {int(fields[37]) or ''}".strip()
            text = f"{name} (process {process}, thread {thread}), {kind}"
            ticks = int(fields[11]) + int(fields[12])
            found[process, thread] = _Thread(int(fields[36]), ticks, text)
    return found


def _pollers(target: Target, before: dict[tuple[str, str], _Thread]) -> Finding:
    polling = []
    for key, now in sorted(_realtime_threads(target).items(), key=lambda item: item[1].cpu):
        then = before.get(key, now)
        share = (now.ticks - then.ticks) / (WINDOW_S * os.sysconf("SC_CLK_TCK"))
        if share >= POLLS:
            polling.append(f"CPU {now.cpu}: {now.text}, {100 * min(share, 1):.0f} % over {WINDOW_S:g} s")
    if not polling:
        hidden = not target.system.shows_kernel_threads()
        return good("none among the processes that can be seen here" if hidden else "none")
    why = (
        "A worker whose priority is not above that thread's does not start on that CPU while the thread "
        "polls. One with a higher priority stops the thread."
    )
    away = do.advice("name other CPUs in --thread-pool, or move the thread: taskset -cp <CPUs> <thread>")
    return bad("; ".join(polling), why, away)
