# SPDX-License-Identifier: BSD-3-Clause
"""`--cluster kubernetes[:FILE]`: a program stands for kubectl and forwards to a real scheduler, which has the
words and certificates of ci/deploy/cluster/kubernetes.yaml. There is no Kubernetes."""

import json
import shutil
import sys

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_pieces import PIECES, Pieces, begun, image, manifest  # noqa: E402
from cluster_tools import WAIT_S, until  # noqa: E402

from nrbench.cluster import kubernetes  # noqa: E402
from nrbench.cluster.configuration import read_configuration  # noqa: E402
from nrbench.cluster.connect import open_cluster  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402

needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
KUBECTL = r"""#!{python}
import base64, json, pathlib, shutil, socket, sys, threading
folder = pathlib.Path({folder!r})
words = [word for word in sys.argv[1:] if not word.startswith(("--context=", "--namespace="))]
with open(folder / "kubectl.calls", "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\n")
def answer(kind, name):
    if (kind, name) == ("secret", "nrbench-tls"):
        files = (folder / "tls").iterdir()
        return {{"data": {{one.name: base64.b64encode(one.read_bytes()).decode() for one in files}}}}
    if (kind, name) == ("daemonset", "nrbench-worker"):
        return {{"status": {{"desiredNumberScheduled": {nodes}}}}}
    sys.exit(f'Error from server (NotFound): {{kind}} "{{name}}" not found')
if words[0] == "get":
    print(json.dumps(answer(*words[1:3])))
    sys.exit()
assert words[:1] == ["port-forward"] and words[2] == "service/nrbench-scheduler", words
server = socket.create_server(("127.0.0.1", 0))
print(f"Forwarding from 127.0.0.1:{{server.getsockname()[1]}} -> 8786", flush=True)
def copy(source, sink):
    while block := source.recv(1 << 16):
        sink.sendall(block)
    sink.shutdown(socket.SHUT_WR)
while True:
    near, _ = server.accept()
    far = socket.create_connection(("127.0.0.1", {port}))
    print("Handling connection for 8786", flush=True)
    for pair in ((near, far), (far, near)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


class Stand(Pieces):
    """With a program in the place of kubectl."""

    def kubectl(self, monkeypatch, nodes=1):
        text = KUBECTL.format(
            python=sys.executable, folder=str(self.folder), nodes=nodes, port=self.address.rpartition(":")[2]
        )
        program = self.folder / "bin" / "kubectl"
        program.write_text(text)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", self.environment["PATH"])

    def calls(self):
        return [json.loads(line) for line in (self.folder / "kubectl.calls").read_text().splitlines()]

    def node(self, name):
        variables, entry = image()
        words = [word.replace("$(NODE)", name) for word in manifest("DaemonSet")["args"]]
        words[0] = self.address
        place = ["--local-directory", str(self.folder / "scratch" / name)]
        self.run([*entry, *words, *place], name, **self.there(variables), **self.own(name))


@pytest.fixture
def stand(tmp_path):
    with begun(Stand(tmp_path)) as made:
        yield made


@pytest.mark.alone
@needs_openssl
def test_all_nodes_of_the_daemonset_are_hosts_and_a_function_runs_there(stand, monkeypatch, tmp_path):
    stand.kubectl(monkeypatch, nodes=2)
    for name in ("node1", "node2"):
        stand.node(name)
    lab = tmp_path / "lab.toml"
    lab.write_text('context = "lab"\nnamespace = "radio"\n')
    with open_cluster(f"kubernetes:{lab}") as cluster:
        assert [host.name for host in cluster.hosts] == ["node1", "node2"]
        for host in cluster.hosts:
            assert cluster.run_on(host, sum, [1, 2]).result(timeout=WAIT_S) == 3
        assert cluster.dashboard is None
    assert all(call[:2] == ["--context=lab", "--namespace=radio"] for call in stand.calls())


@pytest.mark.alone
@needs_openssl
def test_what_is_missing_there_is_named(stand, monkeypatch, tmp_path):
    stand.kubectl(monkeypatch, nodes=0)
    with pytest.raises(BenchError, match="DaemonSet nrbench-worker is for 0 nodes"):
        with open_cluster("kubernetes"):
            pass
    lab = tmp_path / "lab.toml"
    lab.write_text('secret = "other"\n')
    with pytest.raises(BenchError, match='kubernetes: secret other: .* secret "other" not found'):
        with open_cluster(f"kubernetes:{lab}"):
            pass
    (stand.folder / "tls" / "tls.key").unlink()
    with pytest.raises(BenchError, match="secret nrbench-tls has no tls.key"):
        with open_cluster("kubernetes"):
            pass


def test_a_tunnel_that_cannot_be_made_is_named(monkeypatch, tmp_path):
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\necho 'error: unable to forward port' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(BenchError, match="kubernetes: no tunnel: error: unable to forward port"):
        with kubernetes.tunnel(kubernetes.Kubernetes()):
            pass


@pytest.mark.alone
@needs_openssl
def test_a_tunnel_that_ends_before_the_client_is_there_is_named_with_the_reason(stand, monkeypatch):
    monkeypatch.setattr("nrbench.cluster.connect.CONNECT_S", 0.2)
    stand.kubectl(monkeypatch)
    program = stand.folder / "bin" / "kubectl"
    text = program.read_text()
    ends = 'server.close()\nsys.exit("error: lost connection to pod")\nwhile True:'
    program.write_text(text.replace("while True:", ends))
    with pytest.raises(BenchError, match="no scheduler answers: kubectl: error: lost connection to pod"):
        with open_cluster("kubernetes"):
            pass


@pytest.mark.alone
@needs_openssl
def test_a_tunnel_that_ends_later_is_named_with_the_reason(stand, monkeypatch):
    stand.kubectl(monkeypatch)
    program = stand.folder / "bin" / "kubectl"
    end = stand.folder / "end"
    ends = f"""import os, time
def watch():
    while not os.path.exists({str(end)!r}):
        time.sleep(0.02)
    print("error: lost connection to pod", file=sys.stderr, flush=True)
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
while True:"""
    program.write_text(program.read_text().replace("while True:", ends))
    stand.node("node1")
    with open_cluster("kubernetes") as cluster:
        end.touch()
        with pytest.raises(OSError, match="error: lost connection to pod"):
            until(lambda: not cluster.workers(), "a closed connection")


def test_without_a_cluster_the_answer_of_kubectl_is_named(monkeypatch, tmp_path):
    if not shutil.which("kubectl"):
        pytest.skip("no kubectl")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    text = 'context = "nowhere"\n'
    (tmp_path / "lab.toml").write_text(text)
    wanted = read_configuration("kubernetes", str(tmp_path / "lab.toml"), kubernetes.Kubernetes)
    with pytest.raises(BenchError, match="kubernetes: secret nrbench-tls: .*nowhere"):
        kubernetes.credentials(wanted)


def test_the_names_are_those_of_the_objects():
    import yaml

    objects = yaml.safe_load_all((PIECES / "kubernetes.yaml").read_text())
    found = {one["kind"]: one for one in objects}
    wanted = kubernetes.Kubernetes()
    assert found["Service"]["metadata"]["name"] == wanted.service
    assert found["Service"]["spec"]["ports"][0]["port"] == kubernetes.PORT
    assert found["DaemonSet"]["metadata"]["name"] == wanted.workers
    volumes = found["DaemonSet"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "tls", "secret": {"secretName": wanted.secret}} in volumes
