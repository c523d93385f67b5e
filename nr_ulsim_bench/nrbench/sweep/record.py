# SPDX-License-Identifier: BSD-3-Clause
"""What a line of a results file holds: one run, with all that is needed to know what was run, and where."""

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from nrbench.record import Began, Count, Host, Strict, Text, Time, Whole, read_lines
from nrbench.system import format_cpus, parse_cpus

Kind = Literal["nr_ulsim", "replay"]
Status = Literal["ok", "crash", "hang", "unparsable", "failed", "missing"]
FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+_us$")]
Level = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
RUNS = "runs.ndjson"  # the results file of a sweep
INLINE = "inline"  # the pool of a run without threads: its times are the work that a bound divides


def normal_cpus(text: str) -> str:
    return format_cpus(parse_cpus(text))


class Build(Strict):
    """What was run."""

    oai: str | None = None  # version of OAI, if known
    commit: str | None = None  # of OAI's sources, if they are a git checkout
    sha256: str  # of the program and the libraries beside it, first twelve hex digits
    pool: Text | None = None  # the line that the pool prints about itself; OAI's own prints none
    options: dict[str, str] = {}  # of CMake, that decide about times; without paths


class What(Strict):
    """What is run; repeats share it."""

    scenario: str
    case: str
    options: tuple[str, ...]  # of nr_ulsim; or the file of recorded slots
    pool: str  # old, new, inline; or the name of a built-in pool
    spin: str | None = None  # off, auto, hint, fixed:N, hot; None: this pool has no pre-wake
    threads: Count  # of the pool; 0: inline
    cpus: Annotated[str, AfterValidator(normal_cpus)] | None = None  # None: not bound
    at_once: Annotated[Count, Field(ge=2)] | None = None  # side by side, one a CPU; all times are means
    environment: dict[str, str] = {}  # what is set for the run

    @property
    def variant(self) -> str:
        """Its name in tables."""
        name = self.pool if self.spin is None else f"{self.pool} {self.spin}"
        return name if self.at_once is None else f"{name} ×{self.at_once}"

    def __str__(self) -> str:
        return f"{self.scenario}:{self.case} {self.variant} {self.threads} threads"


class Run(What):
    """One run. A run that gave no figures has the reason in `error`."""

    format: Literal[1] = 1
    seed: Whole | None = None  # of older lines, whose environment has it, too
    kind: Kind
    sweep: str  # twelve hex digits that the runs of one plan share
    repeat: Count
    began: Began
    host: Host
    bench_commit: str | None = None
    build: Build | None = None
    status: Status
    error: Text | None = None
    snr_db: Level | None = None  # of the decoded slots
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
    def program(self) -> str:
        return self.build.sha256 if self.build else ""


class Setting(What):
    """How it is run."""

    program: str = ""  # sha256, as in Build
    repeats: int = 1
    limit_s: float = 120.0
    guess_s: float = 1.0


def cores_for(host: Host, cpus: str | None) -> int:
    """CPUs that could work on a run: those that it is bound to, whatever the sweep itself could use; no more
    than a quota grants."""
    if not cpus:
        return host.cores
    bound, quota = len(parse_cpus(cpus)), host.quota_cpus
    return bound if quota is None else min(bound, max(1, math.ceil(quota)))


def identity(one: Run | Setting, repeat: int) -> tuple[object, ...]:
    """What two runs of a sweep cannot share: of two such runs the second replaces the first."""
    same = (one.scenario, one.case, one.options, one.pool, one.spin, one.threads, one.cpus)
    return (*same, one.at_once, tuple(sorted(one.environment.items())), one.program, repeat)


def read_runs(path: Path) -> list[Run]:
    return [*read_lines(path, Run, "run of a sweep")]
