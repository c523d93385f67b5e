# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of values and patch for Kubernetes, put beside a user's own: rendered by helm with a chart that
reads them as OAI's does, checked with Kubernetes' own schemas; without helm, with the chart's schema."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_options, check_pool, need, run, settings, variants

yaml = pytest.importorskip("yaml")
PIECES = (DEPLOY / "values.thread_pool_ws.yaml").read_text()
RADIO = (TESTS / "values.radio.yaml").read_text()
PLACEHOLDER = re.compile(r"(?:--)?YOUR-OWN-[A-Z]+")
PATCH = (DEPLOY / "kustomize" / "env.thread_pool_ws.yaml").read_text()
CHART = TESTS / "chart"
POST_RENDER = DEPLOY / "kustomize" / "post-render"
Template = Callable[..., Any]


def put(own: Any, piece: Any) -> Any:
    """The user's values with a piece, in which the user's own stands for the placeholder."""
    if isinstance(piece, dict):
        return {**(own or {}), **{key: put((own or {}).get(key), value) for key, value in piece.items()}}
    if isinstance(piece, list):
        return [*(own or []), *(word for word in piece if not PLACEHOLDER.fullmatch(word))]
    return PLACEHOLDER.sub((own or "").strip(), piece).strip()


def with_pieces(text: str = PIECES) -> str:
    values = yaml.safe_load(RADIO)
    for piece in yaml.safe_load(text):
        values = put(values, piece)
    return str(yaml.safe_dump(values))


@pytest.fixture
def template(tmp_path: Path) -> Template:
    """The Deployment that helm makes of values; an assertion fails when helm refuses them."""
    need("helm")

    def render(values: str, *options: str | Path) -> Any:
        (tmp_path / "values.yaml").write_text(values)
        made = run("helm", "template", "oai-gnb", CHART, "-f", tmp_path / "values.yaml", *options)
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
        return list(
            {**named, **{one["name"]: merge(named.get(one["name"], {}), one) for one in patch}}.values()
        )
    return patch


def check_patched(deployment: Any) -> str:
    """The newest Kubernetes that the package knows takes it, and the pool the variables. @return the mode"""
    kubernetes = pytest.importorskip("kubernetes_validate")
    kubernetes.validate(deployment, kubernetes.latest_version(), strict=True)
    return check_pool(settings(variables(deployment)))


def test_each_line_of_the_pieces_holds() -> None:
    """OAI's chart writes the options without quotes in older versions: they must survive that."""
    schema, modes = json.loads((CHART / "values.schema.json").read_text()), set()
    for text in variants(PIECES):
        values = yaml.safe_load(with_pieces(text))
        pytest.importorskip("jsonschema").validate(values, schema)
        options = values["config"]["useAdditionalOptions"]
        assert yaml.safe_load(f"value: {options}") == {"value": options}
        modes.add(check_options(options))
    assert modes == MODES


def test_the_pieces_leave_the_user_all_that_he_has(template: Template) -> None:
    """No size, no image; each text and list of them has a placeholder for the user's own."""
    before, after = container(template(RADIO)), container(template(with_pieces()))
    (old,), (new,) = before.pop("env"), after.pop("env")
    assert old["value"].startswith("--sa -O ")
    assert new["value"] == f"{old['value'].strip()} --thread-pool -1,-1,-1,-1,spin=auto"
    assert before["securityContext"]["capabilities"].pop("add") == ["NET_ADMIN"]
    assert after["securityContext"]["capabilities"].pop("add") == ["NET_ADMIN", "SYS_NICE", "IPC_LOCK"]
    assert before["resources"]["limits"] == {"cpu": "8", "memory": "16Gi"}
    assert after == before
    assert len(PLACEHOLDER.findall(re.sub(r"#.*", "", PIECES))) == 2


def test_the_pieces_are_refused_as_a_file_of_values(template: Template, tmp_path: Path) -> None:
    """They would replace the user's text and list. One piece helm itself takes; post-render does not."""
    with pytest.raises(AssertionError, match="cannot unmarshal array"):
        template(RADIO, "-f", DEPLOY / "values.thread_pool_ws.yaml")
    for piece in yaml.safe_load(PIECES):
        (tmp_path / "piece.yaml").write_text(yaml.safe_dump(piece))
        with pytest.raises(AssertionError, match="YOUR-OWN-[A-Z]+ stands in your values"):
            template(RADIO, "-f", tmp_path / "piece.yaml", "--post-renderer", POST_RENDER)


def test_helm_and_kubernetes_accept_values_and_no_mistyped_ones(template: Template, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(with_pieces())
    lint = run("helm", "lint", "--strict", CHART, "-f", tmp_path / "own.yaml")
    assert lint.returncode == 0, lint.stdout
    patch = yaml.safe_load(PATCH)
    check_patched(merge(template(with_pieces()), patch))
    with pytest.raises(AssertionError, match=r"(?i)schema"):
        template(with_pieces(PIECES.replace("- config:", "- confg:")))
    kubernetes = pytest.importorskip("kubernetes_validate")
    with pytest.raises(kubernetes.ValidationError, match="capabilites"):
        check_patched(merge(template(with_pieces(PIECES.replace("capabilities:", "capabilites:"))), patch))


def test_each_line_of_the_patch_holds(template: Template) -> None:
    """Merged by the test's own rules; the post-renderer has tests of its own."""
    deployment = template(RADIO)
    assert {check_patched(merge(deployment, yaml.safe_load(text))) for text in variants(PATCH)} == MODES


def test_the_patch_is_for_the_gnb_alone(template: Template) -> None:
    jsonpatch, deployment = pytest.importorskip("jsonpatch"), template(RADIO)
    kustomization = yaml.safe_load((DEPLOY / "kustomize" / "kustomization.yaml").read_text())
    only_gnb = yaml.safe_load(kustomization["patches"][0]["patch"])
    assert jsonpatch.apply_patch(deployment, only_gnb) == deployment
    container(deployment)["name"] = "another"
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(deployment, only_gnb)


def test_the_post_renderer_leaves_the_user_all_that_he_has(template: Template) -> None:
    """But for variables of the same name, which come once. kubectl alone sets variables the same way."""
    need("kustomize", "kubectl")
    own = template(with_pieces())
    container(own)["env"] += [{"name": "TZ", "value": "UTC"}, {"name": "TPOOL_WS_SPIN", "value": "off"}]
    done = run(POST_RENDER, stdin=yaml.safe_dump(own))
    assert done.returncode == 0, done.stderr
    patched = yaml.safe_load(done.stdout)
    assert check_patched(patched) == "auto"
    assert len(container(patched)["env"]) == len(variables(patched))
    assert variables(patched) == variables(merge(own, yaml.safe_load(PATCH)))
    assert {**container(patched), "env": None} == {**container(own), "env": None}
    assert variables(template(with_pieces(), "--post-renderer", POST_RENDER))["TPOOL_WS_SPIN"] == "auto"
    need("kubectl")
    command = ("kubectl", "set", "env", "--local", "-o", "yaml", "-f", "-", "TPOOL_WS_REPORT=1")
    by_kubectl = yaml.safe_load(run(*command, stdin=yaml.safe_dump(own)).stdout)
    assert variables(by_kubectl)["TPOOL_WS_REPORT"] == "1"


def test_the_post_renderer_refuses_what_it_cannot_patch(template: Template) -> None:
    need("kustomize", "kubectl")
    for change, message in (
        (lambda own: container(own).update(name="another"), "test failed"),
        (lambda own: own["metadata"].update(name="radio"), "set its name in"),
    ):
        own = template(RADIO)
        change(own)
        refused = run(POST_RENDER, stdin=yaml.safe_dump(own))
        assert refused.returncode != 0 and message in refused.stderr and refused.stdout == ""
