# SPDX-License-Identifier: BSD-3-Clause
"""Checks that are more than one value of a file: each a function with the name of its row in checks.toml,
where its texts are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nrbench import facts, host
from nrbench.doctor.target import WINDOW_S, Level, Seen, Target, Unseen, bad, good, note, visible, warn
from nrbench.system import CAP_IPC_LOCK, CAP_SYS_NICE, CPU, Cpus, format_cpus, hierarchies, quota, quotas

FAIR_SERVER = (6, 12)  # since this kernel normal threads have a deadline server instead of throttling
SHALLOW_US = 10  # an exit latency that no slot minds
MAX_CSTATE = {"intel_idle": "intel_idle.max_cstate=1", "acpi_idle": "processor.max_cstate=1"}
# Drivers whose "powersave" follows the load; with others it is the lowest frequency.
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
# Read without a system call. The others take a microsecond and more, and the pool reads the clock often.
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")
SOFTMODEMS = {"nr-softmodem", "nr-uesoftmodem"}
SETTERS = {"chronyd", "ntpd", "phc2sys", "systemd-timesyn"}  # names of processes have 15 characters
STEP_US, RATE_PPM = 100, 1000  # of some 1000 us between the write of a slot and its use
IDLE, IOWAIT, STEAL = 3, 4, 7
STEAL_BAD, STEAL_WARN, BUSY_WARN, POLLS = 0.02, 0.002, 0.1, 0.9  # shares of time


def real_time_class(target: Target) -> Seen:
    limit, capable = target.system.limit("Max realtime priority"), target.system.has_capability(CAP_SYS_NICE)
    possible = host.realtime_possible(target.system)
    if possible and capable:
        return good(f"allowed at {host.OAI_PRIORITY} (CAP_SYS_NICE)")
    if possible:
        return warn(f"allowed by RLIMIT_RTPRIO {limit}, but not by CAP_SYS_NICE, which OAI checks")
    if capable:
        reason = "in spite of CAP_SYS_NICE: the control group's budget, or a filter of system calls"
        return bad(f"refused, {reason}", "capable")
    return bad(f"refused (RLIMIT_RTPRIO {limit})")


def real_time_budget(target: Target) -> Seen | None:
    """Kernels with RT_GROUP_SCHED give real-time budgets to control groups of version 1: 0 to new ones."""
    for hierarchy in hierarchies(target.system, "cpu"):
        folder = next(hierarchy.folders())
        budget_us = target.system.number(f"{folder}/cpu.rt_runtime_us")
        if budget_us == 0:
            return bad(f"0 in {folder}", folder=folder)
        if budget_us is not None:
            return note(f"{budget_us} us a period in {folder} (RT_GROUP_SCHED)", "some")
    return None


def real_time_throttling(target: Target) -> Seen:
    used_us, period_us = target.see(facts.RT_RUNTIME_US), facts.RT_PERIOD_US(target.system) or 1_000_000
    text = f"{facts.RT_RUNTIME_US.label}={used_us}"
    served = facts.kernel_number(target.system) >= FAIR_SERVER
    if used_us < 0 or used_us >= period_us:
        return good(f"off ({text})", "server" if served else "off", limit="")
    text += f" of {period_us}"
    if served:
        return note(text, "server", limit=" This limit acts only in control groups with real-time budgets.")
    return warn(text, used_ms=used_us / 1000, stop_ms=(period_us - used_us) / 1000)


def cpu_quota(target: Target) -> Seen:
    found = quota(target.system)
    if found is None:
        visible(target.system.groups(), "control groups are not visible")
        return good("none")
    period_ms, mask = found.period_us / 1000, target.system.affinity()
    text = f"{found.cpus:g} CPUs in each {period_ms:g} ms ({found.group})"
    times = max(bound.stops for bound in quotas(target.system))
    text += f"; it has stopped the group {times} times" if times else ""
    if found.cpus >= len(mask):
        return note(text, "wide", count=len(mask))
    return bad(text, period_ms=period_ms)


def cpus(target: Target) -> Iterator[Seen]:
    mask, online = target.system.affinity(), target.system.online()
    outside = target.cpus & online - mask
    if not target.cpus <= online:
        yield bad(f"CPUs {format_cpus(target.cpus - online)} are not online", "offline")
        return
    if 0 in target.cpus:
        yield Seen(Level.WARN if target.others else Level.NOTE, f"CPU 0 is among {target.names}", "zero")
    if outside:
        text = f"CPUs {format_cpus(outside)} are outside this process's affinity mask {format_cpus(mask)}"
        yield (bad if outside - facts.cpuset(target.system) else note)(text)
    elif 0 not in target.cpus:
        yield good(f"{target.names}, all of them in this process's affinity mask")


def preemption_model(target: Target) -> Seen:
    model = visible(facts.preemption(target.system), "")
    if model in ("rt", "full"):
        return good(model)
    if model == "lazy":
        return note(model, "lazy")
    return (note if target.cpus <= facts.isolated(target.system) else warn)(model)


def load(target: Target) -> Seen:
    average, count = facts.load(target.system), len(target.system.online())
    return (warn if host.is_busy(average, count) else good)(f"{average:g} over one minute, {count} CPUs")


def _boot_list(target: Target, name: str, named: Cpus, built: str, absent: Level = Level.NOTE) -> Seen:
    """A boot parameter that should name all CPUs of the workers."""
    found, given = format_cpus(named), target.system.boot_parameter(name)
    if built and facts.built_without(target.system, built):
        return note("this kernel is built without it", "without")
    if not named:
        visible(target.system.command_line(), "/proc/cmdline is not readable")
    if target.cpus <= named:
        return good(f"{found}, which includes all of the workers' CPUs {target.names}")
    if not target.others:
        return note(f"not used, and the workers may use every CPU ({target.names})")
    lacks, none = format_cpus(target.cpus - named), f"not set for {target.where(target.cpus)}"
    used = "" if given is None else f": the kernel uses {found or 'nothing'} of {name}={given}"
    return Seen(absent, (f"lacks {lacks}" if named else none) + used)


def isolcpus(target: Target) -> Seen:
    found = facts.isolated(target.system)
    flagged = facts.managed_irq(target.system) and not found
    return _boot_list(target, "isolcpus", found, "", Level.WARN)._replace(case="flagged" if flagged else "")


def nohz_full(target: Target) -> Seen:
    return _boot_list(target, "nohz_full", facts.nohz_full(target.system), "NO_HZ_FULL")


def rcu_nocbs(target: Target) -> Seen:
    found = facts.rcu_nocbs(target.system) | facts.nohz_full(target.system)  # which implies it
    return _boot_list(target, "rcu_nocbs", found, "RCU_NOCB_CPU")


def cpuset_partition(target: Target) -> Iterator[Seen]:
    for hierarchy in hierarchies(target.system, "cpuset"):
        for folder in hierarchy.folders():
            if (target.system.text(f"{folder}/cpuset.cpus.partition") or "").startswith("isolated"):
                yield note(f"{folder} is an isolated partition")


def affinity_mask(target: Target) -> Seen | None:
    isolated, mask = facts.isolated(target.system), target.system.affinity() & target.system.online()
    pins = ",".join(map(str, sorted(target.cpus)))
    if len(mask) > 1 and mask <= isolated:
        return bad(f"{format_cpus(mask)}, all inside isolcpus", pins=pins)
    if len(target.cpus & isolated) > 1:
        text = f"the workers' CPUs {target.names} are isolated: only pinned threads use more than one of them"
        return note(text, pins=pins)
    return None


def workqueues(target: Target) -> Seen:
    mask = visible(facts.WORKQUEUES_CPUS(target.system), "the mask of unbound workqueues is not visible")
    if not mask & target.cpus:
        return good(f"unbound work stays off {target.where(target.cpus)}")
    return note(f"unbound work of the kernel may run on {target.where(mask)}")


def timer_migration(target: Target) -> Seen:
    name, value = facts.TIMER_MIGRATION.label, target.see(facts.TIMER_MIGRATION)
    tickless = facts.nohz_full(target.system) & target.cpus
    if value == 0 or not tickless:
        return good(f"{name}={value}" + (", and no worker's CPU is nohz_full" if value else ""))
    return warn(f"{name}=1 and nohz_full={format_cpus(tickless)}")


def smt(target: Target) -> Seen:
    """No remedy takes a CPU of the workers offline."""
    cores: dict[Cpus, Cpus] = {}  # the CPUs of a core that are online: those of workers
    for cpu in sorted(target.cpus):
        unknown = f"the topology of CPUs {target.names} is not visible"
        siblings = visible(facts.SIBLINGS(target.system, cpu), unknown)
        cores[siblings & target.system.online() | {cpu}] = siblings & target.cpus | {cpu}
    shared = [format_cpus(core) for core in cores if len(core) > 1]
    if not shared:
        seen = ", as far as this virtual machine shows" if facts.is_virtual(target.system) else ""
        return good(f"each worker's CPU is a core of its own{seen}")
    both = sum(len(workers) > 1 for workers in cores.values())
    text = f"siblings share a core: {'; '.join(shared[:8])}"
    if both:
        text += f"; in {both} of them several workers"
        return warn(text, chosen=format_cpus(min(workers) for workers in cores.values()))
    idle = sorted(frozenset().union(*cores) - target.cpus)
    if 0 in idle:
        return warn(text, zero=0)
    values = {"off": "; ".join(f"echo 0 > {CPU}/cpu{cpu}/online" for cpu in idle)}
    if all(workers == {min(core)} for core, workers in cores.items()):
        values["nosmt"] = "nosmt"
    return warn(text, **values)


def interrupts(target: Target) -> Seen:
    every, workers = [*facts.interrupts(target.system)], target.where(target.cpus)
    if not every:
        raise Unseen(f"{facts.IRQS.label} is not visible, as in a container or for a plain user")
    movable = [irq for irq in every if irq.movable and irq.may & target.cpus]
    fixed = [irq for irq in every if not irq.movable and irq.lands & target.cpus]
    default = (facts.IRQ_DEFAULT_CPUS(target.system) or frozenset()) & target.cpus
    if not movable and not fixed and not default:
        return good(f"none of {len(every)} may land on {workers}")
    landing = any(irq.lands & target.cpus for irq in movable)
    avoidable = fixed and not target.cpus <= facts.managed_irq(target.system)
    parts = {
        f"{len(movable)} of {len(every)} may land on {workers}: {_shown(movable)}": movable,
        "none of these lands there now": movable and not landing,
        f"those of new devices may land on {target.where(default)} (default_smp_affinity)": default,
        f"{len(fixed)} cannot be moved from {workers}: {_shown(fixed)}": fixed,
    }
    text = "; ".join(part for part, there in parts.items() if there)
    level = warn if target.others and (landing or default or avoidable) else note
    return level(text, "placed" if fixed and not avoidable and not movable and not default else "")


def _shown(interrupts: list[facts.Interrupt]) -> str:
    return ", ".join(irq.name for irq in interrupts[:4]) + (", ..." if len(interrupts) > 4 else "")


def irqbalance(target: Target) -> Seen:
    system, spared = target.system, facts.irqbalance_spares(target.system)
    if "irqbalance" not in system.processes().values():
        if not system.shows_kernel_threads():
            raise Unseen("only this container's processes are visible")
        return good("does not run")
    if target.cpus <= spared:
        return good(f"runs, and does not use {format_cpus(spared)}")
    names = [file.name for file in facts.IRQBALANCE]
    file, banned = next(filter(system.exists, names), names[0]), format_cpus(target.cpus | spared)
    return warn(f"runs, and may use {format_cpus(target.cpus - spared)}", banned=banned, file=file)


def frequency_governor(target: Target) -> Seen:
    governors = target.each(facts.GOVERNOR)
    if not governors:
        virtual = "the host of this virtual machine decides"
        raise Unseen(virtual if facts.is_virtual(target.system) else "no cpufreq driver is visible")
    driver = (target.each(facts.FREQUENCY_DRIVER) or ["unknown driver"])[0]
    text = f"{', '.join(governors)} ({driver})"
    if governors == ["performance"]:
        return good(text)
    return (bad if "powersave" in governors and driver not in DYNAMIC_DRIVERS else warn)(text)


def boost(target: Target) -> Seen:
    on = facts.BOOST(target.system)
    if on is None:
        on = visible(facts.NO_TURBO(target.system), "no such setting is visible") == 0
    return note("on", "on") if on else note("off")


def idle_states(target: Target) -> Seen:
    system = target.system
    if not any(facts.idle_states(system, cpu) for cpu in target.cpus):
        raise Unseen("the kernel has no cpuidle driver")
    used = {cpu: facts.usable_idle_states(system, cpu) for cpu in sorted(target.cpus)}
    deepest_us = {cpu: max((s.exit_latency_us for s in states), default=0) for cpu, states in used.items()}
    late_us, held_us = max(deepest_us.values()), facts.held_latency_us(system)
    late = [cpu for cpu, us in deepest_us.items() if us == late_us]
    driver = facts.IDLE_DRIVER(system) or "unknown driver"
    states = ", ".join(f"{state.name} {state.exit_latency_us} us" for state in used[late[0]]) or "none"
    text = f"{states} ({driver})" + (f" on {target.where(late)}" if len(late) < len(used) else "")
    if facts.is_virtual(system):
        return note(text, "virtual")
    if held_us is not None and held_us <= SHALLOW_US:
        return note(f"{text}, as long as {held_us} us are held", "held")
    if late_us <= SHALLOW_US:
        return good(text)
    boot = {"max_cstate": MAX_CSTATE[driver]} if driver in MAX_CSTATE else {}
    return warn(text, late_us=late_us, **boot)


def cpu_dma_latency(target: Target) -> Seen:
    path = target.system.path(facts.DMA_LATENCY.name)
    try:
        path.read_bytes()
    except OSError as error:
        raise Unseen(f"{facts.DMA_LATENCY.label}: {error.strerror}") from error
    held_us = facts.held_latency_us(target.system)
    values = {"instead": target.values["limit"]} if target.each(facts.RESUME_LATENCY) else {}
    if held_us is not None:
        return note(f"held at {held_us} us by {facts.latency_holders(target.system)}", "held", **values)
    may_hold = target.system.is_real and os.access(path, os.W_OK)
    return note(f"no program holds it; {'this user' if may_hold else 'only its owner'} may hold it", **values)


def resume_latency(target: Target) -> Seen | None:
    """The same limit for one CPU. "0" means no limit, "n/a" means no idle state at all."""
    limits = {cpu: facts.latency_limit_us(target.system, cpu) for cpu in sorted(target.cpus)}
    some = {cpu: f"{us} us" if us else "no idle state" for cpu, us in limits.items() if us is not None}
    text = ", ".join(f"CPU {cpu} {limit}" for cpu, limit in some.items())
    return note(f"limited: {text}") if some else None


def locked_memory(target: Target) -> Seen:
    limit = visible(target.system.limit("Max locked memory"), "/proc/self/limits is not visible")
    if limit == -1:
        return good("no limit")
    if target.system.has_capability(CAP_IPC_LOCK):
        return good(f"limit of {limit >> 20} MiB, which CAP_IPC_LOCK overrides")
    return warn(f"limit of {limit >> 10} KiB")


def huge_pages(target: Target) -> Seen:
    about = facts.MEMORY(target.system)
    total = visible(about.get("HugePages_Total"), f"{facts.MEMORY.label} does not show them")
    if total == "0":
        return note("none reserved")
    size_kib = re.sub(r"\D", "", about.get("Hugepagesize", "")) or 0
    return good(f"{total} of {int(size_kib) >> 10} MiB, {about.get('HugePages_Free', '?')} free")


def swap(target: Target) -> Seen:
    rows = [line.split() for line in target.see(facts.SWAPS).splitlines()[1:]]
    if not rows:
        return good("none")
    used_mib = sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()) >> 10
    return (warn if used_mib else note)(f"{len(rows)} in use, {used_mib} MiB of it used")


def numa(target: Target) -> Seen:
    nodes = target.see(facts.NODES)
    used = [name for name, cpus in nodes.items() if cpus & target.cpus]
    if len(used) <= 1:
        return good(f"the workers' CPUs are on one node of {len(nodes)}")
    return warn(f"the workers' CPUs are on {', '.join(used)}")


def numa_balancing(target: Target) -> Seen | None:
    on = (facts.NUMA_BALANCING(target.system) or 0) > 0
    return warn("on") if on and len(target.see(facts.NODES)) > 1 else None


def clocksource(target: Target) -> Seen:
    now = target.see(facts.CLOCK)
    if now in FAST_CLOCKS:
        return good(now)
    offered = (facts.CLOCKS(target.system) or "").split()
    fast = next((name for name in offered if name in FAST_CLOCKS), None)
    find = "find out with dmesg | grep -i clocksource why the kernel offers no faster one"
    values = {"fast": fast, "file": facts.CLOCK.name} if fast else {"find": find}
    return bad(f"{now} (of {', '.join(offered)})", **values)


def watchdogs(target: Target) -> Iterator[Seen]:
    soft, hard = facts.WATCHDOG(target.system), facts.NMI_WATCHDOG(target.system)
    if soft is None and hard is None:
        raise Unseen(f"{facts.WATCHDOG.label} is not visible, or the kernel has none")
    mask = facts.WATCHDOG_CPUS(target.system)
    watched = target.cpus if mask is None else mask & target.cpus
    if soft and watched:
        yield note(f"the soft lockup watchdog runs on {target.where(watched)}")
    if hard:
        yield note(f"{facts.NMI_WATCHDOG.label}=1", "hard")
    if not hard and not (soft and watched):
        yield good(f"off on {target.names}")


def leftovers(target: Target) -> Seen:
    left = " ".join(facts.vrtsim_files(target.system))
    running = sorted(SOFTMODEMS.intersection(target.system.processes().values()))
    if not left or running:
        return good(f"{left} in use by {', '.join(running)}" if left else "none")
    return note(left, files=left)


def steal_time(target: Target) -> Seen:
    share = target.second.share[STEAL]
    level = bad if share >= STEAL_BAD else warn if share >= STEAL_WARN else good
    return level(f"{100 * share:.1f} % over {WINDOW_S:g} s")


def other_programs(target: Target) -> Seen:
    share = target.second.share
    busy = 1 - share[IDLE] - share[IOWAIT] - share[STEAL] if share.any() else 0.0
    text = f"{target.where(target.cpus)}: {100 * busy:.0f} % busy over {WINDOW_S:g} s"
    shared = {"autogroups": "autogroups"} if facts.AUTOGROUPS(target.system) else {}
    return warn(text, **shared) if busy >= BUSY_WARN else good(text)


def real_time_pollers(target: Target) -> Seen:
    polling, second_ticks = [], WINDOW_S * os.sysconf("SC_CLK_TCK")
    for thread in sorted(target.second.threads, key=lambda thread: thread.cpu):
        if thread.cpu in target.cpus and thread.ticks >= POLLS * second_ticks:
            process, _, number = thread.ids.partition("/")
            percent = 100 * min(thread.ticks / second_ticks, 1)
            about = f"{thread.name} (process {process}, thread {number}), {thread.sched_class}"
            polling.append(f"CPU {thread.cpu}: {about}, {percent:.0f} % over {WINDOW_S:g} s")
    if polling:
        return bad("; ".join(polling))
    hidden = not target.system.shows_kernel_threads()
    return good("none among the processes that can be seen here" if hidden else "none")


def wall_clock(target: Target) -> Seen:
    """A step moves CLOCK_REALTIME alone. A rate changes CLOCK_MONOTONIC too, but not the raw clock."""
    clocks_ns = visible(target.second.clocks_ns, "this is not the machine that runs")
    steady_ns, wall_ns, raw_ns = clocks_ns.tolist()
    step_us, rate_ppm = (wall_ns - steady_ns) / 1000, 1e6 * (steady_ns / raw_ns - 1)
    setters = ", ".join(sorted(SETTERS.intersection(target.system.processes().values())))
    text = f"step of {step_us:.0f} us, rate {rate_ppm:+.0f} ppm, over {WINDOW_S:g} s"
    text += f"; {setters} may change it" if setters else ""
    return (good if abs(step_us) < STEP_US and abs(rate_ppm) < RATE_PPM else warn)(text)
