# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a machine. Each is read here and only here; None = unknown. What the doctor only compares with
a value is in doctor/checks.toml."""

import contextlib
import gzip
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from nrbench.programs import answer
from nrbench.system import CPU, Cpus, System, format_cpus, groups, mask_cpus, parse_cpus, quota

NO_CPUS: Cpus = frozenset()
DMA_LATENCY = "/dev/cpu_dma_latency"
NETWORK_CARDS, PCI = "/sys/class/net", "/sys/bus/pci/devices"
NETWORK_CLASS = 0x02  # of PCI devices
OF_USERS = ("vfio-pci", "uio_pci_generic", "igb_uio")  # drivers that leave a card to a program, as DPDK
NO_CONSTRAINT_US = 2_000_000_000  # the kernel's value of DMA_LATENCY when no program holds it
FIRST_GROUPS = "cgroup:[4026531835]"  # the kernel's first namespace, which shows all
KERNEL_THREAD = 0x00200000  # of a thread's flags
REALTIME = {1: "SCHED_FIFO", 2: "SCHED_RR", 6: "SCHED_DEADLINE"}
IRQBALANCE = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")
SAME_KIND = 0.9  # of the capacity of the fastest core of a kind
_PREEMPTION = ("none", "voluntary", "full", "lazy")  # preempt= of a kernel with PREEMPT_DYNAMIC


# Kernel


def kernel_release(system: System) -> str:
    return system.text("/proc/sys/kernel/osrelease") or platform.release()


def kernel_number(system: System) -> tuple[int, ...]:
    """As in (6, 8); () where it cannot be told."""
    return tuple(map(int, re.findall(r"\d+", kernel_release(system))[:2]))


def kernel_config(system: System) -> str:
    """Options that the kernel was built with; empty where the kernel does not say."""
    with contextlib.suppress(OSError, EOFError):
        return gzip.decompress(system.path("/proc/config.gz").read_bytes()).decode()
    release = kernel_release(system)
    return system.text(f"/boot/config-{release}") or system.text(f"/lib/modules/{release}/config") or ""


def built_without(system: System, option: str) -> bool:
    """False also where the kernel does not say."""
    config = kernel_config(system)
    return bool(config) and not re.search(rf"^CONFIG_{option}=", config, re.MULTILINE)


def preemption(system: System) -> str | None:
    """The model of the kernel that runs: none, voluntary, full, lazy or rt; None = it cannot be told."""
    version = system.text("/proc/sys/kernel/version") or ""
    built = re.search(r"\bPREEMPT(?:[_ ](RT|LAZY|DYNAMIC))?\b", version)
    if built and built[1] != "DYNAMIC":
        return (built[1] or "full").lower()
    chosen = re.search(r"\((\w+)\)", system.text("/sys/kernel/debug/sched/preempt") or "")
    if chosen:
        return chosen[1]
    if built and system.boot_parameter("preempt") in _PREEMPTION:
        return system.boot_parameter("preempt")
    options = re.findall(r"^CONFIG_PREEMPT(?:_(NONE|VOLUNTARY|LAZY))?=y", kernel_config(system), re.MULTILINE)
    return (options[0] or "full").lower() if options else None


def clocksource(system: System) -> str | None:
    return system.text("/sys/devices/system/clocksource/clocksource0/current_clocksource") or None


def sysctl(system: System, name: str) -> int | None:
    return system.number(f"/proc/sys/{name.replace('.', '/')}")


def setting(system: System, file: str) -> str | None:
    """What a file holds; the chosen word of one such as: always [madvise] never."""
    text = system.text(file)
    chosen = re.search(r"\[(\w+)\]", text or "")
    return chosen[1] if chosen else text or None


def memory(system: System, name: str) -> int | None:
    """A number of /proc/meminfo: KiB, or a count."""
    found = re.match(r"\d+", system.fields("/proc/meminfo").get(name, ""))
    return int(found[0]) if found else None


def load(system: System) -> float:
    """Of one minute."""
    match = re.match(r"[\d.]+", system.text("/proc/loadavg") or "")
    return round(float(match[0]), 2) if match else 0.0


def waited_ns(system: System) -> int | None:
    """For how long the calling thread has waited for a CPU so far."""
    fields = (system.text("/proc/thread-self/schedstat") or "").split()
    return int(fields[1]) if len(fields) > 1 else None


class Ticks(NamedTuple):
    """How a CPU spent its time."""

    busy: int
    idle: int  # also while it waited for a disk
    steal: int  # of the hypervisor, for other machines


def cpu_times(system: System) -> dict[str, Ticks]:
    """Since boot, by "cpu2"; of all CPUs by "cpu"."""
    found = {}
    rows = re.findall(r"^(cpu\d*)((?: +\d+){8})", system.text("/proc/stat") or "", re.MULTILINE)
    for name, row in rows:
        user, nice, kernel, idle, iowait, irq, softirq, steal = map(int, row.split())
        found[name] = Ticks(user + nice + kernel + irq + softirq, idle + iowait, steal)
    return found


# Processor, hypervisor


def cpu_info(system: System) -> dict[str, str]:
    return system.fields("/proc/cpuinfo")


def cpu_model(system: System) -> str:
    about = cpu_info(system)
    for name in ("model name", "Model", "Hardware"):
        if about.get(name):
            return about[name]
    if "CPU part" in about:  # 64-bit ARM names its makers and parts by number
        return f"implementer {about.get('CPU implementer', '?')} part {about['CPU part']}"
    return architecture(system)


def architecture(system: System) -> str:
    return system.text("/proc/sys/kernel/arch") or platform.machine()


def boot_id(system: System) -> str | None:
    return system.text("/proc/sys/kernel/random/boot_id")


def is_virtual(system: System) -> bool:
    flags = cpu_info(system).get("flags", "").split()
    return "hypervisor" in flags or system.exists("/proc/device-tree/hypervisor")


def hypervisor(system: System) -> str | None:
    """Its name; lscpu asks the CPU itself, which no file of the kernel does."""
    about = answer("lscpu") if system.is_real else ""
    found = re.search(r"^Hypervisor vendor:\s*(\S.*)$", about, re.MULTILINE)
    return found[1].strip().lower() if found else system.text("/sys/hypervisor/type")


def siblings(system: System, cpu: int) -> Cpus | None:
    """The CPUs of its core, itself among them."""
    return system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")


def nodes(system: System) -> dict[str, Cpus]:
    """Memory nodes with CPUs."""
    folder = "/sys/devices/system/node"
    names = (name for name in system.names(folder) if re.fullmatch(r"node\d+", name))
    return {name: cpus for name in names if (cpus := system.cpus(f"{folder}/{name}/cpulist"))}


def user_space_cards(system: System) -> dict[str, str]:
    """Network cards of programs, which NETWORK_CARDS lacks: the driver, by PCI address."""
    found = dict[str, str]()
    for name in system.names(PCI):
        with contextlib.suppress(OSError, ValueError):
            driver = system.path(f"{PCI}/{name}/driver").readlink().name
            is_card = int(system.text(f"{PCI}/{name}/class") or "", 16) >> 16 == NETWORK_CLASS
            found |= {name: driver} if is_card and driver in OF_USERS else {}
    return found


def kinds_of_cores(system: System, cpus: Cpus) -> dict[str, Cpus]:
    """Those that these CPUs have, the fastest first; empty where the kernel names none. Where it names kinds,
    capacities add nothing. Those of equal cores differ by some per cent, as no two are equally fast."""
    intel = {"performance cores": "core", "efficiency cores": "atom"}
    found = {of: cpus & (system.cpus(f"/sys/devices/cpu_{n}/cpus") or NO_CPUS) for of, n in intel.items()}
    is_named, fastest = any(found.values()), math.inf
    capacity = {cpu: system.number(f"{CPU}/cpu{cpu}/cpu_capacity") or 0 for cpu in cpus if not is_named}
    for cpu in sorted(filter(capacity.get, capacity), key=capacity.__getitem__, reverse=True):
        fastest = fastest if capacity[cpu] >= SAME_KIND * fastest else capacity[cpu]
        found[f"capacity {fastest}"] = found.get(f"capacity {fastest}", NO_CPUS) | {cpu}
    return {name: of for name, of in found.items() if of}


# Frequency, idle states


def cpufreq(system: System, cpu: int, name: str) -> str | None:
    return system.text(f"{CPU}/cpu{cpu}/cpufreq/{name}")


def idle_driver(system: System) -> str | None:
    return system.text(f"{CPU}/cpuidle/current_driver")


class Idle(NamedTuple):
    """An idle state, C-state, as cpuidle offers it."""

    name: str
    exit_latency_us: int
    disabled: bool


def idle_states(system: System, cpu: int) -> list[Idle]:
    """Those of a CPU; empty where the kernel has no cpuidle for it."""
    states = []
    for state in system.names(f"{CPU}/cpu{cpu}/cpuidle"):
        folder = f"{CPU}/cpu{cpu}/cpuidle/{state}"
        name, latency_us = system.text(f"{folder}/name"), system.number(f"{folder}/latency")
        if name and latency_us is not None:
            states.append(Idle(name, latency_us, bool(system.number(f"{folder}/disable"))))
    return states


def usable_idle_states(system: System, cpu: int) -> list[Idle]:
    """Idle states that the kernel may choose while no program holds DMA_LATENCY."""
    states = [state for state in idle_states(system, cpu) if not state.disabled]
    limit = system.text(f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us") or "0"
    if limit == "0":  # no limit; "n/a" allows no exit latency at all
        return states
    limit_us = int(limit) if limit.isdecimal() else 0
    return [one for one in states if one.exit_latency_us <= limit_us] or states[:1]  # it has to idle somehow


def held_latency_us(system: System) -> int | None:
    """The exit latency to which programs limit all CPUs; None = no program does, or it cannot be read."""
    with contextlib.suppress(OSError):
        content = system.path(DMA_LATENCY).read_bytes()
        value_us = int.from_bytes(content[:4], sys.byteorder)
        return value_us if content and value_us < NO_CONSTRAINT_US else None
    return None


# Scheduling, isolation


class Thread(NamedTuple):
    """A real-time thread of a program."""

    process: str
    number: str
    name: str
    sched_class: str
    cpu: int
    ticks: int  # of CPU time


def realtime_threads(system: System, but: int) -> Iterator[Thread]:
    """Of all processes but one."""
    for pid in filter(str.isdigit, system.names("/proc")):
        for thread in system.names(f"/proc/{pid}/task") if pid != str(but) else ():
            about, _, rest = (system.text(f"/proc/{pid}/task/{thread}/stat") or "").rpartition(")")
            fields = rest.split()  # from the third on, the state
            policy = REALTIME.get(int(fields[38])) if len(fields) > 38 else None
            if policy and not int(fields[6]) & KERNEL_THREAD:
                name, sched_class = about.partition("(")[2], f"{policy} {int(fields[37]) or ''}".strip()
                ticks = int(fields[11]) + int(fields[12])
                yield Thread(pid, thread, name, sched_class, int(fields[36]), ticks)


def isolated(system: System) -> Cpus:
    return system.cpus(f"{CPU}/isolated") or NO_CPUS


def nohz_full(system: System) -> Cpus:
    return system.cpus(f"{CPU}/nohz_full") or NO_CPUS


def rcu_nocbs(system: System) -> Cpus:
    """No file says it. nohz_full implies it."""
    given = (system.boot_parameter("rcu_nocbs") or "").replace("all", "0-N")
    with contextlib.suppress(ValueError):
        if not built_without(system, "RCU_NOCB_CPU"):
            return parse_cpus(given.replace("N", str(max(system.possible())))) | nohz_full(system)
    return nohz_full(system)


def cpuset(system: System) -> Cpus:
    """CPUs of this process's control group; all that are online where no group says."""
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    found = (system.cpus(f"{folder}/{name}") for folder in groups(system, "cpuset") for name in names)
    return next(filter(None, found), system.online())


def unbalanced(system: System) -> Cpus:
    """Over which the kernel spreads no threads: isolated ones, or all of a control group that is a partition
    (CRI-O's cpu-load-balancing.crio.io: disable)."""
    folders = [*groups(system, "cpuset")]
    kinds = {system.text(f"{folder}/cpuset.cpus.partition") for folder in folders}
    of_v1 = {system.text(f"{folder}/cpuset.sched_load_balance") for folder in folders} - {None}
    return isolated(system) | (cpuset(system) if "isolated" in kinds or of_v1 == {"0"} else NO_CPUS)


def groups_above(system: System) -> bool:
    """Whether a namespace may hide control groups above those that are visible."""
    with contextlib.suppress(OSError):
        return str(system.path("/proc/self/ns/cgroup").readlink()) != FIRST_GROUPS
    return False


def workqueue_cpus(system: System) -> Cpus | None:
    """Where the kernel's unbound work may run."""
    return system.mask("/sys/devices/virtual/workqueue/cpumask")


def watchdog_cpus(system: System) -> Cpus | None:
    """Where the soft lockup watchdog runs."""
    on = sysctl(system, "kernel.watchdog")
    if not on:
        return None if on is None else NO_CPUS
    return system.cpus("/proc/sys/kernel/watchdog_cpumask") or system.online()


class Interrupt(NamedTuple):
    name: str  # number and handlers
    movable: bool
    may: Cpus  # where it may land
    lands: Cpus  # where it lands now


def interrupts(system: System) -> Iterator[Interrupt]:
    """Those with a handler."""
    for irq in filter(str.isdigit, system.names("/proc/irq")):
        name = f"/proc/irq/{irq}/smp_affinity_list"
        actions, may = system.text(f"/sys/kernel/irq/{irq}/actions"), system.cpus(name)
        if actions and may is not None:
            lands = system.cpus(f"/proc/irq/{irq}/effective_affinity_list") or may
            yield Interrupt(f"{irq} ({actions})", system.is_writable(name), may, lands)


def irqbalance_spares(system: System) -> Cpus:
    """CPUs that irqbalance does not use: by its configuration, or else isolated ones."""
    text = "\n".join(system.text(name) or "" for name in IRQBALANCE)
    banned = r"^\s*(?:export\s+)?IRQBALANCE_BANNED_CPU(S|LIST)=[\"']?([^\"'#\s]+)"
    match = re.search(banned, text, re.MULTILINE)
    if match is None:
        return isolated(system) | nohz_full(system)
    with contextlib.suppress(ValueError):
        return mask_cpus(match[2]) if match[1] == "S" else parse_cpus(match[2])
    return NO_CPUS


# Memory, and what only the doctor's table names


def mitigations(system: System) -> str | None:
    """Names of those that are active; "" = none."""
    folder = f"{CPU}/vulnerabilities"
    states = {name: system.text(f"{folder}/{name}") or "" for name in system.names(folder)}
    active = ", ".join(name for name, text in states.items() if text.startswith("Mitigation"))
    return active if states else None


def shared_memory_mib(system: System) -> int | None:
    """Room in /dev/shm."""
    with contextlib.suppress(OSError):
        room = os.statvfs(system.path("/dev/shm"))
        return room.f_bavail * room.f_frsize >> 20
    return None


def vrtsim_files(system: System) -> str:
    """Of runs on OAI's radio vrtsim that have ended: the memory of gNB and UE, and where they met."""
    if {"nr-softmodem", "nr-uesoftmodem"} & {*system.processes().values()}:
        return ""
    memory = [name for name in system.names("/dev/shm") if name.startswith(("vrtsim_", "nrbench-"))]
    met = filter(system.exists, ("/tmp/vrtsim_socket", "/tmp/vrtsim_connection"))
    return " ".join([*(f"/dev/shm/{name}" for name in memory), *met])


# What results record


def _first(system: System) -> int:
    """The CPU that stands for all of them."""
    return min(system.affinity())


def _quota_cpus(system: System) -> float | None:
    bound = quota(system)
    return bound.cpus if bound else None


def _usable(system: System) -> int:
    count, bound = len(system.affinity()), _quota_cpus(system)
    return min(count, max(1, -int(-bound // 1))) if bound else count


# By the field's name: its title on pages and in tables, and where it comes from.
RECORDED: dict[str, tuple[str, Callable[[System], Any]]] = {
    "cpu": ("CPU", cpu_model),
    "cores": ("CPUs usable", _usable),
    "cores_online": ("CPUs online", lambda s: len(s.online())),
    "threads_per_core": ("hardware threads a core", lambda s: len(siblings(s, _first(s)) or ()) or None),
    "architecture": ("architecture", architecture),
    "kernel": ("kernel", kernel_release),
    "preemption": ("preemption of the kernel", preemption),
    "virtual": ("virtual machine", is_virtual),
    "hypervisor": ("hypervisor", hypervisor),
    "clocksource": ("clocksource", clocksource),
    "governor": ("frequency governor", lambda s: cpufreq(s, _first(s), "scaling_governor")),
    "frequency_driver": ("frequency driver", lambda s: cpufreq(s, _first(s), "scaling_driver")),
    "idle_driver": ("idle driver", idle_driver),
    "idle_governor": ("idle governor", lambda s: s.text(f"{CPU}/cpuidle/current_governor_ro")),
    "idle_states": ("idle states", lambda s: [state._asdict() for state in idle_states(s, _first(s))]),
    "isolated": ("isolcpus", lambda s: format_cpus(isolated(s)) or None),
    "nohz_full": ("nohz_full", lambda s: format_cpus(nohz_full(s)) or None),
    "rcu_nocbs": ("rcu_nocbs", lambda s: format_cpus(rcu_nocbs(s)) or None),
    "mask": ("affinity mask", lambda s: format_cpus(s.affinity())),
    "quota_cpus": ("CPUs granted by quota", _quota_cpus),
    "rt_runtime_us": ("sched_rt_runtime_us", lambda s: sysctl(s, "kernel.sched_rt_runtime_us")),
}
