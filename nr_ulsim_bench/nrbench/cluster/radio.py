# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench radio --cluster`: each host takes the whole plan, one run of a gNB and a UE after the other.

The next run of a search depends on the runs before, so a host's runs follow each other on that host alone."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Sequence

from nrbench.cluster import builds as host_builds
from nrbench.cluster import health
from nrbench.cluster.cache import last_output
from nrbench.cluster.connect import Cluster, open_cluster
from nrbench.cluster.display import Display
from nrbench.cluster.drive import announce, drive
from nrbench.cluster.hosts import ClusterHost, system_here
from nrbench.cluster.job import Job, Taken
from nrbench.cluster.lanes import Lane
from nrbench.cluster.shares import scope_of
from nrbench.host import commit
from nrbench.progress import say
from nrbench.radio import softmodem
from nrbench.radio.builds import Programs, Take
from nrbench.radio.plan import Cell, Plan, Step, cell_of
from nrbench.radio.record import RUNS, RadioRun
from nrbench.radio.session import earlier_runs, end
from nrbench.record import Host
from nrbench.session import interrupted_by_signals
from nrbench.sweep.session import Writer, locked, put_aside

KILLS_MAX = 3  # of a variant: after so many lost hosts it is set aside
UP_S = 300.0  # of a run beside its steady stretch and its attach, at most


@dataclass(frozen=True)
class RadioSweep:
    id: str
    plan: Plan
    programs: Programs
    placements: Sequence[str]
    out: Path
    fresh: bool
    cluster: str
    per: str
    leave_out: str | None


@dataclass(frozen=True)
class TakeStep:
    """On a host."""

    take: Take
    step: Step

    def __call__(self, index: int) -> Taken:
        return {"run": self.take(self.step).model_dump(mode="json")}


def _check(programs: Sequence[Any], placements: Sequence[str]) -> dict[str, Any]:
    """On a host. @return trouble: why it cannot take runs"""
    trouble = []
    try:
        softmodem.check_privileges(system_here())
        for placement in placements:
            softmodem.cpus_of("gnb", placement, os.sched_getaffinity(0))
    except (ValueError, OSError, RuntimeError) as error:
        trouble.append(str(error))
    for one in programs:
        absent = host_builds.absent_libraries(one.program, one.environment)
        if absent:
            trouble.append(f"{one.program} does not find {', '.join(absent)}; install them there")
    return {"trouble": trouble, "probe": health.probe(system_here()), "last_output": last_output()}


class RadioWork:
    """`lanes.Work` says what each call is."""

    def __init__(self, sweep: RadioSweep, display: Display) -> None:
        self.sweep, self.display = sweep, display
        self.runs = earlier_runs(sweep.out / RUNS, sweep.id)  # grows
        self.taken: list[RadioRun] = []
        self.kills: Counter[Cell] = Counter()
        self._writer: Writer | None = None
        self._hosts: dict[str, ClusterHost] = {}
        self._owners: dict[str, str] = {}  # of each scope the host
        self._takes: dict[str, Take] = {}
        self._steps: dict[str, Step] = {}  # by the job's token
        self._probes: dict[str, dict[str, Any]] = {}
        self._leave_out = health.leave_out_of(sweep.leave_out)
        self._manifests = {kind: host_builds.manifest_of(one) for kind, one in sweep.programs.items()}

    def open(self, writer: Writer) -> None:
        self._writer = writer

    def prepare(self, cluster: Cluster, host: ClusterHost) -> dict[str, Any]:
        def there(function: Callable[..., Any], *arguments: Any) -> Any:
            return cluster.run_on(host, function, *arguments).result()

        programs = {
            kind: host_builds.bring(one, self._manifests[kind], there)
            for kind, one in self.sweep.programs.items()
        }
        answer = there(_check, list(programs.values()), list(self.sweep.placements))
        return {**answer, "programs": programs}

    def join(self, host: ClusterHost, prepared: dict[str, Any]) -> str | None:
        if prepared["trouble"]:
            return "; ".join(prepared["trouble"])
        self._hosts[host.id], self._probes[host.id] = host, prepared["probe"]
        here, about = commit(Path(__file__).parent), Host.model_validate(host.description)
        found = list(health.complaints(host, list(self._hosts.values()), self._probes, here))
        for kind, text in found:
            say(f"{host.name}: {kind}: {text}")
        reason = next((f"{kind}: {text}" for kind, text in found if kind in self._leave_out), None)
        if reason is None:
            seconds = self.sweep.plan.seconds
            self._takes[host.id] = Take(prepared["programs"], self.sweep.id, about, here, seconds)
        return reason

    def _runs_of(self, host: str) -> list[RadioRun]:
        return [run for run in self.runs if run.host.id == host]

    def _plan(self) -> Plan:
        """Without what was set aside."""
        cells = [cell for cell in self.sweep.plan.cells if self.kills[cell] < KILLS_MAX]
        return replace(self.sweep.plan, cells=cells)

    def next(self, host: ClusterHost) -> Job | None:
        if host.id not in self._takes:
            return None
        scope = scope_of(self.sweep.per, host)
        if self._owners.setdefault(scope, host.id) != host.id:
            return None
        step = next(self._plan().steps(self._runs_of(host.id)), None)
        if step is None:
            return None
        token = uuid.uuid4().hex
        self._steps[token] = step
        limit_s = UP_S + 10 / step.timescale + self.sweep.plan.seconds
        take = TakeStep(self._takes[host.id], step)
        return Job(token, (str(step),), (limit_s,), self.sweep.plan.run_s, take)

    def took(self, host: ClusterHost, job: Job, answer: Taken) -> None:
        run = RadioRun.model_validate(answer["run"])
        step = self._steps[job.token]
        there = {(one.round, one.timescale) for one in self._runs_of(host.id) if step.cell == cell_of(one)}
        if (step.round, step.timescale) in there:  # a host that was thought lost has answered after all
            return
        assert self._writer
        self._writer.write(run)
        self.runs.append(run)
        self.taken.append(run)
        self.display.took(host.id, self.sweep.plan.run_s, run.outcome == "ok")

    def lost(self, host: ClusterHost, job: Job, index: int, reason: str) -> None:
        """The run is taken again."""
        cell = self._steps[job.token].cell
        self.kills[cell] += 1
        aside = ". Set aside: no more runs of it" if self.kills[cell] == KILLS_MAX else ""
        say(f"{host.name}: lost during {job.titles[0]}: {reason}{aside}")

    def put_back(self, host: ClusterHost, job: Job, left: list[int]) -> None:
        """The plan has it still."""

    def release(self, host: ClusterHost) -> None:
        self._takes.pop(host.id, None)
        for scope, owner in list(self._owners.items()):
            if owner == host.id:
                del self._owners[scope]

    def show(self, lanes: dict[str, Lane]) -> None:
        scopes = {scope_of(self.sweep.per, host): host.id for host in self._hosts.values()} | self._owners
        plan = self._plan()
        self.display.left = {host: len(plan.missing(self._runs_of(host))) for host in scopes.values()}
        self.display.left_s = sum(self.display.left.values()) * plan.run_s
        self.display.show(lanes)


class _Ended:
    def __init__(self, work: RadioWork, interrupted: bool, cut: str) -> None:
        self.runs, self.taken, self.planned = work.runs, work.taken, work.display.count
        self.interrupted, self.cut = interrupted, cut


def carry_out(sweep: RadioSweep) -> int:
    """@return exit status: see radio.session.carry_out()"""
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(sweep.out))
        stack.enter_context(interrupted_by_signals())
        cluster = stack.enter_context(open_cluster(sweep.cluster))
        announce(cluster, sweep.per)
        aside = put_aside(sweep.out / RUNS) if sweep.fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        work = RadioWork(sweep, Display(sweep.out, cluster.dashboard))
        ended = _Ended(work, *drive(cluster, work, sweep.out / RUNS))
    return end(ended, sweep.out)
