# SPDX-License-Identifier: BSD-3-Clause
"""Sessions on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

import functools
from pathlib import Path
from typing import Any, Callable, Mapping

from nrbench.cluster.builds import archive_of, bring
from nrbench.cluster.machines import Machine, system_here
from nrbench.cluster.ways import Cluster, check_way, open_cluster
from nrbench.host import commit
from nrbench.progress import say
from nrbench.radio import session as of_radio
from nrbench.radio import softmodem
from nrbench.radio.record import RUNS as RADIO_RUNS
from nrbench.radio.record import RadioRun
from nrbench.radio.session import Campaign as RadioCampaign
from nrbench.radio.softmodem import Programs
from nrbench.session import Lane, MachineLost, Session, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.nr_ulsim import Campaign as SweepCampaign
from nrbench.sweep.record import RUNS, Run
from nrbench.sweep.simulator import Simulator

There = Callable[..., Any]  # runs a function on a machine, and waits for its result
# Of a machine, with the programs as they are there. ValueError: it takes none.
LaneOf = Callable[[Machine, There, dict[Any, Simulator]], Lane[Any]]


def _lane(
    cluster: Cluster, builds: Mapping[Any, tuple[Simulator, bytes]], lane_of: LaneOf, machine: Machine
) -> Lane[Any]:
    there = functools.partial(cluster.link.run_on, machine.address)
    if machine.commit != commit(Path(__file__).parent):
        say(f"{machine.name}: another version of nrbench: {machine.commit or 'of an unknown commit'}")
    try:
        lane = lane_of(machine, there, {kind: bring(*build, there) for kind, build in builds.items()})
    except ValueError as error:
        raise MachineLost(str(error)) from error
    lane.name, lane.pool = machine.name, cluster.pool
    return lane


def on_all(spec: str, session: Session[Any], programs: Mapping[Any, Simulator], lane_of: LaneOf) -> None:
    """Takes what is left, on all machines at the same time.

    @param programs  which each machine gets"""
    with open_cluster(spec) as cluster:
        builds = {kind: (one, archive_of(one)) for kind, one in programs.items()}
        lanes = []
        for machine, lane in cluster.on_each(functools.partial(_lane, cluster, builds, lane_of)):
            if isinstance(lane, MachineLost):
                say(f"{machine.name}: left out: {lane}")
            else:
                lanes.append(lane)
        count = len(cluster.machines)
        session.take(f"{len(lanes)} of {count} hosts", lanes)
    if len(lanes) < count and not session.cut:
        session.cut = f"{count - len(lanes)} of {count} hosts were left out"


def _sweep_lane(
    campaign: SweepCampaign, name: str, session: Session[Run],
    machine: Machine, there: There, builds: dict[str, Simulator],
) -> Lane[Run]:  # fmt: skip
    return campaign.sweep(name, machine.host, builds, there).lane(session.lines, side_by_side=True)


def sweep(campaign: SweepCampaign) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options, name = campaign.options, campaign.id_for("cluster")
    check_way(str(options.cluster))
    with results_of(options.out, RUNS, options.fresh) as path:
        session = of_sweep.session_of(path, name, campaign.settings(at_once=1))
        lane_of = functools.partial(_sweep_lane, campaign, name, session)
        on_all(str(options.cluster), session, campaign.builds, lane_of)
        return of_sweep.end(session, options.out)


def check_radio() -> None:
    """On a machine. @raise ValueError  it cannot take runs"""
    softmodem.check_privileges(system_here())


def _radio_lane(
    campaign: RadioCampaign, name: str, session: Session[RadioRun],
    machine: Machine, there: There, programs: dict[Any, Simulator],
) -> Lane[RadioRun]:  # fmt: skip
    """The next run of a search depends on the runs before: each machine has a search of its own."""
    there(check_radio)
    taken = functools.partial(there, of_radio.take, programs, campaign.fields(name, machine.host))
    return campaign.lane(machine.host.id, session.lines, taken)


def radio(spec: str, campaign: RadioCampaign, programs: Programs, out: Path, fresh: bool) -> int:
    """@return exit status: see radio.session.carry_out()"""
    check_way(spec)
    name = campaign.id_for("cluster", programs)
    with results_of(out, RADIO_RUNS, fresh) as path:
        session = of_radio.session_of(path, name)
        on_all(spec, session, programs, functools.partial(_radio_lane, campaign, name, session))
        return of_radio.end(session, out)
