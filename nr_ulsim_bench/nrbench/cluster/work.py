# SPDX-License-Identifier: BSD-3-Clause
"""Sessions on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

from __future__ import annotations

import functools
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.cluster.builds import bring, package_of
from nrbench.cluster.machines import Machine, system_here
from nrbench.cluster.ways import open_cluster
from nrbench.host import commit
from nrbench.places import ROOT
from nrbench.progress import say
from nrbench.radio import session as of_radio
from nrbench.radio import softmodem
from nrbench.radio.builds import Programs, Take
from nrbench.radio.plan import Plan as RadioPlan
from nrbench.radio.plan import Step as RadioStep
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.radio.record import RadioRun
from nrbench.scratch import scratch_folder
from nrbench.session import Lane, MachineLost, Session, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.nr_ulsim import Plan
from nrbench.sweep.process import run_at_once, sha256_of_program
from nrbench.sweep.record import RUNS, Build, Run
from nrbench.sweep.simulator import Simulator

TEXTS = (".ndjson", ".txt", ".log")  # of the results of a part
PARTS, PART_S, PART_LIMIT_S = "parts.ndjson", 300.0, 12 * 3600.0
There = Callable[..., Any]  # runs a function on a machine, and waits for its result


def on_all(
    cluster: str,
    session: Session[Any],
    programs: Mapping[Any, Simulator],
    lane_of: Callable[[Machine, There, dict[Any, Simulator]], Lane[Any, Any]],
    beside: str = "*.so*",
) -> list[Machine]:
    """Takes what is left, on all machines at the same time.

    @param programs  which each machine gets
    @param lane_of   of a machine, with the programs as they are there. ValueError, MachineLost: it takes none
    @param beside    pattern of the names of the other files that belong to the programs"""
    with open_cluster(cluster) as opened:
        packages = {kind: package_of(one, beside) for kind, one in programs.items()}

        def prepare(machine: Machine) -> Lane[Any, Any]:
            there = functools.partial(opened.run_on, machine)
            if machine.commit != commit(Path(__file__).parent):
                say(f"{machine.name}: another version of nrbench: {machine.commit or 'of an unknown commit'}")
            try:
                lane = lane_of(machine, there, {kind: bring(one, there) for kind, one in packages.items()})
            except ValueError as error:
                raise MachineLost(str(error)) from error
            lane.name, lane.pool = machine.name, opened.pool
            return lane

        lanes = []
        for machine, lane in opened.on_each(prepare):
            if isinstance(lane, MachineLost):
                say(f"{machine.name}: left out: {lane}")
            else:
                lanes.append(lane)
        count = len(opened.machines)
        session.announce(f"{len(lanes)} of {count} hosts", lanes)
        session.run(lanes)
    if len(lanes) < count and not session.cut:
        session.cut = f"{count - len(lanes)} of {count} hosts were left out"
    return opened.machines


def sweep(plan: Plan) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options, name = plan.options, plan.id_for("cluster")
    with results_of(options.out, RUNS, options.fresh) as path:
        earlier = of_sweep.earlier_runs(path, name, plan.settings(at_once=1))
        session = Session(path, Run.model_dump_json, earlier)

        def lane_of(machine: Machine, there: There, builds: dict[str, Simulator]) -> Lane[of_sweep.Step, Run]:
            return plan.sweep(name, machine.host, builds, there).lane(session.lines, side_by_side=True)

        on_all(str(options.cluster), session, plan.builds, lane_of)
        return of_sweep.end(session, options.out)


def check_radio(placements: Sequence[str]) -> None:
    """On a machine. @raise ValueError  it cannot take runs"""
    softmodem.check_privileges(system_here())
    for placement in placements:
        softmodem.cpus_of("gnb", placement, os.sched_getaffinity(0))


def radio(
    cluster: str, name: str, plan: RadioPlan, programs: Programs, placements: Sequence[str], out: Path,
    fresh: bool,
) -> int:  # fmt: skip
    """The next run of a search depends on the runs before: each machine has a search of its own.

    @return exit status: see radio.session.carry_out()"""
    with results_of(out, RADIO_RUNS, fresh) as path:
        session = of_radio.begin(name, path)

        def lane_of(
            machine: Machine, there: There, builds: dict[Any, Simulator]
        ) -> Lane[RadioStep, RadioRun]:
            there(check_radio, list(placements))
            take_there = Take(builds, name, machine.host, commit(Path(__file__).parent), plan.seconds)
            runs = [run for run in session.lines if run.host.id == machine.id]  # grows

            def take(step: RadioStep) -> list[RadioRun]:
                runs.append(there(take_there, step))
                return runs[-1:]

            count = len(plan.missing(runs))
            return Lane("", plan.steps(runs), take, count, count * plan.run_s)

        on_all(cluster, session, programs, lane_of)
        return session.end(
            lambda runs, warnings: of_radio.report(runs, out, warnings), of_radio.failure, are_results=True
        )


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
    return "{host}: {part}: exit status {status}: {last_line}".format_map(line) if line["status"] else ""


def parts(
    cluster: str, program: Path, names: Sequence[str], words: Sequence[str], out: Path,
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

        def lane_of(machine: Machine, there: There, builds: dict[Any, Simulator]) -> Lane[PartStep, Any]:
            key = {"id": machine.id, "program": digest, "words": list(words), "status": 0}
            good = [line["part"] for line in session.lines if key.items() <= line.items()]
            steps = [PartStep(name) for name in names if name not in good]

            def take(step: PartStep) -> list[dict[str, Any]]:
                answer = there(take_part, str(builds[""].program), step.text, words)
                _keep(out / folder_name(machine), answer.pop("files"))
                return [{"host": machine.name, "part": step.text, **key, **answer}]

            return Lane("", iter(steps), take, len(steps), len(steps) * PART_S)

        machines = on_all(cluster, session, {"": simulator}, lane_of, beside="*")

        def report_each(lines: list[dict[str, Any]], warnings: list[str]) -> None:
            for folder in (out / folder_name(machine) for machine in machines):
                if folder.is_dir():
                    print(f"\n== {folder.name}")
                    report(folder)

        return session.end(report_each, _part_failure)
