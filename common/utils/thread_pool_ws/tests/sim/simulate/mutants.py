# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate mutants: is each known defect found when it is put back?"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
from pathlib import Path

from simulate.mutate import Mutant, MutantError, find_mutants
from simulate.table import print_line

HEADS = ("mutant", "scenarios", "seconds", "seed", "found by")
WIDTHS = (26, 9, 7, 8, 40)


def read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="for each, at most (300)")
    parser.add_argument("--first", type=int, default=1, help="first seed (1)")
    parser.add_argument("--jobs", type=int, default=2, help="host processes at once (2)")
    parser.add_argument("only", nargs="*", help="mutants (all)")
    return parser.parse_args(arguments)


def explore(program: Path, options: argparse.Namespace) -> tuple[str, str, str]:
    """@return how many scenarios it took, the seed, what was found: empty = nothing"""
    words = [f"seconds={options.seconds}", f"first={options.first}", f"jobs={options.jobs}"]
    done = subprocess.run([str(program), *words], capture_output=True, text=True, errors="replace")
    scenarios = re.search(r"^(\d+) scenarios", done.stdout, re.MULTILINE)
    finding = re.search(r"^FINDING (.*)\n.*seed=(\d+)", done.stdout, re.MULTILINE)
    count = scenarios[1] if scenarios else "?"
    return (count, finding[2], finding[1]) if finding else (count, "", "")


def try_mutant(mutant: Mutant, options: argparse.Namespace) -> bool:
    program = mutant.build()
    begin = time.monotonic()
    count, seed, finding = explore(program, options)
    seconds = f"{time.monotonic() - begin:.1f}"
    print_line((mutant.name, count, seconds, seed, finding or "NOT FOUND"), WIDTHS, 1)
    return bool(finding)


def main(arguments: list[str]) -> int:
    options = read(arguments)
    chosen = [mutant for mutant in find_mutants() if not options.only or mutant.name in options.only]
    found = 0
    print_line(HEADS, WIDTHS, 1)
    for mutant in chosen:
        try:
            found += try_mutant(mutant, options)
        except MutantError as error:
            print_line((mutant.name, "", "", "", f"DOES NOT FIT: {error}"), WIDTHS, 1)
    print(f"{found} passed, {len(chosen) - found} failed, 0 skipped")
    return 0 if found == len(chosen) else 1
