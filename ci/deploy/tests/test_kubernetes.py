# SPDX-License-Identifier: BSD-3-Clause
"""Values and patch for Kubernetes: rendered by helm with a chart that reads them as OAI's does, checked with
Kubernetes' own schemas; without helm, the values alone with the chart's schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_options, check_variables, run, tool, variants

yaml = pytest.importorskip("yaml")
VALUES = (DEPLOY / "values.thread_pool_ws.yaml").read_text()
PATCH = (DEPLOY / "kustomize" / "env.thread_pool_ws.yaml").read_text()
CHART = TESTS / "chart"
POST_RENDER = DEPLOY / "kustomize" / "post-render"
Template = Callable[..., Any]


@pytest.fixture
def template(tmp_path: Path) -> Template:
    """The Deployment that helm makes of values; an assertion fails when helm refuses them."""
    if tool("helm") is None:
        pytest.skip("no helm here: neither installed nor to be had from pip")

    def render(values: str, *options: str | Path) -> Any:
        (tmp_path / "values.yaml").write_text(values)
        made = run(["helm", "template", "oai-gnb", CHART, "-f", tmp_path / "values.yaml", *options])
        assert made.returncode == 0, made.stderr
        return yaml.safe_load(made.stdout)

    return render


def container(deployment: Any) -> Any:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only


def variables(deployment: Any) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in container(deployment)["env"]}


def validate(deployment: Any) -> None:
    """By the schema of the newest Kubernetes that the package knows."""
    kubernetes = pytest.importorskip("kubernetes_validate")
    kubernetes.validate(deployment, kubernetes.latest_version(), strict=True)


def test_each_line_of_the_values_holds() -> None:
    """OAI's chart writes the options without quotes in older versions: they must survive that."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    modes = set()
    for text in variants(VALUES):
        values = yaml.safe_load(text)
        pytest.importorskip("jsonschema").validate(values, schema)
        options = values["config"]["useAdditionalOptions"]
        assert yaml.safe_load(f"value: {options}") == {"value": options}
        modes.add(check_options(options))
    assert modes == MODES


def test_helm_passes_the_options_on(template: Template) -> None:
    modes = set()
    for text in variants(VALUES):
        deployment = template(text)
        validate(deployment)
        modes.add(check_options(variables(deployment)["USE_ADDITIONAL_OPTIONS"]))
    assert modes == MODES


def test_rights_and_cpus(template: Template) -> None:
    """Guaranteed, with whole CPUs; what the chart's own values set beside ours stays."""
    gnb = container(template(VALUES))
    assert gnb["securityContext"] == {
        "privileged": False,
        "capabilities": {"add": ["SYS_NICE", "IPC_LOCK"], "drop": ["ALL"]},
    }
    assert gnb["resources"]["requests"] == gnb["resources"]["limits"]
    assert gnb["resources"]["limits"]["cpu"].isdigit()


def test_helm_lint_accepts_the_values() -> None:
    if tool("helm") is None:
        pytest.skip("no helm here: neither installed nor to be had from pip")
    lint = run(["helm", "lint", "--strict", CHART, "-f", DEPLOY / "values.thread_pool_ws.yaml"])
    assert lint.returncode == 0, lint.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("useAdditionalOptions: >-", "useAdditonalOptions: >-"),
        ('cpu: "6"', "cpu: 6"),
        ("    nf:", "    gnb:"),
        ("config:", "config"),
    ],
)
def test_helm_refuses_broken_values(template: Template, right: str, wrong: str) -> None:
    assert right in VALUES
    with pytest.raises(AssertionError, match=r"(?i)schema|yaml"):
        template(VALUES.replace(right, wrong))


def test_kubernetes_refuses_a_mistyped_right(template: Template) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    with pytest.raises(kubernetes.ValidationError, match="capabilites"):
        validate(template(VALUES.replace("  capabilities:", "  capabilites:")))


def test_each_line_of_the_patch_holds(template: Template) -> None:
    """By a JSON patch's own rules; kustomize has a test of its own."""
    jsonpatch = pytest.importorskip("jsonpatch")
    deployment, modes = template(VALUES), set()
    for text in variants(PATCH):
        patched = jsonpatch.apply_patch(deployment, yaml.safe_load(text))
        validate(patched)
        settings = {name: value for name, value in variables(patched).items() if name.startswith("TPOOL_WS_")}
        assert settings
        modes.add(check_variables(settings))
        assert variables(patched)["USE_ADDITIONAL_OPTIONS"].startswith("-E --rfsim")
    assert modes == MODES


def test_the_patch_is_for_the_gnb_alone(template: Template) -> None:
    jsonpatch = pytest.importorskip("jsonpatch")
    deployment = template(VALUES)
    container(deployment)["name"] = "another"
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(deployment, yaml.safe_load(PATCH))


def test_kubernetes_refuses_a_number_as_a_variable(template: Template) -> None:
    """Why the values of the patch stand in quotes."""
    jsonpatch = pytest.importorskip("jsonpatch")
    kubernetes = pytest.importorskip("kubernetes_validate")
    patch = yaml.safe_load(PATCH.replace('"1"', "1"))
    with pytest.raises(kubernetes.ValidationError):
        validate(jsonpatch.apply_patch(template(VALUES), patch))


def test_helm_with_the_post_renderer(template: Template) -> None:
    if tool("kustomize", "kubectl") is None:
        pytest.skip("neither kustomize nor kubectl here: the patch is checked by jsonpatch alone")
    patched = template(VALUES, "--post-renderer", POST_RENDER)
    validate(patched)
    assert variables(patched)["TPOOL_WS_REPORT"] == "1"


def test_kubectl_set_env_does_the_same(template: Template, tmp_path: Path) -> None:
    if tool("kubectl") is None:
        pytest.skip("no kubectl here")
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(template(VALUES)))
    local = ["--local", "-o", "yaml", "-f", str(tmp_path / "deployment.yaml")]
    changed = run(["kubectl", "set", "env", *local, "TPOOL_WS_REPORT=1"])
    assert changed.returncode == 0, changed.stderr
    assert variables(yaml.safe_load(changed.stdout))["TPOOL_WS_REPORT"] == "1"
