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
BRIEFLY = ("events=1", "pause_us=0")  # some milliseconds, to see what it is built with and who records


class ForeignSession(Exception):
    """Somebody else's: nothing is measured without a session while it is there, nor with one session."""

    def __init__(self) -> None:
        super().__init__("another LTTng session records this user's programs: see `lttng list`")


def ask(program: Path, words: Sequence[str] = BRIEFLY) -> list[Line]:
    """Its answers; one with "error" if there are none."""
    try:
        done = subprocess.run(
            [str(program), *words], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        return [json.loads(text) for text in done.stdout.splitlines()]
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        return [{"bench": "trace-cost", "error": f"{NAME} gave no answer: {error}"}]


def refuse_foreign(answers: Sequence[Line]) -> None:
    """For answers that were given while there was no session of this run."""
    if any(answer.get("recorded") for answer in answers):
        raise ForeignSession
