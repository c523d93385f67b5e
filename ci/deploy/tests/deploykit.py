# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: a file's text with each line that a comment offers, and the pool that reads it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[1]
TESTS = DEPLOY / "tests"
MODES = {"off", "auto", "fixed"}

# A setting at the start of a line, as each format writes it, perhaps behind a comment's sign.
SETTING = re.compile(
    r"^(?P<indent>\s*)(?P<comment>#\s*)?"
    r"(?P<text>(?:Environment=|- \{name: )?(?P<key>TPOOL_WS_\w+|--thread-pool)(?:[=:, ]).*)$"
)
# docker's own reader keeps quotes and blanks, systemd's and compose's do not; none changes these.
ENV_LINE = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>[A-Za-z0-9.:]+)")
START = re.compile(r"pool Tpool#\d+: (?P<workers>\d+) workers .*, (?P<spin>spin .*)$", re.MULTILINE)
REPORT = re.compile(r"^thread_pool_ws: report of pool Tpool#\d+$", re.MULTILINE)


def variants(text: str) -> Iterator[str]:
    """The text itself, then with each setting that a comment offers put in the place of the present one."""
    yield text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        offered = SETTING.match(line)
        if offered is None or offered["comment"] is None:
            continue
        present = [
            (at, found)
            for at, found in ((at, SETTING.match(other)) for at, other in enumerate(lines))
            if found is not None and found["comment"] is None and found["key"] == offered["key"]
        ]
        changed = list(lines)
        at, indent = (present[0][0], present[0][1]["indent"]) if present else (number, offered["indent"])
        changed[at] = indent + offered["text"]
        yield "\n".join(changed)


def read_env(text: str) -> dict[str, str]:
    """Variables of an environment file, in the syntax that systemd, docker and compose have in common."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line == "" or line.startswith("#"):
            continue
        match = ENV_LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not every reader takes this line alike: {line!r}")
        found[match["name"]] = match["value"]
    return found


@dataclass(frozen=True)
class Said:
    """What a pool has printed at its start and its end."""

    text: str

    @property
    def complaints(self) -> list[str]:
        lines = [line for line in self.text.splitlines() if line.startswith("thread_pool_ws: ")]
        return [line for line in lines if not REPORT.match(line)]

    @property
    def spin(self) -> str:
        return self._start["spin"]

    @property
    def workers(self) -> int:
        return int(self._start["workers"])

    @property
    def report(self) -> bool:
        return REPORT.search(self.text) is not None

    @property
    def _start(self) -> re.Match[str]:
        start = START.search(self.text)
        assert start is not None, f"no start line: {self.text}"
        return start


def run_pool(variables: Mapping[str, str], cores: str = "-1,-1") -> Said:
    """A pool of the module, made as OAI makes it from --thread-pool's list, in that environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TPOOL_WS_")}
    run = subprocess.run(
        [os.environ["WS_DEPLOY_POOL"], "--child", "work", cores],
        check=False,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    # 1: the pool works, and has not two workers, which the program's own tests want.
    assert run.returncode in (0, 1), run.stderr
    return Said(run.stderr)


def expected_spin(mode: str, cap: str | None) -> str:
    """The words of the start line for a mode and a cap as a user writes them."""
    if mode == "off":
        return "spin off"
    if mode == "auto":
        return f"spin auto (at most {cap or 10} % of a core each)"
    return f"spin fixed {mode.removeprefix('fixed:')} us"


def check_variables(variables: Mapping[str, str]) -> str:
    """The pool takes the variables without a complaint and does what they say. @return the mode"""
    said = run_pool(variables)
    assert said.complaints == []
    mode = variables.get("TPOOL_WS_SPIN", "auto")
    assert said.spin == expected_spin(mode, variables.get("TPOOL_WS_SPIN_CPU_MAX"))
    assert said.report == (variables.get("TPOOL_WS_REPORT", "0") == "1")
    return mode.partition(":")[0]


def check_options(options: str) -> str:
    """The pool takes the list behind --thread-pool and does what it says. @return the mode"""
    words = options.split()
    cores = words[words.index("--thread-pool") + 1]
    entries = dict(entry.split("=", 1) for entry in cores.split(",") if "=" in entry)
    said = run_pool({}, cores)
    assert said.complaints == []
    assert said.workers == cores.split(",").count("-1")
    assert said.spin == expected_spin(entries["spin"], entries.get("spin_cpu_max"))
    return entries["spin"].partition(":")[0]


def tool(*names: str) -> str | None:
    """The first of these programs that is installed."""
    return next((name for name in names if shutil.which(name)), None)


def run(
    command: Sequence[str | Path], variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A validator's run; its messages are in stderr."""
    environment = {**os.environ, **(variables or {})}
    return subprocess.run(
        [str(word) for word in command],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
