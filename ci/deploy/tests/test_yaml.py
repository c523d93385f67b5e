# SPDX-License-Identifier: BSD-3-Clause
"""Every YAML file of the examples by yamllint; the chart's templates are none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from deploykit import DEPLOY, run

RULES = (
    "{extends: default, rules: {line-length: {max: 110}, document-start: disable, "
    "comments: {min-spaces-from-content: 1}}}"
)
FILES = sorted(path for path in DEPLOY.rglob("*.yaml") if path.parent.name != "templates")


def lint(path: Path) -> str:
    pytest.importorskip("yamllint")
    checked = run([sys.executable, "-m", "yamllint", "--strict", "-f", "parsable", "-d", RULES, path])
    assert checked.stderr == ""
    return checked.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_yamllint_has_nothing_to_say(path: Path) -> None:
    assert lint(path) == ""


@pytest.mark.parametrize("wrong", ["a: 1\na: 2\n", "a: {b: 1\n", "a: 1 \n"])
def test_yamllint_finds_what_is_wrong(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(wrong)
    assert "[error]" in lint(tmp_path / "wrong.yaml")
