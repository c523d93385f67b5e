# SPDX-License-Identifier: BSD-3-Clause
"""Opens the cluster that --cluster names: by Dask's own cluster classes, or a scheduler that runs already."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence, TypeVar

from pydantic import BaseModel, ValidationError

from nrbench.cluster.lock import machine_lock
from nrbench.cluster.machines import Machine, about_here, one_each
from nrbench.cluster.worker import MACHINE
from nrbench.driver import BenchError
from nrbench.progress import say
from nrbench.record import first_error
from nrbench.scratch import scratch_folder
from nrbench.session import MachineLost

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
WAYS = "tcp://SCHEDULER:PORT, tls://SCHEDULER:PORT, ssh:FILE, slurm[:FILE] or kubernetes[:FILE]"
PACKAGES = {"distributed": "distributed", "cryptography": "cryptography"}
OF_WAY = {"slurm": {"dask_jobqueue": "dask-jobqueue"}}
RESOURCE = "start it with: dask worker ADDRESS --nworkers 1 --nthreads 2 --resources machine=1"
CONNECT_S, ANSWER_S = 30.0, 60.0
JOIN_S, OTHERS_S = 60.0, 30.0  # for the first worker; then for the others
LOOK_S, SILENT_S = 1.0, 60.0  # between two looks at the workers; without a sign of life
MACHINES_MAX = 1000


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
    absent = [name for module, name in packages.items() if find_spec(module) is None]
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


def under_lock(function: Callable[..., T], *arguments: Any) -> T:
    """Runs on a machine."""
    with machine_lock():
        return function(*arguments)


class Link(NamedTuple):
    """To a scheduler."""

    way: str
    client: Any  # of Dask
    awaited: Callable[[], int] = lambda: 1  # how many workers may be there or still join
    first_s: float | None = None  # time for the first one; None: JOIN_S
    why: Callable[[], list[str]] = list  # known of workers that do not come, of a connection that ended


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
                raise MachineLost("; ".join(self.link.why()) or "the scheduler does not answer")
            return self._seen[1]

    def _wait(self, first_s: float) -> None:
        """Until all expected workers have joined, or one and the time is over."""
        until, there = time.monotonic() + first_s, 0
        while (expected := self.link.awaited()) > there and time.monotonic() < until:
            before, there = there, len(self._workers())
            if there and not before:
                until = time.monotonic() + OTHERS_S
            time.sleep(LOOK_S / 5 if there < expected else 0)
        if not there:
            reason = f" ({'; '.join(self.link.why())})".replace(" ()", "")
            raise BenchError(
                f"--cluster {self.link.way}: no host can be used: no worker has joined in time{reason}"
            )
        for text in self.link.why():
            say(text)

    def _ask(self) -> list[Machine]:
        """One worker a machine."""
        futures = {}
        for address, about in self._workers().items():
            name = str(about["name"] or address)
            name = name.rpartition("/")[2] if name == address else name
            if about.get("resources", {}).get("machine"):
                futures[name, address] = self.pool.submit(self._run, address, about_here)
            else:
                say(f"{name}: left out: its worker has no resource 'machine'; {RESOURCE}")
        found = []
        until = time.monotonic() + ANSWER_S
        for (name, address), future in futures.items():
            try:
                answer = future.result(timeout=max(0.0, until - time.monotonic()))
                found.append(self._machine(name, address, answer))
            except TimeoutError:
                say(f"{name}: left out: no answer within {ANSWER_S:.0f} s; is another measurement running?")
            except (MachineLost, KeyError) as error:  # an answer of another version of nrbench
                say(f"{name}: left out: {error}")
        machines, left_out = one_each(found)
        for text in left_out:
            say(text)
        if not machines:
            raise BenchError(f"--cluster {self.link.way}: no host can be used")
        return machines

    def _machine(self, name: str, address: str, answer: dict[str, Any]) -> Machine:
        if self.link.way == "slurm":
            name = answer["node"] or name  # dask-jobqueue numbers its workers: the next call has others
        answer["offset_s"] = answer.pop("time_s") - time.time()
        host = answer.pop("host")
        return Machine(name, address, host.model_copy(update={"label": f"{name}: {host.label}"}), answer)

    def run_on(self, machine: Machine, function: Callable[..., T], *arguments: Any) -> T:
        """Blocks until the function has run on that machine, once, while no other measurement ran there.

        @raise MachineLost  the machine, its worker or the scheduler is gone, or software there fails"""
        return self._run(machine.address, function, *arguments)

    def _run(self, address: str, function: Callable[..., T], *arguments: Any) -> T:
        from distributed import CancelledError

        try:
            return self._result(address, function, *arguments)
        except MachineLost:
            raise
        except CancelledError as error:
            raise MachineLost("; ".join(self.link.why()) or "the scheduler is gone") from error
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
        beat, since = None, time.monotonic()
        while True:
            with contextlib.suppress(Later):
                future.exception(timeout=LOOK_S)  # waits, and brings no data
            if future.status != "pending":
                result: T = future.result(timeout=ANSWER_S)
                return result
            worker = self._workers().get(address)
            if worker is None:  # the task would wait for it to return
                raise MachineLost("its worker is gone")
            if worker["last_seen"] != beat:
                beat, since = worker["last_seen"], time.monotonic()
            elif time.monotonic() - since > SILENT_S:
                raise MachineLost(f"no sign of life for {SILENT_S:.0f} s")

    def on_each(
        self, machines: Sequence[Machine], function: Callable[[Machine], T]
    ) -> Iterator[tuple[Machine, T | MachineLost]]:
        """At the same time."""
        for machine, future in [(machine, self.pool.submit(function, machine)) for machine in machines]:
            try:
                yield machine, future.result()
            except MachineLost as error:
                yield machine, error


def connected(stack: ExitStack, *arguments: Any, **options: Any) -> Any:
    from distributed import Client

    return stack.enter_context(Client(*arguments, set_as_default=False, **options))


def _ssh(spec: Spec, stack: ExitStack) -> Link:
    from nrbench.cluster import ssh

    cluster, security, why_not = ssh.started(ssh.read_hosts(Path(spec.argument)), stack)
    client = connected(stack, cluster, security=security)
    count = len(cluster.workers)
    return Link(spec.way, client, lambda: count - len(why_not()), why=why_not)


def _address(spec: Spec, stack: ExitStack) -> Link:
    """The user's scheduler, as it is. Certificates are those of Dask's configuration."""
    try:
        return Link(spec.way, connected(stack, spec.argument, timeout=CONNECT_S))
    except (OSError, ValueError, TypeError) as error:
        hint = "; Dask's configuration names the certificates (distributed.comm.tls)"
        why = f"{error}{hint if spec.way == 'tls' else ''}"
        raise BenchError(f"--cluster {spec.argument}: no scheduler answers: {why}") from error


def _slurm(spec: Spec, stack: ExitStack) -> Link:
    from nrbench.cluster import slurm

    wanted = read_configuration(spec, slurm.Slurm)
    cluster, security, refused = stack.enter_context(slurm.started(wanted))
    client = connected(stack, cluster, security=security)
    say(f"waiting for nodes of Slurm: {wanted.nodes}; {wanted.wait_s:.0f} s for the first")

    def why() -> list[str]:
        return sorted({*refused, *slurm.why_pending()})

    return Link(spec.way, client, lambda: wanted.nodes - len(refused), wanted.wait_s, why)


def _kubernetes(spec: Spec, stack: ExitStack) -> Link:
    from nrbench.cluster import kubernetes

    wanted = read_configuration(spec, kubernetes.Kubernetes)
    security, nodes = kubernetes.credentials(wanted), kubernetes.nodes(wanted)
    address, why = stack.enter_context(kubernetes.tunnel(wanted))
    try:
        client = connected(stack, address, security=security, timeout=CONNECT_S)
    except OSError as error:
        raise BenchError(
            f"--cluster kubernetes: no scheduler answers: {'; '.join(why()) or error}"
        ) from error
    return Link(spec.way, client, lambda: nodes, why=why)


_OPEN: dict[str, Callable[[Spec, ExitStack], Link]] = {
    "tcp": _address, "tls": _address, "ssh": _ssh, "slurm": _slurm, "kubernetes": _kubernetes,
}  # fmt: skip


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
        pool = stack.enter_context(ThreadPoolExecutor(MACHINES_MAX))  # its threads end with the client
        try:
            cluster = Cluster(_OPEN[spec.way](spec, stack), pool)
        except MachineLost as error:
            raise BenchError(f"--cluster {text}: {error}") from error
        yield cluster
