# SPDX-License-Identifier: BSD-3-Clause
"""A cluster is opened, its machines are found, and a stranger is refused: real schedulers and workers."""

import asyncio
import os
import ssl
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import WAIT_S, lab, until  # noqa: E402

from nrbench.cluster import certificates, spec  # noqa: E402
from nrbench.cluster.connect import Cluster, connected, open_cluster  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402


@pytest.mark.parametrize(
    ("text", "way", "argument"),
    [
        ("tcp://a:8786", "tcp", "tcp://a:8786"),
        ("tls://a:8786", "tls", "tls://a:8786"),
        ("ssh:hosts.txt", "ssh", "hosts.txt"),
        ("slurm", "slurm", ""),
        ("slurm:lab.yaml", "slurm", "lab.yaml"),
        ("kubernetes", "kubernetes", ""),
        ("kubernetes:lab.toml", "kubernetes", "lab.toml"),
    ],
)
def test_each_way_is_understood(text, way, argument):
    assert spec.parse_spec(text) == (way, argument)


NO_WAYS = ("", "tcp:", "tcp://", "tcp://a", "ssh:", "ssh", "slurm:", "http://a:1", "kubernetes:")


@pytest.mark.parametrize("text", NO_WAYS)
def test_what_is_no_way_is_named_with_those_there_are(text):
    with pytest.raises(BenchError, match=r"--cluster .*: not tcp://SCHEDULER:PORT, .*slurm\[:FILE\]"):
        spec.parse_spec(text)


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(spec, "BASE", {"no_such_module": "distributed"})
    with pytest.raises(
        BenchError, match="missing: distributed. Run `ci/setup bench`.*pip install distributed"
    ):
        spec.require_packages("tcp")


@pytest.mark.alone
def test_each_machine_is_one_host_and_a_function_runs_there(tmp_path):
    with lab(tmp_path, "b", "a") as made:
        made.worker("again", machine="a")
        made.worker("unmarked", resources=None)
        with open_cluster(made.address) as cluster:
            until(lambda: len(cluster.workers()) == 4, "four workers")
            cluster.look()
            assert [host.name for host in cluster.hosts] == ["a", "b"]
            assert {host.class_ for host in cluster.hosts} == {"Some CPU, 6.8.0-rt, 1 cores"}
            assert len({host.id for host in cluster.hosts}) == 2
            pids = [cluster.run_on(host, os.getpid).result(timeout=WAIT_S) for host in cluster.hosts]
            assert pids == [made.workers["a"].pid, made.workers["b"].pid]


@pytest.mark.alone
def test_machines_copied_with_their_machine_id_are_told_apart(tmp_path):
    with lab(tmp_path) as made:
        for name in ("a", "b"):
            made.worker(name, **{"/etc/machine-id": "0" * 32})
        with open_cluster(made.address) as cluster:
            until(lambda: len(cluster.workers()) == 2, "two workers")
            cluster.look()
            assert len({host.id for host in cluster.hosts}) == 2


@pytest.mark.alone
def test_no_worker_and_no_scheduler_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("nrbench.cluster.connect.JOIN_S", 0.1)
    with lab(tmp_path) as made:
        with pytest.raises(BenchError, match="no host can be used: no worker has joined in time"):
            with open_cluster(made.address):
                pass
    monkeypatch.setattr("nrbench.cluster.connect.CONNECT_S", 1)
    with pytest.raises(BenchError, match="no scheduler answers"):
        with open_cluster(made.address):
            pass


def test_a_connection_that_ends_during_a_question_is_named_with_the_reason():
    """The program that carries it has ended; Dask does not know that yet."""

    def sync(*_, **__):
        raise OSError("Stream is closed")

    client = SimpleNamespace(status="running", scheduler=SimpleNamespace(identity=None), sync=sync)
    cluster = Cluster(spec.parse_spec("tcp://lab:1"), client, lambda: 1)
    with pytest.raises(OSError, match="Stream is closed"):
        cluster.workers()
    cluster.cut = lambda: "error: lost connection to pod"
    with pytest.raises(OSError, match="error: lost connection to pod"):
        cluster.workers()


def _tls_scheduler(own):
    """Of its own thread. @return the address, and what ends it"""
    from distributed import Scheduler

    ready, over, found = threading.Event(), {}, {}

    async def serve():
        stop = over["event"] = asyncio.Event()
        over["loop"] = asyncio.get_running_loop()
        async with Scheduler(
            protocol="tls://", host="127.0.0.1", port=0, security=certificates.security(own), dashboard=False
        ) as scheduler:
            found["address"] = scheduler.address
            found["tasks"] = scheduler.tasks
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(WAIT_S)

    def end():
        over["loop"].call_soon_threadsafe(over["event"].set)
        thread.join()

    return found, end


def test_a_client_that_fails_is_closed(monkeypatch):
    """Without certificates it fails before it reaches the network."""
    from distributed import Client

    made, make = [], Client.__init__

    def noted(client, *words, **more):
        made.append(client)
        make(client, *words, **more)

    monkeypatch.setattr(Client, "__init__", noted)
    with pytest.raises(TypeError):
        connected("tls://127.0.0.1:1", timeout="3s")
    assert [client.status for client in made] == ["closed"]


@pytest.mark.alone
def test_a_strangers_task_is_refused(tmp_path):
    import dask

    own, stranger = certificates.make(), certificates.make()
    with dask.config.set({"temporary-directory": str(tmp_path)}):  # a scheduler leaves files
        found, end = _tls_scheduler(own)
    try:
        with connected(found["address"], security=certificates.security(own), timeout=f"{WAIT_S}s") as client:
            assert len(client.scheduler_info()["workers"]) == 0  # the owner is let in
        with pytest.raises(OSError):
            connected(found["address"], security=certificates.security(stranger), timeout="3s")
        with pytest.raises((OSError, ssl.SSLError)):
            connected(found["address"].replace("tls://", "tcp://"), timeout="3s")
        assert not found["tasks"]
    finally:
        end()
