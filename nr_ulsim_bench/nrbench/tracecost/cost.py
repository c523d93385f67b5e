# SPDX-License-Identifier: BSD-3-Clause
"""ws-trace-cost: ns an event, and whether a session records the programs of this user."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Sequence

from nrbench.tracecost.judge import Line

NAME = "ws-trace-cost"
LIMIT_S = 60
BRIEFLY = ("events=1", "pause_us=0")  # some milliseconds, to see its build and whether a session records


class ForeignSession(Exception):
    """A session that is not of this run. While it exists, no state can be measured."""

    def __init__(self) -> None:
        super().__init__("another LTTng session records this user's programs: see `lttng list`")


def ask(program: Path, words: Sequence[str] = BRIEFLY) -> list[Line]:
    """The program's answers. One with "error" if it gave none."""
    try:
        done = subprocess.run(
            [str(program), *words], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        return [json.loads(text) for text in done.stdout.splitlines()]
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        return [{"bench": "trace-cost", "error": f"{NAME} gave no answer: {error}"}]


def refuse_foreign(answers: Sequence[Line]) -> None:
    """Raises ForeignSession. Requires that no session of this run existed."""
    if any(answer.get("recorded") for answer in answers):
        raise ForeignSession
