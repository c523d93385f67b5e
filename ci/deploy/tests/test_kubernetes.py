# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of values and patch for Kubernetes, put beside a user's own: rendered by helm with a chart that
reads them as OAI's does, checked with Kubernetes' own schemas; without helm, with the chart's schema."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_options, check_variables, run, tool, variants

yaml = pytest.importorskip("yaml")
PIECES = (DEPLOY / "values.thread_pool_ws.yaml").read_text()
RADIO = (TESTS / "values.radio.yaml").read_text()
PLACEHOLDER = re.compile(r"(?:--)?YOUR-OWN-[A-Z]+")
PATCH = (DEPLOY / "kustomize" / "env.thread_pool_ws.yaml").read_text()
CHART = TESTS / "chart"
KUSTOMIZATION = DEPLOY / "kustomize" / "kustomization.yaml"
POST_RENDER = DEPLOY / "kustomize" / "post-render"
Template = Callable[..., Any]


def put(own: Any, piece: Any) -> Any:
    """The user's values with a piece, in which what he has stands for the placeholder."""
    if isinstance(piece, dict):
        return {**(own or {}), **{key: put((own or {}).get(key), value) for key, value in piece.items()}}
    if isinstance(piece, list):
        return [*(own or []), *(word for word in piece if not PLACEHOLDER.fullmatch(word))]
    return PLACEHOLDER.sub((own or "").strip(), piece).strip()


def with_pieces(text: str = PIECES, own: str = RADIO) -> str:
    values = yaml.safe_load(own)
    for piece in yaml.safe_load(text):
        values = put(values, piece)
    return str(yaml.safe_dump(values))


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


def merge(own: Any, patch: Any) -> Any:
    """As kustomize and Kubernetes merge, as far as the patch needs it: maps by key, lists by name."""
    if isinstance(patch, dict):
        return {**own, **{key: merge(own.get(key, type(value)()), value) for key, value in patch.items()}}
    if isinstance(patch, list):
        named = {entry["name"]: entry for entry in own}
        changed = {entry["name"]: merge(named.get(entry["name"], {}), entry) for entry in patch}
        return list({**named, **changed}.values())
    return patch


def validate(deployment: Any) -> None:
    """By the schema of the newest Kubernetes that the package knows."""
    kubernetes = pytest.importorskip("kubernetes_validate")
    kubernetes.validate(deployment, kubernetes.latest_version(), strict=True)


def test_each_line_of_the_pieces_holds() -> None:
    """OAI's chart writes the options without quotes in older versions: they must survive that."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    modes = set()
    for text in variants(PIECES):
        values = yaml.safe_load(with_pieces(text))
        pytest.importorskip("jsonschema").validate(values, schema)
        options = values["config"]["useAdditionalOptions"]
        assert yaml.safe_load(f"value: {options}") == {"value": options}
        modes.add(check_options(options))
    assert modes == MODES


def test_helm_passes_the_options_on(template: Template) -> None:
    modes = set()
    for text in variants(PIECES):
        deployment = template(with_pieces(text))
        validate(deployment)
        modes.add(check_options(variables(deployment)["USE_ADDITIONAL_OPTIONS"]))
    assert modes == MODES


def test_the_pieces_leave_the_user_all_that_he_has(template: Template) -> None:
    before, after = container(template(RADIO)), container(template(with_pieces()))
    (old,), (new,) = before.pop("env"), after.pop("env")
    assert old["value"].startswith("--sa -O ")
    assert new["value"] == f"{old['value'].strip()} --thread-pool -1,-1,-1,-1,spin=auto"
    assert before["securityContext"]["capabilities"].pop("add") == ["NET_ADMIN"]
    assert after["securityContext"]["capabilities"].pop("add") == ["NET_ADMIN", "SYS_NICE", "IPC_LOCK"]
    assert before["resources"]["limits"] == {"cpu": "8", "memory": "16Gi"}
    assert after == before


def test_the_pieces_take_no_size_and_no_image() -> None:
    assert {key for piece in yaml.safe_load(PIECES) for key in piece} == {"config", "securityContext"}


def test_each_text_and_list_of_the_pieces_has_a_placeholder() -> None:
    def leaves(piece: Any) -> list[Any]:
        if not isinstance(piece, dict):
            return [piece]
        return [leaf for value in piece.values() for leaf in leaves(value)]

    found = [leaf for piece in yaml.safe_load(PIECES) for leaf in leaves(piece)]
    assert len(found) == 2 and all(PLACEHOLDER.search(str(leaf)) for leaf in found)


def test_helm_refuses_the_pieces_as_a_file_of_values(template: Template) -> None:
    """They would replace the user's text and list."""
    with pytest.raises(AssertionError, match="cannot unmarshal array"):
        template(RADIO, "-f", DEPLOY / "values.thread_pool_ws.yaml")


@pytest.mark.parametrize("number", [0, 1])
def test_a_placeholder_left_in_is_refused(template: Template, number: int, tmp_path: Path) -> None:
    """Helm itself takes it, and the user's own is gone: why the pieces are no file of values."""
    (tmp_path / "piece.yaml").write_text(yaml.safe_dump(yaml.safe_load(PIECES)[number]))
    gnb = container(template(RADIO, "-f", tmp_path / "piece.yaml"))
    assert ("--sa -O" in gnb["env"][0]["value"]) != (
        "NET_ADMIN" in gnb["securityContext"]["capabilities"]["add"]
    )
    with pytest.raises(AssertionError, match="YOUR-OWN-[A-Z]+ stands in your values"):
        template(RADIO, "-f", tmp_path / "piece.yaml", "--post-renderer", POST_RENDER)


def test_helm_lint_accepts_the_values(tmp_path: Path) -> None:
    if tool("helm") is None:
        pytest.skip("no helm here: neither installed nor to be had from pip")
    (tmp_path / "values.yaml").write_text(with_pieces())
    lint = run(["helm", "lint", "--strict", CHART, "-f", tmp_path / "values.yaml"])
    assert lint.returncode == 0, lint.stdout


@pytest.mark.parametrize(
    ("right", "wrong"), [("useAdditionalOptions: >-", "useAdditonalOptions: >-"), ("- config:", "- confg:")]
)
def test_helm_refuses_a_mistyped_piece(template: Template, right: str, wrong: str) -> None:
    assert right in PIECES
    with pytest.raises(AssertionError, match=r"(?i)schema"):
        template(with_pieces(PIECES.replace(right, wrong)))


def test_kubernetes_refuses_a_mistyped_right(template: Template) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    with pytest.raises(kubernetes.ValidationError, match="capabilites"):
        validate(template(with_pieces(PIECES.replace("  capabilities:", "  capabilites:"))))


def check_patched(deployment: Any) -> str:
    """The pool takes the variables that the patch has put in. @return the mode"""
    validate(deployment)
    settings = {name: value for name, value in variables(deployment).items() if name.startswith("TPOOL_WS_")}
    assert settings
    return check_variables(settings)


def test_each_line_of_the_patch_holds(template: Template) -> None:
    """Merged by the test's own rules; the post-renderer has tests of its own."""
    deployment = template(RADIO)
    assert {check_patched(merge(deployment, yaml.safe_load(text))) for text in variants(PATCH)} == MODES


def test_the_patch_is_for_the_gnb_alone(template: Template) -> None:
    jsonpatch = pytest.importorskip("jsonpatch")
    only_gnb = yaml.safe_load(yaml.safe_load(KUSTOMIZATION.read_text())["patches"][0]["patch"])
    deployment = template(RADIO)
    assert jsonpatch.apply_patch(deployment, only_gnb) == deployment
    container(deployment)["name"] = "another"
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(deployment, only_gnb)


def test_kubernetes_refuses_a_number_as_a_variable(template: Template) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    patch = yaml.safe_load(PATCH.replace('"0"', "0"))
    with pytest.raises(kubernetes.ValidationError):
        validate(merge(template(RADIO), patch))


def post_render(manifest: Any) -> subprocess.CompletedProcess[str]:
    if tool("kustomize", "kubectl") is None:
        pytest.skip("neither kustomize nor kubectl here: the patch is merged by the test alone")
    text = yaml.safe_dump(manifest)
    return subprocess.run([POST_RENDER], input=text, check=False, capture_output=True, text=True, timeout=60)


def test_the_post_renderer_leaves_the_user_all_that_he_has(template: Template) -> None:
    """But for variables of the same name, which come once."""
    own = template(RADIO)
    container(own)["env"] += [
        {"name": "TZ", "value": "Europe/Paris"},
        {"name": "TPOOL_WS_SPIN", "value": "off"},
    ]
    done = post_render(own)
    assert done.returncode == 0, done.stderr
    patched = yaml.safe_load(done.stdout)
    assert check_patched(patched) == "auto"
    assert len(container(patched)["env"]) == len(variables(patched))
    assert variables(patched) == variables(merge(own, yaml.safe_load(PATCH)))
    assert {**container(patched), "env": None} == {**container(own), "env": None}


def test_the_post_renderer_refuses_another_first_container(template: Template) -> None:
    own = template(RADIO)
    container(own)["name"] = "another"
    refused = post_render(own)
    assert refused.returncode != 0 and "test failed" in refused.stderr and refused.stdout == ""


def test_the_post_renderer_refuses_manifests_without_the_gnb(template: Template) -> None:
    own = template(RADIO)
    own["metadata"]["name"] = "radio"
    refused = post_render(own)
    assert refused.returncode != 0 and "set its name in" in refused.stderr and refused.stdout == ""


def test_helm_with_the_post_renderer(template: Template) -> None:
    if tool("kustomize", "kubectl") is None:
        pytest.skip("neither kustomize nor kubectl here: the patch is merged by the test alone")
    patched = template(with_pieces(), "--post-renderer", POST_RENDER)
    assert check_patched(patched) == "auto"
    assert variables(patched)["USE_ADDITIONAL_OPTIONS"].startswith("--sa -O ")


def test_kubectl_set_env_does_the_same(template: Template, tmp_path: Path) -> None:
    if tool("kubectl") is None:
        pytest.skip("no kubectl here")
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(template(RADIO)))
    local = ["--local", "-o", "yaml", "-f", str(tmp_path / "deployment.yaml")]
    changed = run(["kubectl", "set", "env", *local, "TPOOL_WS_REPORT=1"])
    assert changed.returncode == 0, changed.stderr
    assert variables(yaml.safe_load(changed.stdout))["TPOOL_WS_REPORT"] == "1"
