# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file holds: one run, with all that is needed to know what was run, and where."""

from __future__ import annotations

import datetime
import json
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from nrbench.system import format_cpus, parse_cpus

Kind = Literal["nr_ulsim", "replay"]
Status = Literal["ok", "crash", "hang", "unparsable", "failed", "missing"]
# Bounds are above all that can be measured, and below what numpy and plots take.
Time = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1 << 31)]
Whole = Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
# Control characters, those that turn the direction of writing, and halves of characters.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
Model = TypeVar("Model", bound=BaseModel)
FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+_us$")]
RUNS = "runs.ndjson"  # the results file of a sweep
INLINE = "inline"  # the pool of a run without threads: its times are the work that a bound divides


def normal_cpus(text: str) -> str:
    return format_cpus(parse_cpus(text))


def moment(text: str) -> datetime.datetime:
    """Of ISO 8601; without a zone it is UTC."""
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


def _moment(text: str) -> str:
    moment(text)
    return text


class ResultsError(ValueError):
    """A results file that cannot be used; names file and line."""


def printable(data: Any) -> Any:
    """The same with escapes such as \\x1b, in all texts and names, for what a terminal or page would obey."""
    if isinstance(data, str):
        return UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], data)
    if isinstance(data, dict):
        return {printable(name): printable(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(map(printable, data))
    return data


class Strict(BaseModel):
    """A part of a record: unknown fields are refused, control characters are escaped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _printable(cls, data: Any) -> Any:
        return printable(data)


class IdleState(Strict):
    name: str
    exit_latency_us: Whole
    disabled: bool = False


class Host(Strict):
    """The machine, as far as it decides about the figures: host.TEXT explains the fields. No name of the host
    or of its user. None: unknown, or not recorded by an older version."""

    label: str  # in reports; by default the CPU model and the number of CPUs
    id: str  # tells two machines of one model apart; eight hex digits, not traceable
    cpu: str
    cores: Count
    cores_online: Count
    threads_per_core: Count | None = None
    smt: bool | None = None
    architecture: str
    kernel: str
    kernel_version: str | None = None
    command_line: str | None = None
    preemption: str | None = None
    virtual: bool
    hypervisor: str | None = None
    halt_polling: str | None = None
    vcpu_packing: str | None = None
    clocksource: str | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    idle_driver: str | None = None
    idle_governor: str | None = None
    idle_states: tuple[IdleState, ...] = ()
    isolated: str | None = None
    nohz_full: str | None = None
    rcu_nocbs: str | None = None
    mask: str
    quota_cpus: Amount | None = None
    rt_runtime_us: Whole | None = None
    rt_allowed: bool  # whether threads may be real-time
    load: Amount  # of one minute, when the sweep began


class Build(Strict):
    """What was run."""

    oai: str | None = None  # version of OAI, if known
    commit: str | None = None  # of OAI's sources, if they are a git checkout
    sha256: str  # of the program and the libraries beside it, first twelve hex digits
    pool: str | None = None  # the line that the pool prints about itself; OAI's own prints none


class Run(Strict):
    """One run. A run that gave no figures has the reason in `error`."""

    format: Literal[1] = 1
    kind: Kind
    sweep: str  # twelve hex digits that the runs of one plan share
    repeat: Count
    began: Annotated[str, AfterValidator(_moment)]  # UTC, ISO 8601
    host: Host
    bench_commit: str | None = None
    scenario: str
    case: str
    options: tuple[str, ...]  # of nr_ulsim; or the file of recorded slots
    pool: str  # old, new, inline; or the name of a built-in pool
    spin: str | None = None  # off, auto, fixed:N, hot; None: this pool has no pre-wake
    threads: Count  # of the pool; 0: inline
    cpus: Annotated[str, AfterValidator(normal_cpus)] | None = None  # None: not bound
    seed: Whole | None = None
    at_once: Annotated[Count, Field(ge=2)] | None = (
        None  # so many side by side, one a CPU; all times are means
    )
    environment: dict[str, str] = {}  # what was set for the run
    build: Build | None = None
    status: Status
    error: str | None = None
    snr_db: Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)] | None = (
        None  # at which the slots were decoded
    )
    trials: Whole | None = None  # slots that the means are over
    errors: Whole | None = None  # slots that were not decoded in their first round
    figures: dict[FigureName, Time] = {}  # by the names in figures.py
    derived: tuple[str, ...] = ()  # figures that the program did not print itself
    wall_s: Time | None = None
    cpu_s: Time | None = None  # user and system time of all threads
    rss_mib: Time | None = None  # most memory in use
    ctx_voluntary: Whole | None = None
    ctx_involuntary: Whole | None = None

    @property
    def variant(self) -> str:
        """Its name in tables."""
        return variant_of(self)

    @property
    def program(self) -> str:
        return self.build.sha256 if self.build else ""

    @property
    def time(self) -> datetime.datetime:
        return moment(self.began)


def variant_of(one: Any) -> str:
    """@param one  a Run, or a Setting"""
    name: str = one.pool if one.spin is None else f"{one.pool} {one.spin}"
    return name if one.at_once is None else f"{name} ×{one.at_once}"


def cores_for(host: Host, cpus: str | None) -> int:
    """CPUs that could work on a run: those that it is bound to, whatever the sweep itself could use; no more
    than a quota grants."""
    if not cpus:
        return host.cores
    bound, quota = len(parse_cpus(cpus)), host.quota_cpus
    return bound if quota is None else min(bound, max(1, math.ceil(quota)))


def identity(one: Any, repeat: int) -> tuple[object, ...]:
    """
    What two runs of a sweep cannot share: of two such runs the second replaces the first.

    @param one  a Run, or a Setting that is to become one
    """
    same = (one.scenario, one.case, one.options, one.pool, one.spin, one.threads, one.cpus, one.seed)
    return (*same, one.at_once, tuple(sorted(dict(one.environment).items())), one.program, repeat)


def to_line(run: BaseModel) -> str:
    return run.model_dump_json() + "\n"


def first_error(error: ValidationError) -> str:
    """The field and the error in it."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def read_lines(path: Path, model: type[Model], what: str) -> list[Model]:
    """All records of a file. A last line that was cut off by an interruption is left out.

    @param what  a record, in the message of an error"""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(model.model_validate(json.loads(line)))
        except ValidationError as error:
            raise ResultsError(f"{path}:{number}: not a {what}: {first_error(error)}") from error
        except (ValueError, RecursionError) as error:
            if number < len(lines):  # else no line end follows: it was being written
                reason = "nested too deeply" if isinstance(error, RecursionError) else error
                raise ResultsError(f"{path}:{number}: not JSON: {reason}") from error
    return records


def read_runs(path: Path) -> list[Run]:
    return read_lines(path, Run, "run of a sweep")
