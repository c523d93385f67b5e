# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate mutants: is each known defect found when it is put back?

The seed in a mutant's file is tried first. Where it finds nothing any more, seeds from the first on are. A
mutant that names a table of scenes is found by these."""

import argparse
import os
import re
import subprocess
from pathlib import Path

from simulate.mutate import Mutant, MutantError, find_mutants
from simulate.program import HOST_CPUS, print_line

HEADS = ("mutant", "scenarios", "seed", "found by")
WIDTHS = (32, 9, 8, 40)


def explore(program: Path, *words: str) -> tuple[str, str, str]:
    """@return scenarios played, the seed that has found something, what it has found"""
    done = subprocess.run([str(program), *words], capture_output=True, text=True, errors="replace")
    scenarios = re.search(r"^(\d+) scenarios", done.stdout, re.MULTILINE)
    finding = re.search(r"^FINDING (.*)\n.*seed=(\d+)", done.stdout, re.MULTILINE)
    return scenarios[1] if scenarios else "?", finding[2] if finding else "", finding[1] if finding else ""


def replay(mutant: Mutant, program: Path) -> tuple[str, str, str]:
    """Its scenes, or its stored seed."""
    if mutant.scenes:
        environment = os.environ | {"WS_TEST_DEADLINE_S": "10"}
        done = subprocess.run([str(program), mutant.scenes], capture_output=True, text=True, env=environment)
        case = re.findall(r"^  Test: (\S+)", done.stdout, re.MULTILINE)
        return str(len(case)), "", f"{mutant.scenes}: {case[-1]}" if done.returncode else ""
    return explore(program, f"first={mutant.seed}", "count=1", "jobs=1") if mutant.seed else ("0", "", "")


def read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="of exploration for each, at most (300)")
    parser.add_argument("--first", type=int, default=1, help="first seed of an exploration (1)")
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    parser.add_argument("--store", action="store_true", help="write new seeds into the mutants' files")
    parser.add_argument("only", nargs="*", help="mutants (all)")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = read(arguments)
    words = [f"{name}={getattr(options, name)}" for name in ("seconds", "first", "jobs")]
    chosen = [one for one in find_mutants() if (one.name in options.only if options.only else not one.lab)]
    failed, new = 0, 0
    print_line(HEADS, WIDTHS, 1)
    for mutant in chosen:
        try:
            program = mutant.build()
        except MutantError as error:
            print(f"{mutant.name}: DOES NOT FIT: {error}", flush=True)
            failed += 1
            continue
        scenarios, seed, finding = replay(mutant, program)
        if not finding and not mutant.scenes:
            scenarios, seed, finding = explore(program, *words)
            new += bool(finding)
            if finding and options.store:
                mutant.store(int(seed))
        failed += not finding
        print_line((mutant.name, scenarios, seed, finding or "NOT FOUND"), WIDTHS, 1)
    if new and not options.store:
        print("some seeds are new: with --store they are kept")
    print(f"{len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
