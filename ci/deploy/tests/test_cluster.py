# SPDX-License-Identifier: BSD-3-Clause
"""Files for workers of `nrbench --cluster`, each by its format's own reader. Nothing is started:
nr_ulsim_bench/tests/test_cluster_pieces.py does that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, run, tool

yaml = pytest.importorskip("yaml")
CLUSTER = DEPLOY / "cluster"
ROOT = DEPLOY.parents[1]
FILE = CLUSTER / "Containerfile"
MANIFESTS = CLUSTER / "kubernetes.yaml"
SCRIPT = CLUSTER / "worker.sbatch"
PODS = [("Deployment", "nrbench-scheduler"), ("DaemonSet", "nrbench-worker")]


@pytest.fixture
def instructions(tmp_path: Path) -> list[dict[str, Any]]:
    parser = pytest.importorskip("dockerfile_parse").DockerfileParser(path=str(tmp_path))
    parser.content = FILE.read_text()
    return [one for one in parser.structure if one["instruction"] != "COMMENT"]


def values(instructions: list[dict[str, Any]], name: str) -> list[str]:
    return [one["value"] for one in instructions if one["instruction"] == name]


def packages(instructions: list[dict[str, Any]]) -> list[str]:
    (command,) = (text for text in values(instructions, "RUN") if "apt-get install" in text)
    words = command.partition("apt-get install")[2].partition("&&")[0].split()
    return [word for word in words if not word.startswith("-")]


def manifests() -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(MANIFESTS.read_text())}


def validate(manifest: Any) -> None:
    """By the schema of the newest Kubernetes that the package knows."""
    kubernetes = pytest.importorskip("kubernetes_validate")
    kubernetes.validate(manifest, kubernetes.latest_version(), strict=True)


def pod(kind: str, name: str) -> Any:
    return manifests()[kind, name]["spec"]["template"]["spec"]


def container(kind: str, name: str) -> Any:
    (only,) = pod(kind, name)["containers"]
    return only


def test_the_image_names_its_base_and_what_it_copies_is_here(instructions: list[dict[str, Any]]) -> None:
    assert [one["instruction"] for one in instructions[:2]] == ["ARG", "FROM"]
    (base,), (copied,) = values(instructions, "FROM"), values(instructions, "COPY")
    assert re.fullmatch(r"docker\.io/library/python:\$\{PYTHON\}-slim-bookworm", base)
    assert (ROOT / copied.split()[0] / "pyproject.toml").is_file()
    assert any(f'"{copied.split()[1]}[cluster]"' in text for text in values(instructions, "RUN"))


def test_dask_in_the_image_is_one_that_nrbench_takes(instructions: list[dict[str, Any]]) -> None:
    found = dict(text.split("=", 1) for text in values(instructions, "ARG"))
    project = (ROOT / "nr_ulsim_bench" / "pyproject.toml").read_text()
    assert f'"distributed{found["DASK"].strip(chr(34))}"' in project
    (minor,) = re.findall(r'requires-python = ">=3\.(\d+)"', project)
    assert int(found["PYTHON"].partition(".")[2]) >= int(minor)


def test_debian_has_the_packages_of_the_image(instructions: list[dict[str, Any]]) -> None:
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    if tool("apt-cache") is None or "VERSION_CODENAME=bookworm" not in release:
        pytest.skip("not Debian 12: the packages of the image are not looked up")
    if not run(["apt-cache", "show", "libc6"]).stdout:
        pytest.skip("apt has no lists here: apt update")
    names = packages(instructions)
    assert "binutils" in names and len(names) > 5
    found = re.findall(r"^Package: (.*)$", run(["apt-cache", "show", *names]).stdout, re.MULTILINE)
    assert set(found) == set(names)


def test_a_builder_accepts_the_image() -> None:
    if tool("docker") is None or run(["docker", "buildx", "version"]).returncode:
        pytest.skip("no docker buildx here: the Containerfile is checked by dockerfile-parse alone")
    done = run(["docker", "build", "--check", "-f", FILE, ROOT])
    if "docker daemon" in done.stderr.lower():
        pytest.skip("no docker daemon here: the Containerfile is checked by dockerfile-parse alone")
    assert done.returncode == 0, done.stderr


def test_kubernetes_accepts_each_object() -> None:
    found = manifests()
    assert set(found) == {("Service", "nrbench-scheduler"), *PODS}
    for manifest in found.values():
        validate(manifest)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("hostPath:", "hostpath:"),
        ("containerPort: 8786", 'containerPort: "x"'),
        ("add: [SYS_NICE, IPC_LOCK]", "add: SYS_NICE"),
    ],
)
def test_kubernetes_refuses_a_mistyped_object(right: str, wrong: str) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    text = MANIFESTS.read_text()
    assert right in text
    with pytest.raises(kubernetes.ValidationError):
        for manifest in yaml.safe_load_all(text.replace(right, wrong)):
            validate(manifest)


def test_kubectl_reads_the_objects() -> None:
    if tool("kubectl") is None:
        pytest.skip("no kubectl here: the objects are checked by the schemas alone")
    done = run(["kubectl", "annotate", "--local", "-f", MANIFESTS, "-o", "name", "nrbench=checked"])
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 3


@pytest.mark.parametrize(("kind", "name"), PODS)
def test_a_pod_mounts_its_volumes_and_the_secret_where_its_variables_look(kind: str, name: str) -> None:
    spec, only = pod(kind, name), container(kind, name)
    mounts = {one["name"]: one for one in only["volumeMounts"]}
    assert set(mounts) == {one["name"] for one in spec["volumes"]}
    assert (
        mounts["tls"]["readOnly"]
        and {"name": "tls", "secret": {"secretName": "nrbench-tls"}} in spec["volumes"]
    )
    variables = {one["name"]: one["value"] for one in only["env"] if "value" in one}
    image = FILE.read_text()
    paths = [value for key, value in variables.items() if "__TLS__" in key]
    paths += re.findall(r"__TLS__\w+=(\S+)", image)
    assert len(paths) >= 3
    assert {str(Path(path).parent) for path in paths} == {mounts["tls"]["mountPath"]}


def test_a_worker_keeps_on_its_node_what_outlives_it() -> None:
    """The cache of builds is where nrbench looks for it; the lock and the machine-id are the node's own."""
    only, spec = container(*PODS[1]), pod(*PODS[1])
    variables = {one["name"]: one.get("value") for one in only["env"]}
    mounts = {one["name"]: one["mountPath"] for one in only["volumeMounts"]}
    node = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
    assert mounts["cache"] == f"{variables['XDG_CACHE_HOME']}/nrbench"
    assert (mounts["lock"], mounts["machine-id"]) == (node["lock"], node["machine-id"])


def test_workers_find_the_scheduler_by_its_service() -> None:
    service, scheduler = manifests()["Service", "nrbench-scheduler"], manifests()[PODS[0]]
    assert service["spec"]["selector"] == scheduler["spec"]["template"]["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    words, only = container(*PODS[1]), container(*PODS[0])
    assert words["args"][0] == f"tls://{service['metadata']['name']}:{port['port']}"
    assert port["targetPort"] == only["ports"][0]["containerPort"]
    assert str(port["targetPort"]) == only["command"][only["command"].index("--port") + 1]
    assert "command" not in words  # it starts by the image's entry point
    assert words["image"] == only["image"] and not words["image"].endswith(":latest")


@pytest.mark.parametrize(("kind", "name"), PODS)
def test_the_labels_of_a_pod_are_those_that_its_owner_selects(kind: str, name: str) -> None:
    spec = manifests()[kind, name]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_bash_and_shellcheck_accept_the_script() -> None:
    assert run(["bash", "-n", SCRIPT]).stderr == ""
    if tool("shellcheck") is None:
        pytest.skip("no shellcheck here: the script is checked by bash alone")
    done = run(["shellcheck", SCRIPT])
    assert done.returncode == 0, done.stdout


def test_without_a_scheduler_or_a_certificate_the_script_names_what_is_missing(tmp_path: Path) -> None:
    variables = {"NRBENCH_TLS": str(tmp_path)}
    done = run(["bash", SCRIPT], variables)
    assert done.returncode != 0 and "sbatch worker.sbatch tls://HOST:8786" in done.stderr
    (tmp_path / "ca.crt").touch()
    done = run(["bash", SCRIPT, "tls://localhost:8786"], variables)
    assert done.returncode != 0 and f"{tmp_path}/tls.crt: not readable" in done.stderr
