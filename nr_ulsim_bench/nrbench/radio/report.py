# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, a picture of the capacities, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from nrbench.drawing import plt
from nrbench.host import is_busy
from nrbench.radio.capacity import capacity, limits_of
from nrbench.radio.record import NO_SPIN, RUNS, SIDES, RadioRun, read_runs
from nrbench.radio.tables import LIVES, by_cell, has_capacity, names_of, tables
from nrbench.record import ResultsError
from nrbench.render import Page, Section, console, data_uri, indented, parts, to_text, write_page
from nrbench.sweep.configuration import OAI_POOL, is_wrong
from nrbench.sweep.facts import host_differences, host_facts
from nrbench.sweep.plots import GREY, OURS, SVG, file_name, save_both

RULE = (
    f"{LIVES} The gNB and the UE share one machine, and the radio is shared memory: there are no radio unit "
    "and no driver. With a real radio the gNB has the machine to itself."
)
NOTES = (
    "Each round has every row once, in an order shuffled anew, so that changes on the machine hit all of "
    "them alike.",
    "In a search for the capacity the timescale of each run depends on the earlier runs of its row. The "
    "share of runs that live counts as a logistic curve of the logarithm of the timescale; the interval "
    "holds 95 % of the probability of its middle.",
)
Hosts = Sequence[tuple[str, list[RadioRun]]]  # by label


def by_host(runs: Sequence[RadioRun]) -> Hosts:
    found: dict[str, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[run.host.id].append(run)
    return [(of_host[-1].host.label, of_host) for of_host in found.values()]


def _mixtures(runs: Sequence[RadioRun]) -> Iterator[str]:
    """What should be one for all runs of a table, and is not; and what should not be at all."""
    changes = {text for run in runs for text in host_differences(runs[0].host, run.host)}
    yield from (f"{change}: changed between runs" for change in sorted(changes))
    for name in ("commit", "seconds"):
        values = dict.fromkeys(str(getattr(run, name)) for run in runs)
        if len(values) > 1:
            yield f"runs with different {name} taken together: {', '.join(values)}"
    load, cpus = runs[0].host.load, runs[0].host.cores_online
    if is_busy(load, cpus):
        yield f"the machine was busy when the runs began (load {load:.1f} on {cpus} CPUs)"
    wrong = {}
    for run in runs:
        for name, side in run.sides.items():
            pool, line = getattr(run, name), str(side.pool["line"]) if side.pool else None
            if side.steady and is_wrong(pool, line):
                wrong[name, pool] = f"(program {side.program}) has {line or OAI_POOL}"
    yield from (f"the {SIDES[name]} given as --{pool} {text}" for (name, pool), text in wrong.items())


def _draw(runs: Sequence[RadioRun], path: Path) -> Path:
    """Capacities with their intervals."""
    cells, limits = by_cell(runs), limits_of(runs)
    with plt.rc_context(SVG):
        canvas = plt.figure(figsize=(8.5, 0.8 + 0.55 * len(cells)), layout="constrained")
        axis = canvas.add_subplot()
        for row, (cell, of_cell) in enumerate(cells.items()):
            found = capacity(of_cell, limits)
            ends = [[0 if end is None else abs(end - found.value)] for end in (found.low, found.high)]
            colour = "#000000" if cell.spin == NO_SPIN else OURS[cell.spin == "off"]
            axis.barh(
                row, found.value, xerr=ends, color=colour, ecolor=GREY, alpha=0.75, height=0.6, capsize=4
            )
        axis.set_yticks(range(len(cells)), [*names_of([*cells]).values()])
        axis.invert_yaxis()
        axis.set_xlabel("capacity: timescale at which half of the runs live (1 is real time)")
        axis.spines[["top", "right"]].set_visible(False)
        return save_both(canvas, path)


def screen(hosts: Hosts, warnings: Sequence[str]) -> Iterator[RenderableType]:
    """All that is printed, in order."""
    for label, runs in hosts:
        yield Text(f"{label}\n", style="bold underline")
        for table in tables(runs):
            yield from parts(table)
    yield indented(RULE, "dim")
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)


def _facts(runs: Sequence[RadioRun]) -> Iterator[tuple[str, str]]:
    """How the runs were taken."""
    for name in ("version", "prb", "noise", "seconds", "commit", "began"):
        values = sorted({str(getattr(run, name)) for run in runs} - {"None"})
        yield name, ", ".join(values) if name != "began" else f"{values[0]} to {values[-1]}"
    yield (
        "pools",
        ", ".join(
            sorted({str(side.pool["line"]) for run in runs for side in run.sides.values() if side.pool})
        ),
    )


def _write(hosts: Hosts, warnings: Sequence[str], out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(to_text(screen(hosts, warnings)), encoding="utf-8")
    sections, names, facts = [], ["report.html", "report.txt"], list[tuple[str, Iterable[tuple[str, str]]]]()
    for label, runs in hosts:
        picture = ""
        if has_capacity(runs):
            stem = f"{file_name(label)}-{runs[0].host.id}-" if len(hosts) > 1 else ""
            png = _draw(runs, out / f"{stem}capacity.png")
            picture, names = data_uri(png), [*names, png.name, png.with_suffix(".svg").name]
        first, *others = tables(runs)
        sections.append(
            Section(first.title, [first], picture, "Bars: capacity, with its 95 % interval.", label)
        )
        sections += [Section(table.title, [table]) for table in others]
        facts.append((f"How it was measured: {label}", _facts(runs)))
        facts.append((f"Machine: {label}", host_facts(runs[-1].host)))
    page = Page(
        title="thread_pool_ws: gNB and UE in real time",
        lead="gNB and UE on vrtsim, OAI's radio in shared memory, whose sample clock does not wait.",
        sections=sections,
        rule=RULE,
        warnings=warnings,
        facts=facts,
        notes=NOTES,
    )
    write_page(out / "report.html", page)
    return names


def write_report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> list[str]:
    """Writes tables, picture and page; then prints the tables.

    @param warnings shown before those that the runs themselves give rise to
    @return names of the files written"""
    hosts = by_host(runs)
    warnings = [*warnings, *(f"{label}: {text}" for label, of in hosts for text in _mixtures(of))]
    try:
        names = _write(hosts, warnings, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(hosts, warnings):
        terminal.print(part)
    return names


def report_files(paths: Sequence[Path], out: Path) -> list[str]:
    """The same from several files, or folders of results, of one host or of many. A run that is in two of
    them counts once."""
    runs: list[RadioRun] = []
    for path in (path / RUNS if path.is_dir() else path for path in paths):
        found = read_runs(path)
        if not found:
            raise ResultsError(f"{path}: holds no runs")
        runs += [run for run in found if run not in runs]
    return write_report(runs, out)
