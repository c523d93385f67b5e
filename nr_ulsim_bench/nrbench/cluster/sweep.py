# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster`: the sweep of sweep/nr_ulsim.py, its runs taken by the hosts of a cluster.

The results file, its lines and the way to go on are those of one machine. Only this process writes it."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from nrbench.cluster import builds as host_builds
from nrbench.cluster import health
from nrbench.cluster.connect import Cluster, open_cluster
from nrbench.cluster.display import Display
from nrbench.cluster.drive import announce, drive
from nrbench.cluster.hosts import ClusterHost, cpu_flags
from nrbench.cluster.job import Job, Taken
from nrbench.cluster.lanes import Lane
from nrbench.cluster.shares import Block, Case, Shares, blocks_of, scope_of
from nrbench.cluster.take import AtOnce, TakeRuns, look_around, try_builds
from nrbench.host import commit
from nrbench.progress import clock_text, say
from nrbench.record import Host
from nrbench.sweep.options import Options
from nrbench.sweep.record import RUNS, Build, Run, identity
from nrbench.sweep.session import (
    FAILURES_MAX,
    OK,
    SHARED,
    Setting,
    Writer,
    earlier_runs,
    end,
    ended_by_signals,
    locked,
    put_aside,
)
from nrbench.sweep.simulator import KIND, Simulator, judge_pools
from nrbench.system import System

KILLS_MAX = 3  # of a setting: after so many lost hosts it is set aside
LOST = "its host was lost during the run"  # begins the error of such a run


@dataclass(frozen=True)
class ClusterSweep:
    """What is to be run."""

    id: str
    builds: Mapping[str, Simulator]  # by the option that names them
    cpus: tuple[int, ...] | None
    settings: Callable[[int], Sequence[Setting]]  # of a host that takes so many inline runs at once
    at_once: AtOnce  # see take.py
    options: Options


def _key(one: Any, repeat: int) -> tuple[object, ...]:
    return identity(one, repeat)


class SweepWork:
    """The runs that are left, by host, and the results as they come. `lanes.Work` says what each call is."""

    def __init__(self, sweep: ClusterSweep, path: Path, display: Display) -> None:
        self.sweep, self.display = sweep, display
        self.runs = earlier_runs(path, sweep.id, sweep.settings(1))  # grows
        self.taken: list[Run] = []  # by this call
        self.hosts: dict[str, ClusterHost] = {}
        self.rejected: dict[str, str] = {}
        self.kills: Counter[tuple[object, ...]] = Counter()
        self._good = {(run.host.id, _key(run, run.repeat)) for run in self.runs if run.status == "ok"}
        self._ever_good = {(run.host.id, _key(run, 0)) for run in self.runs if run.status == "ok"}
        self._failures: Counter[tuple[str, tuple[object, ...]]] = Counter()
        for run in self.runs:
            self.kills[_key(run, 0)] += (run.error or "").startswith(LOST)
        self._commit = commit(Path(__file__).parent)
        self._writer: Writer | None = None
        self._manifests = {side: host_builds.manifest_of(one) for side, one in sweep.builds.items()}
        self._flags = cpu_flags(System())
        self._there: dict[str, dict[str, Simulator]] = {}  # builds, by host
        self._settings: dict[str, Sequence[Setting]] = {}
        self._probes: dict[str, dict[str, Any]] = {}
        self._said: set[tuple[str, str]] = set()
        self._blocks: dict[str, Block] = {}  # by the job's token
        self._leave_out = health.leave_out_of(sweep.options.leave_out)
        self.shares = Shares(sweep.options.per or "host", self._left_of)

    def open(self, writer: Writer) -> None:
        self._writer = writer

    # Hosts.

    def prepare(self, cluster: Cluster, host: ClusterHost) -> dict[str, Any]:
        def there(function: Callable[..., Any], *arguments: Any) -> Any:
            return cluster.run_on(host, function, *arguments).result()

        answer: dict[str, Any] = there(look_around)
        first = {setting.pool: setting for setting in reversed(self.sweep.settings(1))}
        builds = {
            side: host_builds.bring(simulator, self._manifests[side], there)
            for side, simulator in self.sweep.builds.items()
        }
        tries = {side: (simulator, first[side]) for side, simulator in builds.items()}
        more = there(try_builds, tries, host.description, self.sweep.cpus, self._flags, self.sweep.at_once)
        return {**answer, **more, "builds": builds}

    def join(self, host: ClusterHost, prepared: dict[str, Any]) -> str | None:
        if prepared["trouble"]:
            return "; ".join(prepared["trouble"])
        judge_pools(prepared["pools"], prepared["builds"], self.sweep.options.any_pool or bool(self.hosts))
        self.hosts[host.id], self._there[host.id] = host, prepared["builds"]
        self._probes[host.id] = prepared["probe"]
        self._settings[host.id] = self.sweep.settings(prepared["at_once"])
        self._complain()
        if host.id not in self.rejected:
            self.shares.join(host, self._cases(host), self._count_done)
        return self.rejected.get(host.id)

    def _complain(self) -> None:
        hosts = list(self.hosts.values())
        for one in hosts:
            for kind, text in health.complaints(one, hosts, self._probes, self._commit):
                if (one.id, kind) in self._said:
                    continue
                self._said.add((one.id, kind))
                say(f"{one.name}: {kind}: {text}")
                if kind in self._leave_out and one.id not in self.rejected:
                    self.rejected[one.id] = f"{kind}: {text}"
                    self.shares.release(one)

    def _cases(self, host: ClusterHost) -> list[Case]:
        """Those that no other host of its scope has done already."""
        cases = dict.fromkeys((setting.scenario, setting.case) for setting in self._settings[host.id])
        return [case for case in cases if not self._done_elsewhere(host, case)]

    def _done_elsewhere(self, host: ClusterHost, case: Case) -> bool:
        per = self.shares.per
        if per == "host":
            return False
        planned = {
            _key(setting, repeat)
            for setting in self._settings[host.id]
            if (setting.scenario, setting.case) == case and setting.at_once is None
            for repeat in range(setting.repeats)
        }
        others = {run.host.id: run.host for run in self.runs if run.host.id not in self.hosts}
        return any(
            all((other, key) in self._good for key in planned)
            for other, about in others.items()
            if per == "any" or ClusterHost("", "", about.model_dump(), {}).class_ == host.class_
        )

    def _count_done(self, host: str, case: Case) -> int:
        return sum(run.host.id == host and (run.scenario, run.case) == case for run in self.runs)

    def _left_of(self, host: str) -> dict[Case, list[Block]]:
        seed = self.sweep.options.seed
        return blocks_of(
            self._settings[host], seed, lambda setting, repeat: (host, _key(setting, repeat)) in self._good
        )

    def release(self, host: ClusterHost) -> None:
        self.shares.release(host)

    # Runs.

    def next(self, host: ClusterHost) -> Job | None:
        while host.id not in self.rejected:
            block = self.shares.next(host)
            if block is None:
                break
            settings = tuple(one for one in block.settings if self._is_to_run(host, one, block.repeat))
            if settings:
                return self._job(host, Block(block.case, block.repeat, settings))
        return None

    def _is_to_run(self, host: ClusterHost, setting: Setting, repeat: int) -> bool:
        """A setting that never succeeds on a host, or that has killed hosts, gives a line that says so."""
        if (host.id, _key(setting, repeat)) in self._good:
            return False
        error, never = "", _key(setting, 0)
        if self.kills[never] >= KILLS_MAX:
            error = f"set aside: hosts were lost during {self.kills[never]} runs of it"
        elif self._failures[host.id, never] >= FAILURES_MAX and (host.id, never) not in self._ever_good:
            error = f"left out: {FAILURES_MAX} runs of it failed and none succeeded"
        if error:
            self._record(host, setting, repeat, {"status": "missing", "error": error})
        return not error

    def _job(self, host: ClusterHost, block: Block) -> Job:
        token = uuid.uuid4().hex
        self._blocks[token] = block
        guess_s = sum(setting.guess_s for setting in block.settings)
        limits = tuple(setting.limit_s for setting in block.settings)
        take = TakeRuns(self._there[host.id], self.sweep.cpus, block.settings)
        return Job(token, tuple(map(str, block.settings)), limits, guess_s, take)

    def took(self, host: ClusterHost, job: Job, answer: Taken) -> None:
        block = self._blocks[job.token]
        fields = {name: value for name, value in answer.items() if name != "index"}
        fields["build"] = Build.model_validate(fields["build"])
        self._record(host, block.settings[answer["index"]], block.repeat, fields)

    def lost(self, host: ClusterHost, job: Job, index: int, reason: str) -> None:
        block = self._blocks[job.token]
        setting = block.settings[index]
        self.kills[_key(setting, 0)] += 1
        self._record(host, setting, block.repeat, {"status": "crash", "error": f"{LOST}: {reason}"})
        self.put_back(host, job, [index])

    def put_back(self, host: ClusterHost, job: Job, left: list[int]) -> None:
        block = self._blocks[job.token]
        settings = tuple(block.settings[index] for index in left)
        self.shares.put_back(host.id, Block(block.case, block.repeat, settings))

    def _record(self, host: ClusterHost, setting: Setting, repeat: int, taken: dict[str, Any]) -> None:
        import datetime

        key = (host.id, _key(setting, repeat))
        if key in self._good:  # a host that was thought lost has answered after all
            return
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        values = {"began": now, "build": Build(sha256=setting.program), **taken}
        run = Run(
            kind=KIND,
            sweep=self.sweep.id,
            repeat=repeat,
            host=Host.model_validate(host.description),
            bench_commit=self._commit,
            environment=dict(setting.environment),
            **{name: getattr(setting, name) for name in SHARED},
            **values,
        )
        assert self._writer
        self._writer.write(run)
        self.runs.append(run)
        self.taken.append(run)
        good = run.status == "ok"
        if good:
            self._good.add(key)
            self._ever_good.add((host.id, _key(setting, 0)))
        elif not (run.error or "").startswith(LOST):
            self._failures[host.id, _key(setting, 0)] += 1
        self.display.took(host.id, setting.guess_s, good)

    def show(self, lanes: dict[str, Lane]) -> None:
        """What is left, for the display."""
        left: Counter[str] = Counter()
        for share in self.shares.shares.values():
            if share.owner is None:
                left[""] += self._runs_of(share.case)
            else:
                left[share.owner] += sum(len(block.settings) for block in share.blocks)
        for key, lane in lanes.items():
            if lane.job:
                left[key] += len(lane.job.titles) - len(lane.done)
        self.display.left = left
        self.display.left_s = left.total() * self._guess_s
        self.display.show(lanes)

    @property
    def _guess_s(self) -> float:
        settings = next(iter(self._settings.values()), self.sweep.settings(1))
        return sum(setting.guess_s for setting in settings) / len(settings)

    def _runs_of(self, case: Case) -> int:
        settings = next(iter(self._settings.values()), ())
        return sum(one.repeats for one in settings if (one.scenario, one.case) == case)


class ClusterRunner:
    """A session. What its report reads is called as in sweep.session.Runner."""

    def __init__(self, sweep: ClusterSweep, cluster: Cluster, path: Path) -> None:
        self.sweep, self.cluster, self.path = sweep, cluster, path
        self.display = Display(path.parent, cluster.dashboard)
        self.work = SweepWork(sweep, path, self.display)
        self.interrupted = False
        self.cut = ""

    @property
    def runs(self) -> list[Run]:
        return self.work.runs

    @property
    def taken(self) -> list[Run]:
        return self.work.taken

    @property
    def planned(self) -> int:
        return self.display.count

    @property
    def failed(self) -> list[Run]:
        """Of this call, without those that were taken again with success."""
        return [run for run in self.taken if (run.host.id, _key(run, run.repeat)) not in self.work._good]

    def run(self) -> None:
        self.interrupted, self.cut = drive(self.cluster, self.work, self.path)


def _dry_run(cluster: Cluster, sweep: ClusterSweep) -> int:
    settings = sweep.settings(1)
    count = sum(setting.repeats for setting in settings)
    guess_s = sum(setting.guess_s * setting.repeats for setting in settings)
    scopes = {scope_of(sweep.options.per or "host", host) for host in cluster.hosts}
    say(f"{len(scopes)} × {count} runs, {clock_text(guess_s)} each time")
    for setting in settings:
        print(setting.repeats, "×", setting.variant, setting.case, *setting.options)
    return OK


def carry_out(sweep: ClusterSweep) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    options = sweep.options
    with contextlib.ExitStack() as stack:
        if not options.dry_run:
            stack.enter_context(locked(options.out))
        stack.enter_context(ended_by_signals())
        cluster = stack.enter_context(open_cluster(str(options.cluster)))
        announce(cluster, options.per or "host")
        if options.dry_run:
            return _dry_run(cluster, sweep)
        aside = put_aside(options.out / RUNS) if options.fresh else None
        if aside:
            say(f"the results that were there are now {aside.name}")
        runner = ClusterRunner(sweep, cluster, options.out / RUNS)
        runner.run()
    return end(runner, options.out)
