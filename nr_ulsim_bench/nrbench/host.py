# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the machine, without which the figures mean nothing."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def cores() -> int:
    return len(os.sched_getaffinity(0))


def realtime_allowed() -> bool:
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(50))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, param)
    return True


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware"):
            return value.strip()
    return platform.machine()


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return None


def _commit(root: Path) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
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
        "cpu": _cpu_model(),
        "cores": cores(),
        "cores_online": os.cpu_count(),
        "kernel": platform.release(),
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "virtual": "hypervisor" in Path("/proc/cpuinfo").read_text(),
        "rt_runtime_us": _first_line("/proc/sys/kernel/sched_rt_runtime_us"),
        "load": round(os.getloadavg()[0], 2),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(Path(__file__).parent),
    }
