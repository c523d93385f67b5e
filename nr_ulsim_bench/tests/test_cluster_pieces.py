# SPDX-License-Identifier: BSD-3-Clause
"""The files of ci/deploy/cluster at work: nrbench reads its own; a scheduler and real workers start with
the words, variables and certificates of the container, the Kubernetes objects and the script."""

import os
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_pieces import PIECES, Pieces, begun, image, manifest  # noqa: E402
from cluster_tools import ROOT, WAIT_S, until  # noqa: E402

from nrbench.cluster import slurm  # noqa: E402
from nrbench.cluster.configuration import read_configuration  # noqa: E402
from nrbench.cluster.connect import connected, open_cluster  # noqa: E402
from nrbench.cluster.ssh import read_hosts  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402

needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")


def test_nrbench_reads_the_file_of_hosts(tmp_path):
    lab1, epyc, arm = read_hosts(PIECES / "hosts.txt")
    assert (lab1.target, lab1.name, lab1.python) == ("lab1.example.org", "lab1.example.org", "python3")
    assert (epyc.target, epyc.python) == ("bench@lab2.example.org", "/opt/nrbench/bin/python")
    assert (arm.name, arm.port, arm.nrbench) == ("arm", "2222", "/srv/bench/nr_ulsim_bench")
    wrong = tmp_path / "hosts.txt"
    wrong.write_text((PIECES / "hosts.txt").read_text() + "lab4 pyton=/usr/bin/python3\n")
    with pytest.raises(BenchError, match="hosts.txt:7: 'pyton="):
        read_hosts(wrong)


def test_nrbench_reads_the_file_of_slurm_and_all_that_it_offers(tmp_path):
    text = (PIECES / "slurm.toml").read_text()
    wanted = read_configuration("slurm", str(PIECES / "slurm.toml"), slurm.Slurm)
    assert (wanted.nodes, wanted.partition, wanted.time) == (4, "bench", "12:00:00")
    offered = tmp_path / "slurm.toml"
    offered.write_text(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    full = read_configuration("slurm", str(offered), slurm.Slurm)
    assert full.model_fields_set > wanted.model_fields_set and full.account == "radio"


def test_what_a_site_sets_for_dask_jobqueue_is_in_the_job_unless_the_file_sets_it(tmp_path):
    """In a process of its own, which reads the file as Dask does. No job is submitted."""
    pytest.importorskip("dask_jobqueue")
    text = (PIECES / "jobqueue.yaml").read_text()
    for name, value in {"queue": "rf", "account": "radio", "local-directory": "/scratch"}.items():
        assert f"{name}: null" in text
        text = text.replace(f"{name}: null", f"{name}: {value}")
    (tmp_path / "jobqueue.yaml").write_text(text)
    program = (
        "import sys; from dask_jobqueue.slurm import SLURMJob; from nrbench.cluster import slurm\n"
        "words = slurm.keywords(slurm.Slurm(partition=sys.argv[1] or None))\n"
        "for name in ('scheduler_options', 'shared_temp_directory', 'silence_logs'): del words[name]\n"
        "print(SLURMJob('tls://h:1', name='w', **words).job_script())"
    )
    variables = os.environ | {
        "DASK_CONFIG": str(tmp_path),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    for asked, partition in (("", "rf"), ("own", "own")):
        script = subprocess.run(
            [sys.executable, "-c", program, asked], env=variables, capture_output=True, text=True, check=True
        ).stdout
        for line in (f"#SBATCH -p {partition}", "#SBATCH -A radio", "#SBATCH --exclusive"):
            assert line in script.splitlines()
        assert "--local-directory /scratch" in script and "--resources machine=1" in script


@pytest.fixture
def pieces(tmp_path):
    with begun(Pieces(tmp_path)) as made:
        yield made


def the_host(cluster):
    """@return the one host's name, after a function ran there"""
    (host,) = cluster.hosts
    assert cluster.run_on(host, os.getpid).result(timeout=WAIT_S) != os.getpid()
    return host.name


@pytest.mark.alone
@needs_openssl
def test_a_worker_of_the_container_joins_the_scheduler_of_kubernetes(pieces):
    variables, entry = image()
    worker = manifest("DaemonSet")
    words = [pieces.address if word.startswith("tls://") else word for word in worker["args"]]
    words = [word.replace("$(NODE)", "node7") for word in words]
    place = ["--local-directory", str(pieces.folder / "scratch")]
    pieces.run([*entry, *words, *place], "worker", **pieces.there(variables), **pieces.own("node7"))
    with pieces.client(), open_cluster(pieces.address) as cluster:
        assert the_host(cluster) == "node7"
        (about,) = cluster.workers().values()
        assert about["resources"] == {"machine": 1.0} and about["nthreads"] == 2


@pytest.mark.alone
@needs_openssl
def test_a_worker_of_the_script_joins_and_ends_with_the_scheduler(pieces):
    """A program stands for srun: it starts one task, as on one node."""
    srun = pieces.folder / "bin" / "srun"
    srun.write_text('#!/bin/sh\nSLURMD_NODENAME=node3 exec "$@"\n')
    srun.chmod(0o755)
    (pieces.folder / "scratch").mkdir(exist_ok=True)
    words = ["bash", str(PIECES / "worker.sbatch"), pieces.address]
    own = pieces.own("node3") | {"NRBENCH_TLS": str(pieces.tls), "TMPDIR": str(pieces.folder / "scratch")}
    worker = pieces.run(words, "worker", **own)
    with pieces.client(), open_cluster(pieces.address) as cluster:
        assert the_host(cluster) == "node3"
        (about,) = cluster.workers().values()
        assert about["resources"] == {"machine": 1.0} and about["nthreads"] == 2
    pieces.kill(pieces.processes[0])
    until(lambda: worker.poll() is not None, "the end of a worker whose scheduler is gone")


@pytest.mark.alone
@needs_openssl
def test_who_has_no_certificate_is_refused(pieces):
    with pieces.client(), connected(pieces.address, timeout=f"{WAIT_S}s"):
        pass  # it listens
    with pytest.raises((OSError, TypeError)):
        connected(pieces.address, timeout="3s")
    with pytest.raises(OSError):
        connected(pieces.address.replace("tls://", "tcp://"), timeout="3s")


@pytest.mark.parametrize("name", slurm.QUIET)
def test_no_worker_does_other_work_beside_what_is_measured(name):
    variables, _ = image()
    assert variables[f"DASK_DISTRIBUTED__WORKER__{name}"] == "False"
    assert f"export DASK_DISTRIBUTED__WORKER__{name}=False\n" in (PIECES / "worker.sbatch").read_text()
