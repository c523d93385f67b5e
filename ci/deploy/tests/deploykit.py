# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: a file's text with each line that a comment offers, and the pool that reads it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[1]
TESTS = DEPLOY / "tests"
MODES = {"off", "auto", "fixed"}
# A setting at the start of a line, as each format writes it, perhaps behind a comment's sign.
SETTING = re.compile(
    r"(?P<indent>\s*)(?P<comment>#\s*)?"
    r"(?P<text>(?:Environment=|- \{name: )?(?P<key>TPOOL_WS_\w+|--thread-pool)[=:, ].*)"
)


def variants(text: str) -> Iterator[str]:
    """The text itself, then with each setting that a comment offers put in the place of the present one."""
    yield text
    lines = text.split("\n")
    found = [SETTING.fullmatch(line) for line in lines]
    present = {one["key"]: at for at, one in enumerate(found) if one and not one["comment"]}
    for number, offered in enumerate(found):
        if offered and offered["comment"]:
            at = present.get(offered["key"], number)
            indent = re.match(r"\s*", lines[at])
            changed = f"{indent[0] if indent else ''}{offered['text']}"
            yield "\n".join([*lines[:at], changed, *lines[at + 1 :]])


def need(*names: str) -> None:
    """Skips the test if none of these programs is installed."""
    if not any(map(shutil.which, names)):
        pytest.skip(f"{' or '.join(names)} not here: what it reads is not checked by it")


def run(*command: str | Path, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """A validator's run; most write their messages to stderr."""
    return subprocess.run(
        [str(word) for word in command],
        input=stdin, env={**os.environ, **variables}, check=False, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip


def spin_words(mode: str, cap: str = "10") -> str:
    """Those of the start line, for a mode and a cap as a user writes them."""
    words = {"off": "spin off", "hot": "spin hot: workers busy-poll"}
    words |= {"auto": f"spin auto (at most {cap} % of a core each)"}
    return words.get(mode, f"spin fixed {mode.removeprefix('fixed:')} us")


def check_pool(variables: Mapping[str, str], cores: str = "-1,-1", mode: str = "", cap: str = "") -> str:
    """A pool, made as OAI makes it from --thread-pool's list in that environment, has no complaint and does
    what the settings mean. @return the mode"""
    ended = run(os.environ["WS_DEPLOY_POOL"], "--child", "work", cores, **variables)
    assert ended.returncode in (0, 1), ended.stderr  # 1: it works, but not with the program's own two workers
    mode = mode or variables.get("TPOOL_WS_SPIN", "auto")
    expected = spin_words(mode, cap or variables.get("TPOOL_WS_SPIN_CPU_MAX", "10"))
    start = re.search(r"pool Tpool#\d+: (\d+) workers .*, (spin .*)$", ended.stderr, re.MULTILINE)
    assert start and (int(start[1]), start[2]) == (cores.split(",").count("-1"), expected), ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith("thread_pool_ws: ")]
    reports = [line for line in said if line.startswith("thread_pool_ws: report of pool ")]
    assert said == reports and len(said) == int(variables.get("TPOOL_WS_REPORT", "0"))
    return mode.partition(":")[0]


def check_options(options: str) -> str:
    """As check_pool, with the list behind --thread-pool."""
    words = options.split()
    cores = words[words.index("--thread-pool") + 1]
    entries = dict(entry.split("=", 1) for entry in cores.split(",") if "=" in entry)
    return check_pool({}, cores, entries["spin"], entries.get("spin_cpu_max", ""))


def settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of the pool, of which there are some."""
    found = {name: value for name, value in variables.items() if name.startswith("TPOOL_WS_")}
    assert found
    return found
