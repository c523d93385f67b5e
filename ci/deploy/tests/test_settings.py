# SPDX-License-Identifier: BSD-3-Clause
"""The environment file; what the pages promise of each setting; and that a wrong one is seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deploykit import DEPLOY, MODES, check_variables, expected_spin, read_env, run, run_pool, tool, variants

ENV_FILE = (DEPLOY / "thread_pool_ws.env").read_text()
PAGE = (DEPLOY.parents[1] / "docs" / "deployment.md").read_text()
PROMISE = re.compile(r"^\| `(TPOOL_WS_[^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def test_each_line_of_the_environment_file_holds() -> None:
    texts = list(variants(ENV_FILE))
    assert {check_variables(read_env(text)) for text in texts} == MODES
    assert len(texts) == 5  # as it is, off, fixed, another cap, the report


def test_the_environment_file_leaves_the_default_cap() -> None:
    assert read_env(ENV_FILE) == {"TPOOL_WS_SPIN": "auto", "TPOOL_WS_REPORT": "0"}


@pytest.mark.parametrize(
    "line",
    [
        'TPOOL_WS_SPIN="auto"',
        "export TPOOL_WS_SPIN=auto",
        "TPOOL_WS_SPIN = auto",
        "TPOOL_WS_SPIN=auto # comment",
        "TPOOL_WS_SPIN=$MODE",
        " TPOOL_WS_SPIN=auto",
        "TPOOL_WS_SPIN",
    ],
)
def test_lines_that_readers_take_in_different_ways_are_found(line: str) -> None:
    with pytest.raises(ValueError, match="TPOOL_WS_SPIN"):
        read_env(line)


def docker_says(env_file: Path) -> str:
    """docker reads the file before it looks for its daemon, of which there is none at this address."""
    if tool("docker") is None:
        pytest.skip("no docker here")
    command = ["docker", "run", "--env-file", str(env_file), "oai-gnb:test"]
    return run(command, {"DOCKER_HOST": "unix:///nonexistent"}).stderr


def test_docker_reads_the_environment_file(tmp_path: Path) -> None:
    for number, text in enumerate(variants(ENV_FILE)):
        (tmp_path / f"{number}.env").write_text(text)
        assert "env file" not in docker_says(tmp_path / f"{number}.env")
    (tmp_path / "wrong.env").write_text("TPOOL_WS_SPIN = auto\n")
    assert "invalid env file" in docker_says(tmp_path / "wrong.env")


def test_the_page_shows_what_the_start_line_says() -> None:
    promises = PROMISE.findall(PAGE)
    assert len(promises) == 4
    for settings, words in promises:
        variables = dict(word.split("=", 1) for word in settings.split())
        check_variables(variables)
        assert run_pool(variables).spin == words


@pytest.mark.parametrize(
    "variables",
    [
        {"TPOOL_WS_SPIN": "atuo"},
        {"TPOOL_WS_SPIN": '"auto"'},
        {"TPOOL_WS_SPIN": "fixed"},
        {"TPOOL_WS_SPIN": "fixed:10001"},
        {"TPOOL_WS_SPIN": "False"},
        {"TPOOL_WS_SPIN_CPU_MAX": "101"},
        {"TPOOL_WS_SPIN_CPU_MAX": "20%"},
    ],
)
def test_a_mistyped_value_is_named_and_turns_pre_wake_off(variables: dict[str, str]) -> None:
    said = run_pool(variables)
    (complaint,) = said.complaints
    name, value = next(iter(variables.items()))
    assert f'{name}="{value}"' in complaint
    assert said.spin == expected_spin("off", None)


def test_a_mistyped_name_is_named() -> None:
    (complaint,) = run_pool({"TPOOL_WS_SPIN_MAX": "20"}).complaints
    assert "TPOOL_WS_SPIN_MAX" in complaint


def test_a_mistyped_report_is_named() -> None:
    said = run_pool({"TPOOL_WS_REPORT": "yes"})
    assert len(said.complaints) == 1 and not said.report


@pytest.mark.parametrize("entry", ["spin=atuo", "spinn=auto", "spin_cpu_max=101"])
def test_a_mistyped_entry_is_named_and_turns_pre_wake_off(entry: str) -> None:
    said = run_pool({}, f"-1,-1,{entry}")
    (complaint,) = said.complaints
    assert entry.partition("=")[2] in complaint
    assert said.spin == "spin off"


def test_an_entry_goes_before_the_environment() -> None:
    assert run_pool({"TPOOL_WS_SPIN": "fixed:40"}, "-1,-1,spin=off").spin == "spin off"


def test_an_empty_variable_is_the_default() -> None:
    check_variables({"TPOOL_WS_SPIN_CPU_MAX": ""})
