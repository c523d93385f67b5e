# SPDX-License-Identifier: BSD-3-Clause
"""What a host does for a sweep: tries the builds out, and takes runs. All of it goes to the host pickled."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence

from nrbench.cluster.builds import absent_libraries
from nrbench.cluster.cache import last_output
from nrbench.cluster.health import probe
from nrbench.cluster.hosts import cpu_flags, system_here
from nrbench.cluster.job import Taken
from nrbench.record import Host
from nrbench.sweep.parse import pool_of
from nrbench.sweep.session import Setting
from nrbench.sweep.simulator import Simulate, Simulator, try_out
from nrbench.system import System

AtOnce = Callable[[Host, str | None, System], int]


def look_around() -> dict[str, Any]:
    """@return the probe's answers, and last_output: see cache.py"""
    return {"probe": probe(system_here()), "last_output": last_output()}


def _trouble(simulator: Simulator, signal: str | None, client_flags: Iterable[str]) -> str | None:
    absent = absent_libraries(simulator.program, simulator.environment)
    if absent:
        return f"{simulator.program} does not find {', '.join(absent)}; install them there"
    if signal == "SIGILL":
        lacking = sorted(set(client_flags) - set(cpu_flags(system_here())))
        flags = f": it lacks {' '.join(lacking)}" if lacking else ""
        return f"{simulator.program} is built for another CPU (SIGILL){flags}"
    return None


def try_builds(
    builds: Mapping[str, tuple[Simulator, Setting]],
    about: dict[str, Any],
    cpus: Sequence[int] | None,
    client_flags: Sequence[str],
    at_once: AtOnce,
) -> dict[str, Any]:
    """
    @param builds  by the option that names them, each with a setting to try
    @param about   description of the host
    @param at_once how many inline runs go side by side there
    @return trouble: why the host cannot run them, a sentence for each; pools: the line of thread_pool_ws of
            each that has come so far; at_once: inline runs side by side
    """
    trouble, pools = [], {}
    for side, (simulator, setting) in builds.items():
        ended = try_out(simulator, setting, cpus)
        reason = _trouble(simulator, ended.signal_name if ended else None, client_flags)
        if reason:
            trouble.append(f"--{side}: {reason}")
        elif ended and (pool_of(ended.output) is not None or ended.exit_code == 0):
            pools[side] = pool_of(ended.output)
    text = None if cpus is None else ",".join(map(str, cpus))
    count = at_once(Host.model_validate(about), text, system_here())
    return {"trouble": trouble, "pools": pools, "at_once": count}


@dataclass(frozen=True)
class TakeRuns:
    """Takes runs of nr_ulsim by their places."""

    builds: Mapping[str, Simulator]
    cpus: Sequence[int] | None
    settings: tuple[Setting, ...]

    def __call__(self, index: int) -> Taken:
        if self.cpus and not set(self.cpus) <= os.sched_getaffinity(0):
            raise ValueError(f"--cpus: this host's worker may not use all of {list(self.cpus)}")
        taken = Simulate(self.builds, self.cpus).take(self.settings[index])
        return taken | {"build": taken["build"].model_dump()}
