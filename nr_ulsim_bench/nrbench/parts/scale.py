# SPDX-License-Identifier: BSD-3-Clause
"""Time against the number of CPUs, on simulated machines: the figures and tables of ci/simulate scale, and a
page with a panel for each workload."""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from nrbench.backends import OWN
from nrbench.driver import BenchError, there
from nrbench.engine import Part, Request
from nrbench.places import SIMULATE
from nrbench.stats import Line, Results, read_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POOLS = ("ws", "mutex-queue", "mutex-per-worker")  # that run on the simulated machine
NOT_DONE = 2  # exit status of ci/simulate; 1: some runs failed, the others are reported
POINT = "scale-point"
COLUMNS = 5
STYLES = {OWN: "-", "mutex-per-worker": "--", "mutex-queue": ":"}
WHOLE = "whole tasks"
UNITS = {
    "cpu_per_work": "CPU time / work",
    "start_lag_us": "start lag, us",
    "steals_lost": "lost steals a slot",
}


@dataclass(frozen=True)
class Panel:
    """A figure of a workload."""

    workload: str
    producers: int
    figure: str = "time"
    own_only: bool = False
    limit: float | None = None

    @property
    def title(self) -> str:
        several = f", {self.producers} producers" if self.producers > 1 else ""
        return f"{self.workload.removesuffix('.slots')}{several} (simulated)"

    @property
    def unit(self) -> str:
        return UNITS.get(self.figure) or ("ns an empty task" if self.workload[:5] == "empty" else "p50, us")


MORE = (
    Panel("22x28", 1, "cpu_per_work", True, 2.0),
    Panel("22x28", 1, "start_lag_us"),
    Panel("100x28", 1, "steals_lost", True),
)


def _draw_line(axis: Axes, line: Sequence[Line], panel: Panel, color: Any) -> None:
    pool, figure = line[0]["pool"], panel.figure
    xs, ys = [point["cpus"] for point in line], [point[figure] for point in line]
    look = {"color": color, "linewidth": 1.8 if pool == OWN else 1.0}
    axis.plot(xs, ys, STYLES[pool], label=f"{pool}, {line[0]['machine']}", **look)
    for point in line if pool == OWN else ():
        face = color if point["smt"] == 1 else "white"
        axis.plot(point["cpus"], point[figure], "o", color=color, markerfacecolor=face, markersize=3.5)


def _draw_whole(axis: Axes, points: Sequence[Line]) -> None:
    whole = {p["cpus"]: p["whole_us"] for p in points if p["whole_us"] is not None and p["smt"] == 1}
    if whole:
        axis.plot(*zip(*sorted(whole.items())), color="black", linewidth=0.9, zorder=1, label=WHOLE)


def _finish(axis: Axes, panel: Panel, counts: set[int]) -> None:
    from matplotlib.ticker import LogLocator

    from nrbench.drawing import plain_numbers

    axis.set_xscale("log", base=2)
    ticks = sorted(count for count in counts if count & (count - 1) == 0)
    axis.set_xticks(ticks, [str(count) for count in ticks])
    if panel.figure == "time":
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain_numbers(axis.yaxis)
    axis.grid(alpha=0.3, which="both")
    axis.set_title(panel.title, fontsize=9)
    axis.set_ylabel(panel.unit, fontsize=8)
    axis.tick_params(labelsize=7)
    if panel.limit is not None:
        axis.axhline(panel.limit, color="black", linewidth=0.8, linestyle="-.")


def _draw_panel(axis: Axes, points: Sequence[Line], panel: Panel, machines: Sequence[str]) -> None:
    here = [
        point
        for point in points
        if (point["workload"], point["producers"]) == (panel.workload, panel.producers)
        and (point["pool"] == OWN or not panel.own_only)
    ]
    for index, machine in enumerate(machines):
        for pool in STYLES:
            line = [p for p in here if (p["machine"], p["pool"]) == (machine, pool) and panel.figure in p]
            if line:
                _draw_line(axis, line, panel, f"C{index}")
    if panel.figure == "time":
        _draw_whole(axis, here)
    _finish(axis, panel, {point["cpus"] for point in points})


def figure_of(points: Sequence[Line]) -> Any:
    from nrbench.drawing import legend, plt  # loads for a second

    shown = list(dict.fromkeys(Panel(point["workload"], point["producers"]) for point in points))
    there = {panel.workload for panel in shown}
    shown += [panel for panel in MORE if panel.workload in there]
    machines = list(dict.fromkeys(point["machine"] for point in points))
    rows = math.ceil(len(shown) / COLUMNS)
    size = (3.6 * COLUMNS, 2.7 * rows + 1)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=size, squeeze=False, layout="constrained")
    for axis, panel in zip(axes.flat, shown):
        _draw_panel(axis, points, panel, machines)
    for axis in list(axes.flat)[len(shown) :]:
        axis.axis("off")
    figure.suptitle(
        "Simulated: time against the number of CPUs, on machine files that are not calibrated"
        " (hollow points: two CPUs a core)",
        fontsize=12,
    )
    legend(figure, 5)
    return figure


def draw(results: Results, out: Path) -> Iterator[str]:
    from nrbench.drawing import save  # loads for a second

    if points := results.only(bench=POINT).lines:
        yield save(figure_of(points), out / "scale.png", dpi=80)


class Scale(Part):
    """Its lines and tables are those of ci/simulate."""

    def run(self, request: Request) -> int:
        """@return exit status: 1 if some runs of the simulation failed"""
        chosen = ",".join(pool for pool in request.backends if pool in POOLS)
        words = ["--quick"] if request.quick else []
        words += ["--pool", chosen] if chosen else []
        words += ["--runs", str(request.rounds)] if request.rounds else []
        request.out.mkdir(parents=True, exist_ok=True)
        return self._simulate([*words, "--out"], request.out)

    def report_again(self, out: Path) -> None:
        self._simulate(["--report"], out)

    def _simulate(self, words: Sequence[str], out: Path) -> int:
        program = there(SIMULATE, "no such file; the part scale runs in this project's tree only")
        path = out / self.results
        done = subprocess.run(
            [str(program), "scale", *words, str(path.absolute())], stdout=subprocess.PIPE, text=True
        )
        if done.returncode >= NOT_DONE:
            raise BenchError(f"ci/simulate scale ended with exit status {done.returncode}")
        replace(self, report=lambda results: done.stdout.splitlines()).report_lines(read_lines(path), out)
        return done.returncode


PART = Scale("scale", report=lambda results: (), draw=draw)
