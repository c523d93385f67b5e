# SPDX-License-Identifier: BSD-3-Clause
"""Which thread pool a build of OAI really has, and what happens when --old and --new name other ones."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Collection, Iterable, Iterator, Mapping, Sequence

from nrbench.progress import say
from nrbench.sweep.parse import pool_of
from nrbench.sweep.plan import Setting
from nrbench.sweep.record import Run
from nrbench.sweep.simulator import BuildError, Simulator

OLD, NEW = "old", "new"
OAI_POOL = "OAI's own pool"
GO_ON = "--any-pool measures them as they are, and every report has a warning"
FEW_SLOTS = "-n2"
LIMIT_S = 60.0  # of the run that asks


def is_wrong(side: str, pool: str | None) -> bool:
    """
    @param side  the option that names the build: old is OAI's pool, new is thread_pool_ws
    @param pool  the line in which thread_pool_ws names itself; None = there is none
    """
    return (pool is not None) != (side == NEW)


def ask(simulator: Simulator, setting: Setting, cpus: Iterable[int] | None) -> tuple[bool, str | None]:
    """Runs the program once, with few slots.

    @return whether the answer is known, and the line of thread_pool_ws if there is one. Unknown: the program
            failed, and may not have come as far as that line."""
    options = [re.sub(r"^-n\d+$", FEW_SLOTS, word) for word in setting.options]
    try:
        ended = simulator.run(options, setting, min(setting.limit_s, LIMIT_S), cpus)
    except OSError:
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
    builds: Mapping[str, Simulator],
    settings: Sequence[Setting],
    cpus: Iterable[int] | None,
    any_pool: bool,
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
    wrong = [side for side, pool in found.items() if is_wrong(side, pool)]
    if wrong:
        each = (f"--{side} {builds[side].program} has {pool or OAI_POOL}" for side, pool in found.items())
        refuse(f"{'; '.join(each)}. {_advice(wrong, len(builds) > 1)}", any_pool)


def wrong_pools(runs: Iterable[Run]) -> Iterator[str]:
    """One line for each side whose runs had the other pool, for reports."""
    found: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for run in runs:
        of_build = run.kind == "nr_ulsim" and run.pool in (OLD, NEW) and run.status == "ok"
        if of_build and run.build and is_wrong(run.pool, run.build.pool):
            pool = (run.build.pool or OAI_POOL).split(", pool")[0]
            found[run.host.label, run.pool, run.build.sha256][pool] = None
    for (host, side, sha256), pools in found.items():
        yield f"{host}: the build given as --{side} (program {sha256}) has {', '.join(pools)}"
