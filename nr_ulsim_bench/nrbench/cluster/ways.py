# SPDX-License-Identifier: BSD-3-Clause
"""Opens the cluster that --cluster names: by Dask's own cluster classes, or a scheduler that runs already."""

import logging
import time
import warnings
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator, NamedTuple, TypeVar

from nrbench.cluster.machines import Machine, about_here, one_each, run_here
from nrbench.driver import BenchError
from nrbench.needed import require
from nrbench.progress import say
from nrbench.session import MachineLost

T = TypeVar("T")
WAYS = "tcp://SCHEDULER:PORT, tls://SCHEDULER:PORT or ssh:FILE"
PACKAGES = ("distributed", "cryptography")
CONNECT_S, ANSWER_S = 30.0, 60.0
JOIN_S, OTHERS_S = 60.0, 30.0  # for the first worker; then for the others
LOOK_S = 0.2  # between two looks at the workers
MACHINES_MAX = 500  # a client of Dask has 512 connections
# Of a scheduler that this process starts: when it gives up a worker that is silent.
SILENT = {"distributed.scheduler.worker-ttl": "60s"}


def parse_spec(text: str) -> tuple[str, str]:
    """@return the way and its argument: of tcp and tls the whole address
    @raise BenchError  names the text and the ways there are"""
    way, _, argument = text.partition(":")
    if way in ("tcp", "tls") and argument.startswith("//") and argument[2:].rpartition(":")[2].isdecimal():
        return way, text
    if way == "ssh" and argument:
        return way, argument
    raise BenchError(f"--cluster {text}: not {WAYS}")


@dataclass(frozen=True)
class Link:
    """To a scheduler."""

    client: Any  # of Dask
    expected: int = 1  # workers that may be there or still join
    why: Callable[[], list[str]] = list  # one reason for each worker that will not come or has ended

    def run_on(self, address: str, function: Callable[..., T], *arguments: Any) -> T:
        """Blocks until the function has run on that machine, once, while no other measurement ran there.

        @raise MachineLost  the machine, its worker or the scheduler is gone, or software there fails"""
        try:
            answer: T = self.client.run(run_here, function, *arguments, workers=[address])[address]
            return answer
        except MachineLost:
            raise
        except (AttributeError, ImportError) as error:
            raise MachineLost("its worker's Python has no nrbench, or another version of it") from error
        except Exception as error:  # whatever Dask and the network raise
            time.sleep(LOOK_S)  # then the client has noticed the end of the scheduler, too
            if self.client.status == "running":
                raise MachineLost("its worker is gone") from error
            raise MachineLost("the scheduler is gone") from error


def joined(link: Link) -> dict[str, Any]:
    """All workers by address, when those that are expected have joined, or one and the time is over."""
    until, there = time.monotonic() + JOIN_S, dict[str, Any]()
    while link.expected - len(link.why()) > len(there) and time.monotonic() < until:
        time.sleep(LOOK_S)
        before, client = there, link.client
        there = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_S)["workers"]
        if there and not before:
            until = time.monotonic() + OTHERS_S
    if not there:
        reasons = "; ".join(sorted(set(link.why())))
        why = f" ({reasons})" if reasons else ""
        raise BenchError(f"no host can be used: no worker has joined in time{why}")
    for text in link.why():
        say(text)
    return there


def machines_of(link: Link, pool: ThreadPoolExecutor) -> list[Machine]:
    """One worker a machine."""
    asked = [
        (str(about["name"]).rpartition("/")[2], address, pool.submit(link.run_on, address, about_here))
        for address, about in joined(link).items()
    ]
    found, until = [], time.monotonic() + ANSWER_S
    for name, address, future in asked:
        try:
            one = future.result(timeout=max(0.0, until - time.monotonic()))
        except TimeoutError:
            say(f"{name}: left out: no answer within {ANSWER_S:.0f} s; is another measurement running?")
        except MachineLost as error:
            say(f"{name}: left out: {error}")
        else:
            about = one.host.model_copy(update={"label": f"{name}: {one.host.label}"})
            found.append(replace(one, name=name, address=address, host=about))
    machines = one_each(found)
    if not machines:
        raise BenchError("no host can be used")
    return machines


class Cluster(NamedTuple):
    """Machines behind a Dask client. Each has a thread here that waits for it: the pool's."""

    link: Link
    pool: ThreadPoolExecutor
    machines: list[Machine]

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


_OPEN = {"tcp": _address, "tls": _address, "ssh": _ssh}


def check_way(text: str) -> None:
    """@raise BenchError  it names no way to machines. Ends the process where a package is missing"""
    parse_spec(text)
    require("nrbench --cluster", PACKAGES, "[cluster]")


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
            link = _OPEN[way](argument, stack)
            cluster = Cluster(link, pool, machines_of(link, pool))
        except (OSError, RuntimeError, SubprocessError, TypeError, ValueError) as error:  # Dask's, too
            raise BenchError(f"--cluster {text}: {error}") from error
        yield cluster
