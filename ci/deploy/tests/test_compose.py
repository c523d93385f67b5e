# SPDX-License-Identifier: BSD-3-Clause
"""The override for compose: merged with files as OAI's are, by each compose that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_variables, read_env, run, tool, variants

yaml = pytest.importorskip("yaml")
OVERRIDE = (DEPLOY / "compose.thread_pool_ws.yaml").read_text()
ENV_FILE = (DEPLOY / "thread_pool_ws.env").read_text()
PLUGINS = ("/usr/libexec/docker/cli-plugins/docker-compose", "/usr/lib/docker/cli-plugins/docker-compose")
CPUS = {"GNB_CPUS": "2-5"}


def programs() -> list[list[str]]:
    """Those that are installed; docker may lack its plugin, and the plugin works without docker."""
    known = [["docker-compose"], ["docker", "compose"], *([plugin] for plugin in PLUGINS)]
    return [command for command in known if tool(command[0]) and run([*command, "version"]).returncode == 0]


@pytest.fixture(params=programs() or [[]], ids=lambda command: " ".join(command) or "none")
def compose(request: pytest.FixtureRequest) -> list[str]:
    command: list[str] = request.param
    if not command:
        pytest.skip("neither docker-compose nor docker compose here: apt install docker-compose")
    return command


def config(compose: list[str], files: Sequence[Path], variables: dict[str, str]) -> tuple[str, Any]:
    """What compose says of the files, and the service that it makes of them; None when it refuses."""
    made = run([*compose, *(word for file in files for word in ("-f", file)), "config"], variables)
    if made.returncode != 0:
        return made.stderr, None
    return made.stderr, yaml.safe_load(made.stdout)["services"]["oai-gnb"]


def merged(compose: list[str], base: Path, override: Path, variables: dict[str, str]) -> tuple[str, Any]:
    return config(compose, [base, override], variables)


def settings(service: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in service["environment"].items() if name.startswith("TPOOL_WS_")}


@pytest.mark.parametrize("base", ["compose.map.yaml", "compose.list.yaml"])
def test_each_line_of_the_override_holds(compose: list[str], base: str, tmp_path: Path) -> None:
    override, modes = tmp_path / "override.yaml", set()
    for text in variants(OVERRIDE):
        override.write_text(text)
        _, service = merged(compose, TESTS / base, override, CPUS)
        modes.add(check_variables(settings(service)))
        assert service["environment"]["USE_ADDITIONAL_OPTIONS"] == "-E --rfsim"
    assert modes == MODES


def test_rights_and_cpus(compose: list[str]) -> None:
    _, service = merged(compose, TESTS / "compose.map.yaml", DEPLOY / "compose.thread_pool_ws.yaml", CPUS)
    assert "SYS_NICE" in service["cap_add"]
    assert service["ulimits"]["rtprio"] == 99 and service["ulimits"]["memlock"] == -1
    assert service["cpuset"] == "2-5"
    assert settings(service) == {"TPOOL_WS_SPIN": "auto", "TPOOL_WS_REPORT": "0"}


@pytest.mark.parametrize(
    ("base", "quota"), [("compose.map.yaml", "cpus"), ("compose.list.yaml", "cpu_quota")]
)
def test_a_quota_is_taken_back(compose: list[str], base: str, quota: str) -> None:
    _, own = config(compose, [TESTS / base], {})
    assert own[quota] > 0
    _, service = merged(compose, TESTS / base, DEPLOY / "compose.thread_pool_ws.yaml", CPUS)
    assert service.get("cpus", 0) == 0 and service.get("cpu_quota", 0) == 0


@pytest.mark.parametrize("base", ["compose.map.yaml", "compose.list.yaml"])
def test_what_the_user_has_stays(compose: list[str], base: str) -> None:
    """But for what the override's head names."""
    _, own = config(compose, [TESTS / base], {})
    _, service = merged(compose, TESTS / base, DEPLOY / "compose.thread_pool_ws.yaml", CPUS)
    replaced = {"cpuset", "cpus", "cpu_quota"}
    by_name = {"environment": {"TPOOL_WS_SPIN", "TPOOL_WS_REPORT"}, "ulimits": {"rtprio", "memlock"}}
    assert {"NET_ADMIN", *own["cap_add"]} <= set(service["cap_add"]) <= {"SYS_NICE", *own["cap_add"]}
    for key, names in by_name.items():
        kept = {name: value for name, value in own[key].items() if name not in names}
        assert kept and service[key].keys() == kept.keys() | names
        assert {name: service[key][name] for name in kept} == kept
    others = own.keys() - replaced - by_name.keys() - {"cap_add"}
    assert "volumes" in others
    assert {key: service[key] for key in others} == {key: own[key] for key in others}
    assert service.keys() <= own.keys() | replaced


def test_without_cpus_it_is_refused(compose: list[str]) -> None:
    said, service = merged(
        compose, TESTS / "compose.map.yaml", DEPLOY / "compose.thread_pool_ws.yaml", {"GNB_CPUS": ""}
    )
    assert service is None and "name the CPUs of the gNB" in said


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("ulimits:", "ulimit:"),
        ("cap_add:", "cap_ad:"),
        ("memlock: -1", "memlock: all"),
        ("      - SYS_NICE", "        SYS_NICE"),
    ],
)
def test_a_broken_override_is_refused(compose: list[str], right: str, wrong: str, tmp_path: Path) -> None:
    assert right in OVERRIDE
    override = tmp_path / "override.yaml"
    override.write_text(OVERRIDE.replace(right, wrong))
    said, service = merged(compose, TESTS / "compose.map.yaml", override, CPUS)
    assert service is None and said != ""


def test_off_without_quotes_is_not_off_to_yaml() -> None:
    """Why the values stand in quotes."""
    (text,) = [text for text in variants(OVERRIDE) if 'SPIN: "off"' in text.replace("# TPOOL_WS_SPIN", "")]
    service = yaml.safe_load(text.replace('"off"', "off"))["services"]["oai-gnb"]
    assert service["environment"]["TPOOL_WS_SPIN"] is False


def test_compose_reads_the_environment_file_as_we_do(compose: list[str], tmp_path: Path) -> None:
    service = {"image": "oai-gnb:test", "env_file": ["thread_pool_ws.env"]}
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump({"services": {"oai-gnb": service}}))
    for text in variants(ENV_FILE):
        (tmp_path / "thread_pool_ws.env").write_text(text)
        _, made = config(compose, [tmp_path / "compose.yaml"], {})
        assert settings(made) == read_env(text)
