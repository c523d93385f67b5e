# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate replay seed=N [mutant=NAME]: one scenario again, in words and as it runs."""

from __future__ import annotations

import subprocess

from simulate.mutate import find_mutant
from simulate.program import program_path

PROGRAM = "ws_sim_explore"


def read(arguments: list[str]) -> dict[str, str]:
    words = dict(word.split("=", 1) for word in arguments if "=" in word)
    return words if len(words) == len(arguments) and set(words) <= {"seed", "mutant"} else {}


def main(arguments: list[str]) -> int:
    words = read(arguments)
    if "seed" not in words:
        print("usage: ci/simulate replay seed=N [mutant=NAME]")
        return 2
    program = str(program_path(PROGRAM))
    if "mutant" in words:
        program = str(find_mutant(words["mutant"]).build())
    subprocess.run([program, f"show={words['seed']}"])
    return subprocess.run([program, f"seed={words['seed']}"]).returncode
