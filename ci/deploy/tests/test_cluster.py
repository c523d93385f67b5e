# SPDX-License-Identifier: BSD-3-Clause
"""Files for workers of `nrbench --cluster`, each by its format's own reader. Nothing is started:
nr_ulsim_bench/tests/test_cluster.py does that."""

import re
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, need, run

yaml = pytest.importorskip("yaml")
CLUSTER = DEPLOY / "cluster"
ROOT = DEPLOY.parents[1]
IMAGE = (CLUSTER / "Containerfile").read_text()
MANIFESTS = {
    (one["kind"], one["metadata"]["name"]): one
    for one in yaml.safe_load_all((CLUSTER / "kubernetes.yaml").read_text())
}
SERVICE, SCHEDULER, WORKER = (
    ("Service", "nrbench-scheduler"), ("Deployment", "nrbench-scheduler"), ("DaemonSet", "nrbench-worker")
)  # fmt: skip


@pytest.fixture
def instructions(tmp_path: Path) -> dict[str, list[str]]:
    """The values of each instruction of the image."""
    parser = pytest.importorskip("dockerfile_parse").DockerfileParser(path=str(tmp_path))
    parser.content = IMAGE
    found: dict[str, list[str]] = {}
    for one in parser.structure:
        found.setdefault(one["instruction"], []).append(one["value"])
    return found


def pod(key: tuple[str, str]) -> Any:
    return MANIFESTS[key]["spec"]["template"]["spec"]


def container(key: tuple[str, str]) -> Any:
    (only,) = pod(key)["containers"]
    return only


def test_the_image_names_its_base_and_what_it_copies_is_here(instructions: dict[str, list[str]]) -> None:
    """And its versions of Python and Dask are those that nrbench takes."""
    (base,), (copied, header) = instructions["FROM"], instructions["COPY"]
    assert (ROOT / header.split()[0]).exists()
    assert re.fullmatch(r"docker\.io/library/python:\$\{PYTHON\}-slim-bookworm", base)
    project = (ROOT / copied.split()[0] / "pyproject.toml").read_text()
    assert any(f'"{copied.split()[1]}[cluster]"' in text for text in instructions["RUN"])
    found = dict(text.split("=", 1) for text in instructions["ARG"])
    assert f'"distributed{found["DASK"].strip(chr(34))}"' in project
    (minor,) = re.findall(r'requires-python = ">=3\.(\d+)"', project)
    assert int(found["PYTHON"].partition(".")[2]) >= int(minor)


def test_kubernetes_accepts_each_object_and_no_mistyped_one() -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    assert set(MANIFESTS) == {SERVICE, SCHEDULER, WORKER}
    for manifest in MANIFESTS.values():
        kubernetes.validate(manifest, kubernetes.latest_version(), strict=True)
    wrong = yaml.safe_load(yaml.safe_dump(MANIFESTS[WORKER]).replace("hostPath:", "hostpath:"))
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate(wrong, kubernetes.latest_version(), strict=True)


@pytest.mark.parametrize("key", [SCHEDULER, WORKER])
def test_a_pod_mounts_its_volumes_and_the_secret_where_its_variables_look(key: tuple[str, str]) -> None:
    """Its labels are those that its owner selects."""
    spec, only = pod(key), container(key)
    mounts = {one["name"]: one for one in only["volumeMounts"]}
    assert set(mounts) == {one["name"] for one in spec["volumes"]} and mounts["tls"]["readOnly"]
    assert {"name": "tls", "secret": {"secretName": "nrbench-tls"}} in spec["volumes"]
    paths = [one["value"] for one in only["env"] if "__TLS__" in one["name"]]
    paths += re.findall(r"__TLS__\w+=(\S+)", IMAGE)
    assert len(paths) >= 3
    assert {str(Path(path).parent) for path in paths} == {mounts["tls"]["mountPath"]}
    owner = MANIFESTS[key]["spec"]
    assert owner["selector"]["matchLabels"] == owner["template"]["metadata"]["labels"]


def test_a_worker_keeps_on_its_node_what_outlives_it() -> None:
    """The cache of builds is where nrbench looks for it; the lock and the machine-id are the node's own."""
    variables = {one["name"]: one.get("value") for one in container(WORKER)["env"]}
    mounts = {one["name"]: one["mountPath"] for one in container(WORKER)["volumeMounts"]}
    node = {one["name"]: one["hostPath"]["path"] for one in pod(WORKER)["volumes"] if "hostPath" in one}
    assert mounts["cache"] == f"{variables['XDG_CACHE_HOME']}/nrbench"
    assert (mounts["lock"], mounts["machine-id"]) == (node["lock"], node["machine-id"])


def test_workers_find_the_scheduler_by_its_service() -> None:
    service, worker, scheduler = MANIFESTS[SERVICE], container(WORKER), container(SCHEDULER)
    assert service["spec"]["selector"] == MANIFESTS[SCHEDULER]["spec"]["template"]["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    assert worker["args"][0] == f"tls://{service['metadata']['name']}:{port['port']}"
    assert port["targetPort"] == scheduler["ports"][0]["containerPort"]
    assert str(port["targetPort"]) == scheduler["command"][scheduler["command"].index("--port") + 1]
    assert "command" not in worker  # it starts by the image's entry point
    assert worker["image"] == scheduler["image"] and not worker["image"].endswith(":latest")


def test_the_script_is_right_and_names_what_is_missing(tmp_path: Path) -> None:
    script = CLUSTER / "worker.sbatch"
    (tmp_path / "ca.crt").touch()
    for words, message in (
        ((), "sbatch worker.sbatch tls://HOST:8786"),
        (("tls://localhost:8786",), f"{tmp_path}/tls.crt: not readable"),
    ):
        done = run("bash", script, *words, NRBENCH_TLS=str(tmp_path))
        assert done.returncode != 0 and message in done.stderr
    need("shellcheck")
    assert run("shellcheck", script).stdout == ""
