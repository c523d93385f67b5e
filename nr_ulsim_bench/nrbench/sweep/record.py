# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file holds: one run, with all that is needed to know what was run, and where."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from nrbench.system import format_cpus, parse_cpus

Kind = Literal["nr_ulsim", "replay"]
Status = Literal["ok", "crash", "hang", "unparsable", "failed", "missing"]
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+_us$")]
RUNS = "runs.ndjson"  # the results file of a sweep
INLINE = "inline"  # the pool of a run without threads: its times are the work that a bound divides


def _cpus(text: str) -> str:
    return format_cpus(parse_cpus(text))


def moment(text: str) -> datetime.datetime:
    """Of ISO 8601; without a zone it is UTC."""
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


def _moment(text: str) -> str:
    moment(text)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
Cpus = Annotated[str, AfterValidator(_cpus)]  # a list as in 0-3,8


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
    smt: bool | None = Field(default=None, description="whether cores have two threads that run")
    architecture: str
    kernel: str
    kernel_version: str | None = Field(default=None, description="as uname -v")
    command_line: str | None = Field(
        default=None,
        description="of the kernel, without names of disks and hosts",
    )
    preemption: str | None = Field(
        default=None, description="of the kernel: none, voluntary, full, lazy or rt"
    )
    virtual: bool
    hypervisor: str | None = None
    halt_polling: str | None = Field(default=None, description="parameters of a guest's and of a host's")
    vcpu_packing: str | None = Field(default=None, description="sched_vcpu_pack; None = not in this kernel")
    clocksource: str | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    idle_driver: str | None = None
    idle_governor: str | None = None
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
    sha256: str = Field(description="of the program and the libraries beside it, first twelve hex digits")
    pool: str | None = Field(default=None, description="what the pool says of itself; OAI's own says nothing")


class Run(_Strict):
    """One run. A run that gave no figures says why in `error`."""

    format: Literal[1] = 1
    kind: Kind
    sweep: str = Field(description="twelve hex digits that the runs of one plan share")
    repeat: int = Field(ge=0)
    began: Moment = Field(description="UTC, ISO 8601")
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
    cpus: Cpus | None = Field(default=None, description="that the run was bound to; None = not bound")
    seed: int | None = None
    environment: dict[str, str] = Field(default_factory=dict, description="what was set for the run")
    build: Build | None = None
    status: Status
    error: str | None = None
    snr_db: float | None = Field(
        default=None, allow_inf_nan=False, description="at which the slots were decoded"
    )
    trials: int | None = Field(default=None, description="slots that the means are over")
    errors: int | None = Field(default=None, description="slots that were not decoded in their first round")
    figures: dict[FigureName, Time] = Field(default_factory=dict, description="by the names in figures.py")
    derived: tuple[str, ...] = Field(default=(), description="figures that the program did not print itself")
    wall_s: Time | None = None
    cpu_s: Time | None = Field(default=None, description="user and system time of all threads")
    rss_mib: Time | None = Field(default=None, description="most memory in use")
    ctx_voluntary: int | None = None
    ctx_involuntary: int | None = None

    @property
    def variant(self) -> str:
        """What tables call it."""
        return self.pool if self.spin is None else f"{self.pool} {self.spin}"

    @property
    def program(self) -> str:
        return self.build.sha256 if self.build else ""


def identity(one: Any, repeat: int) -> tuple[object, ...]:
    """
    What two runs of a sweep cannot share: of two such runs the second replaces the first.

    @param one  a Run, or a Setting that is to become one
    """
    same = (one.scenario, one.case, one.options, one.pool, one.spin, one.threads, one.cpus, one.seed)
    return (*same, tuple(sorted(dict(one.environment).items())), one.program, repeat)


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
