# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file holds: one run, with all that is needed to know what was run, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Kind = Literal["nr_ulsim", "replay"]
Status = Literal["ok", "crash", "hang", "unparsable", "failed", "missing"]
INLINE = "inline"  # the pool of a run without threads: its times are the work that a bound divides


class ResultsError(ValueError):
    """A results file that cannot be used; names file and line."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IdleState(_Strict):
    name: str
    exit_latency_us: int
    disabled: bool = False


class Host(_Strict):
    """The machine, as far as it decides about the figures. No name of the host or of its user."""

    label: str = Field(description="what reports call it; by default the CPU model and the number of CPUs")
    id: str = Field(description="tells two machines of one model apart; eight hex digits, not traceable")
    cpu: str
    cores: int = Field(description="CPUs that a run may use: affinity mask and quota")
    cores_online: int
    threads_per_core: int | None = None
    architecture: str
    kernel: str
    preemption: str | None = Field(
        default=None, description="of the kernel: none, voluntary, full, lazy or rt"
    )
    virtual: bool
    governor: str | None = None
    frequency_driver: str | None = None
    idle_driver: str | None = None
    idle_states: tuple[IdleState, ...] = ()
    isolated: str | None = Field(default=None, description="CPUs of isolcpus")
    nohz_full: str | None = None
    rcu_nocbs: str | None = None
    mask: str = Field(description="CPUs of the affinity mask, as in 0-3,8")
    quota_cpus: float | None = Field(
        default=None, description="CPUs that a control group grants; None = no limit"
    )
    rt_runtime_us: int | None = None
    rt_allowed: bool = Field(description="whether threads may be real-time")
    load: float = Field(description="of one minute, when the sweep began")


class Build(_Strict):
    """What was run."""

    oai: str | None = Field(default=None, description="version of OAI, as far as it can be told")
    commit: str | None = Field(default=None, description="of OAI's sources, if they are a git checkout")
    sha256: str = Field(description="of the program, first twelve hex digits")
    pool: str | None = Field(default=None, description="what the pool says of itself; OAI's own says nothing")


class Run(_Strict):
    """One run. A run that gave no figures says why in `error`."""

    format: Literal[1] = 1
    kind: Kind
    sweep: str = Field(description="twelve hex digits that the runs of one plan share")
    repeat: int = Field(ge=0)
    began: str = Field(description="UTC, ISO 8601")
    host: Host
    bench_commit: str | None = None
    scenario: str
    case: str
    options: tuple[str, ...] = Field(description="of nr_ulsim; or the file of recorded slots")
    pool: str = Field(description="old, new, inline; or the name of a built-in pool")
    spin: str | None = Field(
        default=None, description="off, auto, fixed:N, hot; None = this pool knows no pre-wake"
    )
    threads: int = Field(ge=0, description="of the pool; 0 = inline")
    cpus: str | None = Field(
        default=None, description="CPUs that the run was bound to, as in 0-3; None = not bound"
    )
    seed: int | None = None
    environment: dict[str, str] = Field(default_factory=dict, description="what was set for the run")
    build: Build | None = None
    status: Status
    error: str | None = None
    trials: int | None = Field(default=None, description="slots that the means are over")
    errors: int | None = Field(default=None, description="slots that were not decoded in their first round")
    figures: dict[str, float] = Field(default_factory=dict, description="by the names in figures.py; in us")
    derived: tuple[str, ...] = Field(default=(), description="figures that the program did not print itself")
    wall_s: float | None = None
    cpu_s: float | None = Field(default=None, description="user and system time of all threads")
    rss_mib: float | None = Field(default=None, description="most memory in use")
    ctx_voluntary: int | None = None
    ctx_involuntary: int | None = None

    @property
    def variant(self) -> str:
        """What tables call it."""
        return self.pool if self.spin is None else f"{self.pool} {self.spin}"


def to_line(run: Run) -> str:
    return run.model_dump_json() + "\n"


def _run_of(line: bytes, where: str) -> Run:
    try:
        return Run.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ResultsError(f"{where}: not a run of a sweep: {field}: {first['msg']}") from error


def read_runs(path: Path) -> list[Run]:
    """All runs of a file. A last line that was cut off by an interruption is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    runs = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            runs.append(_run_of(line, f"{path}:{number}"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            if number < len(lines):  # else no line end follows: it was being written
                raise ResultsError(f"{path}:{number}: not JSON: {error}") from error
    return runs
