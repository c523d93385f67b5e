# SPDX-License-Identifier: BSD-3-Clause
"""Which reductions are measured, how often, and in which order."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nrbench.backends import OWN

PINNED = "ws-pinned"
RIVALS = ("onetbb", "openmp-gcc", "openmp-llvm")
WORDS = {OWN: ["how=ws"], PINNED: ["how=ws", "pin_step=1"]} | {name: [f"how={name}"] for name in RIVALS}
INTERVALS, QUICK_INTERVALS = 20_000_000, 2_000_000
ROUNDS, QUICK_ROUNDS = 200, 40
WARM = 2  # reductions before the one that is timed
NS_PER_INTERVAL = 2.0  # about, for the time that the run will take
PROCESS_S = 0.02


@dataclass(frozen=True)
class Options:
    cores: int
    quick: bool = False
    rounds: int | None = None
    seed: int = 1
    backends: tuple[str, ...] = ()  # empty = all

    @property
    def round_count(self) -> int:
        return self.rounds or (QUICK_ROUNDS if self.quick else ROUNDS)

    @property
    def intervals(self) -> int:
        return QUICK_INTERVALS if self.quick else INTERVALS

    @property
    def names(self) -> list[str]:
        """This pool takes part in any case."""
        rivals = [name for name in RIVALS if not self.backends or name in self.backends]
        return [OWN, PINNED, *rivals]

    @property
    def seconds(self) -> float:
        """Of one measurement."""
        return PROCESS_S + (WARM + 1) * self.intervals * NS_PER_INTERVAL * 1e-9 / self.cores


def words(options: Options, name: str) -> list[str]:
    return [*WORDS[name], f"intervals={options.intervals}", f"warm={WARM}"]


def make_rounds(options: Options, names: list[str]) -> list[list[str]]:
    """In each round all of them once, in an order drawn anew."""
    order = random.Random(options.seed)
    return [order.sample(names, len(names)) for _ in range(options.round_count)]
