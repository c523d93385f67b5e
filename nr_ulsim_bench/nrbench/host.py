# SPDX-License-Identifier: BSD-3-Clause
"""The machine as results describe it, without which the figures mean nothing."""

import datetime
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nrbench.facts import RECORDED, architecture, boot_id, cpu_model, load
from nrbench.programs import git
from nrbench.system import CAP_SYS_NICE, System

if TYPE_CHECKING:
    from nrbench.record import Host

REAL = System()
TEXT = {name: title for name, (title, _) in RECORDED.items()}
OAI_PRIORITY = 97  # of OAI's workers; its other threads are below
_APPLICATION = b"nrbench host 2\0"  # the identifier of the machine itself is never shown


def fact_text(value: Any) -> str:
    """Of a field of machine(), for people. Empty: unknown, or there is none."""
    if isinstance(value, (list, tuple)):
        off = {True: ", disabled", False: ""}
        return ", ".join(f"{s['name']} ({s['exit_latency_us']} µs{off[s['disabled']]})" for s in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


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


def is_busy(load: float, cpus: int) -> bool:
    """Whether other programs use so much of the machine that a measurement shows them."""
    return load > 0.25 * cpus


def busy_note(load: float, cpus: int) -> list[str]:
    """Empty: it was not."""
    text = f"the machine was busy when the runs began (load {load:.1f} on {cpus} CPUs)"
    return [f"{text}; nrbench doctor shows whether it is idle"] if is_busy(load, cpus) else []


def identifier(system: System) -> str:
    """The same for one machine, and not to be traced to it: machine-id(5) says how.

    Images of containers and machines have no machine-id, or all the same one: so the CPUs count, too, and
    without it the boot.
    """
    machine = system.text("/etc/machine-id")
    if machine in (None, "", "uninitialized"):
        machine = boot_id(system)
    words = [machine or "", cpu_model(system), str(len(system.online())), architecture(system)]
    return hashlib.sha256(_APPLICATION + "\0".join(words).encode()).hexdigest()[:8]


def machine(system: System) -> dict[str, Any]:
    """All that decides about figures and is the same in every kind of result. None = unknown."""
    return {name: find(system) for name, (_, find) in RECORDED.items()} | {"load": load(system)}


def describe(label: str | None = None, system: System = REAL) -> "Host":
    """The machine as a line of a sweep's results names it."""
    from nrbench import record  # what only traces does without pydantic

    about = machine(system)
    count = about["cores_online"]
    return record.Host(
        label=label or f"{about['cpu']}, {count} CPU{'s' if count != 1 else ''}",
        id=identifier(system),
        rt_allowed=realtime_possible(system),
        **about,
    )


def commit(folder: Path) -> str | None:
    return git(folder, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def facts() -> dict[str, Any]:
    """One line of the results, without names of the host or its user. A quota makes no core less here."""
    return machine(REAL) | {
        "bench": "host",
        "cores": cores(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(Path(__file__).parent),
    }
