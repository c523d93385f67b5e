# SPDX-License-Identifier: BSD-3-Clause
"""Made-up machines: files of /proc and /sys below a folder. `None` takes a file of the usual machine away."""

import os
from pathlib import Path

from nrbench.system import CPU, System

CPUS = 8
STATUS = "Name:\tpytest\nCapEff:\t0000000000804000\nCpus_allowed_list:\t0-7\n"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         unlimited            unlimited            bytes
Max realtime priority     99                   99
"""
MOUNTS = "31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
MEMORY = "MemTotal: 65536 kB\nSwapTotal: 0 kB\n"
# A machine with 8 CPUs of which 2-5 are isolated for workers, as a real-time engineer would leave it.
TUNED = {
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/proc/cmdline": "isolcpus=managed_irq,domain,2-5 nohz_full=2-5 rcu_nocbs=2-5 irqaffinity=0-1,6-7\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu tsc\n",
    "/proc/loadavg": "0.12 0.30 0.20 1/200 4711\n",
    "/proc/meminfo": MEMORY,
    "/proc/stat": "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu2 10 0 10 100 0 0 0 0 0 0\n",
    "/proc/self/status": STATUS,
    "/proc/self/limits": LIMITS,
    "/proc/self/cgroup": "0::/user.slice\n",
    "/proc/self/mountinfo": MOUNTS,
    "/proc/sys/kernel/arch": "x86_64\n",
    "/proc/sys/kernel/osrelease": "6.8.0-rt\n",
    "/proc/sys/kernel/version": "#1 SMP PREEMPT_RT\n",
    "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "/proc/sys/kernel/sched_rt_runtime_us": "-1\n",
    "/proc/sys/kernel/timer_migration": "0\n",
    "/proc/sys/kernel/watchdog": "0\n",
    "/proc/sys/kernel/nmi_watchdog": "0\n",
    "/proc/sys/vm/stat_interval": "120\n",
    "/proc/irq/24/smp_affinity_list": "0-1\n",
    "/proc/irq/24/effective_affinity_list": "0\n",
    "/sys/kernel/irq/24/actions": "eth0-rx\n",
    "/sys/devices/virtual/workqueue/cpumask": "c3\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "/sys/devices/system/node/node0/cpulist": "0-7\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    f"{CPU}/online": "0-7\n",
    f"{CPU}/isolated": "2-5\n",
    f"{CPU}/nohz_full": "2-5\n",
    f"{CPU}/cpuidle/current_driver": "intel_idle\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
}


def _per_cpu(cpu):
    folder = f"{CPU}/cpu{cpu}"
    yield f"{folder}/cpufreq/scaling_governor", "performance\n"
    yield f"{folder}/cpufreq/scaling_driver", "intel_pstate\n"
    yield f"{folder}/topology/thread_siblings_list", f"{cpu}\n"
    yield f"{folder}/power/pm_qos_resume_latency_us", "0\n"
    for index, (name, latency_us) in enumerate((("POLL", 0), ("C1", 1), ("C6", 170))):
        state = f"{folder}/cpuidle/state{index}"
        yield f"{state}/name", f"{name}\n"
        yield f"{state}/latency", f"{latency_us}\n"
        yield f"{state}/disable", f"{int(latency_us > 100)}\n"


def everything():
    """The files of the machine above."""
    return TUNED | dict(pair for cpu in range(CPUS) for pair in _per_cpu(cpu))


def write(root, files):
    """Texts, contents that are bytes, and links that are paths."""
    for folder in {os.path.dirname(name) for name in files}:
        os.makedirs(f"{root}{folder}", exist_ok=True)
    for name, text in files.items():
        path = Path(f"{root}{name}")
        if text is None or path.is_symlink() or path.is_file():  # that may be read-only
            path.unlink()
        if isinstance(text, Path):
            path.symlink_to(text)
        elif text is not None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())


def tuned(root, changes=None):
    """The machine above, with some of its files changed."""
    write(root, everything())
    write(root, changes or {})
    return System(root)
