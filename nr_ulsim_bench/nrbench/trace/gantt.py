# SPDX-License-Identifier: BSD-3-Clause
"""A slot as a picture: a row for each thread, its tasks as bars, its sleep hatched, wakes as arrows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from nrbench.drawing import LEGEND_PLACE, plt, save
from nrbench.trace.scene import Bar, Row, Scene
from nrbench.trace.state import Phase
from nrbench.trace.summary import Kind, Names, pool_label

ROWS_MAX = 48
# Told apart by those who see few colours, too (Okabe and Ito).
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#5B4E9E")
OTHER, SLEEP, WAIT, WAKE = "#8A8A8A", "#C9C9C9", "#B9B9B9", "#B00020"
RISING = "#E3A5AC"
BAR, PHASE_BAR = 0.62, 0.5


def palette(kinds: Iterable[Kind]) -> dict[Kind, str]:
    """The colours of kinds of phases in all pictures, as far as they reach."""
    return dict(zip(kinds, COLORS))


class _Canvas:
    def __init__(self, scene: Scene, names: Names, palette: Mapping[Kind, str]) -> None:
        self.scene, self.names, self.palette = scene, names, palette
        self.rows = scene.shown_rows()[:ROWS_MAX]
        self.places = {row.tid: index for index, row in enumerate(self.rows)}
        self.end_us = self.us(scene.end_ns)
        self.begin_us = -0.02 * scene.window.duration_ns / 1e3
        self.colors: dict[str, str] = {}  # by what is said of them below the picture
        self.lanes = self._lanes()
        height = 1.7 + 0.42 * (len(self.rows) + len(self.lanes))
        self.figure, self.axis = plt.subplots(figsize=(14, height), layout="constrained")

    def us(self, time_ns: int) -> float:
        return (time_ns - self.scene.window.begin_ns) / 1e3

    def _lanes(self) -> list[list[Any]]:
        """Phases above the threads, in as few rows as they fit into."""
        lanes: list[list[Any]] = []
        for span in sorted(self.scene.phases, key=lambda span: span.begin_ns):
            if span.end_ns <= self.scene.window.begin_ns or span.begin_ns >= self.scene.end_ns:
                continue
            lane = next((lane for lane in lanes if lane[-1].end_ns <= span.begin_ns), None)
            if lane is None:
                lanes.append(lane := [])
            lane.append(span)
        return lanes

    def what(self, owner: Phase | None, func: int) -> str:
        if owner is not None and not owner.is_burst:
            return owner.name.replace("_", " ")
        return self.names.symbols.name(self.scene.window.pid, func) if func else "other task"

    def color(self, owner: Phase | None, func: int) -> str:
        """The colour of its kind. A task without a phase gets one that is not used yet."""
        what = self.what(owner, func)
        if what not in self.colors:
            taken = {*self.palette.values(), *self.colors.values()}
            left = next((color for color in COLORS if color not in taken), OTHER)
            kind = (owner.pid, (owner.pool, func)) if owner and owner.is_burst else owner and owner.kind
            self.colors[what] = self.palette.get(kind, left) if kind else left
        return self.colors[what]

    def box(self, begin_ns: int, end_ns: int, y: float, height: float, **style: Any) -> tuple[float, float]:
        """@return what of it is inside the picture, us"""
        left, right = max(self.us(begin_ns), self.begin_us), min(self.us(end_ns), self.end_us)
        if right > left:
            self.axis.add_patch(Rectangle((left, y - height / 2), right - left, height, **style))
        return left, right

    def label(self, left: float, right: float, y: float, size: float, *texts: str) -> None:
        """The first of the texts for which a box is wide enough."""
        room = (right - left) / (self.end_us - self.begin_us) * 14 * 72 * 0.85  # points
        text = next((text for text in texts if len(text) * size * 0.6 < room), None)
        if text is not None:
            place: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True}
            self.axis.text((left + right) / 2, y, text, fontsize=size, color="white", **place)

    def draw_phases(self) -> None:
        for index, lane in enumerate(self.lanes):
            y = -1 - index
            for span in lane:
                what = self.what(span.phase, span.phase.func)
                color = self.color(span.phase, span.phase.func)
                left, right = self.box(span.begin_ns, span.end_ns, y, PHASE_BAR, color=color, lw=0)
                duration = f"{(span.end_ns - span.begin_ns) / 1e3:.1f} µs"
                self.label(left, right, y, 8, f"{what}  {duration}", duration, duration.split(" ")[0])
                if span.phase.tid in self.places:
                    self._own_time(span)

    def _own_time(self, span: Any) -> None:
        """The phase's own thread, when it neither runs tasks nor waits, as a thin line in the phase's
        colour."""
        y = self.places[span.phase.tid]
        color = self.color(span.phase, span.phase.func)
        self.box(span.begin_ns, span.end_ns, y, 0.16, color=color, alpha=0.55, lw=0, zorder=1)

    def draw_row(self, row: Row, y: int) -> None:
        for span in row.parked:
            self.box(*span, y, BAR, facecolor="white", edgecolor=SLEEP, hatch="////", lw=0, zorder=1)
        for span in row.rising:
            self.box(*span, y, BAR, facecolor="#FBE9EB", edgecolor=RISING, hatch="////", lw=0, zorder=1.5)
        for wait in row.waits:
            height = 0.3 if wait.depth == 0 else bar_height(wait.depth) + 0.06
            style = {"facecolor": "#ECECEC", "edgecolor": WAIT, "lw": 0.5, "zorder": 2.95 + wait.depth * 0.1}
            self.box(wait.begin_ns, wait.end_ns, y, height, **style)
        nests = any(bar.depth for bar in row.bars)
        for bar in sorted(row.bars, key=lambda bar: bar.depth):
            if self.us(bar.end_ns) > self.begin_us and self.us(bar.begin_ns) < self.end_us:
                self.draw_bar(bar, y, not nests)
        pushes = [self.us(push) for push in row.pushes if self.begin_us <= self.us(push) <= self.end_us]
        self.axis.vlines(pushes, y - 0.46, y - 0.33, color="black", lw=0.6, zorder=5)

    def draw_bar(self, bar: Bar, y: int, has_label: bool) -> None:
        style = {"edgecolor": "white", "lw": 0.6, "zorder": 3 + bar.depth * 0.1}
        color = self.color(bar.owner, bar.func)
        left, right = self.box(bar.begin_ns, bar.end_ns, y, bar_height(bar.depth), facecolor=color, **style)
        if has_label:
            self.label(left, right, y, 6.5, f"{(bar.end_ns - bar.begin_ns) / 1e3:.1f}")

    def draw_arrows(self) -> None:
        style = {"arrowstyle": "-|>", "color": WAKE, "lw": 1.0, "alpha": 0.85, "shrinkA": 0, "shrinkB": 0}
        for sent, arrived in self.scene.arrows:
            x = self.us(arrived.time)
            if self.begin_us <= x <= self.end_us and {sent.tid, arrived.tid} <= self.places.keys():
                begin = (max(self.us(sent.time), self.begin_us), self.places[sent.tid])
                self.axis.annotate("", (x, self.places[arrived.tid]), begin, arrowprops=style, zorder=6)

    def row_name(self, row: Row) -> str:
        process = self.names.processes.get(self.scene.window.pid)
        if row.worker < 0 or process is None:
            return f"thread {row.tid}"
        return f"{pool_label(process, row.pool)} worker {row.worker}"

    def finish(self, title: str) -> None:
        axis: Axes = self.axis
        axis.set_xlim(self.begin_us, self.end_us)
        axis.set_ylim(len(self.rows) - 0.4, -len(self.lanes) - 0.6)
        axis.set_yticks(range(len(self.rows)), [self.row_name(row) for row in self.rows])
        axis.set_xlabel("µs from the start of the slot")
        axis.grid(axis="x", alpha=0.25)
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
        for edge_ns in (self.scene.window.begin_ns, self.scene.window.end_ns):
            axis.axvline(self.us(edge_ns), color="black", lw=0.8, ls=":", zorder=0)
        axis.set_title(title, fontsize=11, loc="left")
        handles: list[Any] = [Patch(color=color, label=what) for what, color in self.colors.items()]
        handles += [
            Patch(facecolor="white", edgecolor=SLEEP, hatch="////", label="asleep"),
            Patch(facecolor="#FBE9EB", edgecolor=RISING, hatch="////", label="woken, not running yet"),
            Patch(facecolor="#ECECEC", edgecolor=WAIT, label="waits, runs no task"),
            Line2D([], [], color=WAKE, lw=1, marker=">", markersize=4, label="wake"),
            Line2D([], [], color="black", lw=0, marker="|", markersize=6, label="push"),
        ]
        self.figure.legend(handles=handles, loc=LEGEND_PLACE, ncol=len(handles), fontsize=8, frameon=False)


def bar_height(depth: int) -> float:
    return max(BAR - 0.16 * depth, 0.14)


def draw(scene: Scene, names: Names, path: Path, palette: Mapping[Kind, str]) -> None:
    canvas = _Canvas(scene, names, palette)
    canvas.draw_phases()
    for y, row in enumerate(canvas.rows):
        canvas.draw_row(row, y)
    canvas.draw_arrows()
    name, process = scene.window.name, names.process(scene.window.pid)
    what = str(name) if name.frame < 0 else f"slot {name}"
    more = "; the rest is too much to draw" if scene.is_cut else ""
    hidden = len(scene.shown_rows()) - len(canvas.rows)
    more += f"; {hidden} more threads" if hidden else ""
    canvas.finish(f"{process} {what}, {scene.window.duration_ns / 1e3:.1f} µs{more}".strip())
    save(canvas.figure, path, dpi=130)
