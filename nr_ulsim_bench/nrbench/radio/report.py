# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from rich.console import RenderableType
from rich.text import Text

from nrbench.host import is_busy
from nrbench.judge import FASTER, SLOWER
from nrbench.radio import plots, tables
from nrbench.radio.capacity import capacity
from nrbench.radio.plan import counted, trials
from nrbench.radio.record import RUNS, SIDES, RadioRun, read_runs
from nrbench.record import Host, ResultsError
from nrbench.render import Line, Page, Section, console, data_uri, indented, parts, to_text, write_page
from nrbench.sweep.configuration import OAI_POOL, is_wrong
from nrbench.sweep.facts import host_differences, host_facts
from nrbench.sweep.plots import file_name

SAME_MACHINE = (
    "The gNB and the UE share one machine, and the radio is shared memory: there are no radio unit and no "
    "driver. With a real radio the gNB has the machine to itself."
)
RULE = f"{tables.LIVES} {SAME_MACHINE}"
LEAD = "gNB and UE on vrtsim, OAI's radio in shared memory, whose sample clock does not wait."
BARS = "Bars: capacity, with its 95 % interval. White mark: the timescale up to which every run lived."
CURVES = (
    "Share of the slots with at most so much time between the write of their samples and their use. Lower is "
    "better: fewer slots have little time left."
)
NOTES = (
    "Each round has every row once, in an order shuffled anew, so that changes on the machine hit all of "
    "them alike.",
    "In a search for the capacity the timescale of each run depends on the earlier runs of its row. The "
    "share of runs that live counts as a logistic curve of the logarithm of the timescale; the interval "
    "holds 95 % of the probability of its middle.",
    "Intervals of medians: 95 %, from 5000 resamples, with a correction for few values.",
)


class OfHost(NamedTuple):
    host: Host
    runs: list[RadioRun]


def by_host(runs: Iterable[RadioRun]) -> list[OfHost]:
    """The host is that of its last run, whose label counts."""
    found: dict[str, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[run.host.id].append(run)
    return [OfHost(of_host[-1].host, of_host) for of_host in found.values()]


def _mixtures(runs: Sequence[RadioRun]) -> Iterator[str]:
    """What should be one for all runs of a table, and is not."""
    changes = {text for run in runs for text in host_differences(runs[0].host, run.host)}
    yield from (f"{change}: changed between runs" for change in sorted(changes))
    for name in ("commit", "seconds"):
        values = dict.fromkeys(str(getattr(run, name)) for run in runs)
        if len(values) > 1:
            yield f"runs with different {name} taken together: {', '.join(values)}"
    load, cpus = runs[0].host.load, runs[0].host.cores_online
    if is_busy(load, cpus):
        yield f"the machine was busy when the runs began (load {load:.1f} on {cpus} CPUs)"


def _wrong_pools(runs: Sequence[RadioRun]) -> Iterator[str]:
    """Sides that had the other pool than the runs say."""
    found: dict[str, None] = {}
    for run in runs:
        for name, side in run.sides.items():
            pool = getattr(run, name)
            line = str(side.pool.get("line")) if side.pool else None
            if side.radio and is_wrong(pool, line):
                found[
                    f"the {SIDES[name]} given as --{pool} (program {side.program}) has {line or OAI_POOL}"
                ] = None
    yield from found


def warnings_of(hosts: Sequence[OfHost]) -> list[str]:
    return [
        f"{one.host.label}: {text}"
        for one in hosts
        for text in (*_wrong_pools(one.runs), *_mixtures(one.runs))
    ]


def _late_headlines(label: str, runs: Sequence[RadioRun]) -> Iterator[Line]:
    every = tables.places(runs)
    cells = list(dict.fromkeys(place.cell for place in every))
    for place in every:
        name = tables.name_of(place.cell, cells)
        late = [
            f"{title} {tx.value * 1e6:.0f}"
            for side, title in SIDES.items()
            if (tx := tables.tx_late(place, side))
        ]
        if late:
            text = f"{name} at timescale {place.timescale:g}: late slots of a million: {', '.join(late)}"
            yield Line(label, text)


def headlines(label: str, runs: Sequence[RadioRun]) -> Iterator[Line]:
    """How much more each cell carries than OAI's pool, or what it carries. At one timescale, late slots."""
    runs = counted(runs)
    if not tables.has_capacity(runs):
        yield from _late_headlines(label, runs)
        return
    cells, of_all = tables.by_cell(runs), tables.limits(runs)
    for cell in cells:
        bounded = tables.against(cells, cell, tables.old_of(cell, cells), of_all)
        own = capacity(trials(cells[cell]), of_all)
        text = f"{tables.name_of(cell, cells)} carries the cell up to a timescale of {own}"
        if bounded:
            text += f", {bounded} times that of OAI's pool"
        word = ""
        if bounded and (bounded.low or 0) > 1:
            word = FASTER
        elif bounded and bounded.high is not None and bounded.high < 1:
            word = SLOWER
        yield Line(label, text, word)


def screen(hosts: Sequence[OfHost], warnings: Sequence[str]) -> Iterator[RenderableType]:
    """All that is printed, in order. The summary stands where the eye ends."""
    for host, runs in hosts:
        yield Text(f"{host.label}\n", style="bold underline")
        for table in (*tables.tables(runs), *tables.failures(runs)):
            yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)
    yield Text("Summary", style="bold")
    for host, runs in hosts:
        yield from (indented(f"{line.of}: {line.sentence}") for line in headlines(host.label, runs))
    yield indented(RULE, "dim")


def measured(runs: Sequence[RadioRun]) -> dict[str, str]:
    """How the runs were taken."""

    def each(values: Iterable[Any]) -> str:
        return ", ".join(str(value) for value in dict.fromkeys(values) if value not in (None, ""))

    began = sorted(run.began for run in runs)
    programs = {
        f"{name} {getattr(run, name)}, program {side.program}"
        for run in runs
        for name, side in run.sides.items()
    }
    pools = [side.pool.get("line") for run in runs for side in run.sides.values() if side.pool]
    found = {
        "runs": f"{len(runs)}, {sum(run.outcome == 'ok' for run in runs)} of them to their end",
        "OAI": each(run.version for run in runs),
        "carrier": each(f"{run.prb} PRB" for run in runs),
        "steady stretch": each(f"{run.seconds:g} s" for run in runs),
        "placement": each(run.placement for run in runs),
        "beside": each(run.noise for run in runs),
        "first and last run began": f"{began[0]} and {began[-1]}",
        "version of the tool": each(run.commit for run in runs),
        "programs": each(sorted(programs)),
        "pool": each(pools),
    }
    return {name: text for name, text in found.items() if text}


def _sections(one: OfHost, pictures: Mapping[str, Path]) -> Iterator[Section]:
    """Each picture stands by the table that it is of."""
    notes = {"Capacity": ("capacity", BARS), "Budget": ("budget", CURVES)}
    for at, table in enumerate((*tables.tables(one.runs), *tables.failures(one.runs))):
        name, note = notes.get(table.title.split()[0], ("", ""))
        picture = data_uri(pictures[name]) if name in pictures else ""
        yield Section(table.title, [table], picture, note, "" if at else one.host.label)


def _write(hosts: Sequence[OfHost], warnings: Sequence[str], out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(to_text(screen(hosts, warnings)), encoding="utf-8")
    sections, drawn = list[Section](), list[Path]()
    for one in hosts:
        stem = f"{file_name(one.host.label)}-{one.host.id}-" if len(hosts) > 1 else ""
        pictures = plots.draw_all(one.runs, out, stem)
        sections += _sections(one, pictures)
        drawn += [path for png in pictures.values() for path in (png, png.with_suffix(".svg"))]
    facts = [(f"How it was measured: {one.host.label}", measured(one.runs).items()) for one in hosts]
    facts += [(f"Machine: {one.host.label}", dict(host_facts(one.host)).items()) for one in hosts]
    page = Page(
        title="thread_pool_ws: gNB and UE in real time",
        lead=LEAD,
        sections=sections,
        summary=[line for one in hosts for line in headlines(one.host.label, one.runs)],
        rule=RULE,
        warnings=warnings,
        facts=facts,
        notes=NOTES,
    )
    write_page(out / "report.html", page)
    return ["report.html", "report.txt", *(path.name for path in drawn)]


def write_report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> list[str]:
    """Writes tables, pictures and the page; then prints the tables.

    @param warnings shown before those that the runs themselves give rise to
    @return names of the files written"""
    hosts = by_host(runs)
    warnings = [*warnings, *warnings_of(hosts)]
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
