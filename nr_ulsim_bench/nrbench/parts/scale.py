# SPDX-License-Identifier: BSD-3-Clause
"""Time against the number of CPUs, on simulated machines: the figures and tables of ci/simulate scale, and a
page with a panel for each workload."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Iterator, Sequence

from nrbench.backends import OWN
from nrbench.driver import BenchError, there
from nrbench.engine import Part, Request
from nrbench.places import SIMULATE
from nrbench.plot import Plot
from nrbench.render import Section
from nrbench.stats import Line, Results

POOLS = ("ws", "mutex-queue", "mutex-per-worker")  # that run on the simulated machine
NOT_DONE = 2  # exit status of ci/simulate; 1: some runs failed, the others are reported
POINT = "scale-point"
WHOLE = "whole tasks"
MORE = {  # figures beside the time, by workload
    "22x28": {"cpu_per_work": "CPU time / work", "start_lag_us": "start lag, us"},
    "100x28": {"steals_lost": "lost steals a slot"},
}
OWN_ONLY = ("cpu_per_work", "steals_lost")


def _panel(point: Line) -> str:
    several = f", {point['producers']} producers" if point["producers"] > 1 else ""
    unit = "ns an empty task" if point["workload"].startswith("empty") else "p50, us"
    return f"{point['workload'].removesuffix('.slots')}{several}: {unit}"


def _values(point: Line) -> Iterator[tuple[str, str, float]]:
    """The panel, the line in it, and the value."""
    if "time" in point:
        yield _panel(point), point["pool"], point["time"]
    if point.get("whole_us") is not None and point["smt"] == 1:
        yield _panel(point), WHOLE, point["whole_us"]
    for figure, unit in MORE.get(point["workload"], {}).items():
        if point["producers"] == 1 and figure in point and (point["pool"] == OWN or figure not in OWN_ONLY):
            yield f"{point['workload']}: {unit}", point["pool"], point[figure]


def plots(results: Results) -> Iterator[Plot]:
    points = [
        {"panel": panel, "pool": pool, "value": value, "CPUs": point["cpus"], "machine": point["machine"]}
        for point in results.only(bench=POINT).lines
        for panel, pool, value in _values(point)
    ]
    title = "Simulated: time against the number of CPUs, on machine files that are not calibrated"
    look: dict[str, Any] = {"hue": "machine", "style": "pool", "col": "panel", "col_wrap": 5}
    look |= {"facet_kws": {"sharey": False}, "markers": True, "errorbar": None}
    yield Plot("scale", title, points, "line", ("CPUs", "value"), look, "xy")


class Scale(Part):
    """Its lines and tables are those of ci/simulate."""

    def measure(self, request: Request) -> int:
        """@return exit status: 1 if some runs of the simulation failed"""
        chosen = ",".join(pool for pool in request.backends if pool in POOLS)
        words = ["--quick"] if request.quick else []
        words += ["--pool", chosen] if chosen else []
        words += ["--runs", str(request.rounds)] if request.rounds else []
        request.out.mkdir(parents=True, exist_ok=True)
        return self._simulate([*words, "--out"], request.out).returncode

    def shown(self, out: Path) -> list[Section]:
        done = self._simulate(["--report"], out)
        part = Part(**{**vars(self), "report": lambda _: [done.stdout.rstrip("\n")]})
        return part.shown(out)

    def _simulate(self, words: Sequence[str], out: Path) -> subprocess.CompletedProcess[str]:
        program = there(SIMULATE, "no such file; the part scale runs in this project's tree only")
        command = [str(program), "scale", *words, str((out / self.results).absolute())]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode >= NOT_DONE:
            raise BenchError(f"ci/simulate scale ended with exit status {done.returncode}")
        return done


PART = Scale("scale", report=lambda results: (), plots=plots)
