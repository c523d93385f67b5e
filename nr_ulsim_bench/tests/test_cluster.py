# SPDX-License-Identifier: BSD-3-Clause
"""`--cluster`: sweeps on real schedulers and workers, with stand-ins for OAI's programs; the
ways to machines, as real as this machine allows; what goes wrong, and who is refused."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import dask
import pytest
from cluster_pieces import PIECES, SSH, Daemons, Pieces
from cluster_tools import CASES, ROOT, begun, lab, make_builds, meanwhile, rounds_of, runs_of
from fake import a_program, executable
from made_up import nrbench, ran
from part_runs import WAIT_S, until

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from distributed import Client  # noqa: E402
from distributed.security import Security  # noqa: E402

from nrbench.cluster import builds, lock, ssh, ways  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402
from nrbench.session import MachineLost  # noqa: E402
from nrbench.sweep import session, simulator  # noqa: E402
from nrbench.sweep.record import Setting  # noqa: E402

alone = pytest.mark.alone
needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
needs_sshd = pytest.mark.skipif(not all(SSH.values()), reason="no ssh daemon here")


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """The words of a sweep, and no report."""
    monkeypatch.setattr(session, "report", lambda *_: None)
    return ("sweep", *make_builds(tmp_path), *CASES, "--repeats")


# Sweeps.


@alone
def test_every_host_takes_all_runs_once_old_and_new_side_by_side(sweep, tmp_path):
    with lab(tmp_path, "a", "b") as made:
        said = nrbench(*sweep, 2, "--cluster", made.address)
        assert "2 of 2 hosts, 24 runs to take" in said
        nrbench(*sweep, 3, "--cluster", made.address)
        assert rounds_of(tmp_path) == {"a": 3, "b": 3}
        for host in "ab":
            own = sorted((r for r in runs_of(tmp_path) if r.host.label[0] == host), key=lambda run: run.began)
            pairs = [(run.threads, run.repeat) for run in own if run.threads]
            assert pairs[::2] == pairs[1::2]
            first = {run.pool for run in [run for run in own if run.threads][::2]}
            assert len(first) == 2  # in a drawn order
        assert "nothing left to do" in nrbench(*sweep, 3, "--cluster", made.address)


@alone
@pytest.mark.parametrize(
    ("victim", "number", "status", "said"),
    [
        ("b", signal.SIGKILL, 1, "b: left out: its worker is gone"),
        ("b", signal.SIGSTOP, 1, "b: left out: its worker is gone"),
        ("scheduler", signal.SIGKILL, 1, "b: left out: the scheduler is gone"),
        ("client", signal.SIGTERM, 130, "interrupted: "),
    ],
)
def test_what_ends_is_named_and_the_same_command_takes_the_rest(
    sweep, tmp_path, monkeypatch, victim, number, status, said
):
    """Host b is in the middle of a run; host a has done its own."""
    reached, leave = tmp_path / "reached", tmp_path / "open"
    (tmp_path / "new.py").write_text(
        "import time\nif host == 'b' and '-n2' not in options and threads == 2:\n"
        f"    open({str(reached)!r}, 'w').close()\n"
        f"    while not os.path.exists({str(leave)!r}):\n        time.sleep(0.05)\n"
    )

    def end():
        until(reached.exists, "a run on b")
        until(lambda: sum(run.host.label[0] == "a" for run in runs_of(tmp_path)) == 12, "the runs on a")
        os.kill(os.getpid(), number) if victim == "client" else made.kill(victim, number)

    if (victim, number) == ("b", signal.SIGSTOP):
        monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "20s")
    with lab(tmp_path, "a", "b") as made:
        with meanwhile(end):
            answer = ran(*sweep, 2, "--cluster", made.address, status=status).output
        leave.touch()
        assert said in answer and "the same command takes the rest" in answer
    with lab(tmp_path, "a", "b") as made:
        nrbench(*sweep, 2, "--cluster", made.address)
        assert rounds_of(tmp_path) == {"a": 2, "b": 2}


@alone
def test_hosts_that_cannot_be_used_are_named_with_the_reason(sweep, tmp_path, monkeypatch):
    (tmp_path / "new.py").write_text("if host == 'other':\n    os.kill(os.getpid(), 4)\n")
    with lab(tmp_path, "a", "other") as made:
        made.worker("again", machine="a")
        made.worker("copied", **{"/etc/machine-id": made.own("a") and "0" * 32})
        made.worker("copy", **{"/etc/machine-id": "0" * 32})
        made.wait_for_workers(5)
        said = nrbench(*sweep, 1, "--cluster", made.address, status=1)
    assert "again: left out: the same machine as a" in said
    assert re.search(r"other: left out: --new: .*/new/nr_ulsim is built for another CPU \(SIGILL\)", said)
    assert "1 of 4 hosts were left out; the same command takes the rest" in said
    assert rounds_of(tmp_path) == {"a": 1, "copied": 1, "copy": 1}
    monkeypatch.setattr(ways, "JOIN_S", 0.1)
    with lab(tmp_path) as made:
        assert "no worker has joined in time" in nrbench(*sweep, 1, "--cluster", made.address, status=2)
        made.worker("a")
        made.wait_for_workers(1)
        monkeypatch.setattr(ways, "ANSWER_S", 1)
        with lock.machine_lock(Path(made.own("a")["NRBENCH_MACHINE_LOCK"])):
            said = nrbench(*sweep, 2, "--cluster", made.address, status=2)
        assert "a: left out: no answer within 1 s; is another measurement running?" in said
    monkeypatch.setattr(ways, "CONNECT_S", 1)
    said = nrbench(*sweep, 1, "--cluster", made.address, status=2)
    assert "Timed out trying to connect to tcp://127.0.0.1" in said


# Builds on hosts.


@pytest.fixture
def sent(tmp_path, monkeypatch):
    """A build at a path that the host lacks; what brings it, by functions that run here and are noted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (a_program(tmp_path / "build", "print('run')") / "libldpc.so").write_bytes(os.urandom(2500))
    build = simulator.find(tmp_path / "build", "--old")
    elsewhere = replace(build, program=Path("/nowhere/nr_ulsim"))
    archive, asked = builds.archive_of(build), []

    def bring(simulator=elsewhere, archive=archive):
        def there(function, *words):
            asked.append(function.__name__)
            return function(*words)

        asked.clear()
        return builds.bring(simulator, archive, there)

    return build, archive, bring, asked


def test_a_build_is_used_by_its_path_or_else_sent_once(sent):
    build, _, bring, asked = sent
    assert bring(build) == build and asked == ["find"]
    there = bring()
    assert asked == ["find", "keep"]
    assert there.environment == (("LD_LIBRARY_PATH", str(there.program.parent)),)
    libraries = [one.program.with_name("libldpc.so").read_bytes() for one in (there, build)]
    assert libraries[0] == libraries[1]
    setting = Setting(scenario="s", case="c", options=(), pool="old", threads=1)
    assert there.run(("-C1",), setting, 60, [None])[0].output == "run\n"
    assert bring() == there and asked == ["find"]


def test_a_build_that_arrives_damaged_is_refused_and_not_kept(sent, tmp_path):
    _, archive, bring, _ = sent
    with pytest.raises(MachineLost, match="the build arrived damaged"):
        bring(archive=archive.replace(b"print('run')", b"print('ran')"))
    assert not list((tmp_path / "cache" / "nrbench" / "builds").iterdir())
    bring().program.write_text("damaged later")
    bring()
    assert len(list((tmp_path / "cache" / "nrbench" / "builds").iterdir())) == 2  # nothing there is removed


# The lock of a machine.

HOLD = """
import sys
from nrbench.cluster.lock import machine_lock
with machine_lock():
    print(1, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["ends", "is killed", "loses the file"])
def test_a_second_measurement_waits_until_the_first_ends(tmp_path, monkeypatch, how):
    path, held = tmp_path / "lock", threading.Event()
    monkeypatch.setattr(lock, "LOOK_S", 0.01)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), lock.VARIABLE: str(path)}
    words = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": variables}
    with subprocess.Popen([sys.executable, "-c", HOLD], **words) as first:
        assert first.stdout.readline() == b"1\n" and path.stat().st_mode & 0o777 == 0o444

        def second():
            with lock.machine_lock(path):
                held.set()

        with meanwhile(second):
            assert not held.wait(0.2)
            {"ends": first.stdin.close, "is killed": first.kill, "loses the file": path.unlink}[how]()
            assert held.wait(WAIT_S)


def test_a_measurement_that_waits_too_long_says_what_it_waits_for(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "WAIT_S", 0)
    said = f"another measurement holds this host .{tmp_path}/lock. for more than 0 s"
    with lock.machine_lock(tmp_path / "lock"), pytest.raises(MachineLost, match=said):
        with lock.machine_lock(tmp_path / "lock"):
            pass


def test_a_link_in_the_place_of_the_lock_is_refused_and_a_pipe_is_a_lock(tmp_path, monkeypatch):
    """Any user can make one. To open a pipe may block without end."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="symbolic"), lock.machine_lock(tmp_path / "link"):
        pass
    monkeypatch.setattr(lock, "WAIT_S", 0)
    with lock.machine_lock(tmp_path / "pipe"), pytest.raises(MachineLost):
        with lock.machine_lock(tmp_path / "pipe"):
            pass
    monkeypatch.delenv(lock.VARIABLE, raising=False)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    monkeypatch.setattr(lock, "FOLDERS", (tmp_path / "none", tmp_path, tmp_path / "shared"))
    assert lock.lock_path() == tmp_path / "shared" / lock.NAME


# Ways to machines.


@pytest.mark.parametrize("text", ["", "tcp:", "tcp://a", "ssh:", "ssh", "http://a:1"])
def test_what_is_no_way_is_named_with_those_there_are(text):
    with pytest.raises(BenchError, match=r"--cluster .*: not tcp://SCHEDULER:PORT, .*ssh:FILE"):
        ways.parse_spec(text)


@pytest.mark.parametrize(
    ("way", "text", "said"),
    [
        ("ssh", "a\nb speed=fast\n", "file:2: speed: Extra inputs are not permitted; a line is "),
        ("ssh", "-oProxyCommand=x\n", "file:1: target: String should match pattern"),
        ("ssh", "ann@a\nbob@a\n", "file:2: a second host a; tell them apart by name="),
        ("ssh", "# none\n", "names no host"),
        ("ssh", None, "No such file"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, monkeypatch, way, text, said):
    monkeypatch.setattr(ways, "PACKAGES", {})
    if text is not None:
        (tmp_path / "file").write_text(text)
    with pytest.raises(BenchError, match=said), ways.open_cluster(f"{way}:{tmp_path / 'file'}"):
        pass


def test_the_file_of_hosts_to_start_from_is_read():
    lab1, epyc, arm = ssh.read_hosts(PIECES / "hosts.txt")
    assert (lab1.name, epyc.target, arm.port) == ("lab1.example.org", "bench@lab2.example.org", "2222")
    assert arm.command("-L1")[-3:] == ["-L1", arm.target, (
        "exec env PYTHONPATH=/srv/bench/nr_ulsim_bench /srv/bench/.venv/bin/python -m nrbench.cluster.worker"
    )]  # fmt: skip


@alone
@needs_sshd
def test_hosts_by_ssh_of_which_one_cannot_be_reached(sweep, tmp_path):
    with begun(Daemons(tmp_path)) as made:
        hosts = [made.host("a"), made.host("b"), made.host("gone", has_daemon=False)]
        hosts.append(made.host("bare").replace(f"nrbench={ROOT}", f"nrbench={tmp_path}"))
        (tmp_path / "hosts.txt").write_text("".join(hosts))
        said = nrbench(*sweep, 2, "--cluster", f"ssh:{tmp_path}/hosts.txt")
    assert "gone: no worker: ssh: connect to host 127.0.0.1" in said
    assert re.search(
        "bare: no worker: .*No module named 'nrbench.*; run ci/setup bench there, and name its python=…", said
    )
    assert rounds_of(tmp_path) == {"a": 2, "b": 2}
    left = ["pgrep", "-f", f"nrbench.cluster.worker.*{tmp_path}"]
    until(lambda: subprocess.run(left, check=False).returncode, "the end of all workers")


def refuses(address, **more):
    for of, own in ((address, more), (address.replace("tls://", "tcp://"), {})):
        with pytest.raises((OSError, TypeError)):
            Client(of, timeout="3s", set_as_default=False, **own)


@alone
def test_a_stranger_is_refused_by_the_scheduler_for_ssh(tmp_path):
    with ExitStack() as stack, dask.config.set({"temporary-directory": str(tmp_path)}):
        made, _ = ssh.started([], stack)
        ways.connected(stack, made.scheduler_address, security=made.security)
        refuses(made.scheduler_address, security=Security.temporary())


@alone
@needs_openssl
def test_a_pod_and_a_job_of_ones_own(tmp_path):
    """Scheduler and workers have the words of ci/deploy/cluster. Another program stands for srun."""
    with begun(Pieces(tmp_path)) as made:
        refuses(made.address)
        executable(tmp_path / "bin" / "srun", '#!/bin/sh\nSLURMD_NODENAME=job exec "$@"\n')
        made.node("pod")
        own = made.own("job") | {"NRBENCH_TLS": str(made.tls)}
        made.run(["bash", PIECES / "worker.sbatch", made.address], "job", **own)
        files = {"ca-file": "ca.crt", "client.cert": "tls.crt", "client.key": "tls.key"}
        tls = {f"distributed.comm.tls.{key}": str(made.tls / name) for key, name in files.items()}
        with dask.config.set(tls):
            made.wait_for_workers(2)
            with ways.open_cluster(made.address) as cluster:
                assert [machine.name for machine in cluster.machines] == ["job", "pod"]
                assert [cluster.link.run_on(one.address, sum, [1, 2]) for one in cluster.machines] == [3, 3]


@pytest.mark.parametrize("file", ["worker.sbatch", "Containerfile"])
def test_no_worker_does_other_work_beside_what_is_measured(file):
    text = (PIECES / file).read_text()
    for name in ("PROFILE__ENABLED", "MEMORY__TERMINATE", "MEMORY__PAUSE", "MEMORY__SPILL"):
        assert f" DASK_DISTRIBUTED__WORKER__{name}=False" in text
