# SPDX-License-Identifier: BSD-3-Clause
"""Sessions on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

import functools
from pathlib import Path
from typing import Any, Callable, Mapping

from nrbench.cluster.builds import archive_of, bring
from nrbench.cluster.machines import Machine, system_here
from nrbench.cluster.ways import check_way, open_cluster
from nrbench.host import commit
from nrbench.progress import say
from nrbench.radio import session as of_radio
from nrbench.radio import softmodem
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.radio.record import RadioRun
from nrbench.radio.session import Plan as RadioPlan
from nrbench.radio.session import Step as RadioStep
from nrbench.radio.softmodem import Programs
from nrbench.session import Lane, MachineLost, Session, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.nr_ulsim import Plan
from nrbench.sweep.record import RUNS, Run
from nrbench.sweep.simulator import Simulator

There = Callable[..., Any]  # runs a function on a machine, and waits for its result


def on_all(
    cluster: str,
    session: Session[Any],
    programs: Mapping[Any, Simulator],
    lane_of: Callable[[Machine, There, dict[Any, Simulator]], Lane[Any]],
) -> None:
    """Takes what is left, on all machines at the same time.

    @param programs  which each machine gets
    @param lane_of   of a machine, with the programs as they are there; ValueError: it takes none"""
    with open_cluster(cluster) as opened:
        archives = {kind: archive_of(one) for kind, one in programs.items()}

        def prepare(machine: Machine) -> Lane[Any]:
            there = functools.partial(opened.run_on, machine.address)
            if machine.commit != commit(Path(__file__).parent):
                say(f"{machine.name}: another version of nrbench: {machine.commit or 'of an unknown commit'}")
            builds = {kind: bring(one, archives[kind], there) for kind, one in programs.items()}
            try:
                lane = lane_of(machine, there, builds)
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


def sweep(plan: Plan) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options, name = plan.options, plan.id_for("cluster")
    check_way(str(options.cluster))
    with results_of(options.out, RUNS, options.fresh) as path:
        earlier = of_sweep.earlier_runs(path, name, plan.settings(at_once=1))
        session = Session(path, Run.model_dump_json, earlier, of_sweep.failure)

        def lane_of(machine: Machine, there: There, builds: dict[str, Simulator]) -> Lane[Run]:
            return plan.sweep(name, machine.host, builds, there).lane(session.lines, side_by_side=True)

        on_all(str(options.cluster), session, plan.builds, lane_of)
        return of_sweep.end(session, options.out)


def check_radio() -> None:
    """On a machine. @raise ValueError  it cannot take runs"""
    softmodem.check_privileges(system_here())


def radio(cluster: str, name: str, plan: RadioPlan, programs: Programs, out: Path, fresh: bool) -> int:
    """The next run of a search depends on the runs before: each machine has a search of its own.

    @return exit status: see radio.session.carry_out()"""
    check_way(cluster)
    with results_of(out, RADIO_RUNS, fresh) as path:
        session = of_radio.begin(name, path)

        def lane_of(machine: Machine, there: There, builds: dict[Any, Simulator]) -> Lane[RadioRun]:
            there(check_radio)
            shared = {"sweep": name, "host": machine.host, "commit": commit(Path(__file__).parent)}
            take_there = functools.partial(of_radio.take, builds, {**shared, **plan.shared})
            runs = [run for run in session.lines if run.host.id == machine.host.id]  # grows

            def take(step: RadioStep) -> list[RadioRun]:
                runs.append(there(take_there, step))
                return runs[-1:]

            return of_radio.lane(plan, runs, take)

        on_all(cluster, session, programs, lane_of)
        return of_radio.end(session, out)
