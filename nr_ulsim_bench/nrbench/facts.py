# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a machine: each is read here, and only here. The host description, the doctor's checks and
the profile that it writes take them from this list.

A fact that is one file is a File, which also names the place. The other facts are functions. None = unknown.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import platform
import re
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from nrbench.programs import answer
from nrbench.system import CPU, Cpus, System, format_cpus, hierarchies, parse_cpus, parse_mask, quota

T_co = TypeVar("T_co", covariant=True)
NO_CPUS: Cpus = frozenset()
NO_CONSTRAINT_US = 2_000_000_000  # the kernel's value of DMA_LATENCY when no program holds it
_OF_CPU = f"{CPU}/cpu{{}}"
_PREEMPTION = ("none", "voluntary", "full", "lazy")  # preempt= of a kernel with PREEMPT_DYNAMIC
_ISOLCPUS_FLAGS = ("managed_irq", "domain", "nohz")
_PACKING = "sched_vcpu_pack"
# Boot parameters that name a disk, a file, a network or a host.
_PRIVATE = re.compile(
    r"^(root|resume|ip|nfsroot|nfsaddrs|hostname|systemd\.\w+|rd\.\S+|ds|crypt\w*|BOOT_IMAGE"
    r"|initrd|init|rdinit)$|uuid"
)


@dataclass(frozen=True)
class File(Generic[T_co]):
    """A fact that is one file or folder. Each {} in its name is a CPU, an interrupt or a workqueue."""

    name: str
    read: Callable[[System, str], T_co]

    def at(self, *which: object) -> str:
        return self.name.format(*which)

    def __call__(self, system: System, *which: object) -> T_co:
        return self.read(system, self.at(*which))

    @property
    def label(self) -> str:
        """As sysctl(8) calls it; of other files the path."""
        path = self.name.removeprefix("/proc/sys/")
        return path if path == self.name else path.replace("/", ".")


def _sysctl(name: str) -> File[int | None]:
    return File(f"/proc/sys/{name.replace('.', '/')}", System.number)


# Kernel
ARCHITECTURE = File("/proc/sys/kernel/arch", System.text)
BOOT_ID = File("/proc/sys/kernel/random/boot_id", System.text)
CLOCK = File("/sys/devices/system/clocksource/clocksource0/current_clocksource", System.text)
CLOCKS = File("/sys/devices/system/clocksource/clocksource0/available_clocksource", System.text)
CONFIG = File("/proc/config.gz", System.content)
CONFIGS = File("/boot/config-{}", System.text), File("/lib/modules/{}/config", System.text)
DYNAMIC_PREEMPTION = File("/sys/kernel/debug/sched/preempt", System.text)
MACHINE_ID = File("/etc/machine-id", System.text)
NMI_WATCHDOG = _sysctl("kernel.nmi_watchdog")
REALTIME_KERNEL = File("/sys/kernel/realtime", System.number)
RELEASE = File("/proc/sys/kernel/osrelease", System.text)
STAT_INTERVAL_S = _sysctl("vm.stat_interval")
VERSION = File("/proc/sys/kernel/version", System.text)
WATCHDOG = _sysctl("kernel.watchdog")
WATCHDOG_CPUS = File("/proc/sys/kernel/watchdog_cpumask", System.cpus)

# Processor, hypervisor
CPUINFO = File("/proc/cpuinfo", System.fields)
DEVICE_TREE_HYPERVISOR = File("/proc/device-tree/hypervisor", System.exists)
HALT_POLLING = (
    File("/sys/module/haltpoll/parameters", System.texts),
    File("/sys/module/kvm/parameters", System.texts),
)
HYPERVISOR = File("/sys/hypervisor/type", System.text)
PACKING = File(f"/proc/sys/kernel/{_PACKING}", System.text)
SIBLINGS = File(f"{_OF_CPU}/topology/thread_siblings_list", System.cpus)
SMT = File(f"{CPU}/smt/active", System.number)
VENDOR = File("/sys/devices/virtual/dmi/id/sys_vendor", System.text)

# Frequency, idle states
BOOST = File(f"{CPU}/cpufreq/boost", System.number)
DMA_LATENCY = File("/dev/cpu_dma_latency", System.content)
FREQUENCY_DRIVER = File(f"{_OF_CPU}/cpufreq/scaling_driver", System.text)
GOVERNOR = File(f"{_OF_CPU}/cpufreq/scaling_governor", System.text)
IDLE_DRIVER = File(f"{CPU}/cpuidle/current_driver", System.text)
IDLE_GOVERNORS = tuple(
    File(f"{CPU}/cpuidle/{name}", System.text) for name in ("current_governor", "current_governor_ro")
)
IDLE_STATES = File(f"{_OF_CPU}/cpuidle", System.names)
IDLE_STATE = File(f"{_OF_CPU}/cpuidle/{{}}/{{}}", System.text)
NO_TURBO = File(f"{CPU}/intel_pstate/no_turbo", System.number)
PREFERENCE = File(f"{_OF_CPU}/cpufreq/energy_performance_preference", System.text)
RESUME_LATENCY = File(f"{_OF_CPU}/power/pm_qos_resume_latency_us", System.text)

# Scheduling, isolation
AUTOGROUPS = _sysctl("kernel.sched_autogroup_enabled")
CPU_TIMES = File("/proc/stat", System.text)
ISOLATED = File(f"{CPU}/isolated", System.cpus)
LOAD = File("/proc/loadavg", System.text)
NOHZ_FULL = File(f"{CPU}/nohz_full", System.cpus)
RT_PERIOD_US = _sysctl("kernel.sched_rt_period_us")
RT_RUNTIME_US = _sysctl("kernel.sched_rt_runtime_us")
TIMER_MIGRATION = _sysctl("kernel.timer_migration")
WORKQUEUE_CPUS = File("/sys/devices/virtual/workqueue/{}/cpumask", System.mask)
WORKQUEUES_CPUS = File("/sys/devices/virtual/workqueue/cpumask", System.mask)  # bounds all of them

# Interrupts
IRQS = File("/proc/irq", System.names)
IRQ_ACTIONS = File("/sys/kernel/irq/{}/actions", System.text)
IRQ_CPUS = File("/proc/irq/{}/smp_affinity_list", System.cpus)
IRQ_DEFAULT_CPUS = File("/proc/irq/default_smp_affinity", System.mask)
IRQ_FOLDERS = File("/proc/irq/{}", System.folders)
IRQ_LANDS = File("/proc/irq/{}/effective_affinity_list", System.cpus)

# Memory
MEMORY = File("/proc/meminfo", System.fields)
NUMA_BALANCING = _sysctl("kernel.numa_balancing")
SWAPS = File("/proc/swaps", System.text)


class Idle(NamedTuple):
    """An idle state, C-state, as cpuidle offers it."""

    name: str
    exit_latency_us: int
    disabled: bool


def cpu_model(system: System) -> str:
    about = CPUINFO(system)
    for name in ("model name", "Model", "Hardware"):
        if about.get(name):
            return about[name]
    if "CPU part" in about:  # 64-bit ARM names its makers and parts by number
        return f"implementer {about.get('CPU implementer', '?')} part {about['CPU part']}"
    return architecture(system)


def architecture(system: System) -> str:
    return ARCHITECTURE(system) or platform.machine()


def kernel_release(system: System) -> str:
    return RELEASE(system) or platform.release()


def kernel_number(system: System) -> tuple[int, ...]:
    """As in (6, 8); (0, 0) where it cannot be told."""
    match = re.match(r"(\d+)\.(\d+)", kernel_release(system))
    return tuple(map(int, match.groups())) if match else (0, 0)


def kernel_version(system: System) -> str | None:
    """As `uname -v`: it names the preemption models that the kernel was built for."""
    return VERSION(system) or (platform.version() if system.is_real else None)


def command_line(system: System) -> str | None:
    """Of the kernel: without the words for init, and without values that name disks, files or hosts."""
    text = system.command_line()
    if text is None:
        return None
    words = text.split()
    return " ".join(map(_without_value, words[: words.index("--")] if "--" in words else words))


def _without_value(word: str) -> str:
    name, equals, value = word.partition("=")
    private = _PRIVATE.search(name) or "uuid" in value.lower()
    return f"{name}=..." if equals and private else word


def kernel_config(system: System) -> str:
    """Options that the kernel was built with; empty where the kernel does not say."""
    with contextlib.suppress(OSError, EOFError):
        if packed := CONFIG(system):
            return gzip.decompress(packed).decode()
    release = kernel_release(system)
    return next((text for file in CONFIGS if (text := file(system, release))), "")


def built_without(system: System, option: str) -> bool:
    """False also where the kernel does not say."""
    config = kernel_config(system)
    return bool(config) and not re.search(rf"^CONFIG_{option}=", config, re.MULTILINE)


def preemption(system: System) -> str | None:
    """The model of the kernel that runs: none, voluntary, full, lazy or rt; None = it cannot be told."""
    version = kernel_version(system) or ""
    if REALTIME_KERNEL(system) == 1 or "PREEMPT_RT" in version:
        return "rt"
    chosen = re.search(r"\((\w+)\)", DYNAMIC_PREEMPTION(system) or "")
    if chosen:
        return chosen[1]
    if "PREEMPT_DYNAMIC" in version and system.boot_parameter("preempt") in _PREEMPTION:
        return system.boot_parameter("preempt")
    built = _built_preemption(kernel_config(system))
    if built is None and "PREEMPT" in version and "PREEMPT_DYNAMIC" not in version:
        return "lazy" if "PREEMPT_LAZY" in version else "full"
    return built


def _hrtick(system: System, name: str) -> str | None:
    """None also where the kernel has no such feature of the scheduler."""
    words = (system.text(name) or "").split()
    return "on" if "HRTICK" in words else "off" if "NO_HRTICK" in words else None


HRTICK = File("/sys/kernel/debug/sched/features", _hrtick)


def _active_mitigations(system: System, folder: str) -> str | None:
    states = system.texts(folder)
    active = ", ".join(name for name, text in states.items() if text.startswith("Mitigation"))
    return (active or "none active") if states else None


MITIGATIONS = File(f"{CPU}/vulnerabilities", _active_mitigations)


def _chosen(system: System, name: str) -> str | None:
    """Of a file such as: always [madvise] never."""
    text = system.text(name)
    return ", ".join(re.findall(r"\[(\w+)\]", text)) if text else None


THP = File("/sys/kernel/mm/transparent_hugepage/enabled", _chosen)


def _timer_slack_us(system: System, name: str) -> float | None:
    slack_ns = system.number(name)
    return None if slack_ns is None else slack_ns / 1000


TIMER_SLACK_US = File("/proc/self/timerslack_ns", _timer_slack_us)


def _built_preemption(config: str) -> str | None:
    options = {"_RT": "rt", "_LAZY": "lazy", "_VOLUNTARY": "voluntary", "_NONE": "none", "": "full"}
    built = (n for o, n in options.items() if re.search(rf"^CONFIG_PREEMPT{o}=y", config, re.MULTILINE))
    return next(built, None)


def has_hypervisor_flag(system: System) -> bool:
    return "hypervisor" in CPUINFO(system).get("flags", "").split()


def is_virtual(system: System) -> bool:
    return has_hypervisor_flag(system) or DEVICE_TREE_HYPERVISOR(system)


def hypervisor(system: System) -> str | None:
    """Its name; None = not virtual, or it does not show."""
    name = HYPERVISOR(system) or (_asked_hypervisor() if system.is_real else None)
    return (VENDOR(system) or None) if name is None and has_hypervisor_flag(system) else name


def _asked_hypervisor() -> str | None:
    """From programs that ask the CPU itself, which no file of the kernel does."""
    detected = answer("systemd-detect-virt", "--vm").strip()
    if detected and detected != "none":
        return detected
    vendor = re.search(r"^Hypervisor vendor:\s*(\S.*)$", answer("lscpu"), re.MULTILINE)
    return vendor[1].strip() if vendor else None


def halt_polling(system: System) -> str | None:
    """How long an idle CPU looks for work before it halts: parameters of a guest, and of a host."""
    values = {name: text for folder in HALT_POLLING for name, text in folder(system).items()}
    return " ".join(f"{name}={text}" for name, text in values.items() if "halt_poll" in name) or None


def vcpu_packing(system: System) -> str | None:
    """A scheduler that gathers tasks on few virtual CPUs: its setting, where a kernel has one."""
    now = PACKING(system)
    return system.boot_parameter(_PACKING) if now is None else now


def idle_governor(system: System) -> str | None:
    """Which chooses the idle state; its name differs with the version of the kernel."""
    return next((text for file in IDLE_GOVERNORS if (text := file(system))), None)


def idle_states(system: System, cpu: int = 0) -> list[Idle]:
    """Those of a CPU; empty where the kernel has no cpuidle for it."""
    states = []
    for state in IDLE_STATES(system, cpu):
        name, latency_us, disable = (
            IDLE_STATE(system, cpu, state, file) for file in ("name", "latency", "disable")
        )
        if name and latency_us and latency_us.isdecimal():
            states.append(Idle(name, int(latency_us), disable not in (None, "", "0")))
    return states


def usable_idle_states(system: System, cpu: int) -> list[Idle]:
    """Idle states that the kernel may choose for a CPU."""
    limits_us = latency_limit_us(system, cpu), held_latency_us(system)
    states = [state for state in idle_states(system, cpu) if not state.disabled]
    short = [s for s in states if all(us is None or s.exit_latency_us <= us for us in limits_us)]
    return short or states[:1]  # it has to idle somehow


def held_latency_us(system: System) -> int | None:
    """The exit latency to which programs limit all CPUs; None = no program does, or it cannot be read."""
    try:
        (value_us,) = struct.unpack("i", (DMA_LATENCY(system) or b"")[:4])
    except struct.error:
        return None
    return int(value_us) if value_us < NO_CONSTRAINT_US else None


def latency_holders(system: System) -> str:
    """Programs that have cpu_dma_latency open."""
    found = set()
    for pid, name in system.processes().items():
        folder = f"/proc/{pid}/fd"
        for descriptor in system.names(folder):
            with contextlib.suppress(OSError):
                if os.readlink(system.path(f"{folder}/{descriptor}")) == DMA_LATENCY.name:
                    found.add(name)
    return ", ".join(sorted(found)) or "a program that is not visible"


def threads(system: System, but: int) -> Iterator[tuple[str, str, list[str]]]:
    """Process and thread, its name, and the fields of its stat file from the third on, the state; of all but
    one process."""
    for pid in filter(str.isdigit, system.names("/proc")):
        for thread in system.names(f"/proc/{pid}/task") if pid != str(but) else ():
            about, _, rest = (system.text(f"/proc/{pid}/task/{thread}/stat") or "").rpartition(")")
            yield f"{pid}/{thread}", about.partition("(")[2], rest.split()


def latency_limit_us(system: System, cpu: int) -> int | None:
    """A limit of this CPU alone. In its file "0" is no limit; "n/a" allows no exit latency at all."""
    text = RESUME_LATENCY(system, cpu)
    if text == "n/a":
        return 0
    return int(text) if text and text.isdecimal() and text != "0" else None


def smt(system: System) -> bool | None:
    """Whether cores have two threads that run now."""
    active = SMT(system)
    return None if active is None else active == 1


def load(system: System) -> float:
    """Of one minute."""
    match = re.match(r"[\d.]+", LOAD(system) or "")
    return round(float(match[0]), 2) if match else 0.0


def _given(system: System, name: str) -> Cpus:
    """CPUs of a boot parameter such as isolcpus=managed_irq,domain,2-5; N is the last one."""
    last = max(system.possible())
    words = (system.boot_parameter(name) or "").replace("all", "0-N").split(",")
    cpus = ",".join(re.sub(r"\bN\b", str(last), word) for word in words if word not in _ISOLCPUS_FLAGS)
    try:
        return parse_cpus(cpus)
    except ValueError:
        return NO_CPUS


def _isolcpus_flags(system: System) -> set[str]:
    return set((system.boot_parameter("isolcpus") or "").split(",")) & set(_ISOLCPUS_FLAGS)


def _in_effect(system: System, file: File[Cpus | None], given: Cpus) -> Cpus:
    """What the kernel says decides; the command line only where it says nothing."""
    return given if system.text(file.name) is None else file(system) or NO_CPUS


def isolated(system: System) -> Cpus:
    """With flags but without "domain" isolcpus isolates no CPU from other threads."""
    flags = _isolcpus_flags(system)
    given = _given(system, "isolcpus") if not flags or "domain" in flags else NO_CPUS
    return _in_effect(system, ISOLATED, given)


def nohz_full(system: System) -> Cpus:
    return _in_effect(system, NOHZ_FULL, _given(system, "nohz_full"))


def rcu_nocbs(system: System) -> Cpus:
    """No file says it; but without a thread for its callbacks a CPU is not among them."""
    given = NO_CPUS if built_without(system, "RCU_NOCB_CPU") else _given(system, "rcu_nocbs")
    if system.shows_kernel_threads():
        threads = (re.fullmatch(r"rcuo\w*/(\d+)", name) for name in system.processes().values())
        given &= frozenset(int(thread[1]) for thread in threads if thread)
    return given


def cpuset(system: System) -> Cpus:
    """CPUs of this process's control group; all that are online where no group says."""
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    folders = (next(hierarchy.folders()) for hierarchy in hierarchies(system, "cpuset"))
    found = (system.cpus(f"{folder}/{name}") for folder in folders for name in names)
    return next(filter(None, found), system.online())


def managed_irq(system: System) -> Cpus:
    """CPUs that interrupts which the kernel places itself avoid."""
    return _given(system, "isolcpus") if "managed_irq" in _isolcpus_flags(system) else NO_CPUS


def irq_actions(system: System, irq: str) -> str:
    """Names of its handlers; "" = none."""
    names = IRQ_ACTIONS(system, irq)
    return ",".join(IRQ_FOLDERS(system, irq)) if names is None else names.strip(",")


class Interrupt(NamedTuple):
    name: str  # number and handlers
    movable: bool
    may: Cpus  # where it may land
    lands: Cpus  # where it lands now


def interrupts(system: System) -> Iterator[Interrupt]:
    """Those with a handler."""
    for irq in filter(str.isdigit, IRQS(system)):
        actions, may = irq_actions(system, irq), IRQ_CPUS(system, irq)
        if actions and may is not None:
            movable = system.is_writable(IRQ_CPUS.at(irq))
            yield Interrupt(f"{irq} ({actions})", movable, may, IRQ_LANDS(system, irq) or may)


IRQBALANCE = (
    File("/etc/default/irqbalance", System.text),
    File("/etc/sysconfig/irqbalance", System.text),
)


def irqbalance_spares(system: System) -> Cpus:
    """CPUs that irqbalance does not use: by its configuration, or else isolated ones."""
    text = "\n".join(file(system) or "" for file in IRQBALANCE)
    match = re.search(r"^\s*(?:export\s+)?IRQBALANCE_BANNED_CPU(S|LIST)=[\"']?([^\"'#\s]+)", text, re.M)
    if match is None:
        return isolated(system) | nohz_full(system)
    try:
        return parse_mask(match[2]) if match[1] == "S" else parse_cpus(match[2])
    except ValueError:
        return NO_CPUS


def _nodes(system: System, folder: str) -> dict[str, Cpus]:
    names = (name for name in system.names(folder) if re.fullmatch(r"node\d+", name))
    return {name: cpus for name in names if (cpus := system.cpus(f"{folder}/{name}/cpulist"))}


NODES = File("/sys/devices/system/node", _nodes)  # memory nodes with CPUs


def _free_mib(system: System, folder: str) -> int | None:
    """Room for files in a folder."""
    try:
        room = os.statvfs(system.path(folder))
    except OSError:
        return None
    return room.f_bavail * room.f_frsize >> 20


SHARED_MEMORY_MIB = File("/dev/shm", _free_mib)


def vrtsim_files(system: System) -> list[str]:
    """Of runs on OAI's radio vrtsim, by hand or by nrbench: the memory of gNB and UE, and where they meet."""
    folder, memory = SHARED_MEMORY_MIB.name, ("vrtsim_", "nrbench-")
    shared = [f"{folder}/{name}" for name in system.names(folder) if name.startswith(memory)]
    return [*shared, *filter(system.exists, ("/tmp/vrtsim_socket", "/tmp/vrtsim_connection"))]


def clocks_ns(system: System) -> list[int] | None:
    """CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC_RAW at one moment. None = another machine."""
    if not system.is_real:
        return None
    clocks = time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, time.CLOCK_MONOTONIC_RAW, time.CLOCK_MONOTONIC
    readings = [[time.clock_gettime_ns(clock) for clock in clocks] for _ in range(9)]
    return min(readings, key=lambda reading: reading[3] - reading[0])[:3]


def free_kib(system: System) -> int | None:
    """Memory that programs can still get."""
    found = re.match(r"(\d+) kB", MEMORY(system).get("MemAvailable", ""))
    return int(found[1]) if found else None


def _first(system: System) -> int:
    """The CPU that stands for all of them."""
    return min(system.affinity())


def _quota_cpus(system: System) -> float | None:
    bound = quota(system)
    return bound.cpus if bound else None


def _usable(system: System) -> int:
    mask, bound = system.affinity(), quota(system)
    return min(len(mask), max(1, -int(-bound.cpus // 1))) if bound else len(mask)


# What results record of a machine, by the field's name: its title on pages and in tables, and where it comes
# from.
RECORDED: dict[str, tuple[str, Callable[[System], Any]]] = {
    "cpu": ("CPU", cpu_model),
    "cores": ("CPUs usable", _usable),
    "cores_online": ("CPUs online", lambda s: len(s.online())),
    "threads_per_core": ("hardware threads a core", lambda s: len(SIBLINGS(s, _first(s)) or ()) or None),
    "smt": ("SMT active", smt),
    "architecture": ("architecture", architecture),
    "kernel": ("kernel", kernel_release),
    "kernel_version": ("kernel version", kernel_version),
    "command_line": ("kernel command line", command_line),
    "preemption": ("preemption of the kernel", preemption),
    "virtual": ("virtual machine", is_virtual),
    "hypervisor": ("hypervisor", hypervisor),
    "halt_polling": ("halt polling", halt_polling),
    "vcpu_packing": ("vCPU packing", vcpu_packing),
    "clocksource": ("clocksource", lambda s: CLOCK(s) or None),
    "governor": ("frequency governor", lambda s: GOVERNOR(s, _first(s))),
    "frequency_driver": ("frequency driver", lambda s: FREQUENCY_DRIVER(s, _first(s))),
    "idle_driver": ("idle driver", IDLE_DRIVER),
    "idle_governor": ("idle governor", idle_governor),
    "idle_states": ("idle states", lambda s: [state._asdict() for state in idle_states(s, _first(s))]),
    "isolated": ("isolcpus", lambda s: format_cpus(isolated(s)) or None),
    "nohz_full": ("nohz_full", lambda s: format_cpus(nohz_full(s)) or None),
    "rcu_nocbs": ("rcu_nocbs", lambda s: format_cpus(rcu_nocbs(s)) or None),
    "mask": ("affinity mask", lambda s: format_cpus(s.affinity())),
    "quota_cpus": ("CPUs granted by quota", _quota_cpus),
    "rt_runtime_us": ("sched_rt_runtime_us", RT_RUNTIME_US),
}
