# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate calibrate: micro-measurements of this machine, written as a machine file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from simulate.machine import MachineError, read_machine
from simulate.machinefile import machine_text
from simulate.measured import Measured
from simulate.program import program_path
from simulate.topology import DISTANCES, Topology, read_topology

IDLE_US = (20, 100, 300, 1000, 5000, 15000)
SLEEP_US = (50, 200, 1000, 5000, 15000)
SLOT_SLEEP_US = 200  # what a sleep costs is taken from sleeps of this length
AWAKE_US = 100  # for so long the caller has been awake when it wakes the sleeper
KICK_SLEEP_US = 300
FRESH_IDLE_US_MIN = 100  # a caller that sleeps for less is not idle
PAIRS_MAX = 3
SECONDS_MAX = 120.0
# Share of a CPU's time that other programs may take before the figures are called disturbed
OTHERS_SHARE_MAX = 0.02


def measure(*words: object) -> list[dict[str, Any]]:
    command = [str(program_path("ws_calibrate")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def busy_s() -> float:
    """CPU time of all programs so far."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / float(os.sysconf("SC_CLK_TCK"))


def own_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Others:
    """CPU time that other programs took meanwhile."""

    def __init__(self) -> None:
        self.begin = (datetime.now(), busy_s(), own_s())

    def share(self) -> float:
        began, busy, own = self.begin
        wall_s = (datetime.now() - began).total_seconds()
        return max(0.0, (busy_s() - busy - (own_s() - own)) / wall_s)


Middle = Callable[[Iterable[float]], float]


def of_columns(middle: Middle, rows: Iterable[list[float]]) -> list[float]:
    return [middle(column) for column in zip(*rows)]


def one_round(topology: Topology, pairs: dict[str, list[tuple[int, int]]], quick: bool) -> dict[str, Any]:
    caller, cpu = topology.cpus[0], topology.cpus[-1]
    scale = 4 if quick else 1
    found: dict[str, Any] = {"costs": measure("costs", cpu)[0], "turn": measure("switch", cpu)[0]["turn_ns"]}
    found["lines"] = {name: [measure("line", a, b)[0] for a, b in many] for name, many in pairs.items()}
    found["busy"] = measure("wakes", cpu, cpu, AWAKE_US, 300, 400 // scale)[0]["call_ns"][2]
    found["timers"] = {us: measure("timers", cpu, us, wakes_for(us) // scale)[0] for us in SLEEP_US}
    found["detours"] = measure("detours", 4 // scale)
    if len(topology.cpus) > 1:
        for name, awake_us in (("wakes", AWAKE_US), ("fresh_wakes", 0)):
            found[name] = {
                us: measure("wakes", cpu, caller, awake_us, us, wakes_for(us) // scale)[0]
                for us in IDLE_US
                if awake_us or us >= FRESH_IDLE_US_MIN
            }
        found["kicks"] = {0: measure("kicks", cpu, caller, KICK_SLEEP_US, 800 // scale)[0]}
        found["place"] = measure("place", caller, cpu, 300, 800 // scale)[0]
    return found


def wakes_for(us: int) -> int:
    return max(100, min(2000, 1_000_000 // us))


def combine_wakes(rounds: list[dict[int, Any]], middle: Middle) -> dict[int, dict[str, list[float]]]:
    keys = ("call_ns", "latency_ns")
    return {
        us: {key: of_columns(middle, [one[us][key] for one in rounds]) for key in keys} for us in rounds[0]
    }


def combine(rounds: list[dict[str, Any]], middle: Middle) -> Measured:
    measured = Measured()
    measured.costs = {key: middle(found["costs"][key] for found in rounds) for key in rounds[0]["costs"]}
    for name in rounds[0]["lines"]:
        pairs = [pair for found in rounds for pair in found["lines"][name]]
        measured.lines[name] = {key: middle(pair[key] for pair in pairs) for key in ("swap_ns", "store_ns")}
    measured.wakes = combine_wakes([found.get("wakes", {}) for found in rounds], middle)
    measured.fresh_wakes = combine_wakes([found.get("fresh_wakes", {}) for found in rounds], middle)
    measured.kicks = combine_wakes([found.get("kicks", {}) for found in rounds], middle)
    measured.cold = {
        us: of_columns(middle, [found["timers"][us]["cold_ns"] for found in rounds]) for us in SLEEP_US
    }
    measured.sleep_cpu_ns = middle(found["timers"][SLOT_SLEEP_US]["cpu_ns"] for found in rounds)
    measured.timers = {
        us: of_columns(middle, [found["timers"][us]["late_ns"] for found in rounds]) for us in SLEEP_US
    }
    measured.busy_call_ns = middle(found["busy"] for found in rounds)
    measured.turn_ns = middle(found["turn"] for found in rounds)
    stays = [found["place"]["callers_stays"] for found in rounds if "place" in found]
    measured.stay_share = (
        max(0.0, median(stay for stay in stays if stay >= 0)) if any(s >= 0 for s in stays) else 0.0
    )
    cpus = [cpu for found in rounds for cpu in found["detours"]]
    measured.detours_per_s = middle(cpu["per_s"] for cpu in cpus)
    measured.detours_share = middle(cpu["share"] for cpu in cpus)
    measured.detour = of_columns(middle, [cpu["gap_ns"] for cpu in cpus])
    return measured


def say(text: str) -> None:
    print(f"calibrate: {text}", file=sys.stderr, flush=True)


def run_rounds(topology: Topology, count: int, quick: bool) -> Measured:
    rounds, shares = [], []
    pairs = topology.pairs(PAIRS_MAX)
    missing = [name for name in DISTANCES if name not in pairs]
    for number in range(count):
        others = Others()
        rounds.append(one_round(topology, pairs, quick))
        shares.append(others.share())
        note = f"round {number + 1} of {count}: other programs took {shares[-1]:.2f} CPUs"
        say(note + (", which disturbs it" if shares[-1] > OTHERS_SHARE_MAX else ""))
    quiet = [found for found, share in zip(rounds, shares) if share <= OTHERS_SHARE_MAX]
    measured = combine(quiet, median) if quiet else combine(rounds, min)
    kept = f"{len(quiet)} quiet rounds of {count}"
    measured.notes.append(f"Medians of {kept}; other programs took {median(shares):.2f} CPUs meanwhile.")
    if not quiet:
        say("DISTURBED: no round was quiet; take it again when nothing else runs")
        measured.notes.append(
            "DISTURBED by other programs: a draft, of each figure the lowest of the rounds."
        )
    if missing:
        measured.notes.append(f"No pair of CPUs is at the distance: {', '.join(missing)}.")
    return measured


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/simulate calibrate", description=__doc__)
    parser.add_argument("--out", type=Path, help="machine file to write; default: standard output")
    parser.add_argument("--rounds", type=int, default=7, help="of about 20 seconds each")
    parser.add_argument("--quick", action="store_true", help="a quarter of the samples")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    topology = read_topology()
    try:
        measured = run_rounds(topology, options.rounds, options.quick)
    except (subprocess.SubprocessError, OSError) as error:
        say(str(error))
        return 1
    date = datetime.now(UTC).date().isoformat()
    title = f"{cpu_model()}, {len(topology.cpus)} CPUs, Linux {platform.release()}, calibrated {date}"
    text = machine_text(title, topology.sizes(), measured)
    if not options.out:
        print(text, end="")
        return 0
    options.out.write_text(text, encoding="utf-8")
    try:
        read_machine(options.out)
    except MachineError as error:
        say(f"the file written is not valid: {error}")
        return 1
    say(f"wrote {options.out}")
    return 0
