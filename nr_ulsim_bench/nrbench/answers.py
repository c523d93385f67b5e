# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are run once for each request and answer in JSON objects, one a line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Iterable, Sequence

from nrbench.driver import BenchError, quiet_environment


def require(program: Path) -> None:
    if not program.is_file():
        raise BenchError(f"{program}: no such file; it is built with the pool")


def ask(program: Path, words: Sequence[str], limit_s: float) -> list[dict[str, Any]]:
    """@return the answers, or one with the reason why there is none"""
    command = [str(program), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, env=quiet_environment()
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
    except subprocess.TimeoutExpired:
        return [{"error": f"no answer within {limit_s:.0f} s"}]
    except json.JSONDecodeError as error:
        return [{"error": f"an answer that is not JSON: {error}"}]
    if done.returncode < 0:
        return [{"error": f"ended by signal {-done.returncode}"}]
    return answers or [{"error": f"no answer: {done.stderr.strip()[-200:]}"}]


def write_report(path: Path, lines: Iterable[str]) -> None:
    """Also to the terminal."""
    text = "\n".join(lines)
    print(text)
    path.write_text(text + "\n")


def say_written(out: Path, names: Sequence[str]) -> None:
    print(f"\nwritten to {out}/: {' '.join(names)}")
