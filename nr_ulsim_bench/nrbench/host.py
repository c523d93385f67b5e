# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the machine, without which the figures mean nothing."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import math
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from nrbench import wakefacts
from nrbench.system import CAP_SYS_NICE, CPU, Cpus, System, format_cpus, parse_cpus, quota

if TYPE_CHECKING:
    from nrbench.sweep.record import Host

REAL = System()
_APPLICATION = b"nrbench host 2\0"  # the identifier of the machine itself is never shown
_DYNAMIC = ("none", "voluntary", "full", "lazy")
_NO_CPUS: Cpus = frozenset()
MANAGED_IRQ_SINCE = (5, 6)  # a kernel that does not know a flag of isolcpus ignores all of it
OAI_PRIORITY = 97  # of OAI's workers; its other threads are below


def fact_text(value: Any) -> str:
    """Of a field of machine(), for people. Empty: unknown, or there is none."""
    if isinstance(value, (list, tuple)):
        off = {True: ", disabled", False: ""}
        states = (f"{s['name']} ({s['exit_latency_us']} µs{off[s['disabled']]})" for s in value)
        return ", ".join(states)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


class Idle(NamedTuple):
    """An idle state, C-state, as cpuidle offers it."""

    name: str
    exit_latency_us: int
    disabled: bool


def cores() -> int:
    return len(REAL.affinity())


def realtime_allowed(priority: int = 50) -> bool:
    """It is tried."""
    try:
        policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
        os.sched_setscheduler(0, policy, param)
    except OSError:  # refused, or unknown to a sandbox
        return False
    return True


def realtime_possible(system: System) -> bool:
    """At OAI's highest priority. Tried on the real machine; of a made-up one what it says."""
    if system.is_real:
        return realtime_allowed(OAI_PRIORITY)
    limit = system.limit("Max realtime priority") or 0
    return bool(system.has_capability(CAP_SYS_NICE)) or limit == -1 or limit >= OAI_PRIORITY


def cpu_model(system: System) -> str:
    about = system.fields("/proc/cpuinfo")
    for name in ("model name", "Model", "Hardware"):
        if about.get(name):
            return about[name]
    if "CPU part" in about:  # 64-bit ARM names its makers and parts by number
        return f"implementer {about.get('CPU implementer', '?')} part {about['CPU part']}"
    return architecture(system)


def architecture(system: System) -> str:
    return system.text("/proc/sys/kernel/arch") or platform.machine()


def kernel_release(system: System) -> str:
    return system.text("/proc/sys/kernel/osrelease") or platform.release()


def kernel_version(system: System) -> tuple[int, ...]:
    """As in (6, 8); (0, 0) where it cannot be told."""
    match = re.match(r"(\d+)\.(\d+)", kernel_release(system))
    return tuple(map(int, match.groups())) if match else (0, 0)


def is_virtual(system: System) -> bool:
    flags = system.fields("/proc/cpuinfo").get("flags", "").split()
    return "hypervisor" in flags or system.exists("/proc/device-tree/hypervisor")


def governor(system: System, cpu: int = 0) -> str | None:
    return system.text(f"{CPU}/cpu{cpu}/cpufreq/scaling_governor")


def threads_per_core(system: System, cpu: int = 0) -> int | None:
    siblings = system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
    return len(siblings) if siblings else None


def load(system: System) -> float:
    """Of one minute."""
    match = re.match(r"[\d.]+", system.text("/proc/loadavg") or "")
    return round(float(match[0]), 2) if match else 0.0


def is_busy(load: float, cpus: int) -> bool:
    """Whether other programs use so much of the machine that a measurement shows them."""
    return load > 0.25 * cpus


def idle_states(system: System, cpu: int = 0) -> list[Idle]:
    """Those of a CPU; empty where the kernel has no cpuidle for it."""
    states = []
    for state in system.names(f"{CPU}/cpu{cpu}/cpuidle"):
        folder = f"{CPU}/cpu{cpu}/cpuidle/{state}"
        name, latency_us = system.text(f"{folder}/name"), system.number(f"{folder}/latency")
        if name and latency_us is not None:
            states.append(Idle(name, latency_us, system.number(f"{folder}/disable") not in (None, 0)))
    return states


_ISOLCPUS_FLAGS = ("managed_irq", "domain", "nohz")


def _given(system: System, name: str) -> Cpus:
    """CPUs of a boot parameter such as isolcpus=managed_irq,domain,2-5; N is the last one."""
    last = max(system.possible())
    words = (system.boot_parameter(name) or "").replace("all", "0-N").split(",")
    cpus = ",".join(re.sub(r"\bN\b", str(last), word) for word in words if word not in _ISOLCPUS_FLAGS)
    try:
        return parse_cpus(cpus)
    except ValueError:
        return _NO_CPUS


def _isolcpus(system: System) -> Cpus:
    """With flags but without "domain" it isolates no CPU from other threads."""
    flags = set((system.boot_parameter("isolcpus") or "").split(",")) & set(_ISOLCPUS_FLAGS)
    return _given(system, "isolcpus") if not flags or "domain" in flags else _NO_CPUS


def _in_effect(system: System, file: str, given: Cpus) -> str | None:
    """What the kernel says decides; the command line only where it says nothing."""
    cpus = given if system.text(file) is None else system.cpus(file)
    return format_cpus(cpus or ()) or None


def isolated(system: System) -> str | None:
    return _in_effect(system, f"{CPU}/isolated", _isolcpus(system))


def nohz_full(system: System) -> str | None:
    return _in_effect(system, f"{CPU}/nohz_full", _given(system, "nohz_full"))


def rcu_nocbs(system: System) -> str | None:
    """No file says it; but without a thread for its callbacks a CPU is not among them."""
    given = _given(system, "rcu_nocbs")
    if built_without(system, "RCU_NOCB_CPU"):
        given = _NO_CPUS
    if system.shows_kernel_threads():
        threads = (re.fullmatch(r"rcuo\w*/(\d+)", name) for name in system.process_names())
        given &= frozenset(int(thread[1]) for thread in threads if thread)
    return format_cpus(given) or None


def managed_irq(system: System) -> Cpus:
    """CPUs that interrupts which the kernel places itself avoid."""
    flags = (system.boot_parameter("isolcpus") or "").split(",")
    return _given(system, "isolcpus") if "managed_irq" in flags else _NO_CPUS


def kernel_config(system: System) -> str:
    """Options that the kernel was built with; empty where the kernel does not say."""
    try:
        return gzip.decompress(system.path("/proc/config.gz").read_bytes()).decode()
    except (OSError, EOFError):
        release = kernel_release(system)
        names = (f"/boot/config-{release}", f"/lib/modules/{release}/config")
        return next((text for text in map(system.text, names) if text), "")


def built_without(system: System, option: str) -> bool:
    """False also where the kernel does not say."""
    config = kernel_config(system)
    return bool(config) and not re.search(rf"^CONFIG_{option}=", config, re.MULTILINE)


def _built_preemption(config: str) -> str | None:
    for option, name in (("_RT", "rt"), ("_LAZY", "lazy"), ("_VOLUNTARY", "voluntary"), ("_NONE", "none")):
        if re.search(rf"^CONFIG_PREEMPT{option}=y", config, re.MULTILINE):
            return name
    return "full" if re.search(r"^CONFIG_PREEMPT=y", config, re.MULTILINE) else None


def preemption(system: System) -> str | None:
    """The model of the kernel that runs: none, voluntary, full, lazy or rt; None = it cannot be told."""
    version = system.text("/proc/sys/kernel/version") or (platform.version() if system.is_real else "")
    if system.number("/sys/kernel/realtime") == 1 or "PREEMPT_RT" in version:
        return "rt"
    chosen = re.search(r"\((\w+)\)", system.text("/sys/kernel/debug/sched/preempt") or "")
    if chosen:
        return chosen[1]
    if "PREEMPT_DYNAMIC" in version and system.boot_parameter("preempt") in _DYNAMIC:
        return system.boot_parameter("preempt")
    built = _built_preemption(kernel_config(system))
    if built is None and "PREEMPT" in version and "PREEMPT_DYNAMIC" not in version:
        return "lazy" if "PREEMPT_LAZY" in version else "full"
    return built


def identifier(system: System) -> str:
    """The same for one machine, and not to be traced to it: machine-id(5) says how.

    Images of containers and machines have no machine-id, or all the same one: so the CPUs count, too, and
    without it the boot.
    """
    machine = system.text("/etc/machine-id")
    if machine in (None, "", "uninitialized"):
        machine = system.text("/proc/sys/kernel/random/boot_id")
    words = [machine or "", cpu_model(system), str(len(system.online())), architecture(system)]
    return hashlib.sha256(_APPLICATION + "\0".join(words).encode()).hexdigest()[:8]


def _usable(system: System) -> int:
    mask, bound = system.affinity(), quota(system)
    return min(len(mask), max(1, math.ceil(bound.cpus))) if bound else len(mask)


def _first(system: System) -> int:
    """The CPU that stands for all of them."""
    return min(system.affinity())


def _quota_cpus(system: System) -> float | None:
    bound = quota(system)
    return bound.cpus if bound else None


# By field of machine(): its name on pages and in tables, and where it comes from.
FACTS: dict[str, tuple[str, Callable[[System], Any]]] = {
    "cpu": ("CPU", cpu_model),
    "cores": ("CPUs usable", _usable),
    "cores_online": ("CPUs online", lambda s: len(s.online())),
    "threads_per_core": ("hardware threads a core", lambda s: threads_per_core(s, _first(s))),
    "smt": ("SMT active", wakefacts.smt),
    "architecture": ("architecture", architecture),
    "kernel": ("kernel", kernel_release),
    "kernel_version": ("kernel version", wakefacts.kernel_version),
    "command_line": ("kernel command line", wakefacts.command_line),
    "preemption": ("preemption of the kernel", preemption),
    "virtual": ("virtual machine", is_virtual),
    "hypervisor": ("hypervisor", wakefacts.hypervisor),
    "halt_polling": ("halt polling", wakefacts.halt_polling),
    "vcpu_packing": ("vCPU packing", wakefacts.vcpu_packing),
    "clocksource": ("clocksource", wakefacts.clocksource),
    "governor": ("frequency governor", lambda s: governor(s, _first(s))),
    "frequency_driver": (
        "frequency driver",
        lambda s: s.text(f"{CPU}/cpu{_first(s)}/cpufreq/scaling_driver"),
    ),
    "idle_driver": ("idle driver", lambda s: s.text(f"{CPU}/cpuidle/current_driver")),
    "idle_governor": ("idle governor", wakefacts.idle_governor),
    "idle_states": ("idle states", lambda s: [state._asdict() for state in idle_states(s, _first(s))]),
    "isolated": ("isolcpus", isolated),
    "nohz_full": ("nohz_full", nohz_full),
    "rcu_nocbs": ("rcu_nocbs", rcu_nocbs),
    "mask": ("affinity mask", lambda s: format_cpus(s.affinity())),
    "quota_cpus": ("CPUs granted by quota", _quota_cpus),
    "rt_runtime_us": ("sched_rt_runtime_us", lambda s: s.number("/proc/sys/kernel/sched_rt_runtime_us")),
}
TEXT = {name: title for name, (title, _) in FACTS.items()}


def machine(system: System) -> dict[str, Any]:
    """All that decides about figures and is the same in every kind of result. None = unknown."""
    return {name: find(system) for name, (_, find) in FACTS.items()} | {"load": load(system)}


def describe(label: str | None = None, system: System = REAL) -> Host:
    """The machine as a line of a sweep's results names it."""
    from nrbench.sweep import record  # what only traces does without pydantic

    about = machine(system)
    count = about["cores_online"]
    return record.Host(
        label=label or f"{about['cpu']}, {count} CPU{'s' if count != 1 else ''}",
        id=identifier(system),
        rt_allowed=realtime_possible(system),
        **about,
    )


def commit(folder: Path) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def facts() -> dict[str, Any]:
    """One line of the results, without names of the host or its user. A quota makes no core less here."""
    return machine(REAL) | {
        "bench": "host",
        "cores": cores(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(Path(__file__).parent),
    }
