# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench run --cluster`: the parts of ci/bench, each taken as a whole by each host.

A folder of the results for each host, as ci/bench writes it on one machine. A part that is there already and
was taken with the same program and the same words, is not taken again."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

from nrbench.cluster import builds as host_builds
from nrbench.cluster.connect import Cluster, open_cluster
from nrbench.cluster.display import Display
from nrbench.cluster.drive import announce, drive
from nrbench.cluster.hosts import ClusterHost
from nrbench.cluster.job import Job, Taken
from nrbench.cluster.lanes import Lane
from nrbench.cluster.shares import scope_of
from nrbench.driver import there
from nrbench.places import ROOT
from nrbench.progress import say
from nrbench.scratch import scratch_folder
from nrbench.session import interrupted_by_signals
from nrbench.sweep.process import run_at_once, sha256_of_program
from nrbench.sweep.record import Build
from nrbench.sweep.session import INTERRUPTED, OK, SOME_FAILED, Writer, locked
from nrbench.sweep.simulator import Simulator

LIMIT_S = 12 * 3600.0  # of a part
GUESS_S = 300.0
KILLS_MAX = 3
TEXTS = (".ndjson", ".txt", ".log")
LOG = "parts.ndjson"  # which part was taken where, and how it ended


@dataclass(frozen=True)
class PartsSession:
    program: Path
    parts: Sequence[str]
    words: tuple[str, ...]  # of nrbench run, without --only, --program and --out
    out: Path
    cluster: str
    per: str


@dataclass(frozen=True)
class TakePart:
    """On a host."""

    program: str
    part: str  # names with + between them: those whose results are one file
    words: tuple[str, ...]

    def __call__(self, index: int) -> Taken:
        with scratch_folder("part") as folder:
            only = [f"--only={name}" for name in self.part.split("+")]
            words = ["run", "--program", self.program, *only, "--out", str(folder), *self.words]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            (ended,) = run_at_once(
                [sys.executable, "-m", "nrbench", *words],
                folder=folder, environment=environment, limit_s=LIMIT_S, cpus_of_each=[None],
            )  # fmt: skip
            files = [path for path in folder.rglob("*") if path.suffix in TEXTS and path.is_file()]
            texts = {str(path.relative_to(folder)): path.read_text(errors="replace") for path in files}
        return {"status": ended.exit_code, "last_line": ended.last_line, "files": texts}


def _there(program: str) -> str:
    return sha256_of_program(Path(program))


def folder_name(host: ClusterHost) -> str:
    """The host's name; with its id where that is no name of a folder, for others may become the same."""
    name = "".join(c if c.isalnum() or c in "-._@" else "_" for c in host.name).strip(".")
    return name if name == host.name else f"{name}-{host.id}"


class PartsWork:
    """`lanes.Work` says what each call is."""

    def __init__(self, session: PartsSession, display: Display) -> None:
        self.session, self.display = session, display
        program = there(session.program).resolve()
        self._digest = _there(str(program))
        self._simulator = Simulator(program, Build(sha256=self._digest), ())
        self._manifest = host_builds.manifest_of(self._simulator, "*")
        self._programs: dict[str, str] = {}
        self._hosts: dict[str, ClusterHost] = {}
        self._owners: dict[str, str] = {}
        self._left: dict[str, list[str]] = {}  # parts, by host id, the next one last
        self._part: dict[str, str] = {}  # by the job's token
        self._kills: dict[str, int] = {}
        self.failed: list[str] = []

    def open(self, writer: Writer) -> None:
        """The session writes folders, not one file."""

    def _folder(self, host: ClusterHost) -> Path:
        return self.session.out / folder_name(host)

    def _mark(self, part: str) -> dict[str, Any]:
        return {"part": part, "program": self._digest, "words": list(self.session.words)}

    def _is_done(self, host: ClusterHost, part: str) -> bool:
        with contextlib.suppress(OSError, ValueError):
            lines = (self._folder(host) / LOG).read_text().splitlines()
            return any(json.loads(line) == self._mark(part) | {"id": host.id} for line in lines)
        return False

    def prepare(self, cluster: Cluster, host: ClusterHost) -> dict[str, Any]:
        def at(function: Callable[..., Any], *arguments: Any) -> Any:
            return cluster.run_on(host, function, *arguments).result()

        found = host_builds.bring(self._simulator, self._manifest, at)
        absent = at(host_builds.absent_libraries, found.program, found.environment)
        return {"program": str(found.program), "absent": absent}

    def join(self, host: ClusterHost, prepared: dict[str, Any]) -> str | None:
        if prepared["absent"]:
            return f"{prepared['program']} does not find {', '.join(prepared['absent'])}; install them there"
        self._hosts[host.id], self._programs[host.id] = host, prepared["program"]
        parts = [part for part in self.session.parts if not self._is_done(host, part)]
        self._left.setdefault(host.id, parts[::-1])
        return None

    def next(self, host: ClusterHost) -> Job | None:
        owner = self._owners.setdefault(scope_of(self.session.per, host), host.id)
        if owner != host.id or not self._left.get(host.id):
            return None
        part, token = self._left[host.id].pop(), uuid.uuid4().hex
        self._part[token] = part
        take = TakePart(self._programs[host.id], part, self.session.words)
        return Job(token, (part,), (LIMIT_S,), GUESS_S, take)

    def took(self, host: ClusterHost, job: Job, answer: Taken) -> None:
        part, folder = self._part[job.token], self._folder(host)
        for name, text in answer["files"].items():
            path = folder / name
            if folder.resolve() not in path.resolve().parents:
                raise ValueError(f"{host.name}: a file outside of its folder: {name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        good = answer["status"] == 0
        if good:
            with open(folder / LOG, "a") as log:
                log.write(json.dumps(self._mark(part) | {"id": host.id}) + "\n")
        else:
            self.failed.append(f"{host.name}: {part}: exit status {answer['status']}: {answer['last_line']}")
        self.display.took(host.id, GUESS_S, good)

    def lost(self, host: ClusterHost, job: Job, index: int, reason: str) -> None:
        part = self._part[job.token]
        self._kills[part] = self._kills.get(part, 0) + 1
        text = f"{host.name}: lost during {part}: {reason}"
        if self._kills[part] < KILLS_MAX:
            say(text)
            self.put_back(host, job, [index])
        else:
            self.failed.append(f"{text}. Set aside: hosts were lost {self._kills[part]} times during it")

    def put_back(self, host: ClusterHost, job: Job, left: list[int]) -> None:
        if left:
            self._left[host.id].append(self._part[job.token])

    def release(self, host: ClusterHost) -> None:
        for scope, owner in list(self._owners.items()):
            if owner == host.id:
                del self._owners[scope]

    def show(self, lanes: dict[str, Lane]) -> None:
        scopes = {scope_of(self.session.per, one): one.id for one in self._hosts.values()} | self._owners
        busy = {key: int(lane.job is not None) for key, lane in lanes.items()}
        self.display.left = {key: len(self._left.get(key, ())) + busy.get(key, 0) for key in scopes.values()}
        self.display.left_s = sum(self.display.left.values()) * GUESS_S
        self.display.show(lanes)

    def folders(self) -> list[Path]:
        return sorted(folder for host in self._hosts.values() if (folder := self._folder(host)).is_dir())


def carry_out(session: PartsSession, report: Callable[[Path], None]) -> int:
    """@param report  on the results of one host
    @return exit status: 0; 1 = some parts failed or are left; 130 = interrupted, the same command goes on"""
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(session.out))
        stack.enter_context(interrupted_by_signals())
        cluster = stack.enter_context(open_cluster(session.cluster))
        announce(cluster, session.per)
        work = PartsWork(session, Display(session.out, cluster.dashboard))
        interrupted, cut = drive(cluster, work, Path(os.devnull))
    for folder in work.folders():
        print(f"\n== {folder.name}")
        report(folder)
    for text in [*work.failed, *([f"{cut}; the same command takes the rest"] if cut else [])]:
        say(text)
    return INTERRUPTED if interrupted else SOME_FAILED if work.failed or cut else OK
