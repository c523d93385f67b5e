# SPDX-License-Identifier: BSD-3-Clause
"""The way slurm[:FILE]: a scheduler here, and a worker on each of some nodes, which Slurm gives to one job.

The connections cross the network, encrypted. Both ends prove themselves by certificates that Dask
makes. Their files lie in a folder that the nodes share, readable by this user alone."""

import logging
import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dask_jobqueue import SLURMCluster
from dask_jobqueue.slurm import SLURMJob
from distributed.deploy.spec import ProcessInterface
from distributed.security import Security
from pydantic import Field

from nrbench.cluster.worker import QUIET, THREADS
from nrbench.record import Strict

ANSWER_S = 60  # for sbatch and scancel
KEYS = "~/.cache/nrbench/keys"  # nodes of a Slurm share the homes


class Slurm(Strict):
    """The keys of the file."""

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
    variables = {f"DASK_{key.upper().replace('.', '__').replace('-', '_')}": QUIET[key] for key in QUIET}
    lines = [f"export {name}={value}" for name, value in variables.items()]
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
        "worker_extra_args": ["--no-dashboard"],
        "scheduler_options": {"dashboard": False, **place},
        "shared_temp_directory": slurm.folder or _keys(),
        "log_directory": slurm.logs,
        "silence_logs": logging.CRITICAL,
    }


class Job(SLURMJob):  # type: ignore[misc]
    """One that sbatch refuses is not the end of its cluster."""

    submit_command = f"timeout --verbose {ANSWER_S} sbatch"
    cancel_command = f"timeout {ANSWER_S} scancel"
    refused: list[str] = []  # why, of all jobs

    async def start(self) -> None:
        try:
            await super().start()
        except (OSError, RuntimeError) as error:
            self.refused.append(str(error).strip().rpartition("\n")[2])
            await ProcessInterface.start(self)  # it has no job id: nothing is to be cancelled


def started(slurm: Slurm, stack: ExitStack) -> Any:
    cluster = stack.enter_context(SLURMCluster(security=Security.temporary(), job_cls=Job, **keywords(slurm)))
    Job.refused.clear()
    cluster.scale(jobs=slurm.nodes)
    return cluster
