# SPDX-License-Identifier: BSD-3-Clause
"""Hosts side by side as a picture: the ratio of each, and of each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from nrbench.drawing import legend, plain_numbers, plt
from nrbench.sweep.cells import CaseResult, Ratio
from nrbench.sweep.classes import ALL, HostsResult
from nrbench.sweep.classes_table import threads_text
from nrbench.sweep.figures import Figure
from nrbench.sweep.plots import GREY, OTHERS, Style, draw_each, styles

PANELS_MAX = 6
LABEL_MAX = 40


class Line(NamedTuple):
    """A host, or a class."""

    label: str
    of: str  # the class
    result: CaseResult | None  # None: the class


def lines(hosts: HostsResult) -> list[Line]:
    """Each class behind its hosts; one of a single host has no line of its own."""
    found = []
    for name, members in hosts.classes.items():
        found += [Line(f"{name}  {one.group.host.label}"[:LABEL_MAX], name, one) for one in members]
        found += [Line(f"{name}  pooled", name, None)] if len(members) > 1 else []
    return [*found, *([Line("all classes", ALL, None)] if len(hosts.classes) > 1 else [])]


def _ratio(hosts: HostsResult, line: Line, row: tuple[int, str], column: str) -> Ratio | None:
    if line.result is None:
        pooled = hosts.pooled(line.of, row, column)
        return pooled.ratio if pooled else None
    cell = line.result.get(*row, column)
    return cell.ratio if cell else None


def _styles(hosts: HostsResult) -> dict[str, Style]:
    found: dict[str, Style] = {}
    for result in hosts.results:
        found = styles(result.group) | found
    return found


def _draw_panel(axis: Axes, hosts: HostsResult, figure: Figure, threads: int) -> None:
    every, look = lines(hosts), _styles(hosts)
    variants = [variant for t, variant in hosts.rows if t == threads and variant != hosts.baseline]
    for index, variant in enumerate(variants):
        shift = 0.6 * ((index + 0.5) / len(variants) - 0.5)
        for place, line in enumerate(every):
            ratio = _ratio(hosts, line, (threads, variant), figure.key)
            if ratio is None:
                continue
            interval = ratio.interval
            spread = [[ratio.value - interval.low], [interval.high - ratio.value]] if interval else None
            marker: Any = {"fmt": look[variant].marker, "ms": 4} if line.result else {"fmt": "D", "ms": 7}
            color = look.get(variant, Style(OTHERS[0], "-", "o")).color
            axis.errorbar(
                ratio.value, place + shift, xerr=spread, color=color, lw=1.2, label=variant, **marker
            )
    axis.axvline(1, color=GREY, lw=1, ls=":")
    axis.set_yticks(range(len(every)), [line.label for line in every], fontsize=8)
    axis.set_ylim(len(every) - 0.5, -0.5)
    axis.set_title(threads_text(threads), fontsize=10, loc="left")
    axis.set_xlabel(f"÷ {hosts.baseline}")
    plain_numbers(axis.xaxis)
    axis.grid(axis="x", alpha=0.25)


def hosts_figure(hosts: HostsResult) -> Canvas | None:
    """None: there is nothing to compare."""
    if hosts.main is None or hosts.baseline is None:
        return None
    threads = list(dict.fromkeys(t for t, variant in hosts.rows if variant != hosts.baseline))[-PANELS_MAX:]
    if not threads:
        return None
    height = max(2.5, 0.28 * len(lines(hosts)) + 1.6)
    canvas = plt.figure(figsize=(3.0 + 2.6 * len(threads), height), layout="constrained")
    axes = canvas.subplots(1, len(threads), sharey=True, squeeze=False)[0]
    for axis, count in zip(axes, threads):
        _draw_panel(axis, hosts, hosts.main, count)
    legend(canvas, 6, fontsize=9)
    canvas.suptitle(f"{hosts.name}: {hosts.main.title}, hosts side by side", fontsize=11)
    return canvas


def draw_all(several: Sequence[HostsResult], out: Path) -> dict[int, Path]:
    """Of every case; as plots.draw_each()."""
    return draw_each(several, hosts_figure, lambda hosts: f"hosts {hosts.name}", out)
