# SPDX-License-Identifier: BSD-3-Clause
"""Which demos are run, in which sizes, and how often."""

from __future__ import annotations

from dataclasses import dataclass

BUFFERS = (50, 1)
COUNT, QUICK_COUNT, FULL_COUNT = 10_000_000, 1_000_000, 999_999_999
DELAYS_MS = (20, 2)
TICKER_ROUNDS, QUICK_TICKER_ROUNDS = 5, 1
SORT_ROUNDS, QUICK_SORT_ROUNDS = 5, 2
SUDOKU_REPEATS = (200, 3000)
SUDOKU_THREADS = 11


@dataclass(frozen=True)
class Options:
    cores: int
    quick: bool = False
    full: bool = False
    rounds: int | None = None
    seed: int = 1

    @property
    def ticker_rounds(self) -> int:
        return self.rounds or (QUICK_TICKER_ROUNDS if self.quick else TICKER_ROUNDS)

    @property
    def sort_rounds(self) -> int:
        if self.full:
            return self.rounds or 1
        return self.rounds or (QUICK_SORT_ROUNDS if self.quick else SORT_ROUNDS)

    @property
    def count(self) -> int:
        """Numbers that are sorted."""
        return FULL_COUNT if self.full else QUICK_COUNT if self.quick else COUNT

    @property
    def sort_threads(self) -> tuple[int, ...]:
        """Twice as many as cores show what threads beyond the cores cost."""
        wanted = {1, 2, self.cores} | (set() if self.quick or self.full else {4, 2 * self.cores})
        return tuple(sorted(wanted))


def sort_words(options: Options, threads: int, buffer: int) -> list[str]:
    return [
        "--json",
        "--compare",
        f"--count={options.count}",
        f"--threads={threads}",
        f"--buffer={buffer}",
        f"--rounds={options.sort_rounds}",
        f"--seed={options.seed}",
    ]


def ticker_words(port: int) -> list[str]:
    return ["--json", "--sweep", f"--port={port}"]


def sudoku_words(repeat: int) -> list[str]:
    return ["--time", f"--repeat={repeat}", f"--threads={SUDOKU_THREADS}"]
