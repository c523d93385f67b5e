# SPDX-License-Identifier: BSD-3-Clause
"""Which thread pool a build of OAI really has, and what happens when --old and --new name other ones."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Mapping, Sequence

from nrbench.driver import quiet_environment
from nrbench.progress import say
from nrbench.sweep.parse import pool_of
from nrbench.sweep.plan import Setting
from nrbench.sweep.process import run_program
from nrbench.sweep.record import Run
from nrbench.sweep.simulator import BuildError, Simulator, absent_modules

OLD, NEW = "old", "new"
OAI_POOL = "OAI's own pool"
GO_ON = "--any-pool measures them as they are, and every report says so"
VARIABLE = "CMAKE_PROJECT_OpenAirInterface_INCLUDE"
FEW_SLOTS = "-n2"
LIMIT_S = 60.0  # of the run that asks


def found_text(pool: str | None) -> str:
    """@param pool  the line in which thread_pool_ws names itself; None = there is none"""
    return pool if pool else OAI_POOL


def is_wrong(side: str, pool: str | None) -> bool:
    """@param side  the option that names the build: old is OAI's pool, new is thread_pool_ws"""
    return (pool is not None) != (side == NEW)


def ask(simulator: Simulator, setting: Setting, cpus: Iterable[int] | None) -> tuple[bool, str | None]:
    """Runs the program once, with few slots.

    @return whether the answer is known, and the line of thread_pool_ws if there is one. Unknown: the program
            failed, and may not have come as far as that line."""
    try:
        ended = run_program(
            [str(simulator.program), *(re.sub(r"^-n\d+$", FEW_SLOTS, word) for word in setting.options)],
            folder=simulator.folder,
            environment=quiet_environment(),
            limit_s=min(setting.limit_s, LIMIT_S),
            cpus=cpus,
        )
    except OSError:
        return False, None
    pool = pool_of(ended.output)
    return pool is not None or ended.exit_code == 0, pool


def _advice(wrong: Mapping[str, str | None], both: bool) -> str:
    if len(wrong) == 2:
        return "They are swapped: exchange --old and --new"
    if NEW in wrong:
        return (
            "Configure the --new build with -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=…/thread_pool_ws.cmake"
        )
    return "Name a build without thread_pool_ws as --old" + (", in a build folder of its own" if both else "")


def _modules_advice(simulator: Simulator, absent: Sequence[str]) -> str:
    build = f"cmake --build {simulator.folder} --target {' '.join(absent)}"
    return f"Beside it are no {', '.join(f'lib{name}.so' for name in absent)}, which it loads: {build}"


def check(
    builds: Mapping[str, Simulator],
    settings: Sequence[Setting],
    cpus: Iterable[int] | None,
    any_pool: bool,
) -> None:
    """Asks each build which pool it has.

    @param builds    by the option that names them: old, new
    @param any_pool  print it on stderr and go on
    @throws BuildError  one of them has the other pool; the message names all builds and what each has"""
    found: dict[str, str | None] = {}
    for side, simulator in builds.items():
        of_side = [setting for setting in settings if setting.pool == side]
        known, pool = ask(simulator, of_side[0], cpus) if of_side else (False, None)
        if known:
            found[side] = pool
        elif of_side and (absent := absent_modules(simulator)):
            say(f"--{side} {simulator.program} fails. {_modules_advice(simulator, absent)}")
    wrong = {side: pool for side, pool in found.items() if is_wrong(side, pool)}
    if not wrong:
        return
    told = "; ".join(f"--{side} {builds[side].program} has {found_text(found[side])}" for side in found)
    text = f"{told}. {_advice(wrong, len(builds) > 1)}"
    if not any_pool:
        raise BuildError(f"{text}; {GO_ON}")
    say(text)


def wrong_pools(runs: Iterable[Run]) -> Iterator[str]:
    """One line for each side whose runs had the other pool, for reports."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for run in runs:
        if run.kind == "nr_ulsim" and run.pool in (OLD, NEW) and run.status == "ok" and run.build:
            if is_wrong(run.pool, run.build.pool):
                place = (run.host.label, run.pool, run.build.sha256)
                found.setdefault(place, {})[(run.build.pool or OAI_POOL).split(", pool")[0]] = None
    for (host, side, sha256), pools in found.items():
        yield f"{host}: the build given as --{side} (program {sha256}) has {', '.join(pools)}"
