# SPDX-License-Identifier: BSD-3-Clause
"""Asks ci/simulate for the scaling figures, keeps its report, and draws the plots."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Sequence

from nrbench.driver import BenchError
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.stats import read_lines

SIMULATE = Path(__file__).resolve().parents[3] / "ci" / "simulate"
RESULTS, REPORT, PLOT = "scale.ndjson", "scale.txt", "scale.png"
POOLS = ("ws", "mutex-queue", "mutex-per-worker")  # that run on the simulated machine
NOT_DONE = 2  # exit status of ci/simulate; 1: some runs failed, the others are reported


def run(out: Path, quick: bool, pools: Sequence[str], runs: int | None, program: Path = SIMULATE) -> int:
    """
    @param pools, runs  empty or None: ci/simulate's defaults
    @return exit status: 1 if some runs of the simulation failed
    """
    chosen = ",".join(pool for pool in pools if pool in POOLS)
    words = ["--quick"] if quick else []
    words += ["--pool", chosen] if chosen else []
    words += ["--runs", str(runs)] if runs else []
    out.mkdir(parents=True, exist_ok=True)
    return _report(program, [*words, "--out"], out)


def report_again(out: Path) -> None:
    _report(SIMULATE, ["--report"], out)


def _report(program: Path, words: Sequence[str], out: Path) -> int:
    """Its report is printed and kept, and the plots are drawn."""
    if not program.is_file():
        raise BenchError(f"{program}: no such file; the part scale runs in this project's tree only")
    command = [str(program), "scale", *words, str((out / RESULTS).absolute())]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode >= NOT_DONE:
        raise BenchError(f"ci/simulate scale ended with exit status {done.returncode}")
    print(done.stdout, end="")
    (out / REPORT).write_text(done.stdout)
    with matplotlib_apart():
        from nrbench.scale.plot import draw_curves  # loads for a second

        names = [RESULTS, REPORT, *draw_curves(read_lines(out / RESULTS), out / PLOT)]
    print(f"\nwritten to {out}/: {' '.join(names)}")
    return done.returncode
