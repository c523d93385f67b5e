# SPDX-License-Identifier: BSD-3-Clause
"""A profile for tuned (https://tuned-project.org), which keeps other work off the workers' CPUs at each
boot, and takes that back."""

from pathlib import Path

from nrbench.doctor.target import Target
from nrbench.system import format_cpus

PROFILE = """\
[main]
summary=CPUs {cpus} for real-time workers, all other work on {rest}

[variables]
others=${{f:cpulist2hex:{rest}}}

[cpu]
devices={devices}
governor=performance

[sysctl]
kernel.nmi_watchdog=0
kernel.numa_balancing=0
kernel.timer_migration=0
kernel.watchdog_cpumask={rest}
vm.stat_interval=120

[sysfs]
/sys/devices/virtual/workqueue/cpumask=${{others}}
/sys/devices/virtual/workqueue/*/cpumask=${{others}}

[irqbalance]
banned_cpus={cpus}

[scheduler]
isolated_cores={cpus}
ps_blacklist=nr-softmodem;nr-uesoftmodem

[bootloader]
cmdline_nrbench=+{isolcpus} irqaffinity={rest} nohz_full={cpus} rcu_nocbs={cpus} \
rcu_nocb_poll skew_tick=1 nosoftlockup
"""


def write(target: Target, folder: Path) -> str:
    """@return what to do with it. An existing profile is not overwritten. ValueError: none is possible."""
    online = target.system.online()
    if not target.others or not target.cpus <= online:
        raise ValueError(f"--cpus {target.names}: name some, and not all, of the CPUs {format_cpus(online)}")
    devices = ",".join(f"cpu{cpu}" for cpu in sorted(target.cpus))
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tuned.conf", "x", encoding="utf-8") as file:
        file.write(PROFILE.format_map(target.values | {"devices": devices}))
    return (
        f"{file.name} is written. Use it, as root, with no gNB running: "
        f"tuned-adm profile {folder.resolve().name}\n"
        "Its boot parameters hold from the next boot on (Debian and Ubuntu: update-grub before). "
        "Take it back: tuned-adm off"
    )
