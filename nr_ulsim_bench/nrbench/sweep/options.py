# SPDX-License-Identifier: BSD-3-Clause
"""What the command line of `nrbench sweep` asks for."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError
from typer import Option

from nrbench.backends import CLASSES
from nrbench.options import Given
from nrbench.places import DATA, PROGRAMS
from nrbench.sweep.record import normal_cpus
from nrbench.sweep.scenario import SweepDefaults

Class = Enum("Class", {name: name for name in CLASSES})  # type: ignore[misc]
Seed = Annotated[int, Option(help="seed of the order within the rounds")]
Data = Annotated[Path, Option(help="folder of recorded slots (default: this project's)", show_default=False)]
Out = Annotated[Path, Option(help="folder of results")]
OF_BUILDS = {"trials": "trials", "limit_s": "limit", "environment": "env", "oai": "oai",
             "any_pool": "any-pool"}  # fmt: skip
OF_SLOTS = {"backends": "backends", "sched_class": "class"}


def words(text: str | None) -> tuple[str, ...]:
    """Separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def _as_in_scenarios(field: str, text: str, rule: str) -> Any:
    try:
        defaults = SweepDefaults.model_validate({field: tuple(dict.fromkeys(words(text)))}, strict=False)
    except ValidationError as error:
        raise ValueError(f"--{field} {text}: {rule}") from error
    return getattr(defaults, field)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(_as_in_scenarios("threads", text, "give numbers from 1 to 1024")))


def modes(text: str) -> tuple[str, ...]:
    return tuple(_as_in_scenarios("spin", text, "a mode is off, auto, hot or fixed:MICROSECONDS"))


def _pairs(texts: list[str]) -> tuple[tuple[str, str], ...]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise ValueError(f"--env {text}: not NAME=VALUE")
    return tuple((name, value) for name, _, value in (text.partition("=") for text in texts))


TEXT = str | None
CLUSTER = Option(help="run on these machines: ssh:FILE, or tls://SCHEDULER:PORT")
LABEL = Option(help="name of this machine in reports (default: CPU model and count)")
ENVIRONMENT = Option("--env", help="NAME=VALUE for all runs; repeatable")
ANY_POOL = Option("--any-pool", help="go on although --old or --new has the other pool; reports warn")


@dataclass(frozen=True)
class OfSessions:
    """Of `nrbench sweep` and of `nrbench radio`."""

    seed: Seed = 1
    oai: Annotated[str | None, Option(help="version of OAI, if its sources do not show it: v2.3.0")] = None
    label: Annotated[str | None, LABEL] = None
    fresh: Annotated[bool, Option("--fresh", help="put earlier results aside instead of going on")] = False
    any_pool: Annotated[bool, ANY_POOL] = False
    environment: Annotated[tuple[tuple[str, str], ...], Given(list[str] | None, _pairs), ENVIRONMENT] = ()


def modes_option(default: str) -> Any:
    return Option("--spin", help=f"pre-wake modes: off, auto, hot, fixed:MICROSECONDS (default: {default})")


Names = tuple[str, ...]
OLD = Option(help="build folder of OAI with its own pool, or its nr_ulsim")
NEW = Option(help="build folder of OAI with thread_pool_ws, or its nr_ulsim")
PATCHED = Option(help="the same with pre-wake patches: runs of a mode `hint`")
CASES = Option(help="scenarios or their files, or SCENARIO:CASE,CASE; without builds: recorded slots")
THREADS = Option(help="numbers of threads, such as 1,2,4,8 (default: the scenario's)")
REPEATS = Option(help="runs of each setting; verdicts need 5 (default: the scenario's)", min=1)
LIMIT = Option("--limit", help="seconds after which a run counts as hung (default: the scenario's)", min=0.1)
CPUS = Option(help="bind the runs to these CPUs, such as 2-5")
BACKENDS = Option(help="without builds: these pools only, such as ws,onetbb")
CLASS = Option("--class", help="without builds: scheduling class (default: other)")
PROGRAM = Option(help="without builds: ws-bench (default: the one that ci/bench builds)", show_default=False)


@dataclass(frozen=True)
class Options(OfSessions):
    """Empty or None: as the scenario, or else the sweep, has it."""

    old: Annotated[Path | None, OLD] = None
    new: Annotated[Path | None, NEW] = None
    patched: Annotated[Path | None, PATCHED] = None
    cases: Annotated[str | None, CASES] = None
    threads: Annotated[tuple[int, ...], Given(TEXT, _numbers), THREADS] = ()
    spins: Annotated[Names, Given(TEXT, modes), modes_option("the scenario's")] = ()
    repeats: Annotated[int | None, REPEATS] = None
    trials: Annotated[int | None, Option(help="slots a run (default: the scenario's)", min=2)] = None
    limit_s: Annotated[float | None, LIMIT] = None
    cpus: Annotated[str | None, Given(TEXT, normal_cpus), CPUS] = None
    backends: Annotated[Names, Given(TEXT, words), BACKENDS] = ()
    sched_class: Annotated[str | None, Given(Class | None, lambda chosen: chosen.value), CLASS] = None
    program: Annotated[Path, PROGRAM] = PROGRAMS / "ws-bench"
    data: Data = DATA
    out: Out = Path("out/sweep")
    cluster: Annotated[str | None, CLUSTER] = None
    short: bool = False  # two files of recorded slots only; no option

    def check(self) -> None:
        has_build = bool(self.old or self.new or self.patched)
        for name, option in (OF_SLOTS if has_build else OF_BUILDS).items():
            if getattr(self, name):
                raise ValueError(f"--{option} is only for sweeps {'without' if has_build else 'with'} builds")
        if self.cluster and not has_build:
            raise ValueError("--cluster: needs --old or --new")
