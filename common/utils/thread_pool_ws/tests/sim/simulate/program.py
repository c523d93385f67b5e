# SPDX-License-Identifier: BSD-3-Clause
"""Runs the C programs of the simulated machine, several at once."""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST_CPUS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Job:
    """One run of a program: its words, and what its figures shall be called by."""

    words: tuple[str, ...]
    label: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def program_path(name: str) -> Path:
    return Path(os.environ.get("WS_SIM_BUILD", ".")) / name


def run_job(job: Job, program: str, limit_s: float) -> dict[str, Any]:
    # What is set for the real pool must not reach the simulated one unseen.
    env = {key: text for key, text in os.environ.items() if not key.startswith("TPOOL_WS_")} | job.environment
    command = [str(program_path(program)), *job.words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=env)
    except subprocess.TimeoutExpired:
        return job.label | {"error": f"did not end within {limit_s:g} s"}
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip().splitlines()
        return job.label | {"error": text[-1] if text else f"exit status {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout)
    return job.label | result


def run_jobs(jobs: Iterable[Job], program: str, at_once: int, limit_s: float) -> Iterator[dict[str, Any]]:
    """Results in the order of the jobs, each as soon as it is there."""
    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        yield from pool.map(lambda job: run_job(job, program, limit_s), jobs)


def line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    """Of a table for a terminal: so many columns to the left, numbers to the right."""
    texts = [
        cell.ljust(width) if i < left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths))
    ]
    return "  ".join(texts).rstrip()


def print_line(cells: Sequence[str], widths: Sequence[int], left: int) -> None:
    print(line(cells, widths, left), flush=True)
