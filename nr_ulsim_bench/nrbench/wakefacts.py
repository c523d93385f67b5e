# SPDX-License-Identifier: BSD-3-Clause
"""Settings of kernel and hypervisor that decide how long a wake takes. Figures mean nothing without them."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess

from nrbench.system import CPU, System

CLOCK = "/sys/devices/system/clocksource/clocksource0"
_HALT_POLLING = ("/sys/module/haltpoll/parameters", "/sys/module/kvm/parameters")
_DMI = "/sys/devices/virtual/dmi/id"
_BOOT_PACKING = "sched_vcpu_pack"
# Boot parameters that name a disk, a file, a network or a host.
_PRIVATE = re.compile(
    r"^(root|resume|ip|nfsroot|nfsaddrs|hostname|systemd\.\w+|rd\.\S+|ds|crypt\w*|BOOT_IMAGE"
    r"|initrd|init|rdinit)$|uuid"
)


def kernel_version(system: System) -> str | None:
    """As `uname -v`: it names the preemption models that the kernel was built for."""
    return system.text("/proc/sys/kernel/version") or (platform.version() if system.is_real else None)


def _without_value(word: str) -> str:
    name, equals, value = word.partition("=")
    private = _PRIVATE.search(name) or "uuid" in value.lower()
    return f"{name}=..." if equals and private else word


def command_line(system: System) -> str | None:
    """Of the kernel: without the words for init, and without values that name disks, files or hosts."""
    text = system.text("/proc/cmdline")
    if text is None:
        return None
    words = text.split()
    return " ".join(map(_without_value, words[: words.index("--")] if "--" in words else words))


def halt_polling(system: System) -> str | None:
    """How long an idle CPU looks for work before it halts: parameters of a guest, and of a host."""
    files = {name: f"{folder}/{name}" for folder in _HALT_POLLING for name in system.names(folder)}
    values = {name: system.text(file) for name, file in files.items() if "halt_poll" in name}
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None) or None


def vcpu_packing(system: System) -> str | None:
    """A scheduler that gathers tasks on few virtual CPUs: its setting, where a kernel has one."""
    now = system.text(f"/proc/sys/kernel/{_BOOT_PACKING}")
    return system.boot_parameter(_BOOT_PACKING) if now is None else now


def idle_governor(system: System) -> str | None:
    """Which chooses the idle state; its name differs with the version of the kernel."""
    names = ("current_governor", "current_governor_ro")
    return next((text for name in names if (text := system.text(f"{CPU}/cpuidle/{name}"))), None)


def clocksource(system: System) -> str | None:
    return system.text(f"{CLOCK}/current_clocksource") or None


def smt(system: System) -> bool | None:
    """Whether cores have two threads that run now; None = the kernel does not say."""
    active = system.number(f"{CPU}/smt/active")
    return None if active is None else active == 1


def _answer(*command: str) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout
    return ""


def _asked_hypervisor() -> str | None:
    """From programs that ask the CPU itself, which no file of the kernel does."""
    detected = _answer("systemd-detect-virt", "--vm").strip()
    if detected and detected != "none":
        return detected
    vendor = re.search(r"^Hypervisor vendor:\s*(\S.*)$", _answer("lscpu"), re.MULTILINE)
    return vendor[1].strip() if vendor else None


def hypervisor(system: System) -> str | None:
    """Its name; None = not virtual, or it does not show."""
    name = system.text("/sys/hypervisor/type") or (_asked_hypervisor() if system.is_real else None)
    if name is None and "hypervisor" in system.fields("/proc/cpuinfo").get("flags", "").split():
        return system.text(f"{_DMI}/sys_vendor") or None
    return name
