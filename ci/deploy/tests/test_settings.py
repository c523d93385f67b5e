# SPDX-License-Identifier: BSD-3-Clause
"""The environment file, what the page promises of each setting, and the style of the YAML files."""

import re
import sys
from pathlib import Path

import pytest
from deploykit import DEPLOY, MODES, check_pool, run, spin_words, variants

ENV_FILE = (DEPLOY / "thread_pool_ws.env").read_text()
PAGE = (DEPLOY.parents[1] / "docs" / "deployment.md").read_text()
RULES = (
    "{extends: default, rules: {line-length: {max: 110}, document-start: disable, "
    "comments: {min-spaces-from-content: 1}}}"
)


def read_env(text: str) -> dict[str, str]:
    """In the syntax that systemd, docker and compose have in common: no quote, blank or $."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*=[A-Za-z0-9.:/]+", line) for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def test_each_line_of_the_environment_file_holds(tmp_path: Path) -> None:
    found = [read_env(text) for text in variants(ENV_FILE)]
    assert found[0] == {"TPOOL_WS_SPIN": "auto", "TPOOL_WS_REPORT": "0", "TPOOL_WS_LIVE": "0"}
    here = [{key: value.replace("/dev/shm", str(tmp_path)) for key, value in one.items()} for one in found]
    assert {check_pool(one) for one in here} == MODES and len(found) == 8 and [*tmp_path.glob("*.journal")]


def test_the_page_shows_what_the_start_line_says() -> None:
    promises = re.findall(r"^\| `(TPOOL_WS_[^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
    assert len(promises) == 5
    for words, start in promises:
        variables = dict(word.split("=", 1) for word in words.split())
        check_pool(variables)
        cap = variables.get("TPOOL_WS_SPIN_CPU_MAX", "10")
        assert start == spin_words(variables["TPOOL_WS_SPIN"], cap)


def test_yamllint_has_nothing_to_say() -> None:
    """The chart's templates are no YAML."""
    pytest.importorskip("yamllint")
    files = [path for path in DEPLOY.rglob("*.yaml") if path.parent.name != "templates"]
    checked = run(sys.executable, "-m", "yamllint", "--strict", "-f", "parsable", "-d", RULES, *files)
    assert len(files) > 5 and checked.stdout + checked.stderr == ""
