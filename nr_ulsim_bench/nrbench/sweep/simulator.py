# SPDX-License-Identifier: BSD-3-Clause
"""The user's own nr_ulsim: finds the program in a build folder, runs it, reads what it prints; which thread
pool a build really has, and what happens when --old and --new name other ones."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Collection, Iterable, Mapping, Sequence

from nrbench.driver import quiet_environment
from nrbench.programs import git
from nrbench.progress import say
from nrbench.sweep.configuration import NEW, OAI_POOL, is_wrong
from nrbench.sweep.parse import Output, OutputError, parse, pool_of
from nrbench.sweep.process import FILE_MAX_BYTES, Ended, run_at_once, sha256_of_program
from nrbench.sweep.record import Build, Kind
from nrbench.sweep.session import Setting, Taken

KIND: Kind = "nr_ulsim"
PROGRAM = "nr_ulsim"
MODULES = ("ldpc", "dfts", "params_libconfig")  # that it loads when it runs, by the names of their targets
GO_ON = "--any-pool measures them as they are, and every report has a warning"
FEW_SLOTS = "-n2"
LIMIT_S = 60.0  # of the run that asks


class BuildError(ValueError):
    """A build that cannot be used; names the option and the path."""


@dataclass(frozen=True)
class Simulator:
    program: Path
    build: Build
    modules: tuple[str, ...] = MODULES
    environment: tuple[tuple[str, str], ...] = ()  # for all its runs; not recorded

    @property
    def folder(self) -> Path:
        """Where it finds its libraries."""
        return self.program.parent

    def absent_modules(self) -> tuple[str, ...]:
        """Targets whose libraries do not lie beside the program. The system may find them elsewhere."""
        return tuple(name for name in self.modules if not (self.folder / f"lib{name}.so").exists())

    def run(
        self,
        options: Sequence[str],
        setting: Setting,
        limit_s: float,
        cpus_of_each: Sequence[Iterable[int] | None],
    ) -> list[Ended]:
        return run_at_once(
            [str(self.program), *options],
            folder=self.folder,
            environment=quiet_environment() | dict(self.environment) | dict(setting.environment),
            limit_s=limit_s,
            cpus_of_each=cpus_of_each,
        )


def _sources(folder: Path) -> Path | None:
    """OAI's sources by the build folder's cache, if they are a checkout of their own."""
    for above in (folder, *folder.parents):
        cache = above / "CMakeCache.txt"
        if cache.is_file():
            text = cache.read_text(errors="replace")
            found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", text, re.MULTILINE)
            return Path(found[1]) if found and (Path(found[1]) / ".git").exists() else None
    return None


def find(
    path: Path, option: str, oai: str | None = None, name: str = PROGRAM, modules: tuple[str, ...] = MODULES
) -> Simulator:
    """
    @param path     a build folder of OAI, or the program itself
    @param option   of the command line, for errors
    @param oai      version, where the user names it
    @param modules  that the program loads when it runs
    """
    program = path / name if path.is_dir() else path
    if not program.exists():
        build = f"it holds no {name}; build it: cmake --build {path} --target {' '.join([name, *modules])}"
        raise BuildError(f"{option} {path}: {build if path.is_dir() else 'no such file or folder'}")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise BuildError(f"{option} {program}: not a program that may be run")
    program = program.resolve()
    sources = _sources(program.parent)
    return Simulator(
        program,
        Build(
            oai=oai or git(sources, "describe", "--tags", "--always", "--dirty"),
            commit=git(sources, "rev-parse", "HEAD"),
            sha256=sha256_of_program(program),
        ),
        modules,
    )


def _status(status: str, error: str | None) -> Taken:
    return {"status": status, "error": error}


def _judge(ended: Ended, setting: Setting, build: Build) -> Taken:
    last = f"Last line: {ended.last_line}"
    if ended.hung:
        return _status("hang", f"no end within {setting.limit_s:.0f} s; killed. {last}")
    if ended.signal_name == "SIGXFSZ":
        return _status("failed", f"it wrote more than {FILE_MAX_BYTES >> 30} GiB; killed")
    if ended.signal_name:
        return _status("crash", f"ended by {ended.signal_name}. {last}")
    try:
        output = parse(ended.output, options=setting.options)
    except OutputError as error:
        if ended.exit_code:
            return _status("failed", f"exit status {ended.exit_code}. {last}")
        return _status("unparsable", str(error))
    build = build.model_copy(update={"oai": build.oai or output.oai, "pool": output.pool})
    return {"build": build, **_figures(output, ended.exit_code)}


def _figures(output: Output, exit_code: int) -> Taken:
    """A run that did not decode went through more rounds and iterations: its times are not comparable."""
    error = None
    if not output.decoded:
        error = f"not decoded: {output.errors} of {output.trials} slots in their first round"
    elif exit_code:
        error = f"exit status {exit_code} after its statistics"
    names = ("snr_db", "trials", "errors", "figures", "derived")
    return {name: getattr(output, name) for name in names} | _status("failed" if error else "ok", error)


def _together(taken: Sequence[Taken]) -> Taken:
    """One run of several that ran at once: it fails as the first of them that does; else its times are the
    means, and its slots are those of all."""
    if len(taken) == 1:
        return taken[0]
    bad = next((one for one in taken if one["status"] != "ok"), None)
    if bad:
        return {**bad, "error": f"one of {len(taken)} at once: {bad['error']}"}
    first = taken[0]
    shared = [key for key in first["figures"] if all(key in one["figures"] for one in taken)]
    return {
        **{name: first[name] for name in ("status", "error", "build", "snr_db", "derived")},
        **{name: sum(one[name] or 0 for one in taken) for name in ("trials", "errors")},
        **{name: fmean(one[name] for one in taken) for name in ("wall_s", "cpu_s")},
        "figures": {key: fmean(one["figures"][key] for one in taken) for key in shared},
    }


class Simulate:
    """Takes runs of one or two builds."""

    def __init__(self, builds: Mapping[str, Simulator], cpus: Iterable[int] | None) -> None:
        """@param builds  by the option that names them: old, new"""
        self.simulators = {simulator.build.sha256: simulator for simulator in builds.values()}
        self.cpus = cpus

    def take(self, setting: Setting) -> Taken:
        simulator = self.simulators[setting.program]
        where = [self.cpus] if setting.at_once is None else self._one_each(setting.at_once)
        try:
            ended = simulator.run(setting.options, setting, setting.limit_s, where)
        except OSError as error:
            reason = f"cannot be started: {error.strerror}"
            return {"build": simulator.build} | _status("failed", reason)
        return _together([self._taken(one, setting, simulator) for one in ended])

    def _one_each(self, count: int) -> list[Iterable[int] | None]:
        cpus = sorted(self.cpus or os.sched_getaffinity(0))
        return [[cpu] for cpu in cpus[:count]]

    @staticmethod
    def _taken(ended: Ended, setting: Setting, simulator: Simulator) -> Taken:
        return {
            "build": simulator.build,
            **_judge(ended, setting, simulator.build),
            "wall_s": ended.wall_s,
            "cpu_s": ended.usage.ru_utime + ended.usage.ru_stime,
            "rss_mib": ended.usage.ru_maxrss / 1024,
            "ctx_voluntary": ended.usage.ru_nvcsw,
            "ctx_involuntary": ended.usage.ru_nivcsw,
        }


def try_out(simulator: Simulator, setting: Setting, cpus: Iterable[int] | None) -> Ended | None:
    """Runs the program once, with few slots. None: it cannot be started."""
    options = [re.sub(r"^-n\d+$", FEW_SLOTS, word) for word in setting.options]
    try:
        (ended,) = simulator.run(options, setting, min(setting.limit_s, LIMIT_S), [cpus])
    except OSError:
        return None
    return ended


def ask(simulator: Simulator, setting: Setting, cpus: Iterable[int] | None) -> tuple[bool, str | None]:
    """Tries the program out.

    @return whether the answer is known, and the line of thread_pool_ws if there is one. Unknown: the program
            failed, and may not have come as far as that line."""
    ended = try_out(simulator, setting, cpus)
    if ended is None:
        return False, None
    pool = pool_of(ended.output)
    return pool is not None or ended.exit_code == 0, pool


def _advice(wrong: Collection[str], both: bool) -> str:
    if len(wrong) == 2:
        return "They are swapped: exchange --old and --new"
    if NEW in wrong:
        hook = "-DCMAKE_PROJECT_OpenAirInterface_INCLUDE=…/thread_pool_ws.cmake"
        return f"Configure the --new build with {hook}"
    return "Name a build without thread_pool_ws as --old" + (", in a build folder of its own" if both else "")


def refuse(text: str, any_pool: bool) -> None:
    """@param any_pool  print it on stderr and go on"""
    if not any_pool:
        raise BuildError(f"{text}; {GO_ON}")
    say(text)


def check(
    builds: Mapping[str, Simulator], settings: Sequence[Setting], cpus: Iterable[int] | None, any_pool: bool
) -> None:
    """Asks each build which pool it has.

    @param builds  by the option that names them: old, new
    @throws BuildError  one of them has the other pool; the message names all builds and what each has"""
    found: dict[str, str | None] = {}
    for side, simulator in builds.items():
        setting = next((setting for setting in settings if setting.pool == side), None)
        known, pool = ask(simulator, setting, cpus) if setting else (False, None)
        if known:
            found[side] = pool
        elif setting and (absent := simulator.absent_modules()):
            libraries = ", ".join(f"lib{name}.so" for name in absent)
            build = f"cmake --build {simulator.folder} --target {' '.join(absent)}"
            say(f"--{side} {simulator.program} fails. It loads {libraries}, not found beside it: {build}")
    judge_pools(found, builds, any_pool)


def judge_pools(found: Mapping[str, str | None], builds: Mapping[str, Simulator], any_pool: bool) -> None:
    """@param found  the line of thread_pool_ws of each build that answered; None: it has none
    @throws BuildError  one of them has the other pool"""
    wrong = [side for side, pool in found.items() if is_wrong(side, pool)]
    if wrong:
        each = (f"--{side} {builds[side].program} has {pool or OAI_POOL}" for side, pool in found.items())
        refuse(f"{'; '.join(each)}. {_advice(wrong, len(builds) > 1)}", any_pool)
