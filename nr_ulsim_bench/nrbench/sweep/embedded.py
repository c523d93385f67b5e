# SPDX-License-Identifier: BSD-3-Clause
"""The sweep without OAI: recorded slots of nr_ulsim on every pool that is built in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from nrbench.backends import ALONE, OWN, Present
from nrbench.driver import Driver
from nrbench.slots import SlotFile
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.plan import Setting
from nrbench.sweep.record import INLINE, Build
from nrbench.sweep.run import Taken

KIND = "replay"
SCENARIO = "recorded-slots"
WARM_SLOTS = 10
START_S = 0.05
# Name of a phase in a file of slots -> figure.
PHASES = {
    "symbol_processing": SYMBOLS,
    "ulsch_decoding": DECODING,
    "channel_estimation": "channel_estimation_us",
}
BOUNDS = {SYMBOLS: "symbol_processing_bound_us", DECODING: "decoding_bound_us", RX: "rx_bound_us"}


@dataclass(frozen=True)
class Options:
    threads: tuple[int, ...]
    spins: tuple[str, ...]
    sched_class: str
    cores: int
    own_only: bool = False


def period_us(slot_file: SlotFile) -> int:
    """Of the slots: a multiple of half a millisecond into which the longest fits with one thread."""
    return 500 * (int(1.2 * slot_file.longest_slot_us() / 500) + 1)


def _setting(slot_file: SlotFile, pool: str, spin: str | None, threads: int, options: Options) -> Setting:
    seconds = (WARM_SLOTS + len(slot_file.slots)) * period_us(slot_file) * 1e-6 + START_S
    return Setting(
        scenario=SCENARIO,
        case=slot_file.name,
        options=(slot_file.path.name, f"class={options.sched_class}"),
        pool=pool,
        spin=spin,
        threads=threads,
        environment=() if spin is None or spin == "hot" else (("TPOOL_WS_SPIN", spin),),
        limit_s=5 + 6 * seconds,
        guess_s=seconds,
    )


def make_settings(files: Sequence[SlotFile], pools: Sequence[Present], options: Options) -> list[Setting]:
    settings = []
    for slot_file in files:
        settings.append(_setting(slot_file, INLINE, None, 0, options))
        for pool in pools:
            name = pool.backend.name
            if name == ALONE or (options.own_only and name != OWN):
                continue
            for spin in options.spins if name == OWN else (None,):
                counts = options.threads if pool.has_workers else (1,)
                settings += [_setting(slot_file, name, spin, count, options) for count in counts]
    return settings


def bounds_us(slot_file: SlotFile, cores: int) -> dict[str, float]:
    """What no pool can beat on so many CPUs: of each burst the longest task, or the work over the CPUs; the mean over
    the slots."""
    bounds: Counter[str] = Counter()
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
    figures: Counter[str] = Counter()
    for name, mean_us in zip(next(iter(shapes)), means_us):
        if name in PHASES:
            figures[PHASES[name]] += mean_us
    return dict(figures)


class Replay:
    """Takes runs by asking ws-bench."""

    def __init__(
        self, driver: Driver, files: Sequence[SlotFile], pools: Sequence[Present], options: Options
    ) -> None:
        self.driver = driver
        self.files = {slot_file.name: slot_file for slot_file in files}
        self.pools = {pool.backend.name: pool for pool in pools}
        self.options = options

    def _words(self, setting: Setting) -> list[str]:
        slot_file = self.files[setting.case]
        name = ALONE if setting.pool == INLINE else setting.pool
        environment = [*self.pools[name].backend.environment("default")]
        environment += [f"{key}={value}" for key, value in setting.environment]
        return [
            f"backend={name}",
            f"workers={max(1, setting.threads)}",
            f"class={self.options.sched_class}",
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
        cores = min(self.options.cores, setting.threads + 1)
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


def choose(files: Sequence[SlotFile], cases: str | None, folder: Path) -> list[SlotFile]:
    """By name, separated by commas; all without."""
    if cases is None:
        return list(files)
    by_name = {slot_file.name: slot_file for slot_file in files}
    chosen = []
    for name in (part.strip() for part in cases.split(",")):
        if name not in by_name:
            raise ValueError(
                f"--cases: {name!r} is no recorded slots in {folder}; there are {', '.join(by_name)}"
            )
        chosen.append(by_name[name])
    return chosen
