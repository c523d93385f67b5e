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
from typing import TYPE_CHECKING, Any, NamedTuple

from nrbench.system import CAP_SYS_NICE, CPU, System, format_cpus, quota

if TYPE_CHECKING:
    from nrbench.sweep.record import Host

REAL = System()
_APPLICATION = b"nrbench host 1\0"  # the identifier of the machine itself is never shown
_DYNAMIC = ("none", "voluntary", "full", "lazy")


class Idle(NamedTuple):
    """An idle state, C-state, as cpuidle offers it."""

    name: str
    exit_latency_us: int
    disabled: bool


def cores() -> int:
    return len(REAL.affinity())


def realtime_allowed() -> bool:
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(50))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, param)
    return True


def realtime_possible(system: System) -> bool:
    """Tried on the real machine; of a made-up one what it says."""
    if system.is_real:
        return realtime_allowed()
    return bool(system.has_capability(CAP_SYS_NICE)) or (system.limit("Max realtime priority") or 0) != 0


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


def idle_states(system: System, cpu: int = 0) -> list[Idle]:
    """Those of a CPU; empty where the kernel has no cpuidle for it."""
    states = []
    for state in system.names(f"{CPU}/cpu{cpu}/cpuidle"):
        folder = f"{CPU}/cpu{cpu}/cpuidle/{state}"
        name, latency_us = system.text(f"{folder}/name"), system.number(f"{folder}/latency")
        if name and latency_us is not None:
            states.append(Idle(name, latency_us, system.number(f"{folder}/disable") not in (None, 0)))
    return states


def _own_cpus(text: str | None) -> str | None:
    """CPUs of a boot parameter such as isolcpus=managed_irq,domain,2-5."""
    if text is None:
        return None
    return ",".join(word for word in text.split(",") if word[:1].isdigit()) or text or None


def isolated(system: System) -> str | None:
    return system.text(f"{CPU}/isolated") or _own_cpus(system.boot_parameter("isolcpus"))


def nohz_full(system: System) -> str | None:
    cpus = system.cpus(f"{CPU}/nohz_full")
    return format_cpus(cpus or ()) or _own_cpus(system.boot_parameter("nohz_full"))


def rcu_nocbs(system: System) -> str | None:
    return _own_cpus(system.boot_parameter("rcu_nocbs"))


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
    """The same for one machine, and not to be traced to it: machine-id(5) says how."""
    secret = (system.text("/etc/machine-id") or "").encode()
    return hashlib.sha256(_APPLICATION + secret + cpu_model(system).encode()).hexdigest()[:8]


def describe(label: str | None = None, system: System = REAL) -> Host:
    """The machine as a line of a sweep's results names it."""
    from nrbench.sweep import record  # what only traces does without pydantic

    mask, online, bound = system.affinity(), system.online(), quota(system)
    first = min(mask)
    model = cpu_model(system)
    return record.Host(
        label=label or f"{model}, {len(online)} CPU{'s' if len(online) != 1 else ''}",
        id=identifier(system),
        cpu=model,
        cores=min(len(mask), max(1, math.ceil(bound.cpus))) if bound else len(mask),
        cores_online=len(online),
        threads_per_core=threads_per_core(system, first),
        architecture=architecture(system),
        kernel=kernel_release(system),
        preemption=preemption(system),
        virtual=is_virtual(system),
        governor=governor(system, first),
        frequency_driver=system.text(f"{CPU}/cpu{first}/cpufreq/scaling_driver"),
        idle_driver=system.text(f"{CPU}/cpuidle/current_driver"),
        idle_states=tuple(record.IdleState(**state._asdict()) for state in idle_states(system, first)),
        isolated=isolated(system),
        nohz_full=nohz_full(system),
        rcu_nocbs=rcu_nocbs(system),
        mask=format_cpus(mask),
        quota_cpus=bound.cpus if bound else None,
        rt_runtime_us=system.number("/proc/sys/kernel/sched_rt_runtime_us"),
        rt_allowed=realtime_possible(system),
        load=load(system),
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
    """One line of the results, without names of the host or its user."""
    return {
        "bench": "host",
        "cpu": cpu_model(REAL),
        "cores": cores(),
        "cores_online": os.cpu_count(),
        "kernel": kernel_release(REAL),
        "governor": governor(REAL),
        "virtual": is_virtual(REAL),
        "rt_runtime_us": REAL.text("/proc/sys/kernel/sched_rt_runtime_us"),
        "load": load(REAL),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(Path(__file__).parent),
    }
