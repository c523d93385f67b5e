# SPDX-License-Identifier: BSD-3-Clause
"""The override for compose: merged with files as OAI's are, by each compose that is installed."""

from __future__ import annotations

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
        pytest.skip("neither docker-compose nor docker compose here")
    return command


def merged(compose: list[str], base: Path, override: Path, variables: dict[str, str]) -> tuple[str, Any]:
    """What compose says of both files, and the service that it makes of them; None when it refuses."""
    config = run([*compose, "-f", base, "-f", override, "config"], variables)
    if config.returncode != 0:
        return config.stderr, None
    return config.stderr, yaml.safe_load(config.stdout)["services"]["oai-gnb"]


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
    assert service["cap_add"] == ["SYS_NICE"]
    assert service["ulimits"] == {"rtprio": 99, "memlock": -1}
    assert service["cpuset"] == "2-5"
    assert service.get("cpus", 0) == 0  # the other file says 1.5
    assert settings(service) == {"TPOOL_WS_SPIN": "auto", "TPOOL_WS_REPORT": "0"}


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
        config = run([*compose, "-f", tmp_path / "compose.yaml", "config"])
        assert settings(yaml.safe_load(config.stdout)["services"]["oai-gnb"]) == read_env(text)
