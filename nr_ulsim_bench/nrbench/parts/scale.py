# SPDX-License-Identifier: BSD-3-Clause
"""Time against the number of CPUs, on simulated machines: the figures and tables of ci/simulate scale, and a
page with a panel for each workload."""

import subprocess
from pathlib import Path
from typing import Any, Iterator, Sequence

from nrbench.driver import BenchError, there
from nrbench.engine import Part, Request
from nrbench.places import SIMULATE
from nrbench.plot import Plot
from nrbench.progress import say
from nrbench.render import Section
from nrbench.session import INTERRUPTED, results_of
from nrbench.stats import Results

POOLS = ("ws", "mutex-queue", "mutex-per-worker")  # that run on the simulated machine
NOT_DONE = 2  # exit status of ci/simulate; 1: some runs failed, the others are reported
POINT = "scale-point"


def plots(results: Results) -> Iterator[Plot]:
    points = []
    for point in results.only(bench=POINT).lines:
        several = f", {point['producers']} producers" if point["producers"] > 1 else ""
        unit = "ns an empty task" if point["workload"].startswith("empty") else "p50, µs"
        labels = {"panel": f"{point['workload'].removesuffix('.slots')}{several}: {unit}"}
        labels |= {"CPUs": point["cpus"], "machine": point["machine"]}
        whole = point.get("whole_us") if point["smt"] == 1 else None
        values = {point["pool"]: point.get("time"), "whole tasks": whole}
        points += [labels | {"pool": name, "value": us} for name, us in values.items() if us is not None]
    title = "Simulated: time against the number of CPUs, on machine files that are not calibrated"
    look: dict[str, Any] = {"hue": "machine", "style": "pool", "col": "panel", "col_wrap": 5}
    look |= {"facet_kws": {"sharey": False}, "markers": True, "errorbar": None}
    yield Plot("scale", title, points, "line", ("CPUs", "value"), look, "xy")


def simulate(words: Sequence[str], path: Path) -> subprocess.CompletedProcess[str]:
    """@param path  follows the words"""
    program = there(SIMULATE, "no such file; the part scale runs in this project's tree only")
    command = [str(program), "scale", *words, str(path.absolute())]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode >= NOT_DONE:
        raise BenchError(f"ci/simulate scale ended with exit status {done.returncode}")
    return done


class Scale(Part):
    """Its lines and tables are those of ci/simulate."""

    def measure(self, request: Request) -> int:
        """@return exit status: 1 if some runs of the simulation failed"""
        chosen = ",".join(pool for pool in request.backends if pool in POOLS)
        words = ["--quick"] if request.quick else []
        words += ["--pool", chosen] if chosen else []
        words += ["--runs", str(request.rounds)] if request.rounds else []
        words += ["--resume"] if request.goes_on else []
        with results_of(request.out, self.results):
            try:
                return simulate([*words, "--out"], request.out / self.results).returncode
            except KeyboardInterrupt:
                say("interrupted; the same command takes the rest")
                return INTERRUPTED

    def shown(self, out: Path) -> list[Section]:
        done = simulate(["--report"], out / self.results)
        part = Part(**{**vars(self), "report": lambda _: [done.stdout.rstrip("\n")]})
        return part.shown(out)


PART = Scale("scale", "1 to 128 simulated CPUs", report=lambda results: (), plots=plots)
