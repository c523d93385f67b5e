# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate corpus: seeds that have found something (mutants, seeds.toml), on the shipped core."""

from __future__ import annotations

import argparse
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor

from simulate.mutate import PROGRAM, SIM, find_mutants
from simulate.program import HOST_CPUS, program_path


def stored_seeds() -> dict[int, str]:
    """@return seed -> what it has found"""
    seeds = {mutant.seed: mutant.name for mutant in find_mutants() if mutant.seed is not None}
    return seeds | {int(seed): why for seed, why in tomllib.loads((SIM / "seeds.toml").read_text()).items()}


def is_passed(seed: int) -> bool:
    words = [str(program_path(PROGRAM)), f"first={seed}", "count=1", "jobs=1"]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        print(f"{done.stdout}{done.stderr}  the seed's: {stored_seeds()[seed]}", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ci/simulate corpus", description=__doc__)
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    options = parser.parse_args(arguments)
    with ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(is_passed, sorted(stored_seeds())))
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, 0 skipped")
    return 0 if all(passed) else 1
