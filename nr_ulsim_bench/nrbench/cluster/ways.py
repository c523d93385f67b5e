# SPDX-License-Identifier: BSD-3-Clause
"""Opens the cluster that --cluster names: by Dask's own cluster classes, or a scheduler that runs already."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from nrbench.cluster.machines import Machine, about_here, one_each
from nrbench.driver import BenchError
from nrbench.needed import missing
from nrbench.progress import say
from nrbench.record import Host, first_error
from nrbench.scratch import scratch_folder
from nrbench.session import MachineLost

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from distributed import Client

Model = TypeVar("Model", bound=BaseModel)
WAYS = "tcp://SCHEDULER:PORT, tls://SCHEDULER:PORT, ssh:FILE, slurm[:FILE] or kubernetes[:FILE]"
PACKAGES = {"distributed": "distributed", "cryptography": "cryptography"}
OF_WAY = {"slurm": {"dask_jobqueue": "dask-jobqueue"}}
MACHINE = {"machine": 1}  # the resource that a measurement takes whole
RESOURCE = "start it with: dask worker ADDRESS --nworkers 1 --nthreads 2 --resources machine=1"
CONNECT_S, ANSWER_S = 30.0, 60.0
JOIN_S, OTHERS_S = 60.0, 30.0  # for the first worker; then for the others
LOOK_S, SILENT_S = 1.0, 60.0  # between two looks at the workers; without a sign of life


class Spec(NamedTuple):
    """Of tcp and tls the argument is the whole address."""

    way: str
    argument: str


def parse_spec(text: str) -> Spec:
    """@raise BenchError  names the text and the ways there are"""
    way, colon, argument = text.partition(":")
    if way in ("tcp", "tls") and argument.startswith("//") and argument[2:].rpartition(":")[2].isdecimal():
        return Spec(way, text)
    if (way == "ssh" and argument) or (way in ("slurm", "kubernetes") and (argument or not colon)):
        return Spec(way, argument)
    raise BenchError(f"--cluster {text}: not {WAYS}")


def require_packages(text: str) -> None:
    """@raise BenchError  names the Python packages that this way needs and this Python does not have"""
    way = parse_spec(text).way
    packages = PACKAGES | OF_WAY.get(way, {})
    absent = missing(packages, packages)
    if absent:
        raise BenchError(
            f"--cluster {way}: Python packages are missing: {', '.join(absent)}. Run `ci/setup bench` and "
            f"use .venv/bin/python, or `pip install {' '.join(absent)}`"
        )


def read_configuration(spec: Spec, model: type[Model]) -> Model:
    """A file in TOML; without one all defaults. @raise BenchError  names the file and what is wrong in it"""
    path = spec.argument
    try:
        return model.model_validate(tomllib.loads(Path(path).read_text()) if path else {})
    except OSError as error:
        raise BenchError(f"--cluster {spec.way}:{path}: {error.strerror}") from error
    except ValidationError as error:
        raise BenchError(f"{path}: {first_error(error)}") from error
    except ValueError as error:  # no TOML, no text
        raise BenchError(f"{path}: {error}") from error


def under_lock(function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs on a machine."""
    from nrbench.cluster.lock import machine_lock

    with machine_lock():
        return function(*arguments)


class Cluster:
    """Machines behind a Dask client."""

    def __init__(
        self,
        way: str,
        client: Client,
        awaited: Callable[[], int] = lambda: 1,
        first_s: float = JOIN_S,
        why: Callable[[], str] = str,
    ) -> None:
        """@param awaited  how many workers may be there or still join
        @param first_s  time for the first one
        @param why      what is known about workers that do not come, or about a connection that ended"""
        self.way, self.client, self._why = way, client, why
        self._lanes: dict[Any, tuple[Machine, Future[Any]]] = {}  # by Dask's future
        self._over = threading.Event()
        self._wait(awaited, first_s)
        self.machines = self._ask()

    def _workers(self) -> dict[str, Any]:
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _wait(self, awaited: Callable[[], int], first_s: float) -> None:
        """Until all expected workers have joined, or one and the time is over."""
        until, has_joined = time.monotonic() + first_s, False
        while (expected := awaited()) and time.monotonic() < until:
            there = len(self._workers())
            if there >= expected:
                return
            if there and not has_joined:
                has_joined, until = True, time.monotonic() + OTHERS_S
            time.sleep(LOOK_S / 5)
        if not self._workers():
            reason = self._why()
            raise BenchError(
                f"--cluster {self.way}: no host can be used: no worker has joined in time"
                f"{f' ({reason})' if reason else ''}"
            )

    def _ask(self) -> list[Machine]:
        """One worker a machine."""
        names = {}
        for address, about in self._workers().items():
            name = str(about["name"])
            names[address] = name if name and name != address else address.rpartition("/")[2]
            if not about.get("resources", {}).get("machine"):
                say(f"{names.pop(address)}: left out: its worker has no resource 'machine'; {RESOURCE}")
        futures = {at: self._submit(at, about_here) for at in names}
        found = []
        for address, future in futures.items():
            try:
                found.append(self._machine(names[address], address, future.result(timeout=ANSWER_S)))
            except Exception as error:  # whatever a host's own software raises
                reason = str(error) or type(error).__name__
                if isinstance(error, ImportError) and "nrbench" in reason:
                    reason = "nrbench is not installed in its worker's Python, or is another version"
                say(f"{names[address]}: left out: {reason}")
        machines, left_out = one_each(found)
        for text in left_out:
            say(text)
        if not machines:
            raise BenchError(f"--cluster {self.way}: no host can be used")
        return machines

    def _machine(self, name: str, address: str, answer: dict[str, Any]) -> Machine:
        if self.way == "slurm":
            name = answer["node"] or name  # dask-jobqueue numbers its workers: the next call has others
        answer["offset_s"] = answer.pop("time_s") - time.time()
        host = Host.model_validate(answer.pop("host"))
        return Machine(name, address, host.model_copy(update={"label": f"{name}: {host.label}"}), answer)

    def _submit(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Once, on that machine only, when no other measurement runs there."""
        return self.client.submit(
            under_lock, function, *arguments, workers=[address], allow_other_workers=False,
            resources=MACHINE, pure=False, retries=0,
        )  # fmt: skip

    def run_on(self, machine: Machine, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """@return its result; MachineLost: the machine, its worker or the scheduler is gone, or the worker's
        own software fails"""
        taken: Future[Any] = Future()
        future = self._submit(machine.address, function, *arguments)
        self._lanes[future] = machine, taken
        future.add_done_callback(self._ended)
        if not self._over.is_set() and len(self._lanes) == 1:
            threading.Thread(target=self._watch, daemon=True).start()
        return taken

    def _ended(self, future: Any) -> None:
        _, taken = self._lanes.pop(future, (None, None))
        if taken is None or taken.done():
            return
        if future.status == "finished":
            taken.set_result(future.result())
            return
        if future.status == "error":
            error = future.exception()
            taken.set_exception(MachineLost(f"{type(error).__name__}: {error}"))
        else:
            taken.set_exception(MachineLost(self._why() or "the scheduler is gone"))

    def _watch(self) -> None:
        """A task of a worker that is gone would wait for it to return. Ends with the last task."""
        seen: dict[str, tuple[Any, float]] = {}
        while self._lanes and not self._over.wait(LOOK_S):
            workers: dict[str, Any] = {}
            with contextlib.suppress(Exception):  # a scheduler that is gone has many names
                workers = self._workers() if self.client.status == "running" else {}
            now = time.monotonic()
            for future, (machine, taken) in list(self._lanes.items()):
                there = workers.get(machine.address)
                beat = seen.setdefault(machine.address, (None, now))
                if there and there["last_seen"] != beat[0]:
                    seen[machine.address] = there["last_seen"], now
                elif there is None or now - beat[1] > SILENT_S:
                    self._lanes.pop(future, None)
                    reason = "no sign of life" if there else "its worker is gone"
                    if not taken.done():
                        taken.set_exception(MachineLost(reason))

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(Exception):
            self.client.cancel(list(self._lanes))


def connected(stack: ExitStack, *arguments: Any, **options: Any) -> Client:
    from distributed import Client

    return stack.enter_context(Client(*arguments, set_as_default=False, **options))


def _ssh(spec: Spec, stack: ExitStack) -> Cluster:
    from distributed import Scheduler
    from distributed.deploy.spec import SpecCluster
    from distributed.security import Security

    from nrbench.cluster import ssh

    security = Security.temporary()
    options = {"host": ssh.LOOPBACK, "protocol": "tls://", "security": security,
               "dashboard_address": f"{ssh.LOOPBACK}:0"}  # fmt: skip
    workers = {
        entry.name: {"cls": ssh.Worker, "options": {"entry": entry, "security": security}}
        for entry in ssh.read_hosts(Path(spec.argument))
    }
    cluster = stack.enter_context(
        SpecCluster(
            workers, {"cls": Scheduler, "options": options}, security=security, silence_logs=logging.CRITICAL
        )
    )

    def reasons() -> list[str]:
        return [reason for worker in cluster.workers.values() if (reason := worker.why())]

    client = connected(stack, cluster, security=security)
    found = Cluster(
        spec.way, client, lambda: len(workers) - len(reasons()), why=lambda: next(iter(reasons()), "")
    )
    for reason in reasons():
        say(reason)
    return found


def _address(spec: Spec, stack: ExitStack) -> Cluster:
    """The user's scheduler, as it is. Certificates are those of Dask's configuration."""
    try:
        client = connected(stack, spec.argument, timeout=CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        hint = "; Dask's configuration names the certificates (distributed.comm.tls)"
        why = f"{error}{hint if spec.way == 'tls' else ''}"
        raise BenchError(f"--cluster {spec.argument}: no scheduler answers: {why}") from error
    return Cluster(spec.way, client)


def _slurm(spec: Spec, stack: ExitStack) -> Cluster:
    from nrbench.cluster import slurm

    wanted = read_configuration(spec, slurm.Slurm)
    cluster, security = stack.enter_context(slurm.started(wanted))
    client = connected(stack, cluster, security=security)
    nodes = "1 node" if wanted.nodes == 1 else f"{wanted.nodes} nodes"
    say(f"waiting for {nodes} of Slurm, {wanted.wait_s:.0f} s for the first")
    return Cluster(spec.way, client, lambda: wanted.nodes, wanted.wait_s, slurm.why_pending)


def _kubernetes(spec: Spec, stack: ExitStack) -> Cluster:
    from nrbench.cluster import kubernetes

    wanted = read_configuration(spec, kubernetes.Kubernetes)
    security, nodes = kubernetes.credentials(wanted), kubernetes.nodes(wanted)
    tunnel = stack.enter_context(kubernetes.tunnel(wanted))
    try:
        client = connected(stack, tunnel.address, security=security, timeout=CONNECT_S)
    except OSError as error:
        raise BenchError(f"--cluster kubernetes: no scheduler answers: {tunnel.why() or error}") from error
    return Cluster(spec.way, client, lambda: nodes, why=tunnel.why)


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
    require_packages(text)
    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # told by this command in its own words
    spec = parse_spec(text)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("cluster"))
        stack.enter_context(dask.config.set({"temporary-directory": str(folder)}))  # a scheduler leaves files
        cluster = _OPEN[spec.way](spec, stack)
        stack.callback(cluster.close)
        yield cluster
