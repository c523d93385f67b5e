# SPDX-License-Identifier: BSD-3-Clause
"""The user's own nr_ulsim: finds the program in a build folder, runs it, reads what it prints; which thread
pool a build really has, and what happens when --old and --new name other ones."""

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from statistics import fmean
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from nrbench.driver import quiet_environment
from nrbench.programs import git
from nrbench.progress import say
from nrbench.record import now
from nrbench.sweep.configuration import OAI_POOL, is_wrong
from nrbench.sweep.parse import OutputError, last_words, parse, pool_of
from nrbench.sweep.process import FILE_MAX_BYTES, Ended, run_at_once, sha256_of_program, signal_name
from nrbench.sweep.record import INLINE, Build, Setting
from nrbench.sweep.session import Taken

PROGRAM = "nr_ulsim"
MODULES = ("ldpc", "dfts", "params_libconfig")  # that it loads when it runs, by the names of their targets
BELOW = ("build", "cmake_targets/ran_build/build")  # where it is built, below OAI's sources and other folders
LOADER = re.compile(r"\[LOADER\][^\n]*\bnot loaded\b[^\n]*")  # what OAI prints of a module
NAMES = r"CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|CMAKE_C(?:XX)?_FLAGS|AVX\w+|SANITIZE_\w+"
OPTION = re.compile(rf"^({NAMES}):\w+=(.+)$", re.MULTILINE)
SIDES = (
    "--old takes a build of OAI with its own pool. --new takes another build folder, configured with "
    "-DCMAKE_PROJECT_OpenAirInterface_INCLUDE=…/thread_pool_ws.cmake"
)
GO_ON = "--any-pool measures them as they are, and every report has a warning"
FEW_SLOTS = "-n2"
LIMIT_S = 60.0  # of the run that asks
Cpus = Iterable[int] | None  # None: all that nrbench may use


class BuildError(ValueError):
    """A build that cannot be used; names the option and the path."""


@dataclass(frozen=True)
class Simulator:
    program: Path
    build: Build
    modules: tuple[str, ...] = MODULES
    environment: tuple[tuple[str, str], ...] = ()  # for all its runs; not recorded

    def absent_modules(self) -> tuple[str, ...]:
        """Targets whose libraries do not lie beside the program. The system may find them elsewhere."""
        return tuple(name for name in self.modules if not (self.program.parent / f"lib{name}.so").exists())

    def run(
        self, options: Sequence[str], setting: Setting, limit_s: float, cpus_of_each: Sequence[Cpus]
    ) -> list[Ended]:
        environment = quiet_environment() | dict(self.environment) | setting.environment
        about: Any = {"folder": self.program.parent, "environment": environment, "limit_s": limit_s}
        return run_at_once([str(self.program), *options], cpus_of_each=cpus_of_each, **about)


Builds = Mapping[str, Simulator]  # by the option that names them, and the program: old, new, old/nr_dlsim


def side_of(key: str) -> str:
    return key.partition("/")[0]


def _cache(folder: Path) -> str:
    """Of the build folder in which it lies."""
    caches = (above / "CMakeCache.txt" for above in (folder, *folder.parents))
    return next((cache.read_text(errors="replace") for cache in caches if cache.is_file()), "")


def _sources(folder: Path) -> Path | None:
    """OAI's by the build folder's cache, if they are a checkout of their own."""
    found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", _cache(folder), re.MULTILINE)
    return Path(found[1]) if found and (Path(found[1]) / ".git").exists() else None


def _options(folder: Path) -> dict[str, str]:
    """Of a compiler its name, of flags those without a path."""
    given = OPTION.findall(_cache(folder))
    found = {name: Path(value).name if "COMPILER" in name else value for name, value in given}
    return {name: re.sub(r"\S*/\S*\s*", "", value).strip() for name, value in sorted(found.items())}


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
        there = next((below for each in BELOW if ((below := path / each) / name).exists()), None)
        if there:
            raise BuildError(f"{option} {path}: it holds no {name}; {option} {there} does")
        command = f"cmake --build {quote(str(path))} --target {' '.join([name, *modules])}"
        why = f"it holds no {name}; build it: {command}" if path.is_dir() else "no such file or folder"
        raise BuildError(f"{option} {path}: {why}")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise BuildError(f"{option} {program}: not a program that may be run")
    program = program.resolve()
    sources = _sources(program.parent)
    build = Build(
        oai=oai or git(sources, "describe", "--tags", "--always", "--dirty"),
        commit=git(sources, "rev-parse", "HEAD"),
        sha256=sha256_of_program(program),
        options=_options(program.parent),
    )
    return Simulator(program, build, modules)


def not_loaded(ended: Ended) -> str:
    """What it printed of a module that it could not load."""
    found = LOADER.search(ended.output)
    return f"{found[0].strip()}. " if found else ""


def _judged(ended: Ended, setting: Setting, build: Build) -> Taken:
    """A run that did not decode went through more rounds and iterations: its times are not comparable."""
    taken: Taken = {"build": build, "status": "failed"}
    words = last_words(ended.output)
    last = f"{not_loaded(ended)}{words[0].upper()}{words[1:]}"
    if ended.hung:
        return taken | {"status": "hang", "error": f"no end within {setting.limit_s:.0f} s; killed. {last}"}
    signal = signal_name(ended.exit_code)
    if signal == "SIGXFSZ":
        return taken | {"error": f"it wrote more than {FILE_MAX_BYTES >> 30} GiB; killed"}
    if signal:
        return taken | {"status": "crash", "error": f"ended by {signal}. {last}"}
    try:
        output = parse(ended.output, options=setting.options)
    except OutputError as error:
        if ended.exit_code:
            return taken | {"error": f"exit status {ended.exit_code}. {last}"}
        return taken | {"status": "unparsable", "error": str(error)}
    names = ("snr_db", "trials", "errors", "figures", "derived")
    taken |= {name: getattr(output, name) for name in names}
    taken["build"] = build.model_copy(update={"pool": output.pool})
    if not output.decoded:
        slots = f"{output.errors} of {output.trials} slots"
        return taken | {"error": f"not decoded: {slots} in their first round"}
    if ended.exit_code:
        return taken | {"error": f"exit status {ended.exit_code} after its statistics"}
    return taken | {"status": "ok"}


def _together(taken: Sequence[Taken]) -> Taken:
    """One run of several that ran at once: it fails as the first of them that does; else its times are the
    means, and its slots are those of all."""
    first, count = taken[0], len(taken)
    if count == 1:
        return first
    if bad := next((one for one in taken if one["status"] != "ok"), None):
        return bad | {"error": f"one of {count} at once: {bad['error']}"}
    shared = [key for key in first["figures"] if all(key in one["figures"] for one in taken)]
    return {
        **{name: first[name] for name in ("status", "build", "snr_db", "derived")},
        **{name: sum(one[name] or 0 for one in taken) for name in ("trials", "errors")},
        **{name: fmean(one[name] for one in taken) for name in ("wall_s", "cpu_s")},
        "figures": {key: fmean(one["figures"][key] for one in taken) for key in shared},
    }


def take(builds: Builds, cpus: Cpus, settings: Sequence[Setting]) -> list[Taken]:
    """Runs one after the other, on the machine of this process."""
    of_program = {simulator.build.sha256: simulator for simulator in builds.values()}
    return [{"began": now()} | _taken(of_program[one.program], cpus, one) for one in settings]


def _taken(simulator: Simulator, cpus: Cpus, setting: Setting) -> Taken:
    one_each = [[cpu] for cpu in sorted(cpus or os.sched_getaffinity(0))][: setting.at_once]
    try:
        where = [cpus] if setting.at_once is None else one_each
        every = simulator.run(setting.options, setting, setting.limit_s, where)
    except OSError as error:
        reason = f"cannot be started: {error.strerror}"
        return {"build": simulator.build, "status": "failed", "error": reason}
    return _together([_judged(one, setting, simulator.build) | _costs(one) for one in every])


def _costs(ended: Ended) -> Taken:
    return {
        "wall_s": ended.wall_s,
        "cpu_s": ended.usage.ru_utime + ended.usage.ru_stime,
        "rss_mib": ended.usage.ru_maxrss / 1024,
        "ctx_voluntary": ended.usage.ru_nvcsw,
        "ctx_involuntary": ended.usage.ru_nivcsw,
    }


NOT_LOADED = 127  # exit status of the dynamic linker


class Tried(NamedTuple):
    """How a build ended that was to say which pool it has."""

    signal: str | None
    is_known: bool  # it came as far as that line, if it has one
    pool: str | None  # the line of thread_pool_ws
    refused: str = ""  # by the loader: what it said
    module: str = ""  # the same of a module


def try_out(builds: Builds, cpus: Cpus, settings: Sequence[Setting]) -> dict[str, Tried]:
    """Runs each build once, with few slots. One that cannot be started is left out."""
    found = {}
    for side, simulator in builds.items():
        of = simulator.build.sha256
        setting = next(one for one in settings if one.program == of and one.pool != INLINE)
        options = [re.sub(r"^-n\d+$", FEW_SLOTS, word) for word in setting.options]
        with contextlib.suppress(OSError):
            (ended,) = simulator.run(options, setting, min(setting.limit_s, LIMIT_S), [cpus])
            pool = pool_of(ended.output)
            is_known = pool is not None or ended.exit_code == 0
            refused = ended.last_line if ended.exit_code == NOT_LOADED else ""
            signal = signal_name(ended.exit_code)
            found[side] = Tried(signal, is_known, pool, refused, not_loaded(ended))
    return found


def refuse(text: str, any_pool: bool) -> None:
    """@param any_pool  print it on stderr and go on"""
    if not any_pool:
        raise BuildError(f"{text}; {GO_ON}")
    say(text)


def judge(tried: Mapping[str, Tried], builds: Builds, any_pool: bool) -> None:
    """@throws BuildError  one of them has the other pool, or needs another CPU"""
    for key, one in tried.items():
        side, program = side_of(key), builds[key].program
        if one.signal == "SIGILL":
            raise BuildError(f"--{side}: {program} is built for another CPU (SIGILL)")
        if one.refused:
            raise BuildError(f"--{side}: {program} cannot be loaded: {one.refused}")
        if one.module and not one.is_known:
            say(f"--{side} {program} fails: {one.module}")
    known = {key: one.pool for key, one in tried.items() if one.is_known}
    if any(is_wrong(side_of(key), pool) for key, pool in known.items()):
        each = (f"--{side_of(key)} {builds[key].program} has {of or OAI_POOL}" for key, of in known.items())
        refuse(f"{'; '.join(each)}. {SIDES}", any_pool)
