# SPDX-License-Identifier: BSD-3-Clause
"""Opens a cluster that --cluster names: its client, and its machines."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping
from urllib.parse import urlsplit

from nrbench.cluster.spec import Spec, parse_spec, require_packages
from nrbench.driver import BenchError
from nrbench.progress import say
from nrbench.scratch import scratch_folder

if TYPE_CHECKING:
    from distributed import Client, Future

    from nrbench.cluster.hosts import ClusterHost
    from nrbench.cluster.ssh import Sessions

MACHINE = {"machine": 1}  # the resource that a measurement takes whole
CONNECT_S = 30.0
SCHEDULER_S = 60.0  # for the scheduler to answer, however busy it is
JOIN_S, OTHERS_S = 60.0, 30.0  # for the first worker; then for the others
ANSWER_S = 60.0
TAKING = ("init", "running")  # states of a worker that is not drained, paused or ending
LOOK_S, WAIT_S = 0.2, 0.01
RESOURCE = "start it with: dask worker ADDRESS --nworkers 1 --nthreads 2 --resources machine=1"


def wait_for(future: Future, limit_s: float) -> None:
    """Until it is done, or the time is over."""
    until = time.monotonic() + limit_s
    while not future.done() and time.monotonic() < until:
        time.sleep(WAIT_S)


def connected(*arguments: Any, **options: Any) -> Client:
    """
    @return Client(*arguments, **options). A client that fails is closed at once: the garbage collector would
            close it at any time, also in a thread that holds the lock which closing takes (LoopRunner of
            distributed 2026.8), and the process would hang.
    """
    from distributed import Client

    client = Client.__new__(Client)
    try:
        Client.__init__(client, *arguments, set_as_default=False, **options)
    except BaseException:
        with suppress(Exception):  # it may have failed before there was anything to close
            client.close()
        raise
    return client


def under_lock(function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs on a host."""
    from nrbench.cluster.lock import machine_lock

    with machine_lock():
        return function(*arguments)


class Cluster:
    """Machines behind a Dask client. A method that needs the scheduler raises OSError where that is gone."""

    def __init__(self, spec: Spec, client: Client, expected: Callable[[], int] = lambda: 1) -> None:
        self.spec, self.client = spec, client
        self.hosts: list[ClusterHost] = []
        self.joined: Callable[[str], None] = lambda name: None  # told of each worker that joins
        self.first_s = JOIN_S  # for the first host
        self.why: Callable[[], str] = str  # no worker has joined
        self.cut: Callable[[], str] = str  # why the connection is closed, by the program that carries it
        self._expected = expected
        self._asked: dict[str, ClusterHost | None] = {}  # by address; None: of no use
        self._pending: dict[str, tuple[str, Future]] = {}
        self._answered: dict[str, float] = {}

    @property
    def dashboard(self) -> str | None:
        """None: there is none. That of a scheduler in this process needs Python's bokeh."""
        own = self.spec.way in ("ssh", "slurm")
        if self.spec.way == "kubernetes" or (own and find_spec("bokeh") is None):
            return None
        link = str(self.client.dashboard_link or "")
        if own and link:  # Dask names the scheduler's address there
            return f"http://127.0.0.1:{urlsplit(link).port}/status"
        return link or None

    async def _identity(self) -> Any:
        """Asked now. Dask alone would look for a scheduler that is gone until the limit of the client."""
        asked = asyncio.ensure_future(self.client.scheduler.identity(n_workers=-1))
        try:
            while not (await asyncio.wait({asked}, timeout=LOOK_S))[0]:
                if self.client.status != "running":
                    raise OSError("its connection is closed")
            return asked.result()
        finally:
            asked.cancel()

    def workers(self) -> Mapping[str, dict[str, Any]]:
        """What the scheduler knows of each worker that takes tasks, by its address; asked now."""
        if self.client.status != "running":
            raise OSError(self.cut() or "its connection is closed")
        try:
            found = self.client.sync(self._identity, callback_timeout=SCHEDULER_S)
        except OSError as error:
            if self.cut():
                raise OSError(self.cut()) from error
            raise
        workers: dict[str, dict[str, Any]] = found["workers"]
        return {at: about for at, about in workers.items() if about.get("status", "running") in TAKING}

    def look(self, wait_s: float = ANSWER_S) -> Mapping[str, dict[str, Any]]:
        """Asks the workers that have joined since the last look, and forgets those that have gone.

        @param wait_s  for their answers; those that come later are taken by the next look
        @return what the scheduler knows of the workers"""
        workers = self.workers()
        for address in [address for address in self._asked if address not in workers]:
            del self._asked[address]
        for address, about in workers.items():
            if address not in self._asked and address not in self._pending:
                self._ask(address, about)
        until = time.monotonic() + wait_s
        news = False
        for address, (name, future) in list(self._pending.items()):
            wait_for(future, max(0.0, until - time.monotonic()))
            if future.done() or address not in workers:
                del self._pending[address]
                if address in workers:
                    self._asked[address] = self._host(name, address, future)
                    news = True
        self._choose(news)
        return workers

    def _ask(self, address: str, about: dict[str, Any]) -> None:
        from nrbench.cluster.hosts import about_here

        name = str(about["name"])
        name = name if name and name != address else address.rpartition("/")[2]
        if about.get("resources", {}).get("machine"):
            future = self.client.submit(about_here, workers=[address], pure=False)
            future.add_done_callback(lambda _: self._answered.setdefault(address, time.time()))
            self._pending[address] = name, future
        else:
            self._asked[address] = None
            say(f"{name}: left out: its worker has no resource 'machine'; {RESOURCE}")

    def _choose(self, news: bool) -> None:
        """One worker a machine."""
        from nrbench.cluster.hosts import one_each

        self.hosts, left_out = one_each([host for host in self._asked.values() if host])
        for text in left_out if news else []:
            say(text)

    def _host(self, name: str, address: str, future: Future) -> ClusterHost | None:
        from nrbench.cluster.hosts import ClusterHost

        try:
            answer = future.result()
        except Exception as error:  # whatever a host's own software raises
            reason = str(error) or type(error).__name__
            if isinstance(error, ImportError) and "nrbench" in reason:
                reason = "nrbench is not installed in its worker's Python, or is another version"
            say(f"{name}: left out: {reason}")
            return None
        self.joined(name)
        if self.spec.way == "slurm":
            name = answer["node"] or name  # dask-jobqueue numbers its workers: the next call has others
        description = answer.pop("description")
        answer["offset_s"] = answer.pop("time_s") - self._answered.pop(address, time.time())
        label = f"{name}: {description['label']}"
        return ClusterHost(name, address, description | {"label": label}, answer)

    def wait_for_hosts(self) -> None:
        """Until all expected workers have joined, or one and the time is over."""
        begin, first = time.monotonic(), 0.0
        while True:
            self.look(LOOK_S)
            now, expected = time.monotonic(), self._expected()
            first = first or (now if self.hosts else 0.0)
            came = len(self._asked) >= max(1, expected) and not self._pending
            late = now > (first + OTHERS_S if first else begin + self.first_s)
            if came or not expected or late:
                break
            time.sleep(LOOK_S)
        if not self.hosts:
            when = " in time" if expected else ""
            why = f" ({reason})" if (reason := self.why()) else ""
            raise BenchError(
                f"--cluster {self.spec.way}: no host can be used: no worker has joined{when}{why}"
            )

    def run_on(self, host: ClusterHost, function: Callable[..., Any], *arguments: Any) -> Future:
        """Runs the function once on the host, when no other measurement runs there."""
        return self.client.submit(
            under_lock,
            function,
            *arguments,
            workers=[host.address],
            allow_other_workers=False,
            resources=MACHINE,
            pure=False,
            retries=0,
        )


@contextmanager
def _own_scheduler(stack: ExitStack) -> Iterator[tuple[Client, Any, Any]]:
    """In this process, on the loopback. Ends with it."""
    from distributed import LocalCluster

    from nrbench.cluster import certificates

    own = certificates.make()
    security = certificates.security(own)
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=0, processes=False, host="127.0.0.1", protocol="tls://", security=security,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        )
    )  # fmt: skip
    client = stack.enter_context(connected(cluster, security=security))
    yield client, cluster, own


def _ssh(spec: Spec, stack: ExitStack) -> Cluster:
    from nrbench.cluster import ssh

    entries = ssh.read_hosts(Path(spec.argument))
    client, cluster, own = stack.enter_context(_own_scheduler(stack))
    port = int(cluster.scheduler_address.rpartition(":")[2])
    sessions: Sessions = stack.enter_context(ssh.started(entries, port, own))
    found = Cluster(spec, client, lambda: sessions.awaited)
    found.joined = sessions.joined
    return found


def _address(spec: Spec, stack: ExitStack) -> Cluster:
    """The user's scheduler, as it is. Certificates are those of Dask's configuration."""
    try:
        client = connected(spec.argument, timeout=CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        hint = (
            "; Dask's configuration names the certificates (distributed.comm.tls)"
            if spec.way == "tls"
            else ""
        )
        raise BenchError(f"--cluster {spec.argument}: no scheduler answers: {error}{hint}") from error
    return Cluster(spec, stack.enter_context(client))


def _slurm(spec: Spec, stack: ExitStack) -> Cluster:
    from nrbench.cluster import slurm
    from nrbench.cluster.configuration import read_configuration

    wanted = read_configuration(spec.way, spec.argument, slurm.Slurm)
    cluster, security, refusals = stack.enter_context(slurm.started(wanted))
    client = stack.enter_context(connected(cluster, security=security))
    nodes = "1 node" if wanted.nodes == 1 else f"{wanted.nodes} nodes"
    say(f"waiting for {nodes} of Slurm, {wanted.wait_s:.0f} s for the first")
    found = Cluster(spec, client, lambda: wanted.nodes - len(refusals))
    found.first_s = wanted.wait_s
    found.why = lambda: next(iter(refusals.values()), "") or slurm.why_pending()
    return found


def _kubernetes(spec: Spec, stack: ExitStack) -> Cluster:
    from nrbench.cluster import kubernetes
    from nrbench.cluster.configuration import read_configuration

    kubernetes.require_kubectl()
    wanted = read_configuration(spec.way, spec.argument, kubernetes.Kubernetes)
    security, nodes = kubernetes.credentials(wanted), kubernetes.nodes(wanted)
    tunnel = stack.enter_context(kubernetes.tunnel(wanted))
    try:
        client = connected(tunnel.address, security=security, timeout=CONNECT_S)
    except OSError as error:
        reason = f"kubectl: {tunnel.why()}" if tunnel.why() else error
        raise BenchError(f"--cluster kubernetes: no scheduler answers: {reason}") from error
    found = Cluster(spec, stack.enter_context(client), lambda: nodes)
    found.cut = tunnel.why
    found.why = lambda: f"DaemonSet {wanted.workers} is for {nodes} nodes; kubectl get pods shows theirs"
    return found


_OPEN: dict[str, Callable[[Spec, ExitStack], Cluster]] = {
    "tcp": _address,
    "tls": _address,
    "ssh": _ssh,
    "slurm": _slurm,
    "kubernetes": _kubernetes,
}


@contextmanager
def open_cluster(text: str) -> Iterator[Cluster]:
    """
    @param text  as --cluster has it
    @raise BenchError  it names no way to machines, a package is missing, or no host can be used
    """
    spec = parse_spec(text)
    require_packages(spec.way)
    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # told by this command in its own words
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("cluster"))
        stack.enter_context(dask.config.set({"temporary-directory": str(folder)}))  # a scheduler leaves files
        cluster = _OPEN[spec.way](spec, stack)
        cluster.wait_for_hosts()
        yield cluster
