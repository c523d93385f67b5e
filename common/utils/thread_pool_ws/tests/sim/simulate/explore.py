# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate explore: scenarios of the shipped core under adversarial schedules and faults."""

from __future__ import annotations

import argparse
import subprocess

from simulate.program import HOST_CPUS, program_path

PROGRAM = "ws_sim_explore"
# Seeds that are run twice, to see that a seed is one run.
TWICE = 40


def read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate explore", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long (120)")
    parser.add_argument("--count", type=int, default=0, help="scenarios at most (no limit)")
    parser.add_argument("--first", type=int, default=1, help="first seed (1)")
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    parser.add_argument("--findings", type=int, default=5, help="end after so many (5)")
    return parser.parse_args(arguments)


def lines_of(first: int) -> list[str]:
    words = [f"first={first}", f"count={TWICE}", "verbose=1", "jobs=1", f"findings={TWICE}"]
    done = subprocess.run([str(program_path(PROGRAM)), *words], capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if line.startswith("seed")]


def is_repeatable(first: int) -> bool:
    """Does a seed give the same run again: the same order of all events?"""
    for once, again in zip(lines_of(first), lines_of(first), strict=True):
        if once != again:
            print(f"FINDING a seed gave two runs:\n  {once}\n  {again}")
            return False
    return True


def main(arguments: list[str]) -> int:
    options = read(arguments)
    if not is_repeatable(options.first):
        return 1
    words = [f"{name}={getattr(options, name)}" for name in ("seconds", "first", "jobs", "findings")]
    if options.count:
        words.append(f"count={options.count}")
    return subprocess.run([str(program_path(PROGRAM)), *words]).returncode
