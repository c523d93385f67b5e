# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate scenes [first=N] [count=N] [NAME]...: the scenes of tests/scenes, each with seeds 1 to 20."""

from __future__ import annotations

import subprocess

from simulate.program import program_path

PROGRAM = "ws_sim_scenes"


def main(arguments: list[str]) -> int:
    if any(word.startswith("-") for word in arguments):
        print(__doc__)
        return 2
    return subprocess.run([str(program_path(PROGRAM)), *arguments]).returncode
