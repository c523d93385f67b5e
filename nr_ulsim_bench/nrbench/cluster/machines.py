# SPDX-License-Identifier: BSD-3-Clause
"""A machine of a cluster, and what its worker answers about it."""

import asyncio
import hashlib
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterable, TypeVar

from nrbench import host
from nrbench.cluster.lock import machine_lock
from nrbench.facts import boot_id
from nrbench.progress import say
from nrbench.record import Host
from nrbench.session import MachineLost
from nrbench.system import System

T = TypeVar("T")
ROOT_VARIABLE = "NRBENCH_SYSTEM_ROOT"  # for tests: a made-up machine's /proc and /sys lie below it


def system_here() -> System:
    return System(Path(os.environ.get(ROOT_VARIABLE, "/")))


@dataclass(frozen=True)
class Machine:
    host: Host
    boot: str | None
    commit: str | None  # of nrbench there
    name: str = ""  # of the worker: for messages and reports
    address: str = ""  # of the worker, as Dask knows it


def about_here() -> Machine:
    """Runs on a machine while nothing is measured there."""
    system = system_here()
    return Machine(host.describe(None, system), boot_id(system), host.commit(Path(__file__).parent))


def under_lock(function: Callable[..., T], *arguments: Any) -> T:
    """@raise MachineLost  whatever the function raises, which the client need not know"""
    try:
        with machine_lock():
            return function(*arguments)
    except MachineLost:
        raise
    except Exception as error:
        raise MachineLost(f"{type(error).__name__}: {error}".removesuffix(": ")) from error


async def run_here(function: Callable[..., T], *arguments: Any, dask_worker: Any) -> T:
    """On a machine, in a thread of its worker, which goes on to answer the scheduler."""
    threads, loop = dask_worker.executors["default"], asyncio.get_running_loop()
    return await loop.run_in_executor(threads, under_lock, function, *arguments)


def one_each(machines: Iterable[Machine]) -> list[Machine]:
    """Of workers that share a machine the first. Machines that were copied have one machine-id, yet each its
    own boot: their ids are made different by the workers' names."""
    kept: dict[tuple[str, str | None], Machine] = {}
    for one in sorted(machines, key=lambda one: one.name):
        first = kept.setdefault((one.host.id, one.boot), one)
        if first is not one:
            say(f"{one.name}: left out: the same machine as {first.name}")
    ids = Counter(one.host.id for one in kept.values())
    for key, one in kept.items():
        if ids[one.host.id] > 1:
            other = hashlib.sha256(f"{one.host.id} {one.name}".encode()).hexdigest()[:8]
            kept[key] = replace(one, host=one.host.model_copy(update={"id": other}))
    return list(kept.values())
