# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate ledger [--bursts N] [--seed N] [--jobs N] [--machines A,B]: noises one at a time, with pre-wake
and without; which causes does the pool give its late bursts? 95 of 100 have to be right."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from simulate.machine import MACHINES, Machine, find_machine
from simulate.program import HOST_CPUS, Job, print_line, run_job, run_jobs

# Words of each noise, and the cause that it should have. Tasks of 28 us. The kernel moves threads away from a
# hog. It does not see a host: threads stay on a CPU that the host has taken.
Words = dict[str, float | str]
LONG: Words = {"noise": "long", "noise_us": 500}
QUOTA: Words = {"workers": 1, "period_us": 474, "warm": 2000}
NOISES: dict[str, tuple[Words, str]] = {
    "long task 1/15": ({**LONG, "every": 15}, "long task"),
    "long task 1/4": ({**LONG, "every": 4}, "long task"),
    "long task 1/2": ({**LONG, "every": 2}, "long task"),
    "all longer": ({"noise": "longer", "noise_us": 28, "every": 15}, "longer work"),
    "more tasks": ({"noise": "more", "every": 15}, "more work"),
    "mutex": ({"noise": "mutex", "noise_us": 500, "every": 15}, "asleep in a task"),
    "read": ({"noise": "read", "noise_us": 500, "every": 15}, "asleep in a task"),
    "sleep": ({"noise": "sleep", "noise_us": 500, "every": 15}, "asleep in a task"),
    "serial": ({"noise": "serial", "noise_us": 500, "every": 15}, "serial time"),
    "other pool": ({"noise": "pool", "noise_us": 500, "every": 15}, "other pool"),
    "second producer": ({"noise": "producer", "every": 5}, "other burst"),
    "pool beside": ({"noise": "beside", "every": 5}, "other pool"),
    "few workers": ({}, "too few threads"),
    "hog": ({"host_on_us": 400, "host_off_us": 20000}, "no CPU"),
    "stopped": ({"noise": "stops", "noise_us": 1000, "every": 15}, "no CPU"),
    "quota before": ({**QUOTA, "quota_cpus": 1.2}, "quota"),
    "quota after": ({**QUOTA, "quota_later": 1.2}, "quota"),
    "host": ({"host_on_us": 400, "host_off_us": 20000, "stolen": 1}, "no CPU"),
}
LEAST = 0.95
CALM = 2000  # bursts from which a deadline follows


def job(machine: Machine, spin: str, us: float, **words: float | str) -> Job:
    words = {"workers": min(3, machine.cpus - 1), "period_us": 1000, "warm": 300, **words}
    environment = {"TPOOL_WS_SPIN": spin} | ({"TPOOL_WS_DEADLINE_US": f"{us:.3f}"} if us else {})
    return Job((*machine.words, "slot=22x28", *(f"{key}={of}" for key, of in words.items())), {}, environment)


def noisy(machine: Machine, spin: str, seed: int, bursts: int) -> Iterator[tuple[str, Job]]:
    """A burst is late that takes longer than nearly all without the noise."""
    calm: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name, (words, _) in NOISES.items():
        shape = {key: words[key] for key in ("workers", "period_us") if key in words}
        if (key := tuple(shape.values())) not in calm:
            quiet = job(machine, spin, 0, seed=seed + 1, bursts=CALM, **shape)
            calm[key] = run_job(quiet, "ws_sim_time", 600.0)
        few = {"workers": min(3, machine.cpus - 1) // 2} if name == "few workers" else {}
        p50, p99 = calm[key]["p50_us"], calm[key]["p99_us"]
        us = 1.25 * p50 if few else max(1.5 * p50, 1.15 * p99)
        yield name, job(machine, spin, us, seed=seed, bursts=bursts, **words, **few)


def found(names: Sequence[str], seed: int, bursts: int, at_once: int) -> dict[str, Counter[str]]:
    """Late bursts of each noise by cause, and the number of all."""
    settings = [(find_machine(name), spin) for name in names for spin in ("auto", "off")]
    each = bursts // (len(settings) * len(NOISES))
    jobs = [one for at, of in enumerate(settings) for one in noisy(*of, seed + 10 * at, each)]
    sums = {name: Counter[str]() for name in NOISES}
    for (name, _), result in zip(jobs, run_jobs([one for _, one in jobs], "ws_sim_time", at_once, 3600.0)):
        sums[name].update(result["late"])
    return sums


def shares(sums: dict[str, Counter[str]]) -> Iterator[tuple[str, float, float]]:
    """Of each cause: of the late bursts with its noise those that it was given to, and of those that it was
    given to the ones with its noise. Each noise weighs the same, however many bursts it has made late."""
    part = {
        name: {cause: of[cause] / max(1, of.total() - of["bursts"]) for cause in of}
        for name, of in sums.items()
    }
    for cause in dict.fromkeys(cause for _, cause in NOISES.values()):
        own = [part[name][cause] for name in NOISES if NOISES[name][1] == cause]
        yield cause, sum(own) / len(own), sum(own) / sum(of[cause] for of in part.values())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ci/simulate ledger", description=__doc__)
    parser.add_argument("--machines", default=",".join(sorted(file.stem for file in MACHINES.glob("*.toml"))))
    for name, usual in ("bursts", 20000), ("seed", 1), ("jobs", HOST_CPUS):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args(arguments)
    sums = found(options.machines.split(","), options.seed, options.bursts, options.jobs)
    widths = [15, *(max(7, len(cause)) for cause in sums["host"])]
    print_line(["noise", *sums["host"]], widths, 1)
    for name, of in sums.items():
        print_line([name, *map(str, of.values())], widths, 1)
    results = [*shares(sums)]
    for cause, given, right in results:
        print(f"{cause}: given to {given:.1%} of the late bursts with its noise; right in {right:.1%}")
    return int(min(min(given, right) for _, given, right in results) < LEAST)
