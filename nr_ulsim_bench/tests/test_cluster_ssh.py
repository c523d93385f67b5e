# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster ssh:FILE` by a real ssh daemon: three ports, three made-up machines."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import (  # noqa: E402
    CASES,
    ROOT,
    WAIT_S,
    Lab,
    assert_nothing_doubled,
    make_builds,
    meanwhile,
    nrbench,
    runs_of,
    until,
)

from nrbench.cluster import lanes, ssh  # noqa: E402
from nrbench.cluster.certificates import Certificates  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402
from nrbench.sweep import session  # noqa: E402

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
needs_sshd = pytest.mark.skipif(not (SSHD and shutil.which("ssh-keygen")), reason="no ssh daemon here")


def test_a_file_of_hosts_is_read(tmp_path):
    path = tmp_path / "hosts.txt"
    path.write_text(
        "# lab\nann@a name=left python=/opt/py/bin/python\n\nb port=2222 config=/c nrbench=/n # last\n"
    )
    left, b = ssh.read_hosts(path)
    assert (left.target, left.name, left.python) == ("ann@a", "left", "/opt/py/bin/python")
    command = b.command(["-L", "1:h:2"])
    assert command[-2:] == ["b", "exec env PYTHONPATH=/n python3 -m nrbench.cluster.worker"]
    assert ["-p", "2222", "-F", "/c", "-L", "1:h:2"] == command[-8:-2]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a\nb speed=fast\n", r"hosts.txt:2: 'speed=fast' is not"),
        ("-oProxyCommand=x\n", r"hosts.txt:1: '-oProxyCommand=x' is not"),
        ("ann@a\nbob@a\n", r"hosts.txt:2: a second host a; tell them apart by name="),
        ("# none\n", r"names no host"),
    ],
)
def test_a_wrong_file_of_hosts_is_named_with_its_line(tmp_path, text, error):
    (tmp_path / "hosts.txt").write_text(text)
    with pytest.raises(BenchError, match=error):
        ssh.read_hosts(tmp_path / "hosts.txt")
    with pytest.raises(BenchError, match="No such file"):
        ssh.read_hosts(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("module", "remedy"),
    [("nrbench", "name nrbench=… or another python=… in the file"), ("dask", "run ci/setup bench there")],
)
def test_a_host_without_the_packages_is_named_with_the_remedy(tmp_path, monkeypatch, capsys, module, remedy):
    """A program stands for ssh; each of its tries writes to a log of its own."""
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\necho \"No module named '{module}'\" >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    session = ssh.Session(ssh.Entry("lab", "lab"), 1, Certificates("", ""))
    session.start()
    until(lambda: session.look() or session.given_up, "the last try")
    session.ask_to_end()
    session.end(WAIT_S)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"nrbench: lab: no worker: No module named '{module}'; {remedy}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemons(Lab):
    """A daemon for each host, which runs as this user."""

    def __init__(self, folder):
        super().__init__(folder)
        for name in ("host", "user"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(words, check=True)
        (folder / "user.pub").rename(folder / "authorized")
        text = f"Host *\n IdentityFile {folder}/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
        (folder / "config").write_text(f"{text} UserKnownHostsFile {folder}/known\n LogLevel ERROR\n")
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # the daemon's own, which its service makes

    def daemon(self, name):
        root, port = self.machine(name), free_port()
        own = f"XDG_CACHE_HOME={root}/cache NRBENCH_SYSTEM_ROOT={root} NRBENCH_MACHINE_LOCK={root}/lock"
        (self.folder / f"{name}.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            f"PermitRootLogin yes\nSetEnv {own} TMPDIR={root}\n"
        )
        self.run([SSHD, "-D", "-e", "-f", str(self.folder / f"{name}.conf")], name)
        return (
            f"{getpass.getuser()}@127.0.0.1 name={name} port={port} config={self.folder}/config "
            f"python={sys.executable} nrbench={ROOT}\n"
        )


@pytest.fixture
def daemons(tmp_path):
    made = Daemons(tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.alone
@needs_sshd
def test_three_hosts_by_ssh_one_of_which_loses_its_worker(daemons, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "_report", lambda *_: None)
    monkeypatch.setattr(lanes, "LOOK_S", 0.2)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("".join(daemons.daemon(name) for name in ("a", "b", "c")))
    builds = make_builds(tmp_path)
    pid = tmp_path / "pid"
    (tmp_path / "new.py").write_text(
        f"if host == 'b' and '-n2' not in options and not os.path.exists({str(pid)!r}):\n"
        f"    open({str(pid)!r} + '.part', 'w').write(str(os.getppid()))\n"
        f"    os.rename({str(pid)!r} + '.part', {str(pid)!r})\n"
        "    import time\n    time.sleep(60)\n"
    )

    def kill():
        until(pid.exists, "a run on b")
        os.kill(int(pid.read_text()), signal.SIGKILL)

    with meanwhile(kill):
        answer = nrbench("sweep", *builds, *CASES, "--repeats", "2", "--cluster", f"ssh:{hosts}")
    assert answer.exit_code == 0, answer.output
    runs = runs_of(tmp_path)
    assert_nothing_doubled(runs, 36)
    assert sum(run.status == "crash" for run in runs) == 1
    until(lambda: not _workers(tmp_path), "the end of all workers")


def _workers(folder):
    """Processes of workers that name the folder."""
    found = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False)
    return [pid for pid in found.stdout.split() if "worker" in _command(pid)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.alone
@needs_sshd
def test_a_host_that_cannot_be_reached_is_named_and_others_are_used(daemons, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ssh, "TRIES", 1)
    from nrbench.cluster.connect import open_cluster

    hosts = tmp_path / "hosts.txt"
    lost = f"guest@127.0.0.1 name=lost port={free_port()} config={tmp_path}/config\n"
    hosts.write_text(daemons.daemon("a") + lost)
    with open_cluster(f"ssh:{hosts}") as cluster:
        assert [host.name for host in cluster.hosts] == ["a"]
        assert cluster.run_on(cluster.hosts[0], os.getpid).result() > 0
    assert "lost: no worker: " in capsys.readouterr().err
