# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the parts share: a first line of made-up results, and the programs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = os.environ.get("WS_BENCH_BUILD", "")
PROGRAMS = Path(BUILD) / "nr_ulsim_bench" / "bin"


def needs(program: str) -> pytest.MarkDecorator:
    is_built = bool(BUILD) and (PROGRAMS / program).is_file()
    return pytest.mark.skipif(not is_built, reason=f"WS_BENCH_BUILD names no build of {program}")


def ask(program: str, *words: str) -> tuple[int, list[dict[str, object]]]:
    """@return exit status, and the answers"""
    done = subprocess.run([PROGRAMS / program, *words], capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def host(rounds: int, **more: object) -> dict[str, object]:
    """The line of a machine without load, and what the part adds to it."""
    line = {"bench": "host", "cpu": "Some CPU", "cores": 2, "kernel": "6.8", "commit": None, "load": 0.0}
    return line | {"rounds": rounds, "seed": 1} | more
