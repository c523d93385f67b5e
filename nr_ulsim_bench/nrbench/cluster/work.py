# SPDX-License-Identifier: BSD-3-Clause
"""Sessions on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

from __future__ import annotations

import datetime
import functools
import json
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.cluster.builds import bring, package_of
from nrbench.cluster.machines import Machine, cpu_flags, doubts, leave_out_of, system_here
from nrbench.cluster.ways import Cluster, open_cluster
from nrbench.host import commit
from nrbench.places import ROOT
from nrbench.progress import say
from nrbench.radio import session as of_radio
from nrbench.radio import softmodem
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.radio.record import RadioRun
from nrbench.radio.session import Plan, Take
from nrbench.radio.session import Step as RadioStep
from nrbench.radio.softmodem import Programs
from nrbench.record import Host
from nrbench.scratch import scratch_folder
from nrbench.session import OK, MachineLost, Session, elsewhere, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.options import Options
from nrbench.sweep.parse import pool_of
from nrbench.sweep.process import run_at_once, sha256_of_program
from nrbench.sweep.record import RUNS, Build, Run
from nrbench.sweep.session import LEFT_OUT, Patience, Setting, Step, Sweep, Taken, earlier_runs
from nrbench.sweep.simulator import KIND, Simulate, Simulator, judge_pools, try_out
from nrbench.system import System

AtOnce = Callable[[Host, str | None, System], int]
WHERE = {"host": "on each host", "class": "on one host of each class"}
TEXTS = (".ndjson", ".txt", ".log")  # of the results of a part
PARTS, PART_S, PART_LIMIT_S = "parts.ndjson", 300.0, 12 * 3600.0


def chosen(cluster: Cluster, per: str, leave_out: str | None, done: Mapping[str, int]) -> list[Machine]:
    """The machines that take part, after a sentence about each one that is doubtful.

    @param per   host: all; class: one of each class. @param done  runs there, by id: that machine goes on"""
    left_out, here = leave_out_of(leave_out), commit(Path(__file__).parent)
    found: dict[str, Machine] = {}
    for one in sorted(cluster.machines, key=lambda one: -done.get(one.id, 0)):
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


class Share(NamedTuple):
    """What a machine is to take."""

    steps: Iterator[Any]
    take: Callable[[Any], Sequence[Any]]  # the lines of a step; it waits for the machine
    planned: int  # lines
    seconds: float


@dataclass(frozen=True)
class Wanted:
    """The machines that a command asks for."""

    cluster: str
    per: str | None
    leave_out: str | None = None

    def run(
        self,
        session: Session[Any],
        id_of: Callable[[Any], str],
        programs: Mapping[Any, Simulator],
        share_of: Callable[[Cluster, Machine, dict[Any, Simulator]], Share],
        beside: str = "*.so*",
    ) -> list[Machine]:
        """Takes what is left, on all machines at the same time.

        @param id_of     the machine's, of a line
        @param programs  which each machine gets
        @param share_of  with the programs as they are there. @raise MachineLost  it cannot take any
        @param beside    pattern of the names of the other files that belong to the programs"""
        with open_cluster(self.cluster) as cluster:
            done = Counter(map(id_of, session.lines))
            machines = chosen(cluster, self.per or "host", self.leave_out, done)
            packages = {kind: package_of(one, beside) for kind, one in programs.items()}

            def prepare(machine: Machine) -> Share:
                there = functools.partial(cluster.run_on, machine)
                builds = {kind: bring(one, packages[kind], there) for kind, one in programs.items()}
                return share_of(cluster, machine, builds)

            lanes, shares = [], []
            for machine, share in cluster.on_each(machines, prepare):
                if isinstance(share, MachineLost):
                    say(f"{machine.name}: left out: {share}")
                    continue
                shares.append(share)
                lanes.append(elsewhere(machine.name, share.steps, share.take, cluster.pool))
            count, seconds = sum(share.planned for share in shares), [share.seconds for share in shares]
            session.announce(f"{len(lanes)} of {len(machines)} hosts", count, max(seconds, default=0.0))
            session.run(lanes, count, sum(seconds))
        if len(lanes) < len(machines) and not session.cut:
            session.cut = f"{len(machines) - len(lanes)} of {len(machines)} hosts were left out"
        return machines


# Sweeps.


@dataclass(frozen=True)
class ClusterSweep:
    """What is to be run."""

    id: str
    builds: Mapping[str, Simulator]  # by the option that names them
    cpus: tuple[int, ...] | None
    settings: Callable[[int], Sequence[Setting]]  # of a machine that takes so many inline runs at once
    at_once: AtOnce  # how many inline runs go side by side on a machine
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


class Tried(NamedTuple):
    signal: str | None
    ran: bool
    pool: str | None  # the line about it


def try_builds(
    tries: Mapping[str, tuple[Simulator, Setting]], cpus: Sequence[int] | None, host: Host, at_once: AtOnce
) -> tuple[dict[str, Tried], int]:
    """On a machine. @return of each build how it ended, and how many inline runs go side by side"""
    if cpus and not set(cpus) <= os.sched_getaffinity(0):
        raise MachineLost(f"--cpus: this host's worker may not use all of {list(cpus)}")
    found = {}
    for side, (simulator, setting) in tries.items():
        ended = try_out(simulator, setting, cpus)
        pool = pool_of(ended.output) if ended else None
        ran = ended is not None and (pool is not None or ended.exit_code == 0)
        found[side] = Tried(ended.signal_name if ended else None, ran, pool)
    text = None if cpus is None else ",".join(map(str, cpus))
    return found, at_once(host, text, system_here())


def take_block(
    builds: Mapping[str, Simulator], cpus: Sequence[int] | None, settings: Sequence[Setting]
) -> list[Taken]:
    """On a machine."""
    found = []
    for setting in settings:
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        found.append({"began": began, **Simulate(builds, cpus).take(setting)})
    return found


def _sweep_of(wanted: ClusterSweep, cluster: Cluster, machine: Machine, there: dict[str, Simulator]) -> Sweep:
    """The sweep on a machine, after its builds have been tried."""
    first = {setting.pool: setting for setting in reversed(wanted.settings(1))}
    tries = {side: (simulator, first[side]) for side, simulator in there.items()}
    tried, count = cluster.run_on(machine, try_builds, tries, wanted.cpus, machine.host, wanted.at_once)
    for side, one in tried.items():
        if one.signal == "SIGILL":
            lacking = sorted(set(cpu_flags(System())) - set(machine.about["cpu_flags"]))
            flags = f": it lacks {' '.join(lacking)}" if lacking else ""
            raise MachineLost(f"--{side}: {there[side].program} is built for another CPU (SIGILL){flags}")
    pools = {side: one.pool for side, one in tried.items() if one.ran}
    judge_pools(pools, wanted.builds, wanted.options.any_pool)
    return Sweep(wanted.id, KIND, machine.host, wanted.settings(count), wanted.options.seed)


def sweep(wanted: ClusterSweep) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options = wanted.options
    if options.dry_run:
        for setting in wanted.settings(1):
            print(setting.repeats, "×", setting.variant, setting.case, *setting.options)
        return OK
    with results_of(options.out, RUNS, options.fresh) as path:
        session = Session(path, Run.model_dump_json, earlier_runs(path, wanted.id, wanted.settings(1)))

        def share_of(cluster: Cluster, machine: Machine, there: dict[str, Simulator]) -> Share:
            of = _sweep_of(wanted, cluster, machine, there)
            patience = Patience([run for run in session.lines if run.host.id == machine.id])
            steps = of.left(session.lines)

            def take(block: Block) -> list[Run]:
                now = [step for step in block.steps if not patience.is_over(step.setting)]
                settings = [step.setting for step in now]
                taken = cluster.run_on(machine, take_block, there, wanted.cpus, settings)
                over = [step for step in block.steps if step not in now]
                every = [*zip(now, taken), *((step, LEFT_OUT) for step in over)]
                return [patience.note(of.run_of(step, fields)) for step, fields in every]

            return Share(iter(blocks_of(steps)), take, len(steps), sum(step.seconds for step in steps))

        machines = Wanted(str(options.cluster), options.per, options.leave_out)
        machines.run(session, _host_id, wanted.builds, share_of)
        return session.end(lambda runs, warnings: of_sweep.report(options.out, warnings), of_sweep.failure)


def _host_id(run: Run | RadioRun) -> str:
    return run.host.id


# Radio.


def check_radio() -> None:
    """On a machine. @raise MachineLost  it cannot take runs"""
    try:
        softmodem.check_privileges(system_here())
    except ValueError as error:
        raise MachineLost(str(error)) from error


def radio(machines: Wanted, name: str, plan: Plan, programs: Programs, out: Path, fresh: bool) -> int:
    """The next run of a search depends on the runs before: each machine has a search of its own.

    @return exit status: see radio.session.carry_out()"""
    with results_of(out, RADIO_RUNS, fresh) as path:
        session = of_radio.begin(name, path)

        def share_of(cluster: Cluster, machine: Machine, there: dict[Any, Simulator]) -> Share:
            cluster.run_on(machine, check_radio)
            shared = {"sweep": name, "host": machine.host, "commit": commit(Path(__file__).parent)}
            take_there = Take(there, {**shared, "seconds": plan.seconds})
            runs = [run for run in session.lines if run.host.id == machine.id]  # grows

            def take(step: RadioStep) -> list[RadioRun]:
                runs.append(cluster.run_on(machine, take_there, step))
                return runs[-1:]

            planned = list(plan.steps(runs))
            return Share(plan.steps(runs), take, len(planned), sum(step.seconds for step in planned))

        machines.run(session, _host_id, programs, share_of)
        return of_radio.end(session, out)


# Parts of ci/bench. A machine takes each as a whole; its results are a folder as ci/bench writes it.


class PartStep(NamedTuple):
    text: str  # names with + between them: those whose results are one file
    seconds: float = PART_S


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


def _part_failure(line: Mapping[str, Any]) -> str:
    if not line["status"]:
        return ""
    return f"{line['host']}: {line['part']}: exit status {line['status']}: {line['last_line']}"


def parts(
    machines: Wanted, program: Path, names: Sequence[str], words: Sequence[str], out: Path,
    report: Callable[[Path], None],
) -> int:  # fmt: skip
    """A part that is there already, taken with the same program and the same words, is not taken again.

    @param words   of nrbench run, without --only, --program and --out
    @param report  on the results of one machine
    @return OK; SOME_FAILED: some parts failed or are left; INTERRUPTED: the same command goes on"""
    digest = sha256_of_program(program)
    simulator = Simulator(program.resolve(), Build(sha256=digest), ())
    with results_of(out, PARTS) as path:
        session: Session[dict[str, Any]] = Session(path, json.dumps, list(_parts_there(path)))

        def share_of(cluster: Cluster, machine: Machine, there: dict[Any, Simulator]) -> Share:
            key = {"id": machine.id, "program": digest, "words": list(words)}
            good = [
                line["part"] for line in session.lines if key.items() <= line.items() and not line["status"]
            ]
            steps = [PartStep(name) for name in names if name not in good]

            def take(step: PartStep) -> list[dict[str, Any]]:
                answer = cluster.run_on(machine, take_part, str(there[""].program), step.text, words)
                _keep(out / folder_name(machine), answer.pop("files"))
                return [{"host": machine.name, "part": step.text, **key, **answer}]

            return Share(iter(steps), take, len(steps), len(steps) * PART_S)

        taken = machines.run(session, lambda line: str(line["id"]), {"": simulator}, share_of, "*")

        def report_each(lines: list[dict[str, Any]], warnings: list[str]) -> None:
            for folder in (out / folder_name(machine) for machine in taken):
                if folder.is_dir():
                    print(f"\n== {folder.name}")
                    report(folder)

        return session.end(report_each, _part_failure)
