# SPDX-License-Identifier: BSD-3-Clause
"""This project has one version, that of ws_version.h: CHANGELOG.md, pages, commands and tags agree with it.

Steps 40, 58 and 84 check the .pc files, ws-bench and the wheel."""

import re
import subprocess

import pytest
from golden_files import ROOT
from typer.testing import CliRunner

from nrbench import cli, host, version
from nrbench.trace.cli import program

HEADING = re.compile(r"^## (\d+\.\d+\.\d+)( \(\d{4}-\d\d-\d\d\))?$", re.M)  # with the date it is released
TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def git(folder, *words):
    said = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    return said.stdout.strip() if said.returncode == 0 else None


def wrong_tags(folder, own, released):
    """Of the tags of versions that HEAD has: those of another form, or newer than ours, and our own if
    CHANGELOG.md gives no date. In a copy inside another project's checkout the tags are not ours."""
    if git(folder, "rev-parse", "--show-prefix") != "":
        return []
    limit = tuple(map(int, own.split(".")))
    wrong = []
    for tag in (git(folder, "tag", "--list", "v[0-9]*", "--merged", "HEAD") or "").split():
        form = TAG.fullmatch(tag)
        numbers = tuple(map(int, form.groups())) if form else ()
        if tag != "v" + ".".join(map(str, numbers)) or numbers > limit or (numbers == limit and not released):
            wrong.append(tag)
    return wrong


def newest_heading(changes):
    """@return the version, whether it is released"""
    found = HEADING.search(changes)
    assert found and found.start() == changes.index("\n## ") + 1
    return found[1], found[2] is not None


def other_versions(own, page):
    """Of this project, as its pages show them."""
    shown = re.findall(r"\bthread_pool_ws[ -](\d+\.\d+\.\d+)|\btag -a v(\d+\.\d+\.\d+)", page)
    return {one or other for one, other in shown} - {own}


@pytest.mark.parametrize("app, name", [(cli.app, "nrbench"), (program.app, "tpool-ws-trace")])
def test_the_commands_print_it(app, name):
    header = (ROOT / "common/utils/thread_pool_ws/include/ws_version.h").read_text(encoding="utf-8")
    numbers = re.findall(r"#define WS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    answer = CliRunner().invoke(app, ["--version"])
    assert (answer.exit_code, answer.output) == (0, f"{name} {'.'.join(numbers)}\n")


def test_changes_pages_and_tags_agree():
    newest, released = newest_heading((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert newest == version.VERSION
    assert wrong_tags(ROOT, newest, released) == []
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages}
    assert {name: other for name in texts if (other := other_versions(newest, texts[name]))} == {}


def test_results_name_the_commit_and_no_tag(tmp_path):
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["tag", "v1.0.0"]):
        git(tmp_path, "-c", "user.name=n", "-c", "user.email=e@x", *words)
    assert host.commit(tmp_path) == git(tmp_path, "rev-parse", "--short=12", "HEAD")
