# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate mutants: is each known defect found when it is put back?

The seed in a mutant's file is tried first. Where it finds nothing any more, seeds from the first on are."""

from __future__ import annotations

import argparse
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from simulate.mutate import Mutant, MutantError, find_mutants
from simulate.program import HOST_CPUS, print_line

HEADS = ("mutant", "scenarios", "seed", "found by")
WIDTHS = (32, 9, 8, 40)


@dataclass
class Trial:
    """What has come of a mutant so far."""

    mutant: Mutant
    program: Path | None = None
    scenarios: str = ""
    seed: str = ""
    finding: str = ""
    error: str = ""

    def print(self) -> None:
        last = f"DOES NOT FIT: {self.error}" if self.error else self.finding or "NOT FOUND"
        print_line((self.mutant.name, self.scenarios, self.seed, last), WIDTHS, 1)

    def explore(self, *words: str) -> None:
        done = subprocess.run([str(self.program), *words], capture_output=True, text=True, errors="replace")
        scenarios = re.search(r"^(\d+) scenarios", done.stdout, re.MULTILINE)
        finding = re.search(r"^FINDING (.*)\n.*seed=(\d+)", done.stdout, re.MULTILINE)
        self.scenarios = scenarios[1] if scenarios else "?"
        if finding:
            self.finding, self.seed = finding[1], finding[2]


def share(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1/4 for the first of four shares")
    return int(match[1]), int(match[2])


def read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="of exploration for each, at most (300)")
    parser.add_argument("--first", type=int, default=1, help="first seed of an exploration (1)")
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    parser.add_argument("--shard", type=share, default=(1, 1), help="N/M: the N-th of M shares only")
    parser.add_argument(
        "--store", action="store_true", help="write seeds that are new into the mutants' files"
    )
    parser.add_argument("only", nargs="*", help="mutants (all)")
    return parser.parse_args(arguments)


def try_seed(mutant: Mutant) -> Trial:
    trial = Trial(mutant)
    try:
        trial.program = mutant.build()
    except MutantError as error:
        trial.error = str(error)
    else:
        if mutant.seed is not None:
            trial.explore(f"first={mutant.seed}", "count=1", "jobs=1")
    return trial


def main(arguments: list[str]) -> int:
    options = read(arguments)
    number, shares = options.shard
    chosen = [mutant for mutant in find_mutants() if not options.only or mutant.name in options.only]
    chosen = chosen[number - 1 :: shares]
    found, left = 0, []
    print_line(HEADS, WIDTHS, 1)
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial in pool.map(try_seed, chosen):
            if trial.finding or trial.error:
                trial.print()
                found += bool(trial.finding)
            else:
                left.append(trial)
    for trial in left:
        trial.explore(*(f"{name}={getattr(options, name)}" for name in ("seconds", "first", "jobs")))
        trial.print()
        found += bool(trial.finding)
        if trial.finding and options.store:
            trial.mutant.store(int(trial.seed))
    if any(trial.finding for trial in left) and not options.store:
        print("some seeds are new: with --store they are kept")
    print(f"{found} passed, {len(chosen) - found} failed, 0 skipped")
    return 0 if found == len(chosen) else 1
