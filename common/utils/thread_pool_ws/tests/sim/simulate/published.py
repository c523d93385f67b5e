# SPDX-License-Identifier: BSD-3-Clause
"""What others have measured, to stand beside what is simulated: each figure has its source."""

from __future__ import annotations

from dataclasses import dataclass

# Matrices of all pairs, read as a file for each machine; the medians by distance are computed here from them.
VIENNOT = "github.com/nviennot/core-to-core-latency"
KCORES = "github.com/KCORES/core-to-core-latency-plus"
# Means of all pairs, in the text.
CHEESE = "chipsandcheese.com/p/core-to-core-latency-data-on-large-systems"
GRAVITON4 = "chipsandcheese.com/2024/07/22/arms-neoverse-v2-in-awss-graviton-4/"
OWN = "machines/vm-2-amd.toml"  # ci/simulate calibrate on that machine

ITSELF = "source"  # the machine file's own figures are from this table: a check of the engine only
ALIKE = "same"  # the CPUs are of the generation that the machine file describes
NEWER = "newer"  # they are of a later one
OTHER = "other"  # of another maker or core


@dataclass(frozen=True)
class Latency:
    """A cache line from one CPU to another and, half of the round trip, back."""

    cpu: str
    machine: str  # the machine file that is the nearest to it
    relation: str
    distance: str  # of topology.DISTANCES
    ns: float | None  # None: only a range is published
    low: float | None = None  # 5th and 95th percentile of the pairs, or the range
    high: float | None = None
    source: str = VIENNOT
    how: str = "swap"  # compare-and-swaps in turns; or store: stores and loads in turns


# Where two sockets hold a node's pairs, "node" is of those on the socket that the line's memory belongs to.
# Pairs on the other socket are as slow as pairs across sockets: "home" (7R13 and 9454; not on the 9654).
LATENCIES = (
    Latency("2 x EPYC 7R13 (7003)", "epyc-64", ITSELF, "llc", 22.8, 20.3, 25.9),
    Latency("2 x EPYC 7R13 (7003)", "epyc-64", ITSELF, "node", 107.6, 89.5, 112.3),
    Latency("2 x EPYC 7R13 (7003), home far", "epyc-64", ALIKE, "node", 200.5, 190.8, 205.1),
    Latency("2 x EPYC 7R13 (7003)", "epyc-64", ITSELF, "far", 197.2, 186.1, 205.2),
    Latency("EPYC 7773X (7003)", "epyc-64", ALIKE, "llc", 26.1, 22.0, 29.2),
    Latency("EPYC 7773X (7003)", "epyc-64", ALIKE, "node", 116.6, 97.5, 130.4),
    Latency("2 x EPYC 7763 (7003)", "epyc-64", ALIKE, "llc", 24.9, 21.2, 29.8, KCORES),
    Latency("2 x EPYC 7763 (7003)", "epyc-64", ALIKE, "node", 119.8, 104.3, 281.1, KCORES),
    Latency("2 x EPYC 7763 (7003)", "epyc-64", ALIKE, "far", 303.6, 290.3, 326.1, KCORES),
    Latency("2 x EPYC 9654 (9004)", "epyc-64", NEWER, "llc", 27.1, 25.3, 30.8, KCORES),
    Latency("2 x EPYC 9654 (9004)", "epyc-64", NEWER, "node", 99.3, 89.0, 103.5, KCORES),
    Latency("2 x EPYC 9654 (9004)", "epyc-64", NEWER, "far", 191.6, 186.8, 196.4, KCORES),
    Latency("2 x EPYC 9454 (9004)", "epyc-64", NEWER, "llc", 26.5, 24.8, 31.2, KCORES),
    Latency("2 x EPYC 9454 (9004)", "epyc-64", NEWER, "node", 103.4, 95.9, 107.9, KCORES),
    Latency("2 x EPYC 9454 (9004)", "epyc-64", NEWER, "far", 197.6, 193.0, 202.6, KCORES),
    Latency("2 x Xeon 8275CL (2nd gen)", "xeon-2x28", ITSELF, "smt", 7.6, 7.5, 7.7),
    Latency("2 x Xeon 8275CL (2nd gen)", "xeon-2x28", ITSELF, "llc", 46.6, 42.8, 51.1),
    Latency("2 x Xeon 8275CL (2nd gen)", "xeon-2x28", ITSELF, "far", 134.1, 130.4, 138.3),
    Latency("2 x Xeon Gold 6242 (2nd gen)", "xeon-2x28", ITSELF, "llc", 48.0, 44.3, 52.2),
    Latency("2 x Xeon Gold 6242 (2nd gen)", "xeon-2x28", ITSELF, "far", 141.4, 137.5, 145.4),
    Latency("2 x Xeon 8375C (3rd gen)", "xeon-2x28", NEWER, "llc", 51.3, 44.6, 57.8),
    Latency("2 x Xeon 8375C (3rd gen)", "xeon-2x28", NEWER, "far", 107.8, 102.2, 113.3),
    Latency("Xeon w9-3475X (4th gen)", "xeon-2x28", NEWER, "llc", 55.3, 43.3, 67.2, KCORES),
    Latency("2 x Sapphire Rapids (4th gen)", "xeon-2x28", NEWER, "llc", 59.0, None, 81.0, CHEESE),
    Latency("2 x Sapphire Rapids (4th gen)", "xeon-2x28", NEWER, "far", 138.0, None, None, CHEESE),
    Latency("2 x Xeon 8275CL (2nd gen)", "rt-server-16", ITSELF, "llc", 46.6, 42.8, 51.1),
    Latency("Graviton3 (Neoverse V1)", "grace-72", OTHER, "llc", 46.4, 36.4, 53.6),
    # No figures of Grace itself: chipsandcheese.com/2024/07/31/grace-hopper-nvidias-halfway-apu finds it
    # comparable to Graviton4, which has the same core.
    Latency("Graviton4 (Neoverse V2, as Grace)", "grace-72", OTHER, "llc", None, 30.0, 60.0, GRAVITON4),
    Latency("2 x Graviton4 (Neoverse V2)", "grace-72", OTHER, "far", 138.6, None, None, GRAVITON4),
    Latency("2 x EPYC 7R13 (7003)", "vm-2-amd", ALIKE, "llc", 22.8, 20.3, 25.9),
    Latency("this virtual machine, calibrated", "vm-2-amd", ITSELF, "llc", 27.2, None, None, OWN),
    Latency("this virtual machine, calibrated", "vm-2-amd", ALIKE, "llc", 49.0, None, None, OWN, "store"),
)

# oneTBB 2023.1, one producer, empty tasks, ns a task by threads, the producer's among them: medians of
# BM_tbb of simple_pool_benchmark, github.com/facebookincubator/dispenso, results/linux_x64.json, on a virtual
# machine with 166 cores of EPYC 9004. On one thread the producer runs all tasks itself.
ONETBB_NS = {
    "oneTBB, 1,000,000 tasks": {1: 55.7, 2: 59.5, 4: 60.8, 8: 72.4, 16: 104.8, 32: 234.7, 64: 659.9},
    "oneTBB, 10,000 tasks": {1: 48.4, 2: 49.6, 4: 57.4, 8: 68.5, 16: 109.5, 32: 283.1, 64: 617.3},
}

# fib(39) by fork and join to the leaves, us: github.com/tzcnt/runtime-benchmarks, table for 64 threads on an
# EPYC 7742 (Zen 2, 64 cores, no SMT), July 2026.
FIB_N = 39
FIB_THREADS = 64
FIB_US = {"citor": 49966, "libfork": 62367, "TooManyCooks": 86731, "Taskflow": 156590, "oneTBB": 215592}
