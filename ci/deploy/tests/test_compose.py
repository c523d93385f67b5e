# SPDX-License-Identifier: BSD-3-Clause
"""The override for compose: merged with files as OAI's are, by each compose that is installed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_pool, run, settings, variants
from test_settings import ENV_FILE, read_env

yaml = pytest.importorskip("yaml")
OVERRIDE = (DEPLOY / "compose.thread_pool_ws.yaml").read_text()
# docker may lack its plugin, and the plugin works without docker.
PROGRAMS = ("docker-compose", "docker compose", "/usr/libexec/docker/cli-plugins/docker-compose",
            "/usr/lib/docker/cli-plugins/docker-compose")  # fmt: skip
# Two spellings of a user's file, and how each names a quota of CPU time.
BASES = {"compose.map.yaml": "cpus", "compose.list.yaml": "cpu_quota"}


def works(program: str) -> bool:
    return bool(shutil.which(program.split()[0])) and run(*program.split(), "version").returncode == 0


@pytest.fixture(params=list(filter(works, PROGRAMS)) or [""])
def compose(request: pytest.FixtureRequest) -> list[str]:
    if not request.param:
        pytest.skip("neither docker-compose nor docker compose here: apt install docker-compose")
    return str(request.param).split()


def config(compose: list[str], *files: Path, cpus: str = "2-5") -> Any:
    """The service that compose makes of the files; its message when it refuses."""
    made = run(*compose, *(word for file in files for word in ("-f", file)), "config", GNB_CPUS=cpus)
    return yaml.safe_load(made.stdout)["services"]["oai-gnb"] if made.returncode == 0 else made.stderr


@pytest.mark.parametrize("base", BASES)
def test_the_override_brings_its_lines_and_no_more(compose: list[str], base: str, tmp_path: Path) -> None:
    own, modes, file = config(compose, TESTS / base), set(), tmp_path / "override.yaml"
    assert own[BASES[base]] > 0
    for text in variants(OVERRIDE):
        file.write_text(text)
        made = config(compose, TESTS / base, file)
        modes.add(check_pool(settings(made["environment"])))
    assert modes == MODES
    made = config(compose, TESTS / base, DEPLOY / "compose.thread_pool_ws.yaml")
    spin = {"TPOOL_WS_SPIN": "auto", "TPOOL_WS_REPORT": "0"}
    assert made.pop("environment") == {**own.pop("environment"), **spin}
    assert made.pop("ulimits") == {**own.pop("ulimits"), "rtprio": 99, "memlock": -1}
    assert set(made.pop("cap_add")) == {"SYS_NICE", *own.pop("cap_add")}
    for quota in ("cpus", "cpu_quota"):
        assert made.pop(quota, 0) == 0
        own.pop(quota, None)
    assert "volumes" in own and made == {**own, "cpuset": "2-5"}


def test_what_is_refused(compose: list[str], tmp_path: Path) -> None:
    base = TESTS / "compose.map.yaml"
    unnamed = config(compose, base, DEPLOY / "compose.thread_pool_ws.yaml", cpus="")
    assert "name the CPUs of the gNB" in unnamed
    (tmp_path / "override.yaml").write_text(OVERRIDE.replace("cap_add:", "cap_ad:"))
    assert "cap_ad" in config(compose, base, tmp_path / "override.yaml")


def test_compose_reads_the_environment_file_as_we_do(compose: list[str], tmp_path: Path) -> None:
    service = {"image": "oai-gnb:test", "env_file": ["thread_pool_ws.env"]}
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump({"services": {"oai-gnb": service}}))
    for text in variants(ENV_FILE):
        (tmp_path / "thread_pool_ws.env").write_text(text)
        assert config(compose, tmp_path / "compose.yaml")["environment"] == read_env(text)
