# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster slurm:FILE` on a real Slurm of one node, made here; and what is asked of Slurm."""

import os
import secrets
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")
pytest.importorskip("dask_jobqueue")

from cluster_pieces import PIECES, Pieces  # noqa: E402
from cluster_tools import (  # noqa: E402
    CASES,
    WAIT_S,
    Lab,
    assert_nothing_doubled,
    make_builds,
    nrbench,
    runs_of,
    until,
)

from nrbench.cluster import slurm  # noqa: E402
from nrbench.cluster.configuration import read_configuration  # noqa: E402
from nrbench.cluster.connect import open_cluster  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402
from nrbench.sweep import session  # noqa: E402

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PROGRAMS = {
    name: shutil.which(name, path=PATH) for name in ("munged", "slurmctld", "slurmd", "sinfo", "sbatch")
}
missing = [name for name, path in PROGRAMS.items() if not path]
needs_slurm = pytest.mark.skipif(
    bool(missing) or os.getuid() != 0, reason=f"no root, or no {', '.join(missing)}"
)
CONFIGURATION = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=lab Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def test_a_job_has_its_node_alone_and_its_worker_measures_one_at_a_time(tmp_path, monkeypatch):
    from dask_jobqueue.slurm import SLURMJob

    monkeypatch.setenv("HOME", str(tmp_path))
    wanted = slurm.Slurm(partition="lab", time="2:00:00", directives=["--constraint=zen4"], nrbench="/n n")
    words = slurm.keywords(wanted)
    keys = Path(words["shared_temp_directory"])
    assert keys.is_relative_to(tmp_path) and keys.stat().st_mode & 0o777 == 0o700
    for name in ("scheduler_options", "shared_temp_directory", "silence_logs"):
        del words[name]
    script = SLURMJob("tls://h:1", name="w", **words).job_script()
    lines = script.splitlines()
    for line in ("--exclusive", "--nodes=1", "--constraint=zen4", "-p lab", "-t 2:00:00"):
        assert f"#SBATCH {line}" in lines
    assert not [line for line in lines if line.startswith(("#SBATCH --mem", "#SBATCH --cpus-per-task"))]
    assert "export DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE=False" in lines
    assert "export PYTHONPATH='/n n'${PYTHONPATH:+:$PYTHONPATH}" in lines
    assert "--resources machine=1" in lines[-1] and "--nthreads 2" in lines[-1] and "tls://h:1" in lines[-1]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nodes = 0", "lab.toml: nodes: Input should be greater than or equal to 1"),
        ("speed = 1", "lab.toml: speed: Extra inputs are not permitted"),
        ("nodes = ", "lab.toml: "),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, error):
    (tmp_path / "lab.toml").write_text(text)
    with pytest.raises(BenchError, match=error):
        read_configuration("slurm", str(tmp_path / "lab.toml"), slurm.Slurm)
    with pytest.raises(BenchError, match="none.toml: No such file"):
        read_configuration("slurm", str(tmp_path / "none.toml"), slurm.Slurm)


def test_without_slurm_the_missing_program_is_named(monkeypatch):
    monkeypatch.setattr(slurm, "PROGRAMS", ("no-such-sbatch",))
    with pytest.raises(BenchError, match="there is no no-such-sbatch here"):
        with slurm.started(slurm.Slurm()):
            pass


def _free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Partition(Lab):
    """Daemons of Slurm for one node: this machine."""

    def begin(self, monkeypatch):
        folder, host = self.folder, socket.gethostname().partition(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        own = [
            f"--{name}={folder}/munge.{name.partition('-')[0]}"
            for name in ("pid-file", "log-file", "seed-file")
        ]
        words = ["--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket", *own]
        self.run([PROGRAMS["munged"], *words], "munged")
        until((folder / "munge.socket").exists, "munge's socket")
        configuration = folder / "slurm.conf"
        text = CONFIGURATION.format(host=host, ports=_free_ports(2), folder=folder, cpus=os.cpu_count())
        configuration.write_text(text)
        monkeypatch.setenv("SLURM_CONF", str(configuration))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "machines" / "node" / "cache"))
        monkeypatch.setenv("NRBENCH_MACHINE_LOCK", str(folder / "lock"))
        monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(folder / "scratch"))
        self.run(
            [PROGRAMS["slurmctld"], "-D", "-c", "-f", str(configuration)],
            "slurmctld",
            SLURM_CONF=str(configuration),
        )
        self.run(
            [PROGRAMS["slurmd"], "-D", "-c", "-f", str(configuration), "-N", host],
            "slurmd",
            SLURM_CONF=str(configuration),
        )
        until(self._is_idle, "an idle node")

    def _is_idle(self):
        words = [PROGRAMS["sinfo"], "--noheader", "--format=%T"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() == "idle"

    def jobs(self):
        words = ["squeue", "--noheader", "--format=%i %T"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture
def partition(tmp_path, monkeypatch):
    made = Partition(tmp_path)
    try:
        made.begin(monkeypatch)
        yield made
        until(lambda: not made.jobs(), "the end of all jobs")
    finally:
        made.end()


@pytest.mark.alone
@needs_slurm
def test_a_sweep_on_a_node_of_slurm_and_no_job_is_left(partition, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "_report", lambda *_: None)
    builds = make_builds(tmp_path)
    lab = tmp_path / "lab.toml"
    text = f'partition = "lab"\nhost = "127.0.0.1"\nfolder = "{tmp_path}"\n'
    lab.write_text(f'{text}logs = "{tmp_path}"\nwait_s = 600\n')
    words = ("sweep", *builds, *CASES, "--cluster", f"slurm:{lab}")
    answer = nrbench(*words, "--repeats", "2")
    assert answer.exit_code == 0, answer.output
    runs = [run for run in runs_of(tmp_path) if run.at_once is None]
    assert_nothing_doubled(runs, 12)
    node = socket.gethostname().partition(".")[0]
    assert {run.host.label.partition(":")[0] for run in runs} == {node}


@pytest.mark.alone
@needs_slurm
def test_a_job_that_slurm_refuses_is_named_at_once(partition, tmp_path, capsys):
    lab = tmp_path / "lab.toml"
    lab.write_text(f'partition = "none"\nnodes = 2\nfolder = "{tmp_path}"\n')
    reason = "sbatch: error: Batch job submission failed: Invalid partition name specified"
    with pytest.raises(BenchError, match=rf"no worker has joined \({reason}\)"):
        with open_cluster(f"slurm:{lab}"):
            pass
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "takes" in line] == [f"nrbench: Slurm takes no job: {reason}"]


@pytest.mark.alone
@needs_slurm
def test_the_dashboard_answers_at_its_address(partition, tmp_path):
    """Dask names another one: that on which the nodes reach the scheduler."""
    pytest.importorskip("bokeh")
    lab = tmp_path / "lab.toml"
    lab.write_text(f'folder = "{tmp_path}"\nlogs = "{tmp_path}"\nwait_s = 600\n')
    with open_cluster(f"slurm:{lab}") as cluster:
        opener = build_opener(ProxyHandler({}))
        assert cluster.dashboard and opener.open(cluster.dashboard, timeout=WAIT_S).status == 200


@pytest.mark.alone
@needs_slurm
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_the_script_for_sbatch_starts_a_worker_for_a_scheduler_of_ones_own(partition, tmp_path):
    (tmp_path / "own").mkdir()
    pieces = Pieces(tmp_path / "own")
    try:
        pieces.begin()
        pieces.scheduler_of_kubernetes()
        log, script = tmp_path / "worker.log", PIECES / "worker.sbatch"
        words = ["sbatch", "--parsable", f"--output={log}", str(script), pieces.address]
        variables = pieces.environment | {"NRBENCH_TLS": str(pieces.tls), "TMPDIR": str(tmp_path)}
        job = subprocess.run(words, env=variables, capture_output=True, text=True, check=True).stdout.strip()
        with pieces.client(), open_cluster(pieces.address) as cluster:
            (host,) = cluster.hosts
            assert host.name == socket.gethostname().partition(".")[0]  # the node's name
            assert cluster.run_on(host, os.getenv, "SLURM_JOB_ID").result(timeout=WAIT_S) == job
        subprocess.run(["scancel", job], check=True)
    finally:
        pieces.end()
