# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from rich.console import RenderableType
from rich.text import Text

from nrbench.host import is_busy
from nrbench.radio import plots
from nrbench.radio.figures import SIDES
from nrbench.radio.headlines import headlines
from nrbench.radio.record import RUNS, RadioRun, read_runs
from nrbench.radio.tables import LIVES, failures, tables
from nrbench.record import Host, ResultsError
from nrbench.render import console, data_uri, indented, parts, to_text, write_page
from nrbench.sweep.configuration import OAI_POOL, is_wrong
from nrbench.sweep.facts import host_differences, host_facts
from nrbench.sweep.plots import file_name

SAME_MACHINE = (
    "The gNB and the UE share one machine, and the radio is shared memory: there are no radio unit and no "
    "driver. With a real radio the gNB has the machine to itself."
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


def screen(hosts: Sequence[OfHost], warnings: Sequence[str]) -> Iterator[RenderableType]:
    """All that is printed, in order. The summary stands where the eye ends."""
    for host, runs in hosts:
        yield Text(f"{host.label}\n", style="bold underline")
        for table in (*tables(runs), *failures(runs)):
            yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)
    yield Text("Summary", style="bold")
    for host, runs in hosts:
        for line in headlines(runs):
            yield indented(f"{host.label}: {line.sentence}")
    yield indented(f"{LIVES} {SAME_MACHINE}", "dim")


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


def _parts(hosts: Sequence[OfHost], out: Path) -> Iterator[tuple[dict[str, Any], list[Path]]]:
    """What the page shows of each host, and the files of its pictures."""
    for host, runs in hosts:
        pictures = plots.draw_all(runs, out, f"{file_name(host.label)}-{host.id}-" if len(hosts) > 1 else "")
        yield (
            {
                "label": host.label,
                "headlines": list(headlines(runs)),
                "tables": list(tables(runs)),
                "pictures": {name: data_uri(path) for name, path in pictures.items()},
                "failures": failures(runs),
                "facts": host_facts(host),
                "measured": measured(runs),
            },
            list(pictures.values()),
        )


def _write(hosts: Sequence[OfHost], warnings: Sequence[str], out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(to_text(screen(hosts, warnings)), encoding="utf-8")
    shown = list(_parts(hosts, out))
    write_page(
        out / "report.html",
        Path(__file__).parent,
        hosts=[page for page, _ in shown],
        warnings=warnings,
        rule=f"{LIVES} {SAME_MACHINE}",
        is_good=lambda word: None,
    )
    drawn = [path for _, paths in shown for png in paths for path in (png, png.with_suffix(".svg"))]
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
