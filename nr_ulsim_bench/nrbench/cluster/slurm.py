# SPDX-License-Identifier: BSD-3-Clause
"""The way slurm[:FILE]: a scheduler here, and a worker on each of some nodes, which Slurm gives to one job.

The connections cross the network, encrypted. Both ends prove themselves by certificates that the command
makes. Their files lie in a folder that the nodes share, readable by this user alone."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from pydantic import BaseModel, ConfigDict, Field

from nrbench.cluster.certificates import make, security
from nrbench.driver import BenchError
from nrbench.programs import answer, which
from nrbench.progress import say

PROGRAMS = ("sbatch", "scancel")
THREADS = 2  # of a worker: see worker.py
KEYS = "~/.cache/nrbench/keys"  # nodes of a Slurm share the homes
QUIET = ("PROFILE__ENABLED", "MEMORY__TERMINATE", "MEMORY__PAUSE", "MEMORY__SPILL")


class Slurm(BaseModel):
    """The keys of the file."""

    model_config = ConfigDict(extra="forbid")

    nodes: int = Field(1, ge=1, le=10000)
    partition: str | None = None
    account: str | None = None
    time: str | None = None  # limit of a job, as sbatch --time has it
    directives: list[str] = []  # more words of sbatch, such as "--constraint=zen4"
    python: str = sys.executable  # on the nodes
    nrbench: str = str(Path(__file__).resolve().parents[2])  # holds the package; "": it is installed
    host: str | None = None  # address of this machine that the nodes reach
    interface: str | None = None  # or its network interface
    folder: str | None = None  # that all nodes share, for certificates; default: KEYS
    logs: str | None = None  # folder for the output of the jobs
    wait_s: float = Field(3600, gt=0)  # for the first node


def _prologue(slurm: Slurm) -> list[str]:
    lines = [f"export DASK_DISTRIBUTED__WORKER__{name}=False" for name in QUIET]
    if slurm.nrbench:
        lines.append(f"export PYTHONPATH={shlex.quote(slurm.nrbench)}${{PYTHONPATH:+:$PYTHONPATH}}")
    return lines


def _keys() -> str:
    """KEYS, for this user alone. In the current folder a run that is killed would leave its key behind."""
    os.makedirs(folder := os.path.expanduser(KEYS), mode=0o700, exist_ok=True)
    return folder


def keywords(slurm: Slurm) -> dict[str, Any]:
    """Of dask_jobqueue.SLURMCluster."""
    place = {"host": slurm.host} if slurm.host else {}
    return {
        "queue": slurm.partition,
        "account": slurm.account,
        "walltime": slurm.time,
        "cores": THREADS,
        "processes": 1,
        "memory": "8GB",  # of the worker, which needs little; the job takes all of the node's
        "job_name": "nrbench",
        "python": shlex.quote(slurm.python),
        "interface": slurm.interface,
        "protocol": "tls://",
        "job_directives_skip": ["--cpus-per-task", "--mem", *([] if slurm.time else ["-t "])],
        "job_extra_directives": ["--exclusive", "--nodes=1", *slurm.directives],
        "job_script_prologue": _prologue(slurm),
        "worker_extra_args": ["--resources", "machine=1", "--no-dashboard"],
        "scheduler_options": {"dashboard_address": "127.0.0.1:0", **place},
        "shared_temp_directory": slurm.folder or _keys(),
        "log_directory": slurm.logs,
        "silence_logs": logging.CRITICAL,
    }


def why_pending() -> str:
    """What Slurm says of jobs that have not begun."""
    lines = answer("squeue", "--me", "--noheader", "--name=nrbench", "--format=%i %T %r").splitlines()
    return "; ".join(line.strip() for line in lines)


Refusals = dict[str, str]  # why sbatch takes no job, by the job's worker


def _watched(refusals: Refusals) -> type:
    """dask-jobqueue's job, but one that sbatch refuses is not the end of its cluster."""
    from dask_jobqueue.slurm import SLURMJob
    from distributed.deploy.spec import ProcessInterface

    class Watched(SLURMJob):  # type: ignore[misc]
        async def start(self) -> None:
            try:
                await super().start()
                refusals.pop(self.name, None)
            except (OSError, RuntimeError) as error:
                reason = str(error).strip().rpartition("\n")[2]
                if reason not in refusals.values():
                    say(f"Slurm takes no job: {reason}")
                refusals[self.name] = reason
                await ProcessInterface.start(self)  # it has no job id: nothing is to be cancelled

    return Watched


@contextmanager
def started(slurm: Slurm) -> Iterator[tuple[Any, Any, Refusals]]:
    """@return the cluster, the security of its client, and what sbatch refuses from now on
    @raise BenchError  Slurm is not here, or dask-jobqueue refuses"""
    for program in PROGRAMS:
        if not which(program):
            raise BenchError(f"--cluster slurm: there is no {program} here")
    from dask_jobqueue import SLURMCluster

    own, refusals = security(make()), Refusals()
    try:
        cluster = SLURMCluster(security=own, job_cls=_watched(refusals), **keywords(slurm))
    except (OSError, RuntimeError, ValueError) as error:
        raise BenchError(f"--cluster slurm: {error}") from error
    try:
        cluster.scale(jobs=slurm.nodes)
        yield cluster, own, refusals
    finally:
        cluster.close()
