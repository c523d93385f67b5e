# SPDX-License-Identifier: BSD-3-Clause
"""The sweep without OAI: recorded slots of nr_ulsim on every pool that is built in."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Sequence

from nrbench import host
from nrbench.backends import ALONE, OWN, Present
from nrbench.driver import BenchError, Driver
from nrbench.progress import say
from nrbench.slots import SlotFile, read_slot_file
from nrbench.sweep.digest import sha256_of, sha256_of_program
from nrbench.sweep.figures import DECODING, RX, SYMBOLS, bound_key
from nrbench.sweep.plan import Setting, sweep_id
from nrbench.sweep.process import bound_to
from nrbench.sweep.record import INLINE, RUNS, Build, Kind
from nrbench.sweep.run import Sweep, Taken
from nrbench.sweep.session import carry_out, default_threads, report_again, show_plan
from nrbench.system import format_cpus, parse_cpus

__all__ = ["RUNS", "Options", "report_again", "run"]

KIND: Kind = "replay"
SCENARIO = "recorded-slots"
WARM_SLOTS = 10
START_S = 0.05
# Name of a phase in a file of slots -> figure.
PHASES = {
    "symbol_processing": SYMBOLS,
    "ulsch_decoding": DECODING,
    "channel_estimation": "channel_estimation_us",
}
BOUNDS = {key: bound_key(key) for key in (SYMBOLS, DECODING, RX)}


SHORT_FILES = 2
SPINS = ("off", "auto")
REPEATS = 5
CLASS = "other"  # with real-time workers and a normal producer some pools starve it for good
OLD_AND_NEW = ("mutex-per-worker", OWN)


@dataclass(frozen=True)
class Options:
    """Empty or None = the default: what is measured when nobody asks for anything."""

    program: Path
    data: Path
    out: Path
    threads: tuple[int, ...] = ()
    spins: tuple[str, ...] = SPINS
    cases: str | None = None
    backends: tuple[str, ...] = ()
    sched_class: str = CLASS
    repeats: int = REPEATS
    seed: int = 1
    cpus: str | None = None
    label: str | None = None
    fresh: bool = False
    short: bool = False  # two files of recorded slots, the others left out


def period_us(slot_file: SlotFile) -> int:
    """Of the slots: a multiple of half a millisecond into which the longest fits with one thread."""
    return 500 * (int(1.2 * slot_file.longest_slot_us() / 500) + 1)


def _setting(
    slot_file: SlotFile, pool: str, spin: str | None, threads: int, options: Options, program: str
) -> Setting:
    seconds = (WARM_SLOTS + len(slot_file.slots)) * period_us(slot_file) * 1e-6 + START_S
    return Setting(
        scenario=SCENARIO,
        case=slot_file.name,
        options=(slot_file.path.name, f"sha256={sha256_of(slot_file.path)}", f"class={options.sched_class}"),
        pool=pool,
        spin=spin,
        threads=threads,
        program=program,
        cpus=options.cpus,
        environment=() if spin is None or spin == "hot" else (("TPOOL_WS_SPIN", spin),),
        repeats=options.repeats,
        limit_s=5 + 6 * seconds,
        guess_s=seconds,
    )


def make_settings(
    files: Sequence[SlotFile], pools: Sequence[Present], options: Options, program: str = ""
) -> list[Setting]:
    settings = []
    for slot_file in files:
        settings.append(_setting(slot_file, INLINE, None, 0, options, program))
        for pool in pools:
            name = pool.backend.name
            if name == ALONE or (options.backends and name not in options.backends):
                continue
            for spin in options.spins if name == OWN else (None,):
                for threads in options.threads if pool.has_workers else (1,):
                    settings.append(_setting(slot_file, name, spin, threads, options, program))
    return settings


def bounds_us(slot_file: SlotFile, cores: int) -> dict[str, float]:
    """What no pool can beat on so many CPUs: of each burst the longest task, or the work over the CPUs; the
    mean over the slots."""
    bounds: defaultdict[str, float] = defaultdict(float)
    for slot in slot_file.slots:
        for phase in slot:
            bound = phase.bound_ns(cores) / 1000
            bounds[BOUNDS[RX]] += bound
            figure = PHASES.get(phase.name)
            if figure in BOUNDS:
                bounds[BOUNDS[figure]] += bound - phase.serial_ns / 1000
    return {name: bound / len(slot_file.slots) for name, bound in bounds.items()}


def burst_figures(slot_file: SlotFile, means_us: Sequence[float]) -> dict[str, float]:
    """The means of the bursts, by their places in the slot, summed by phase."""
    shapes = {tuple(phase.name for phase in slot if phase.task_ns) for slot in slot_file.slots}
    if len(shapes) != 1:
        return {}  # the slots are not alike: a place says nothing
    figures: defaultdict[str, float] = defaultdict(float)
    for name, mean_us in zip(next(iter(shapes)), means_us):
        if name in PHASES:
            figures[PHASES[name]] += mean_us
    return dict(figures)


class Replay:
    """Takes runs by asking ws-bench."""

    def __init__(
        self,
        driver: Driver,
        files: Sequence[SlotFile],
        pools: Sequence[Present],
        sched_class: str,
        cores: int,
    ) -> None:
        self.driver = driver
        self.files = {slot_file.name: slot_file for slot_file in files}
        self.pools = {pool.backend.name: pool for pool in pools}
        self.sched_class = sched_class
        self.cores = cores

    def _words(self, setting: Setting) -> list[str]:
        slot_file = self.files[setting.case]
        name = ALONE if setting.pool == INLINE else setting.pool
        environment = [*self.pools[name].backend.environment("default")]
        environment += [f"{key}={value}" for key, value in setting.environment]
        return [
            f"backend={name}",
            f"workers={max(1, setting.threads)}",
            f"class={self.sched_class}",
            f"mode={'hot' if setting.spin == 'hot' else 'default'}",
            "hog=0",
            *(f"env={word}" for word in environment),
            "bench=replay",
            f"file={slot_file.path}",
            f"tasks={slot_file.tasks_max}",
            f"period_us={period_us(slot_file)}",
            f"slots={len(slot_file.slots)}",
            f"warm={WARM_SLOTS}",
            f"limit_s={setting.limit_s:.2f}",
        ]

    def take(self, setting: Setting) -> Taken:
        answer = self.driver.ask(self._words(setting))
        if "error" in answer:
            return Taken("hang" if "killed" in answer["error"] else "failed", answer["error"])
        slot_file = self.files[setting.case]
        cores = min(self.cores, setting.threads + 1)
        pool = self.pools[ALONE if setting.pool == INLINE else setting.pool]
        return Taken(
            "ok",
            build=Build(sha256=setting.program, pool=f"{pool.backend.name} {pool.version}".strip()),
            trials=answer["slots"],
            figures={
                RX: answer["makespan_mean_us"],
                "rx_median_us": answer["makespan_p50_us"],
                "rx_p99_us": answer["makespan_p99_us"],
                "rx_max_us": answer["makespan_max_us"],
                **burst_figures(slot_file, answer["burst_mean_us"]),
                **bounds_us(slot_file, cores),
            },
            **_costs(answer),
        )


def _costs(answer: dict[str, Any]) -> dict[str, Any]:
    """Of the measured slots alone."""
    return {"wall_s": answer["wall_s"], "cpu_s": answer["cpu_s"], "ctx_voluntary": answer["ctx_switches"]}


def choose_files(files: Sequence[SlotFile], cases: str | None, short: bool) -> list[SlotFile]:
    """Those named, separated by commas; else all, or evenly spread from the shortest slots to the longest."""
    if cases is not None:
        by_name = {slot_file.name: slot_file for slot_file in files}
        names = [part.strip() for part in cases.split(",")]
        for name in names:
            if name not in by_name:
                raise ValueError(f"--cases: no recorded slots {name!r}; there are {', '.join(by_name)}")
        return [by_name[name] for name in names]
    ordered = sorted(files, key=lambda slot_file: slot_file.longest_slot_us())
    if not short or len(ordered) <= SHORT_FILES:
        return ordered
    return [ordered[int((index + 0.5) * len(ordered) / SHORT_FILES)] for index in range(SHORT_FILES)]


def read_files(folder: Path) -> list[SlotFile]:
    files = [read_slot_file(path) for path in sorted(folder.glob("*.slots"))]
    if not files:
        raise BenchError(f"{folder}: no recorded slots (*.slots)")
    return files


def choose_pools(driver: Driver, wanted: Sequence[str]) -> list[Present]:
    """With the one that runs inline, which every sweep needs. Of those that do not load it is said."""
    pools, missing = driver.chosen((*wanted, ALONE) if wanted else ())
    for name, reason in missing.items():
        say(f"left out: {name}: {reason}")
    return pools


def _sweep(options: Options, driver: Driver) -> Sweep:
    about = host.describe(options.label)
    cores = len(parse_cpus(options.cpus)) if options.cpus else about.cores
    cpus = format_cpus(parse_cpus(options.cpus)) if options.cpus else None
    options = replace(options, threads=options.threads or default_threads(cores), cpus=cpus)
    files = choose_files(read_files(options.data), options.cases, options.short)
    pools = choose_pools(driver, options.backends)
    program = sha256_of_program(driver.program)
    return Sweep(
        id=sweep_id(about, KIND, {"program": program, "cpus": options.cpus, "seed": options.seed}),
        kind=KIND,
        host=about,
        settings=make_settings(files, pools, options, program),
        seed=options.seed,
        take=Replay(driver, files, pools, options.sched_class, cores).take,
    )


def run(options: Options, dry: bool = False) -> int:
    """@return exit status: see session.carry_out()"""
    if not options.program.is_file():
        raise BenchError(
            f"{options.program}: no such program. Without --old and --new the recorded slots are run, on the "
            "pools of ws-bench: ci/bench builds it, --program names it, --data its slots"
        )
    if not dry:
        options.out.mkdir(parents=True, exist_ok=True)
    with open(os.devnull if dry else options.out / "bench.log", "w") as log:
        driver = Driver(options.program, log)
        try:
            with bound_to(parse_cpus(options.cpus) if options.cpus else None):
                sweep = _sweep(options, driver)
                return (show_plan if dry else carry_out)(sweep, options.out, options.fresh)
        finally:
            driver.close()
