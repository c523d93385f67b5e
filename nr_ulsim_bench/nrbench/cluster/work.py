# SPDX-License-Identifier: BSD-3-Clause
"""Sessions on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, TypeVar

from nrbench.cluster.builds import bring, package_of
from nrbench.cluster.machines import Machine, cpu_flags, doubts, leave_out_of, system_here
from nrbench.cluster.ways import Cluster, open_cluster
from nrbench.host import commit
from nrbench.places import ROOT
from nrbench.progress import say
from nrbench.radio import session as of_radio
from nrbench.radio import softmodem
from nrbench.radio.builds import Programs, Take
from nrbench.radio.plan import Plan
from nrbench.radio.plan import Step as RadioStep
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.radio.record import RadioRun
from nrbench.record import Host
from nrbench.scratch import scratch_folder
from nrbench.session import Lane, MachineLost, Session, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.options import Options
from nrbench.sweep.parse import pool_of
from nrbench.sweep.process import run_at_once, sha256_of_program
from nrbench.sweep.record import RUNS, Build, Run
from nrbench.sweep.session import LEFT_OUT, Patience, Setting, Step, Sweep, Taken, earlier_runs
from nrbench.sweep.simulator import KIND, Simulate, Simulator, judge_pools, try_out
from nrbench.system import System

T = TypeVar("T")
WHERE = {"host": "on each host", "class": "on one host of each class"}
TEXTS = (".ndjson", ".txt", ".log")  # of the results of a part
PARTS, PART_S, PART_LIMIT_S = "parts.ndjson", 300.0, 12 * 3600.0


def chosen(
    cluster: Cluster, per: str, leave_out: str | None, done: Callable[[Machine], int] = lambda machine: 0
) -> list[Machine]:
    """The machines that take part, after a sentence about each one that is doubtful.

    @param per   host: all; class: one of each class. @param done  runs there already: that one goes on"""
    left_out, here = leave_out_of(leave_out), commit(Path(__file__).parent)
    found: dict[str, Machine] = {}
    for one in sorted(cluster.machines, key=lambda one: -done(one)):
        of_one = list(doubts(one, cluster.machines, here))
        for kind, text in of_one:
            say(f"{one.name}: {kind}: {text}{'; left out' if kind in left_out else ''}")
        if not left_out & {kind for kind, _ in of_one}:
            found.setdefault(one.id if per == "host" else one.class_, one)
    classes = Counter(one.class_ for one in cluster.machines)
    say(f"hosts: {len(cluster.machines)}, classes: {len(classes)}; a case is run {WHERE[per]}")
    for name, count in classes.items():
        say(f"  {count} × {name}")
    return list(found.values())


def prepared(machines: Sequence[Machine], prepare: Callable[[Machine], T]) -> list[T]:
    """All at the same time. A machine that cannot be prepared is named, and left out."""
    found = []
    with ThreadPoolExecutor(max(1, len(machines))) as pool:
        for machine, future in [(machine, pool.submit(prepare, machine)) for machine in machines]:
            try:
                found.append(future.result())
            except MachineLost as error:
                say(f"{machine.name}: left out: {error}")
    return found


def _then(future: Future[Any], function: Callable[[Any], T]) -> Future[T]:
    """@return the function of its result"""
    found: Future[T] = Future()

    def ended(done: Future[Any]) -> None:
        try:
            found.set_result(function(done.result()))
        except BaseException as error:
            found.set_exception(error)

    future.add_done_callback(ended)
    return found


class _Builds:
    """The client's builds, which each machine gets."""

    def __init__(self, cluster: Cluster, programs: Mapping[Any, Simulator], beside: str = "*.so*") -> None:
        self.cluster, self.programs = cluster, programs
        self._packages = {kind: package_of(one, beside) for kind, one in programs.items()}

    def bring(self, machine: Machine) -> dict[Any, Simulator]:
        def there(function: Callable[..., Any], *arguments: Any) -> Any:
            return self.cluster.run_on(machine, function, *arguments).result()

        return {kind: bring(one, self._packages[kind], there) for kind, one in self.programs.items()}


# Sweeps.


@dataclass(frozen=True)
class ClusterSweep:
    """What is to be run."""

    id: str
    builds: Mapping[str, Simulator]  # by the option that names them
    cpus: tuple[int, ...] | None
    settings: Callable[[int], Sequence[Setting]]  # of a machine that takes so many inline runs at once
    at_once: Callable[[Host, str | None, System], int]  # how many inline runs go side by side on a machine
    options: Options


class Block(NamedTuple):
    """One round of a case with one number of threads: old and new pool are taken in one task."""

    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        setting = self.steps[0].setting
        return f"{setting.scenario}:{setting.case} {setting.threads} threads"

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def blocks_of(steps: Sequence[Step]) -> list[Block]:
    found: dict[tuple[object, ...], list[Step]] = {}
    for step in steps:
        one = step.setting
        found.setdefault((step.round, one.scenario, one.case, one.threads), []).append(step)
    return [Block(tuple(block)) for block in found.values()]


def try_builds(
    builds: Mapping[str, tuple[Simulator, Setting]], cpus: Sequence[int] | None
) -> dict[str, tuple[str | None, bool, str | None]]:
    """On a machine. @return of each build the signal that ended it, whether it ran, and its pool's line"""
    found = {}
    for side, (simulator, setting) in builds.items():
        ended = try_out(simulator, setting, cpus)
        pool = pool_of(ended.output) if ended else None
        found[side] = (
            ended.signal_name if ended else None,
            ended is not None and (pool is not None or ended.exit_code == 0),
            pool,
        )
    return found


def take_block(
    builds: Mapping[str, Simulator], cpus: Sequence[int] | None, settings: Sequence[Setting]
) -> list[Taken]:
    """On a machine."""
    if cpus and not set(cpus) <= os.sched_getaffinity(0):
        raise ValueError(f"--cpus: this host's worker may not use all of {list(cpus)}")
    found = []
    for setting in settings:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        found.append({"began": began, **Simulate(builds, cpus).take(setting)})
    return found


def _sweep_of(sweep: ClusterSweep, machine: Machine, cluster: Cluster, there: dict[str, Simulator]) -> Sweep:
    """The sweep on a machine, after its builds have been tried."""
    first = {setting.pool: setting for setting in reversed(sweep.settings(1))}
    tries = {side: (simulator, first[side]) for side, simulator in there.items()}
    pools = {}
    for side, (signal, ran, pool) in cluster.run_on(machine, try_builds, tries, sweep.cpus).result().items():
        if signal == "SIGILL":
            lacking = sorted(set(cpu_flags(System())) - set(machine.about["cpu_flags"]))
            flags = f": it lacks {' '.join(lacking)}" if lacking else ""
            raise MachineLost(f"--{side}: {there[side].program} is built for another CPU (SIGILL){flags}")
        if ran:
            pools[side] = pool
    judge_pools(pools, sweep.builds, sweep.options.any_pool)
    text = None if sweep.cpus is None else ",".join(map(str, sweep.cpus))
    count = cluster.run_on(machine, _at_once, sweep.at_once, machine.host, text).result()
    return Sweep(sweep.id, KIND, machine.host, sweep.settings(count), sweep.options.seed)


def _at_once(function: Callable[..., int], host: Host, cpus: str | None) -> int:
    return function(host, cpus, system_here())


def sweep_lane(
    sweep: ClusterSweep,
    of: Sweep,
    machine: Machine,
    cluster: Cluster,
    there: dict[str, Simulator],
    runs: list[Run],
) -> tuple[Lane[Block, Run], list[Block]]:
    patience = Patience([run for run in runs if run.host.id == machine.id])
    blocks = blocks_of(of.left(runs))

    def begin(block: Block) -> Future[Sequence[Run]]:
        over = [step for step in block.steps if patience.is_over(step.setting)]
        steps = [step for step in block.steps if step not in over]

        def finish(taken: list[Taken]) -> list[Run]:
            every = [*zip(steps, taken), *((step, LEFT_OUT) for step in over)]
            return [patience.note(of.run_of(step, fields)) for step, fields in every]

        settings = [step.setting for step in steps]
        return _then(cluster.run_on(machine, take_block, there, sweep.cpus, settings), finish)

    return Lane(machine.name, iter(blocks), begin), blocks


def sweep(wanted: ClusterSweep) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options = wanted.options
    with results_of(options.out, RUNS, options.fresh and not options.dry_run) as path:
        session = Session(path, Run.model_dump_json, earlier_runs(path, wanted.id, wanted.settings(1)))
        of_host = Counter(run.host.id for run in session.lines)
        with open_cluster(str(options.cluster)) as cluster:
            machines = chosen(cluster, options.per or "host", options.leave_out, lambda one: of_host[one.id])
            if options.dry_run:
                for setting in wanted.settings(1):
                    print(setting.repeats, "×", setting.variant, setting.case, *setting.options)
                return 0
            builds = _Builds(cluster, wanted.builds)

            def prepare(machine: Machine) -> tuple[Lane[Block, Run], list[Block]]:
                there = builds.bring(machine)
                of = _sweep_of(wanted, machine, cluster, there)
                return sweep_lane(wanted, of, machine, cluster, there, session.lines)

            lanes = prepared(machines, prepare)
            seconds = [sum(block.seconds for block in blocks) for _, blocks in lanes]
            count = sum(len(blocks) for _, blocks in lanes)
            session.announce(f"{len(lanes)} of {len(machines)} hosts", count, max(seconds, default=0.0))
            session.run([lane for lane, _ in lanes], count, sum(seconds))
        _left_out(session, machines, len(lanes))
        return session.end(lambda runs, warnings: of_sweep.report(options.out, warnings), of_sweep.failure)


def _left_out(session: Session[Any], machines: Sequence[Machine], count: int) -> None:
    if count < len(machines) and not session.cut:
        session.cut = f"{len(machines) - count} of {len(machines)} hosts were left out"


# Radio.


@dataclass(frozen=True)
class ClusterRadio:
    id: str
    plan: Plan
    programs: Programs
    placements: Sequence[str]
    out: Path
    fresh: bool
    cluster: str
    per: str
    leave_out: str | None


def _check_radio(placements: Sequence[str]) -> str:
    """On a machine. @return why it cannot take runs; empty: it can"""
    try:
        softmodem.check_privileges(system_here())
        for placement in placements:
            softmodem.cpus_of("gnb", placement, os.sched_getaffinity(0))
    except (ValueError, OSError, RuntimeError) as error:
        return str(error)
    return ""


def radio(wanted: ClusterRadio) -> int:
    """The next run of a search depends on the runs before: each machine has a search of its own.

    @return exit status: see radio.session.carry_out()"""
    with results_of(wanted.out, RADIO_RUNS, wanted.fresh) as path:
        session = of_radio.begin(wanted.id, path)
        of_host = Counter(run.host.id for run in session.lines)
        with open_cluster(wanted.cluster) as cluster:
            machines = chosen(cluster, wanted.per, wanted.leave_out, lambda one: of_host[one.id])
            builds = _Builds(cluster, wanted.programs)

            def prepare(machine: Machine) -> tuple[Lane[RadioStep, RadioRun], int]:
                programs = builds.bring(machine)
                trouble = cluster.run_on(machine, _check_radio, list(wanted.placements)).result()
                if trouble:
                    raise MachineLost(trouble)
                here = commit(Path(__file__).parent)
                take = Take(programs, wanted.id, machine.host, here, wanted.plan.seconds)
                runs = [run for run in session.lines if run.host.id == machine.id]  # grows

                def finish(run: RadioRun) -> list[RadioRun]:
                    runs.append(run)
                    return [run]

                def begin(step: RadioStep) -> Future[Sequence[RadioRun]]:
                    return _then(cluster.run_on(machine, take, step), finish)

                return Lane(machine.name, wanted.plan.steps(runs), begin), len(wanted.plan.missing(runs))

            lanes = prepared(machines, prepare)
            counts = [count for _, count in lanes]
            run_s = wanted.plan.run_s
            session.announce(
                f"{len(lanes)} of {len(machines)} hosts", sum(counts), max(counts, default=0) * run_s
            )
            session.run([lane for lane, _ in lanes], sum(counts), sum(counts) * run_s)
        _left_out(session, machines, len(lanes))
        return session.end(
            lambda runs, warnings: of_radio.report(runs, wanted.out, warnings),
            of_radio.failure,
            are_results=True,
        )


# Parts of ci/bench. A machine takes each as a whole; its results are a folder as ci/bench writes it.


class PartStep(NamedTuple):
    part: str  # names with + between them: those whose results are one file

    @property
    def text(self) -> str:
        return self.part

    @property
    def seconds(self) -> float:
        return PART_S


@dataclass(frozen=True)
class ClusterParts:
    program: Path
    parts: Sequence[str]
    words: tuple[str, ...]  # of nrbench run, without --only, --program and --out
    out: Path
    cluster: str
    per: str


def take_part(program: str, part: str, words: Sequence[str]) -> dict[str, Any]:
    """On a machine."""
    with scratch_folder("part") as folder:
        only = [f"--only={name}" for name in part.split("+")]
        command = ["run", "--program", program, *only, "--out", str(folder), *words]
        (ended,) = run_at_once(
            [sys.executable, "-m", "nrbench", *command],
            folder=folder, environment={**os.environ, "PYTHONPATH": str(ROOT)}, limit_s=PART_LIMIT_S,
            cpus_of_each=[None],
        )  # fmt: skip
        files = [path for path in folder.rglob("*") if path.suffix in TEXTS and path.is_file()]
        texts = {str(path.relative_to(folder)): path.read_text(errors="replace") for path in files}
    return {"status": ended.exit_code, "last_line": ended.last_line, "files": texts}


def folder_name(machine: Machine) -> str:
    """The machine's name; with its id where that is no name of a folder, for others may become the same."""
    name = "".join(c if c.isalnum() or c in "-._@" else "_" for c in machine.name).strip(".")
    return name if name == machine.name else f"{name}-{machine.id}"


def _keep(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        if folder.resolve() not in path.resolve().parents:
            raise MachineLost(f"a file outside of its folder: {name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _parts_there(path: Path) -> Iterator[dict[str, Any]]:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            with suppress(ValueError):  # the last one may have been cut off
                yield json.loads(line)


def parts(wanted: ClusterParts, report: Callable[[Path], None]) -> int:
    """A part that is there already, taken with the same program and the same words, is not taken again.

    @param report  on the results of one machine
    @return OK; SOME_FAILED: some parts failed or are left; INTERRUPTED: the same command goes on"""
    digest = sha256_of_program(wanted.program)
    simulator = Simulator(wanted.program.resolve(), Build(sha256=digest), ())
    mark = {"program": digest, "words": list(wanted.words)}
    with results_of(wanted.out, PARTS) as path, open_cluster(wanted.cluster) as cluster:
        machines = chosen(cluster, wanted.per, None)
        session: Session[dict[str, Any]] = Session(path, json.dumps, list(_parts_there(path)))
        builds = _Builds(cluster, {"": simulator}, "*")

        def prepare(machine: Machine) -> tuple[Lane[PartStep, dict[str, Any]], int]:
            program, key = str(builds.bring(machine)[""].program), {"id": machine.id, **mark}
            good = [
                line["part"] for line in session.lines if key.items() <= line.items() and not line["status"]
            ]
            steps = [PartStep(part) for part in wanted.parts if part not in good]

            def begin(step: PartStep) -> Future[Sequence[dict[str, Any]]]:
                def finish(answer: dict[str, Any]) -> list[dict[str, Any]]:
                    _keep(wanted.out / folder_name(machine), answer.pop("files"))
                    return [{"host": machine.name, "part": step.part, **key, **answer}]

                return _then(cluster.run_on(machine, take_part, program, step.part, wanted.words), finish)

            return Lane(machine.name, iter(steps), begin), len(steps)

        lanes = prepared(machines, prepare)
        count = sum(of for _, of in lanes)
        session.run([lane for lane, _ in lanes], count, count * PART_S)
        _left_out(session, machines, len(lanes))

        def report_each(lines: list[dict[str, Any]], warnings: list[str]) -> None:
            for machine in machines:
                folder = wanted.out / folder_name(machine)
                if folder.is_dir():
                    print(f"\n== {folder.name}")
                    report(folder)

        return session.end(
            report_each,
            lambda line: f"{line['host']}: {line['part']}: exit status {line['status']}: {line['last_line']}"
            if line["status"] else "",
        )  # fmt: skip
