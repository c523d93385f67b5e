# SPDX-License-Identifier: BSD-3-Clause
"""A sweep on the machines of a cluster: a lane of the session for each machine. The results file, its lines
and the way to go on are those of one machine. Only this process writes it."""

import functools
from pathlib import Path
from typing import Mapping

from nrbench.cluster.builds import archive_of, bring
from nrbench.cluster.machines import Machine
from nrbench.cluster.ways import Cluster, check_way, open_cluster
from nrbench.host import commit
from nrbench.progress import say
from nrbench.session import Lane, MachineLost, Session, results_of
from nrbench.sweep import session as of_sweep
from nrbench.sweep.nr_ulsim import Campaign
from nrbench.sweep.record import RUNS, Run
from nrbench.sweep.simulator import Simulator


def _lane(
    cluster: Cluster, builds: Mapping[str, tuple[Simulator, bytes]], campaign: Campaign, name: str,
    session: Session[Run], machine: Machine,
) -> Lane[Run]:  # fmt: skip
    there = functools.partial(cluster.link.run_on, machine.address)
    if machine.commit != commit(Path(__file__).parent):
        say(f"{machine.name}: another version of nrbench: {machine.commit or 'of an unknown commit'}")
    try:
        brought = {key: bring(*build, there) for key, build in builds.items()}
        lane = campaign.sweep(name, machine.host, brought, there).lane(session.lines, side_by_side=True)
    except ValueError as error:
        raise MachineLost(str(error)) from error
    lane.name, lane.pool = machine.name, cluster.pool
    return lane


def _on_all(campaign: Campaign, name: str, session: Session[Run]) -> None:
    """Takes what is left, on all machines at the same time."""
    with open_cluster(str(campaign.options.cluster)) as cluster:
        builds = {key: (one, archive_of(one)) for key, one in campaign.builds.items()}
        lanes = []
        lane_of = functools.partial(_lane, cluster, builds, campaign, name, session)
        for machine, lane in cluster.on_each(lane_of):
            if isinstance(lane, MachineLost):
                say(f"{machine.name}: left out: {lane}")
            else:
                lanes.append(lane)
        count = len(cluster.machines)
        session.take(f"{len(lanes)} of {count} hosts", lanes)
    if len(lanes) < count and not session.cut:
        session.cut = f"{count - len(lanes)} of {count} hosts were left out"


def sweep(campaign: Campaign) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options, name = campaign.options, campaign.id_for("cluster")
    check_way(str(options.cluster))
    with results_of(options.out, RUNS, options.fresh) as path:
        session = of_sweep.session_of(path, name, campaign.settings(at_once=1))
        _on_all(campaign, name, session)
        return of_sweep.end(session, options.out)
