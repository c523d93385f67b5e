# SPDX-License-Identifier: BSD-3-Clause
"""Checks that are more than one value of a file: each a function with the name of its row in checks.toml,
where its texts are."""

import os

from nrbench import facts, host
from nrbench.doctor.target import WINDOW_S, Seen, Target, Unseen, bad, good, note, visible, warn
from nrbench.system import CAP_IPC_LOCK, CAP_SYS_NICE, CPU, format_cpus, groups, quota

FAIR_SERVER = (6, 12)  # since this kernel normal threads have a deadline server instead of throttling
SHALLOW_US = 10  # an exit latency that no slot minds
# Drivers whose "powersave" follows the load; with others it is the lowest frequency.
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
STEAL_BAD, STEAL_WARN, BUSY_WARN, POLLS = 0.02, 0.002, 0.1, 0.9  # shares of time
WITHOUT = "Without CAP_SYS_NICE "
VIRTUAL = "the host of this virtual machine decides"


def real_time_class(target: Target) -> Seen:
    limit, capable = target.system.limit("Max realtime priority"), target.system.has_capability(CAP_SYS_NICE)
    possible = host.realtime_possible(target.system)
    if possible and capable:
        return good(f"allowed at {host.OAI_PRIORITY} (CAP_SYS_NICE)")
    if possible:
        text = f"allowed by RLIMIT_RTPRIO {limit}, but not by CAP_SYS_NICE, which OAI checks"
        return warn(text, when=WITHOUT, nice="nice")
    if capable:
        reason = "in spite of CAP_SYS_NICE: the control group's budget, or a filter of system calls"
        return bad(f"refused, {reason}", when="", group="rt_group_sched=0")
    return bad(f"refused (RLIMIT_RTPRIO {limit})", when=WITHOUT, nice="nice")


def real_time_throttling(target: Target) -> Seen:
    name = "kernel.sched_rt_runtime_us"
    used_us = visible(facts.sysctl(target.system, name), f"{name} is not visible")
    period_us = facts.sysctl(target.system, "kernel.sched_rt_period_us") or 1_000_000
    if facts.kernel_number(target.system) >= FAIR_SERVER:
        return good(
            "since Linux 6.12 normal threads get 50 ms a second of a CPU that real-time threads keep busy"
        )
    if used_us < 0 or used_us >= period_us:
        return good(f"off ({name}={used_us})")
    used_ms, stop_ms = used_us / 1000, (period_us - used_us) / 1000
    return warn(f"{name}={used_us} of {period_us}", used_ms=used_ms, stop_ms=stop_ms)


def cpu_quota(target: Target) -> Seen:
    found, count = quota(target.system), len(target.system.affinity())
    if found is None:
        visible(next(groups(target.system, "cpu"), None), "control groups are not visible")
        above = " that is visible here; a pod's, above this namespace, is not"
        return good("none" + (above if facts.groups_above(target.system) else ""))
    period_ms = found.period_us / 1000
    text = f"{found.cpus:g} CPUs in each {period_ms:g} ms ({found.group})"
    if found.cpus >= count:
        return good(f"{text}, which does not limit the {count} CPUs in this process's affinity mask")
    return bad(text, period_ms=period_ms)


def cpus(target: Target) -> Seen:
    mask, online = target.system.affinity(), target.system.online()
    if off := target.cpus - online:
        return bad(f"CPUs {format_cpus(off)} are not online")
    if outside := target.cpus - mask:
        text = f"CPUs {format_cpus(outside)} are outside this process's affinity mask {format_cpus(mask)}"
        return (bad if outside - facts.cpuset(target.system) else note)(text, wanted=target.names)
    if left_out := online - mask - facts.isolated(target.system):
        cpuset = facts.cpuset(target.system)
        what = f"control group's cpuset {format_cpus(cpuset)}" if left_out - cpuset else "affinity mask"
        text = f"this process may use {len(mask)} of {len(online)} CPUs, {format_cpus(mask)}, by its {what}"
        return note(text, give="AllowedCPUs=" if left_out - cpuset else "CPUAffinity=")
    return good(f"{target.names}, all of them in this process's affinity mask")


def cpu_0(target: Target) -> Seen:
    return warn(f"is among {target.names}") if 0 in target.cpus else good(f"is not among {target.names}")


def preemption_model(target: Target) -> Seen:
    model = visible(facts.preemption(target.system), "")
    level = note if target.cpus <= facts.isolated(target.system) else warn
    return (good if model in ("rt", "full") else level)(model)


def load(target: Target) -> Seen:
    average, count = facts.load(target.system), len(target.system.online())
    return (warn if host.is_busy(average, count) else good)(f"{average:g} over one minute, {count} CPUs")


def affinity_mask(target: Target) -> Seen:
    """The kernel does not balance over isolated CPUs."""
    isolated, mask = facts.unbalanced(target.system), target.system.affinity() & target.system.online()
    if len(target.cpus & isolated) < 2:
        return good(format_cpus(mask))
    level, pins = bad if mask <= isolated else note, ",".join(map(str, sorted(target.cpus)))
    return level(f"{format_cpus(mask)}; only pinned threads use several of the isolated CPUs", pins=pins)


def timer_migration(target: Target) -> Seen:
    name = "kernel.timer_migration"
    value = visible(facts.sysctl(target.system, name), f"{name} is not visible")
    tickless = facts.nohz_full(target.system) & target.cpus
    if value and tickless:
        return warn(f"{name}={value} and nohz_full={format_cpus(tickless)}")
    return good(f"{name}={value}" + (", and no worker's CPU is nohz_full" if value else ""))


def smt(target: Target) -> Seen:
    """No remedy takes a CPU of the workers offline."""
    system, unknown = target.system, f"the topology of CPUs {target.names} is not visible"
    of_cpu = (visible(facts.siblings(system, cpu), unknown) | {cpu} for cpu in target.cpus)
    cores = sorted({siblings & (system.online() | target.cpus) for siblings in of_cpu}, key=min)
    shared = [format_cpus(core) for core in cores if len(core) > 1]
    if not shared:
        seen = ", as far as this virtual machine shows" if facts.is_virtual(system) else ""
        return good(f"each worker's CPU is a core of its own{seen}")
    text = f"siblings share a core: {'; '.join(shared[:8])}"
    if len(cores) < len(target.cpus):
        chosen = format_cpus(min(core & target.cpus) for core in cores)
        return warn(f"{text}; several workers are on one core", chosen=chosen)
    idle = frozenset().union(*cores) - target.cpus - {0}  # which cannot be taken offline
    values = {"off": "; ".join(f"echo 0 > {CPU}/cpu{cpu}/online" for cpu in sorted(idle))} if idle else {}
    return warn(text, **values)


def kinds_of_cores(target: Target) -> Seen:
    """Of hybrid CPUs: Intel's have lists, ARM's capacities."""
    kinds = facts.kinds_of_cores(target.system, target.cpus)
    if len(kinds) < 2:
        return good("one" if kinds else "one, as far as the kernel shows")
    text = "; ".join(f"{name}: {target.where(cpus)}" for name, cpus in kinds.items())
    return warn(text, first=format_cpus(next(iter(kinds.values()))))


def frequency_limit(target: Target) -> Seen:
    system, limits = target.system, {}
    for cpu in sorted(target.cpus):
        names = ("scaling_max_freq", "cpuinfo_max_freq")
        now, most = (system.number(f"{CPU}/cpu{cpu}/cpufreq/{name}") for name in names)
        if now and most:
            limits[cpu] = now // 1000, most // 1000
    if not limits:
        raise Unseen(VIRTUAL if facts.is_virtual(system) else "no cpufreq driver is visible")
    capped = {cpu: limit for cpu, limit in limits.items() if limit[0] < limit[1]}
    if not capped:
        return good("none below the CPUs' own")
    now_mhz, most_mhz = min(capped.values())
    text = f"{target.where(capped)}: {now_mhz} of {most_mhz} MHz"
    return warn(text, capped=format_cpus(capped), most_mhz=most_mhz)


def interrupts(target: Target) -> Seen:
    every, workers = [*facts.interrupts(target.system)], target.where(target.cpus)
    if not every:
        raise Unseen("/proc/irq is not visible, as in a container or for a plain user")
    movable = [irq for irq in every if irq.movable and irq.may & target.cpus]
    fixed = [irq.name for irq in every if not irq.movable and irq.lands & target.cpus]
    landing = any(irq.lands & target.cpus for irq in movable)
    names = f": {', '.join(irq.name for irq in movable[:4])}" if movable else ""
    parts = [f"{len(movable)} of {len(every)} may land on {workers}{names}"]
    parts += ["none of these lands there now"] if movable and not landing else []
    parts += [f"{len(fixed)} cannot be moved from there: {', '.join(fixed[:4])}"] if fixed else []
    level = warn if landing else note if movable or fixed else good
    return level("; ".join(parts))


def irqbalance(target: Target) -> Seen:
    system, spared = target.system, facts.irqbalance_spares(target.system)
    if "irqbalance" not in system.processes().values():
        if system.process_name(2) != "kthreadd":
            raise Unseen("only this container's processes are visible")
        return good("does not run")
    if target.cpus <= spared:
        return good(f"runs, and does not use {format_cpus(spared)}")
    file = next(filter(system.exists, facts.IRQBALANCE), facts.IRQBALANCE[0])
    banned = format_cpus(target.cpus | spared)
    return warn(f"runs, and may use {format_cpus(target.cpus - spared)}", banned=banned, file=file)


def frequency_governor(target: Target) -> Seen:
    system = target.system
    governors = {facts.cpufreq(system, cpu, "scaling_governor") for cpu in target.cpus} - {None}
    if not governors:
        raise Unseen(VIRTUAL if facts.is_virtual(system) else "no cpufreq driver is visible")
    driver = facts.cpufreq(system, min(target.cpus), "scaling_driver") or "unknown driver"
    text = f"{', '.join(sorted(filter(None, governors)))} ({driver})"
    if governors == {"performance"}:
        return good(text)
    return (bad if "powersave" in governors and driver not in DYNAMIC_DRIVERS else warn)(text)


def idle_states(target: Target) -> Seen:
    system = target.system
    if facts.is_virtual(system):
        raise Unseen(VIRTUAL)
    used = {state for cpu in target.cpus for state in facts.usable_idle_states(system, cpu)}
    if not used:
        raise Unseen("the kernel has no cpuidle driver")
    by_depth = sorted(used, key=lambda state: state.exit_latency_us)
    late_us, driver = by_depth[-1].exit_latency_us, facts.idle_driver(system) or "unknown driver"
    text = f"{', '.join(f'{state.name} {state.exit_latency_us} µs' for state in by_depth)} ({driver})"
    if late_us <= SHALLOW_US:
        return good(text)
    held_us = facts.held_latency_us(system)
    if held_us is not None:
        text += f"; none above {held_us} µs as long as a program holds {facts.DMA_LATENCY} (fuser names it)"
    return (warn if held_us is None or held_us > SHALLOW_US else note)(text, late_us=late_us)


def locked_memory(target: Target) -> Seen:
    limit = visible(target.system.limit("Max locked memory"), "/proc/self/limits is not visible")
    if limit == -1 or target.system.has_capability(CAP_IPC_LOCK):
        return good("no limit")
    return warn(f"limit of {limit >> 10} KiB")


def numa(target: Target) -> Seen:
    nodes = visible(facts.nodes(target.system) or None, "memory nodes are not visible")
    used = [name for name, cpus in nodes.items() if cpus & target.cpus]
    text = f"the workers' CPUs are on {', '.join(used)} of {len(nodes)}"
    return warn(text) if len(used) > 1 else good(text)


def steal_time(target: Target) -> Seen:
    share = target.second.share(target.second.ticks.steal)
    level = bad if share >= STEAL_BAD else warn if share >= STEAL_WARN else good
    return level(f"{100 * share:.1f} % over {WINDOW_S:g} s")


def other_programs(target: Target) -> Seen:
    busy = target.second.share(target.second.ticks.busy)
    text = f"{target.where(target.cpus)}: {100 * busy:.0f} % busy over {WINDOW_S:g} s"
    return (warn if busy >= BUSY_WARN else good)(text)


def real_time_pollers(target: Target) -> Seen:
    polling, second_ticks = [], WINDOW_S * os.sysconf("SC_CLK_TCK")
    for thread in sorted(target.second.threads, key=lambda thread: thread.cpu):
        if thread.cpu in target.cpus and thread.ticks >= POLLS * second_ticks:
            percent = 100 * min(thread.ticks / second_ticks, 1)
            about = f"{thread.name} (process {thread.process}, thread {thread.number}), {thread.sched_class}"
            polling.append(f"CPU {thread.cpu}: {about}, {percent:.0f} % over {WINDOW_S:g} s")
    return bad("; ".join(polling)) if polling else good("none among the processes that can be seen here")
