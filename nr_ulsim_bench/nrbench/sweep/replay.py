# SPDX-License-Identifier: BSD-3-Clause
"""The sweep without OAI: recorded slots of nr_ulsim on every pool that is built in."""

import functools
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from nrbench import host
from nrbench.backends import ALONE, OWN, Backend, Present
from nrbench.driver import BenchError, ask, chosen, there
from nrbench.engine import words
from nrbench.progress import say
from nrbench.session import session_id
from nrbench.sweep.figures import DECODING, RX, SYMBOLS, bound_key
from nrbench.sweep.options import Options
from nrbench.sweep.process import bound_to, sha256_of, sha256_of_program
from nrbench.sweep.record import INLINE, Build, Kind, Setting
from nrbench.sweep.session import Sweep, Taken, carry_out
from nrbench.system import parse_cpus

KIND: Kind = "replay"
SCENARIO = "recorded-slots"
WARM_SLOTS = 10
START_S = 0.05
THREADS = (1, 2, 4, 8, 16, 24)  # the slides', as far as four threads on each CPU
# Name of a phase in a file of slots -> figure.
PHASES = {
    "symbol_processing": SYMBOLS,
    "ulsch_decoding": DECODING,
    "channel_estimation": "channel_estimation_us",
}
QUANTILES = {"median": "p50", "p99": "p99", "max": "max"}
SHORT_FILES = 2
SPINS = ("off", "auto")
REPEATS = 5
CLASS = "other"  # with real-time workers and a normal producer some pools starve it for good
NO_PROGRAM = (
    "no such program. A sweep without --old and --new runs recorded slots on the pools of ws-bench. Build it "
    "by ci/bench, or name it by --program and its slots by --data"
)
LINE = "slot,phase,serial_before_ns,task_count,task_ns..., the durations separated by blanks"  # of a file
OLD_AND_NEW = ("mutex-per-worker", OWN)


class SlotFileError(ValueError):
    """Names file and line."""


@dataclass(frozen=True)
class Phase:
    slot: int
    name: str
    serial_ns: int
    task_ns: tuple[int, ...]

    def bound_ns(self, cores: int) -> float:
        return self.serial_ns + max(max(self.task_ns, default=0), sum(self.task_ns) / cores)


@dataclass(frozen=True)
class SlotFile:
    path: Path
    slots: tuple[tuple[Phase, ...], ...]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def tasks_max(self) -> int:
        return max(len(phase.task_ns) for slot in self.slots for phase in slot)

    def longest_slot_us(self) -> float:
        """Work of the longest slot, on one core."""
        return max(sum(p.serial_ns + sum(p.task_ns) for p in slot) for slot in self.slots) / 1000


def parse_line(text: str) -> Phase:
    slot, name, *numbers = text.replace(",", " ").split()
    serial_ns, count, *task_ns = map(int, numbers)
    if len(task_ns) != count:
        raise ValueError(f"{count} tasks announced, {len(task_ns)} durations given")
    if min(int(slot), serial_ns, *task_ns) < 0:
        raise ValueError("a number is negative")
    return Phase(int(slot), name, serial_ns, tuple(task_ns))


def read_slot_file(path: Path) -> SlotFile:
    slots: list[list[Phase]] = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            phase = parse_line(text)
        except ValueError as error:
            raise SlotFileError(f"{path}:{number}: {error}; a line is {LINE}") from error
        if not slots or slots[-1][0].slot != phase.slot:
            slots.append([])
        slots[-1].append(phase)
    if not slots:
        raise SlotFileError(f"{path}: holds no slot")
    return SlotFile(path, tuple(tuple(slot) for slot in slots))


def period_us(slot_file: SlotFile) -> int:
    """Of the slots: a multiple of half a millisecond into which the longest fits with one thread."""
    return 500 * (int(1.2 * slot_file.longest_slot_us() / 500) + 1)


def make_settings(
    files: Sequence[SlotFile], pools: Sequence[Present], options: Options, cores: int, program: str = ""
) -> Iterator[Setting]:
    """Of each file: inline, then each pool with each number of threads, ours with each mode."""
    threads = options.threads or tuple(count for count in THREADS if count <= 4 * cores)
    variants: list[tuple[str, str | None, int]] = [(INLINE, None, 0)]
    for pool in (pool for pool in pools if pool.backend.name != ALONE):
        name = pool.backend.name
        spins = options.spins or SPINS if name == OWN else (None,)
        counts = threads if pool.has_workers else (1,)
        variants += [(name, spin, count) for spin in spins for count in counts]
    for slot_file in files:
        seconds = (WARM_SLOTS + len(slot_file.slots)) * period_us(slot_file) * 1e-6 + START_S
        digest, sched_class = sha256_of(slot_file.path), options.sched_class or CLASS
        about = (slot_file.path.name, f"sha256={digest}", f"class={sched_class}")
        for name, spin, count in variants:
            environment = {} if spin is None else {"TPOOL_WS_SPIN": spin}
            yield Setting(
                scenario=SCENARIO, case=slot_file.name, options=about, pool=name, spin=spin, threads=count,
                program=program, cpus=options.cpus, environment=environment,
                repeats=options.repeats or REPEATS, guess_s=seconds,
            )  # fmt: skip


def bounds_us(slot_file: SlotFile, cores: int) -> dict[str, float]:
    """What no pool can beat on so many CPUs: of each burst the longest task, or the work over the CPUs; the
    mean over the slots."""
    bounds: defaultdict[str, float] = defaultdict(float)
    for phase in (phase for slot in slot_file.slots for phase in slot):
        bound = phase.bound_ns(cores) / 1000
        bounds[bound_key(RX)] += bound
        figure = PHASES.get(phase.name)
        if figure in (SYMBOLS, DECODING):
            bounds[bound_key(figure)] += bound - phase.serial_ns / 1000
    return {name: bound / len(slot_file.slots) for name, bound in bounds.items()}


def burst_figures(slot_file: SlotFile, means_us: Sequence[float]) -> dict[str, float]:
    """The means of the bursts, by their places in the slot, summed by phase."""
    shapes = {tuple(phase.name for phase in slot if phase.task_ns) for slot in slot_file.slots}
    if len(shapes) != 1:
        return {}  # the slots are not alike: a place means nothing
    figures: defaultdict[str, float] = defaultdict(float)
    for name, mean_us in zip(next(iter(shapes)), means_us):
        if name in PHASES:
            figures[PHASES[name]] += mean_us
    return dict(figures)


def take(
    program: Path, files: list[SlotFile], pools: list[Present], cores: int, settings: Sequence[Setting]
) -> list[Taken]:
    """Runs, by asking ws-bench."""
    by_case, by_name = {one.name: one for one in files}, {pool.backend.name: pool for pool in pools}
    named = ((by_name[ALONE if one.pool == INLINE else one.pool], one) for one in settings)
    return [_taken(program, by_case[setting.case], pool, cores, setting) for pool, setting in named]


def _taken(program: Path, slot_file: SlotFile, pool: Present, cores: int, setting: Setting) -> Taken:
    """Costs are of the measured slots alone."""
    answer = ask(program, _words(setting, slot_file, pool.backend), setting.guess_s)[0]
    if "error" in answer:
        status = "hang" if "killed" in answer["error"] else "failed"
        return {"status": status, "error": answer["error"]}
    return {
        "status": "ok",
        "build": Build(sha256=setting.program, pool=f"{pool.backend.name} {pool.version}".strip()),
        "trials": answer["slots"],
        "figures": {
            RX: answer["makespan_mean_us"],
            **{f"rx_{name}_us": answer[f"makespan_{p}_us"] for name, p in QUANTILES.items()},
            **burst_figures(slot_file, answer["burst_mean_us"]),
            **bounds_us(slot_file, min(cores, setting.threads + 1)),
        },
        "wall_s": answer["wall_s"],
        "cpu_s": answer["cpu_s"],
        "ctx_voluntary": answer["ctx_switches"],
    }


def _words(setting: Setting, slot_file: SlotFile, backend: Backend) -> list[str]:
    variables = [*backend.environment("default"), *map("=".join, setting.environment.items())]
    of_pool = words(backend=backend.name, workers=max(1, setting.threads))
    of_pool += (setting.options[-1], *words(mode="default", hog=0), *(f"env={word}" for word in variables))
    of_file = words(bench="replay", file=slot_file.path, tasks=slot_file.tasks_max)
    times = words(period_us=period_us(slot_file), slots=len(slot_file.slots), warm=WARM_SLOTS)
    return [*of_pool, *of_file, *times]


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


def _sweep(options: Options) -> Sweep:
    about = host.describe(options.label)
    cores = len(parse_cpus(options.cpus)) if options.cpus else about.cores
    every = [read_slot_file(path) for path in sorted(options.data.glob("*.slots"))]
    if not every:
        raise BenchError(f"{options.data}: no recorded slots (*.slots)")
    files = choose_files(every, options.cases, options.short)
    found, missing = chosen(options.program, (*options.backends, ALONE) if options.backends else ())
    pools = [pool for pool in found if options.backends or not pool.backend.part]
    for name, reason in missing.items():
        say(f"left out: {name}: {reason}")
    program = sha256_of_program(options.program)
    settings = list(make_settings(files, pools, options, cores, program))
    what = {"program": program, "cpus": settings[0].cpus, "seed": options.seed}
    taken = functools.partial(take, options.program, files, pools, cores)
    return Sweep(session_id(about.id, KIND, what), KIND, about, settings, options.seed, taken)


def run(options: Options) -> int:
    """@return exit status: see session.carry_out()"""
    there(options.program, NO_PROGRAM)
    with bound_to(parse_cpus(options.cpus) if options.cpus else None):
        return carry_out(_sweep(options), options)
