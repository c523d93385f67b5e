# SPDX-License-Identifier: BSD-3-Clause
"""The user's own nr_ulsim: finds the program in a build folder, runs it, reads what it prints."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterable, Mapping

from nrbench.driver import quiet_environment
from nrbench.sweep.digest import sha256_of_program
from nrbench.sweep.parse import Output, OutputError, parse
from nrbench.sweep.plan import Setting
from nrbench.sweep.process import FILE_MAX_BYTES, Ended, run_program
from nrbench.sweep.record import Build, Kind
from nrbench.sweep.run import Taken

KIND: Kind = "nr_ulsim"
PROGRAM = "nr_ulsim"
MODULES = ("ldpc", "dfts", "params_libconfig")  # that it loads when it runs, by the names of their targets


class BuildError(ValueError):
    """A build that cannot be used; names the option and the path."""


@dataclass(frozen=True)
class Simulator:
    program: Path
    build: Build

    @property
    def folder(self) -> Path:
        """Where it finds its libraries."""
        return self.program.parent


def absent_modules(simulator: Simulator) -> tuple[str, ...]:
    """Targets whose libraries do not lie beside the program. The system may find them elsewhere."""
    return tuple(name for name in MODULES if not (simulator.folder / f"lib{name}.so").exists())


def _sources(folder: Path) -> Path | None:
    """OAI's sources, of which the build folder's cache tells."""
    for above in (folder, *folder.parents):
        try:
            cache = (above / "CMakeCache.txt").read_text(errors="replace")
        except OSError:
            continue
        found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache, re.MULTILINE)
        return Path(found[1]) if found else None
    return None


def _git(folder: Path, *words: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def _is_checkout(folder: Path) -> bool:
    """Of its own: not a folder within somebody else's."""
    return (folder / ".git").exists()


def find(path: Path, option: str, oai: str | None = None) -> Simulator:
    """
    @param path    a build folder of OAI, or the program itself
    @param option  of the command line, for errors
    @param oai     version, where the user names it
    """
    program = path / PROGRAM if path.is_dir() else path
    if not program.exists():
        hint = (
            f": it holds no {PROGRAM}; build it: cmake --build {path} --target {PROGRAM} {' '.join(MODULES)}"
            if path.is_dir()
            else ": no such file or folder"
        )
        raise BuildError(f"{option} {path}{hint}")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise BuildError(f"{option} {program}: not a program that may be run")
    program = program.resolve()
    sources = _sources(program.parent)
    checkout = sources if sources and _is_checkout(sources) else None
    return Simulator(
        program,
        Build(
            oai=oai or (_git(checkout, "describe", "--tags", "--always", "--dirty") if checkout else None),
            commit=_git(checkout, "rev-parse", "HEAD") if checkout else None,
            sha256=sha256_of_program(program),
        ),
    )


def _failure(ended: Ended, limit_s: float) -> Taken | None:
    if ended.hung:
        return Taken("hang", f"no end within {limit_s:.0f} s; killed. Last line: {ended.last_line}")
    if ended.signal_name == "SIGXFSZ":
        return Taken("failed", f"it wrote more than {FILE_MAX_BYTES >> 30} GiB; killed")
    if ended.signal_name:
        return Taken("crash", f"ended by {ended.signal_name}. Last line: {ended.last_line}")
    return None


def _judge(ended: Ended, setting: Setting) -> tuple[Taken, Output | None]:
    failure = _failure(ended, setting.limit_s)
    if failure:
        return failure, None
    try:
        output = parse(ended.output, options=setting.options)
    except OutputError as error:
        if ended.exit_code:
            return Taken("failed", f"exit status {ended.exit_code}. Last line: {ended.last_line}"), None
        return Taken("unparsable", str(error)), None
    taken = Taken(
        "ok",
        snr_db=output.snr_db,
        trials=output.trials,
        errors=output.errors,
        figures=output.figures,
        derived=output.derived,
    )
    if not output.decoded:
        # It went through more rounds and iterations than the others: its times are not comparable.
        return replace(
            taken,
            status="failed",
            error=f"not decoded: {output.errors} of {output.trials} slots in their first round",
        ), output
    if ended.exit_code:
        return replace(
            taken, status="failed", error=f"exit status {ended.exit_code} after its statistics"
        ), output
    return taken, output


class Simulate:
    """Takes runs of one or two builds."""

    def __init__(self, builds: Mapping[str, Simulator], cpus: Iterable[int] | None) -> None:
        """@param builds  by the pool that they are said to have: old, new"""
        self.simulators = {simulator.build.sha256: simulator for simulator in builds.values()}
        self.cpus = cpus

    def take(self, setting: Setting) -> Taken:
        simulator = self.simulators[setting.program]
        environment = quiet_environment() | dict(setting.environment)
        try:
            ended = run_program(
                [str(simulator.program), *setting.options],
                folder=simulator.folder,
                environment=environment,
                limit_s=setting.limit_s,
                cpus=self.cpus,
            )
        except OSError as error:
            return Taken("failed", f"cannot be started: {error.strerror}", build=simulator.build)
        taken, output = _judge(ended, setting)
        build = simulator.build
        if output:
            build = build.model_copy(update={"oai": build.oai or output.oai, "pool": output.pool})
        return replace(
            taken,
            build=build,
            wall_s=ended.wall_s,
            cpu_s=ended.user_s + ended.system_s,
            rss_mib=ended.rss_mib,
            ctx_voluntary=ended.ctx_voluntary,
            ctx_involuntary=ended.ctx_involuntary,
        )
