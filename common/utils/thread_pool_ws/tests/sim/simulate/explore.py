# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of the shipped core under adversarial schedules and faults."""

import argparse
import re
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from simulate.mutate import PROGRAM, SIM, find_mutants
from simulate.program import HOST_CPUS, program_path

# In what gdb shows of a scenario: members that are 0, and where a line begins.
NOTHING = re.compile(r"\b\w+ = (?:0|false|\{0 <repeats \d+ times>\})(?:, |(?=\}))")
LINE = re.compile(r"(?=\{(?:workers|start_us|actions|pause_us|kind)|\b(?:machine|fault|actors|outside) = )")
# Seeds that are run twice, to see that a seed is one run.
TWICE = 40


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program_path(PROGRAM)), *words]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def is_repeatable(first: int) -> bool:
    """Does a seed give the same run again: the same order of all events?"""
    words = (f"first={first}", f"count={TWICE}", "verbose=1", "jobs=1", f"findings={TWICE}")
    once, again = (run(*words).stdout.partition(f"\n{TWICE} scenarios")[0] for _ in range(2))
    if once != again:
        print(f"FINDING a seed gave two runs:\n{once}\n\n{again}")
    return once == again


def explore(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ci/simulate explore", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long (120)")
    parser.add_argument("--count", type=int, default=0, help="scenarios at most (no limit)")
    parser.add_argument("--first", type=int, default=1, help="first seed (1)")
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    parser.add_argument("--findings", type=int, default=5, help="end after so many (5)")
    options = parser.parse_args(arguments)
    if not is_repeatable(options.first):
        return 1
    words = [f"{name}={value}" for name, value in vars(options).items() if name != "count" or value]
    return subprocess.run([str(program_path(PROGRAM)), *words]).returncode


def stored_seeds() -> dict[int, str]:
    """@return seed -> what it has found"""
    seeds = {mutant.seed: mutant.name for mutant in find_mutants() if mutant.seed is not None}
    return seeds | {int(seed): why for seed, why in tomllib.loads((SIM / "seeds.toml").read_text()).items()}


def is_passed(seed: int) -> bool:
    done = run(f"first={seed}", "count=1", "jobs=1")
    if done.returncode != 0:
        print(f"{done.stdout}{done.stderr}  the seed's: {stored_seeds()[seed]}", flush=True)
    return done.returncode == 0


def corpus(arguments: list[str]) -> int:
    about = "Seeds that have found something (mutants, seeds.toml), on the shipped core."
    parser = argparse.ArgumentParser(prog="ci/simulate corpus", description=about)
    parser.add_argument("--jobs", type=int, default=HOST_CPUS, help="host processes at once (one a CPU)")
    with ThreadPoolExecutor(parser.parse_args(arguments).jobs) as pool:
        passed = list(pool.map(is_passed, sorted(stored_seeds())))
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, 0 skipped")
    return 0 if all(passed) else 1


def show(program: Path, seed: str) -> None:
    """The scenario of a seed, less what is 0."""
    words = ["set print repeats 1", "break main", "run"]
    words += [f"call (void)sim_scenario_draw(&scenario, {int(seed)})", "output scenario"]
    command = ["gdb", "-batch", "-nx", *(word for one in words for word in ("-ex", one)), str(program)]
    try:
        text = subprocess.run(command, capture_output=True, text=True).stdout
    except FileNotFoundError:
        print("gdb, which would show the scenario, is not installed")
        return
    print(LINE.sub("\n", NOTHING.sub("", text[text.find("{seed") :])))


def replay(arguments: list[str]) -> int:
    """One scenario again: what was drawn, and what it does."""
    words = dict(word.partition("=")[::2] for word in arguments)
    mutants = {one.name: one for one in find_mutants()}
    name = words.get("mutant")
    known = words.keys() <= {"seed", "mutant", "decisions"}
    if "seed" not in words or not known or (name and name not in mutants):
        print("usage: ci/simulate replay seed=N [mutant=NAME] [decisions=1]   each decision about wakes, too")
        return 2
    program = mutants[name].build() if name else program_path(PROGRAM)
    show(program, words["seed"])
    options = [f"{word}={value}" for word, value in words.items() if word != "mutant"]
    return subprocess.run([str(program), *options]).returncode


def scenes(arguments: list[str]) -> int:
    """Of tests/scenes."""
    if any(word.startswith("-") for word in arguments):
        print("usage: ci/simulate scenes [first=N] [count=N] [NAME]...   scenes or tables, seeds 1 to 20")
        return 2
    return subprocess.run([str(program_path("ws_sim_scenes")), *arguments]).returncode


def wakes(arguments: list[str]) -> int:
    if arguments:
        print("usage: ci/simulate wakes")
        return 2
    return subprocess.run([str(program_path("ws_sim_wakes"))]).returncode
