# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate <verb> [options]: each verb is a function(arguments) -> exit status."""

import sys
from importlib import import_module

VERBS = {
    "explore": ("explore:explore", "scenarios of the shipped core under adversarial schedules and faults"),
    "corpus": ("explore:corpus", "stored seeds again: those that have found something"),
    "replay": ("explore:replay", "one of them again: seed=N"),
    "scenes": ("explore:scenes", "the scripted tests of tests/scenes, with fixed seeds"),
    "wakes": ("explore:wakes", "on which CPU a thread wakes: the rules that ci/lab rt tries on Linux"),
    "mutants": ("mutants:main", "is each known defect found when it is put back into the core"),
    "kills": ("kills:main", "which suite of tests, and which test, finds which mutant"),
    "time": ("timing:main", "run a workload on a simulated machine: makespan, start lag, wakes, CPU time"),
    "ledger": ("ledger:main", "noises one at a time: are late bursts given to the right cause"),
    "scale": ("scale.command:main", "time against CPUs: every slot case, three pools, goals"),
}


def usage() -> int:
    print("usage: ci/simulate <verb> [options]")
    for verb, (_, summary) in VERBS.items():
        print(f"  {verb:<10} {summary}")
    return 2


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERBS:
        return usage()
    module, _, function = VERBS[arguments[0]][0].partition(":")
    status: int = getattr(import_module(f"simulate.{module}"), function)(arguments[1:])
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
