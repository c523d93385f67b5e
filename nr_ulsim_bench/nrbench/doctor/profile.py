# SPDX-License-Identifier: BSD-3-Clause
"""A profile for tuned (https://tuned-project.org), which keeps other work off the workers' CPUs at each
boot, and takes that back."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from nrbench import facts
from nrbench.doctor.checks import NOTE, ROWS
from nrbench.doctor.looks import SOFTMODEMS
from nrbench.doctor.target import Target
from nrbench.system import format_cpus, format_mask

SYSCTL = "sysctl: "


def sysctls(target: Target) -> dict[str, str]:
    """Those that the checks recommend without a condition."""
    rows = [row for area in ROWS.values() for row in area.values()]
    words = [*rows, *(case for row in rows for case in row.values() if isinstance(case, dict))]
    lines = [line for one in words for line in one.get("do", ()) if line.startswith(SYSCTL)]
    settings = (line.removeprefix(SYSCTL).format_map(target.values) for line in lines if NOTE not in line)
    return dict(setting.split("=") for setting in settings)


def boot_parameters(target: Target) -> str:
    """What only the boot loader can set."""
    cpus, system = target.names, target.system
    words = [target.isolcpus, f"irqaffinity={format_cpus(target.others)}"]
    if not facts.built_without(system, "NO_HZ_FULL"):
        words.append(f"nohz_full={cpus}")
    if not facts.built_without(system, "RCU_NOCB_CPU"):
        words.append(f"rcu_nocbs={cpus} rcu_nocb_poll")
    return " ".join([*words, "skew_tick=1 nosoftlockup"])


def profile(target: Target) -> dict[str, dict[str, str]]:
    rest, masks = format_cpus(target.others), (facts.WORKQUEUES_CPUS.name, facts.WORKQUEUE_CPUS.at("*"))
    return {
        "main": {"summary": f"CPUs {target.names} for real-time workers, all other work on {rest}"},
        "cpu": {"devices": ",".join(f"cpu{cpu}" for cpu in sorted(target.cpus)), "governor": "performance"},
        "sysctl": sysctls(target),
        "sysfs": dict.fromkeys(masks, format_mask(target.others)),
        "irqbalance": {"banned_cpus": target.names},
        "scheduler": {"isolated_cores": target.names, "ps_blacklist": ";".join(sorted(SOFTMODEMS))},
        "bootloader": {"cmdline_nrbench": f"+{boot_parameters(target)}"},
    }


def write(target: Target, folder: Path) -> str:
    """@return what to do with it. An existing profile is not overwritten. ValueError: none is possible."""
    if not target.others:
        raise ValueError(f"the workers' CPUs {target.names} are all there are: name fewer, with --cpus")
    online = target.system.online()
    if not target.cpus <= online:
        raise ValueError(f"of --cpus {target.names} only {format_cpus(online)} are online")
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_dict(profile(target))
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "tuned.conf", "x", encoding="utf-8") as file:
        parser.write(file, space_around_delimiters=False)
    return (
        f"{file.name} is written. Use it, as root, with no gNB running: "
        f"tuned-adm profile {folder.resolve().name}\n"
        "Its boot parameters hold from the next boot on (Debian and Ubuntu: update-grub before). "
        "Take it back: tuned-adm off"
    )
