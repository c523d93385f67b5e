# SPDX-License-Identifier: BSD-3-Clause
"""Asks ci/simulate for the scaling figures, keeps its report, and draws the plots."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from nrbench.driver import BenchError
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.stats import Line, read_lines

SIMULATE = Path(__file__).resolve().parents[3] / "ci" / "simulate"
RESULTS, REPORT, PLOT = "scale.ndjson", "scale.txt", "scale.png"
POOLS = ("ws", "mutex-queue", "mutex-per-worker")  # that run on the simulated machine
NOT_DONE = 2  # exit status of ci/simulate; 1: some runs failed, the others are reported


@dataclass(frozen=True)
class Options:
    """Empty or None: as ci/simulate has it."""

    quick: bool = False
    pools: tuple[str, ...] = ()
    runs: int | None = None

    def words(self) -> list[str]:
        words = ["--quick"] if self.quick else []
        pools = [pool for pool in self.pools if pool in POOLS]
        words += ["--pool", ",".join(pools)] if pools else []
        return words + (["--runs", str(self.runs)] if self.runs else [])


def simulate(words: Sequence[str], out: Path, program: Path) -> int:
    """@return exit status of ci/simulate; its report is printed and kept"""
    if not program.is_file():
        raise BenchError(f"{program}: no such file; the part scale runs in this project's tree only")
    done = subprocess.run([str(program), "scale", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode >= NOT_DONE:
        raise BenchError(f"ci/simulate scale ended with exit status {done.returncode}")
    print(done.stdout, end="")
    (out / REPORT).write_text(done.stdout)
    return done.returncode


def run(options: Options, out: Path, program: Path = SIMULATE) -> int:
    """@return exit status: 1 if some runs of the simulation failed"""
    out.mkdir(parents=True, exist_ok=True)
    status = simulate([*options.words(), "--out", str((out / RESULTS).absolute())], out, program)
    draw(out)
    return status


def report_again(out: Path) -> None:
    simulate(["--report", str((out / RESULTS).absolute())], out, SIMULATE)
    draw(out)


def draw(out: Path) -> None:
    names = [RESULTS, REPORT, *draw_page(read_lines(out / RESULTS), out / PLOT)]
    print(f"\nwritten to {out}/: {' '.join(names)}")


def draw_page(lines: list[Line], path: Path) -> list[str]:
    """@return names of the files written"""
    with matplotlib_apart():
        try:
            from nrbench.scale.plot import draw_curves  # loads for a second
        except ModuleNotFoundError as error:
            print(f"\nnrbench: no plot: the Python package {error.name} is missing", file=sys.stderr)
            return []
        return draw_curves(lines, path)
