# SPDX-License-Identifier: BSD-3-Clause
"""The files of ci/deploy/cluster at work: nrbench reads its own; a scheduler and real workers start with
the words, variables and certificates of the container, the Kubernetes objects and the script."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")
yaml = pytest.importorskip("yaml")

from cluster_tools import WAIT_S, Lab, until  # noqa: E402

from nrbench.cluster import slurm  # noqa: E402
from nrbench.cluster.configuration import read_configuration  # noqa: E402
from nrbench.cluster.connect import open_cluster  # noqa: E402
from nrbench.cluster.ssh import read_hosts  # noqa: E402
from nrbench.driver import BenchError  # noqa: E402

PIECES = Path(__file__).resolve().parents[2] / "ci" / "deploy" / "cluster"
MOUNTED = "/etc/nrbench/tls"  # where a container has the certificates
needs_pieces = pytest.mark.skipif(not PIECES.is_dir(), reason="ci/deploy is not here")
needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
pytestmark = needs_pieces


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
        "PYTHONPATH": str(PIECES.parents[2] / "nr_ulsim_bench"),
    }
    for asked, partition in (("", "rf"), ("own", "own")):
        script = subprocess.run(
            [sys.executable, "-c", program, asked], env=variables, capture_output=True, text=True, check=True
        ).stdout
        for line in (f"#SBATCH -p {partition}", "#SBATCH -A radio", "#SBATCH --exclusive"):
            assert line in script.splitlines()
        assert "--local-directory /scratch" in script and "--resources machine=1" in script


def _manifest(kind):
    found = yaml.safe_load_all((PIECES / "kubernetes.yaml").read_text())
    (one,) = (one for one in found if one["kind"] == kind)
    (container,) = one["spec"]["template"]["spec"]["containers"]
    return container


def _image():
    """@return the variables and the entry point of the Containerfile"""
    text = (PIECES / "Containerfile").read_text().replace("\\\n", " ")
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    (variables,) = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    return dict(word.split("=", 1) for word in variables.split()), json.loads(entry)


class Pieces(Lab):
    """`dask` of this Python, and the certificates' folder in the place of a container's."""

    def begin(self):
        self.tls, programs = self.folder / "tls", self.folder / "bin"
        self.tls.mkdir()
        programs.mkdir()
        dask = programs / "dask"
        dask.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dask "$@"\n')
        dask.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        text = (PIECES / "kubernetes.yaml").read_text()
        for command in re.findall(r"^#   ((?:openssl|cp) .*)$", text, re.MULTILINE):
            subprocess.run(shlex.split(command), cwd=self.tls, check=True, capture_output=True)

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def there(self, variables):
        return {name: value.replace(MOUNTED, str(self.tls)) for name, value in variables.items()}

    def own(self, name):
        root = self.machine(name)
        return {"NRBENCH_SYSTEM_ROOT": str(root), "NRBENCH_MACHINE_LOCK": str(root / "lock"),
                "XDG_CACHE_HOME": str(root / "cache")}  # fmt: skip

    def scheduler_of_kubernetes(self):
        """@return its address"""
        only, (variables, _) = _manifest("Deployment"), _image()
        variables |= {one["name"]: one["value"] for one in only["env"]}
        port = str(self.free_port())
        words = [port if word == "8786" else word for word in only["command"]]
        assert port in words
        self.run([*words, "--host", "127.0.0.1"], "scheduler", **self.there(variables))
        self.address = f"tls://127.0.0.1:{port}"

    def client(self):
        """Dask's variables for the client, as the comment in the objects' file has them."""
        text = (PIECES / "kubernetes.yaml").read_text()
        found = dict(re.findall(r"(DASK_DISTRIBUTED__COMM__TLS__C\w+)=(\S+)", text))
        assert len(found) == 3
        import dask.config

        keys = {name: name.removeprefix("DASK_").lower().replace("__", ".") for name in found}
        return dask.config.set({keys[name]: str(self.tls / file) for name, file in found.items()})


@pytest.fixture
def pieces(tmp_path):
    made = Pieces(tmp_path)
    try:
        made.begin()
        made.scheduler_of_kubernetes()
        yield made
    finally:
        made.end()


def _the_host(cluster):
    """@return the one host's name, after a function ran there"""
    (host,) = cluster.hosts
    assert cluster.run_on(host, os.getpid).result(timeout=WAIT_S) != os.getpid()
    return host.name


@needs_openssl
def test_a_worker_of_the_container_joins_the_scheduler_of_kubernetes(pieces):
    variables, entry = _image()
    worker = _manifest("DaemonSet")
    words = [pieces.address if word.startswith("tls://") else word for word in worker["args"]]
    words = [word.replace("$(NODE)", "node7") for word in words]
    place = ["--local-directory", str(pieces.folder / "scratch")]
    pieces.run([*entry, *words, *place], "worker", **pieces.there(variables), **pieces.own("node7"))
    with pieces.client(), open_cluster(pieces.address) as cluster:
        assert _the_host(cluster) == "node7"
        (about,) = cluster.workers().values()
        assert about["resources"] == {"machine": 1.0} and about["nthreads"] == 2


@needs_openssl
def test_a_worker_of_the_script_joins_and_ends_with_the_scheduler(pieces):
    """A program stands for srun: it starts one task, as on one node."""
    srun = pieces.folder / "bin" / "srun"
    srun.write_text('#!/bin/sh\nSLURMD_NODENAME=node3 exec "$@"\n')
    srun.chmod(0o755)
    (pieces.folder / "scratch").mkdir()
    words = ["bash", str(PIECES / "worker.sbatch"), pieces.address]
    own = pieces.own("node3") | {"NRBENCH_TLS": str(pieces.tls), "TMPDIR": str(pieces.folder / "scratch")}
    worker = pieces.run(words, "worker", **own)
    with pieces.client(), open_cluster(pieces.address) as cluster:
        assert _the_host(cluster) == "node3"
        (about,) = cluster.workers().values()
        assert about["resources"] == {"machine": 1.0} and about["nthreads"] == 2
    pieces.kill(pieces.processes[0])
    until(lambda: worker.poll() is not None, "the end of a worker whose scheduler is gone")


@needs_openssl
def test_who_has_no_certificate_is_refused(pieces):
    from distributed import Client

    with pieces.client(), Client(pieces.address, timeout=f"{WAIT_S}s", set_as_default=False):
        pass  # it listens
    with pytest.raises((OSError, TypeError)):
        Client(pieces.address, timeout="3s", set_as_default=False)
    with pytest.raises(OSError):
        Client(pieces.address.replace("tls://", "tcp://"), timeout="3s", set_as_default=False)


@pytest.mark.parametrize("name", slurm.QUIET)
def test_no_worker_does_other_work_beside_what_is_measured(name):
    variables, _ = _image()
    assert variables[f"DASK_DISTRIBUTED__WORKER__{name}"] == "False"
    assert f"export DASK_DISTRIBUTED__WORKER__{name}=False\n" in (PIECES / "worker.sbatch").read_text()
