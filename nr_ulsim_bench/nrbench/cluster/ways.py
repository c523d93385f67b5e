# SPDX-License-Identifier: BSD-3-Clause
"""Opens the cluster that --cluster names: by Dask's own cluster classes, or a scheduler that runs already."""

import contextlib
import logging
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from nrbench import toml
from nrbench.cluster.lock import machine_lock
from nrbench.cluster.machines import Machine, about_here, one_each
from nrbench.cluster.worker import MACHINE
from nrbench.driver import BenchError
from nrbench.needed import require
from nrbench.progress import say
from nrbench.record import first_error
from nrbench.session import MachineLost

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
WAYS = "tcp://SCHEDULER:PORT, tls://SCHEDULER:PORT, ssh:FILE, slurm[:FILE] or kubernetes[:FILE]"
PACKAGES = ("distributed", "cryptography")
RESOURCE = "start it with: dask worker ADDRESS --nworkers 1 --nthreads 2 --resources machine=1"
CONNECT_S, ANSWER_S = 30.0, 60.0
JOIN_S, OTHERS_S = 60.0, 30.0  # for the first worker; then for the others
LOOK_S = 1.0  # between two looks at the workers
MACHINES_MAX = 1000
# Of a scheduler that this process starts: when it gives up a worker that is silent.
SILENT = {"distributed.scheduler.worker-ttl": "60s"}


def parse_spec(text: str) -> tuple[str, str]:
    """@return the way and its argument: of tcp and tls the whole address
    @raise BenchError  names the text and the ways there are"""
    way, colon, argument = text.partition(":")
    if way in ("tcp", "tls") and argument.startswith("//") and argument[2:].rpartition(":")[2].isdecimal():
        return way, text
    if (way == "ssh" and argument) or (way in ("slurm", "kubernetes") and (argument or not colon)):
        return way, argument
    raise BenchError(f"--cluster {text}: not {WAYS}")


def read_configuration(path: str, model: type[Model]) -> Model:
    """A file in TOML; without one all defaults. @raise BenchError, OSError, ValueError  it is wrong"""
    try:
        return model.model_validate(toml.loads(Path(path).read_text()) if path else {})
    except ValidationError as error:
        raise BenchError(first_error(error)) from error


def under_lock(function: Callable[..., T], *arguments: Any) -> T:
    """Runs on a machine."""
    with machine_lock():
        return function(*arguments)


class Link(NamedTuple):
    """To a scheduler."""

    client: Any  # of Dask
    expected: int = 1  # workers that may be there or still join
    first_s: float | None = None  # time for the first one; None: JOIN_S
    why: Callable[[], list[str]] = list  # one reason for each worker that will not come or has ended
    complaints: Callable[[], list[str]] = list  # what else may be the reason


class Cluster:
    """Machines behind a Dask client. Each has a thread here that waits for it: the pool's."""

    def __init__(self, link: Link, pool: ThreadPoolExecutor) -> None:
        self.link, self.pool = link, pool
        self._looking = threading.Lock()
        self._seen: tuple[float, dict[str, Any] | None] = (-LOOK_S, None)  # when, and all workers
        self._wait(JOIN_S if link.first_s is None else link.first_s)
        self.machines = self._ask()

    def _workers(self) -> dict[str, Any]:
        """By address; not older than LOOK_S, and asked once, however many threads ask."""
        with self._looking:
            if time.monotonic() - self._seen[0] >= LOOK_S:
                client, workers = self.link.client, None
                with contextlib.suppress(Exception):  # whatever Dask and the network raise
                    answer = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_S)
                    workers = answer["workers"]
                self._seen = time.monotonic(), workers
            if self._seen[1] is None:
                raise self._lost("the scheduler does not answer")
            return self._seen[1]

    def _lost(self, otherwise: str) -> MachineLost:
        return MachineLost("; ".join([*self.link.why(), *self.link.complaints()]) or otherwise)

    def _wait(self, first_s: float) -> None:
        """Until all expected workers have joined, or one and the time is over."""
        until, there = time.monotonic() + first_s, 0
        while self.link.expected - len(self.link.why()) > there and time.monotonic() < until:
            time.sleep(LOOK_S / 5)
            before, there = there, len(self._workers())
            if there and not before:
                until = time.monotonic() + OTHERS_S
        if not there:
            reasons = sorted({*self.link.why(), *self.link.complaints()})
            reason = f" ({'; '.join(reasons)})" if reasons else ""
            raise BenchError(f"no host can be used: no worker has joined in time{reason}")
        for text in self.link.why():
            say(text)

    def _ask(self) -> list[Machine]:
        """One worker a machine."""
        asked = []
        for address, about in self._workers().items():
            name = str(about["name"]).rpartition("/")[2]
            if about.get("resources", {}).get("machine"):
                asked.append((name, address, self.pool.submit(self.run_on, address, about_here)))
            else:
                say(f"{name}: left out: its worker has no resource 'machine'; {RESOURCE}")
        found, until = [], time.monotonic() + ANSWER_S
        for name, address, future in asked:
            try:
                one = future.result(timeout=max(0.0, until - time.monotonic()))
            except TimeoutError:
                say(f"{name}: left out: no answer within {ANSWER_S:.0f} s; is another measurement running?")
            except MachineLost as error:
                say(f"{name}: left out: {error}")
            else:
                name = one.node or name  # dask-jobqueue numbers its workers: the next call has others
                about = one.host.model_copy(update={"label": f"{name}: {one.host.label}"})
                found.append(replace(one, name=name, address=address, host=about))
        machines = one_each(found)
        if not machines:
            raise BenchError("no host can be used")
        return machines

    def run_on(self, address: str, function: Callable[..., T], *arguments: Any) -> T:
        """Blocks until the function has run on that machine, once, while no other measurement ran there.

        @raise MachineLost  the machine, its worker or the scheduler is gone, or software there fails"""
        from distributed import CancelledError

        try:
            return self._result(address, function, *arguments)
        except MachineLost:
            raise
        except CancelledError as error:
            raise self._lost("the scheduler is gone") from error
        except Exception as error:  # whatever Dask, the network and a worker's own software raise
            if isinstance(error, ImportError) and "nrbench" in str(error):
                raise MachineLost("its worker's Python has no nrbench, or another version of it") from error
            raise MachineLost(f"{type(error).__name__}: {error}".removesuffix(": ")) from error

    def _result(self, address: str, function: Callable[..., T], *arguments: Any) -> T:
        from distributed import TimeoutError as Later

        future = self.link.client.submit(
            under_lock, function, *arguments, workers=[address], allow_other_workers=False,
            resources=MACHINE, pure=False, retries=0,
        )  # fmt: skip
        while future.status == "pending":
            with contextlib.suppress(Later):
                future.exception(timeout=LOOK_S)  # waits, and brings no data
            if future.status == "pending" and address not in self._workers():
                raise MachineLost("its worker is gone")  # the task would wait for it to return
        result: T = future.result(timeout=ANSWER_S)
        return result

    def on_each(self, function: Callable[[Machine], T]) -> Iterator[tuple[Machine, T | MachineLost]]:
        """At the same time."""
        for machine, future in [(one, self.pool.submit(function, one)) for one in self.machines]:
            try:
                yield machine, future.result()
            except MachineLost as error:
                yield machine, error


def connected(stack: ExitStack, *arguments: Any, **options: Any) -> Any:
    from distributed import Client

    return stack.enter_context(Client(*arguments, set_as_default=False, timeout=CONNECT_S, **options))


def _ssh(path: str, stack: ExitStack) -> Link:
    from nrbench.cluster import ssh

    entries = ssh.read_hosts(Path(path))
    cluster, why = ssh.started(entries, stack)
    return Link(connected(stack, cluster, security=cluster.security), len(entries), why=why)


def _address(address: str, stack: ExitStack) -> Link:
    """The user's scheduler, as it is. Certificates: distributed.comm.tls of Dask's configuration."""
    return Link(connected(stack, address))


def _slurm(path: str, stack: ExitStack) -> Link:
    from nrbench.cluster import slurm

    wanted = read_configuration(path, slurm.Slurm)
    cluster = slurm.started(wanted, stack)
    say(f"waiting {wanted.wait_s:.0f} s for the first of {wanted.nodes} nodes; squeue --me shows the jobs")
    client = connected(stack, cluster, security=cluster.security)
    return Link(client, wanted.nodes, wanted.wait_s, lambda: slurm.Job.refused)


def _kubernetes(path: str, stack: ExitStack) -> Link:
    from nrbench.cluster import kubernetes

    wanted = read_configuration(path, kubernetes.Kubernetes)
    security = kubernetes.credentials(wanted)
    address, why = stack.enter_context(kubernetes.tunnel(wanted))
    return Link(connected(stack, address, security=security), kubernetes.nodes(wanted), complaints=why)


_OPEN = {"tcp": _address, "tls": _address, "ssh": _ssh, "slurm": _slurm, "kubernetes": _kubernetes}


def check_way(text: str) -> None:
    """@raise BenchError  it names no way to machines. Ends the process where a package is missing"""
    way, _ = parse_spec(text)
    require("nrbench --cluster", (*PACKAGES, *(["dask_jobqueue"] if way == "slurm" else [])), "[cluster]")


@contextmanager
def open_cluster(text: str) -> Iterator[Cluster]:
    """
    @param text  as --cluster has it
    @raise BenchError  it names no way to machines, or no host can be used
    """
    way, argument = parse_spec(text)
    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # told by this command in its own words
    warnings.filterwarnings("ignore", "Sending large graph")  # a build
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="nrbench-"))  # a scheduler leaves files
        stack.enter_context(dask.config.set({"temporary-directory": folder} | SILENT))
        pool = stack.enter_context(ThreadPoolExecutor(MACHINES_MAX))  # its threads end with the client
        try:
            cluster = Cluster(_OPEN[way](argument, stack), pool)
        except (OSError, RuntimeError, SubprocessError, TypeError, ValueError) as error:  # Dask's, too
            raise BenchError(f"--cluster {text}: {error}") from error
        yield cluster
