# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures and a page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from nrbench.sweep import page, plots
from nrbench.sweep.cells import CaseResult, case_results
from nrbench.sweep.contents import REST, case_tables, is_long, short_tables
from nrbench.sweep.facts import labelled, mixtures
from nrbench.sweep.frame import to_frame
from nrbench.sweep.headline import RULE, headlines, overview
from nrbench.sweep.pools import wrong_pools
from nrbench.sweep.record import ResultsError, Run, read_runs
from nrbench.sweep.rounds import Merged, Source, merged, results_file
from nrbench.sweep.show import console, indented, parts, to_csv, to_text
from nrbench.sweep.table import WIDTH, Table, failures
from nrbench.sweep.verdicts import check_threshold


def screen(
    runs: Sequence[Run],
    results: Sequence[CaseResult],
    warnings: Sequence[str],
    width: int = WIDTH,
    tables: Callable[[CaseResult, int], Iterator[Table]] = case_tables,
) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    for result in results:
        title = f"{result.group.host.label}: {result.group.key.name}"
        yield Text(title, style="bold underline")
        yield Text()
        for table in tables(result, width):
            yield from parts(table, width)
        if tables is short_tables and is_long(result):
            yield indented(REST, "dim")
            yield Text()
    side_by_side = overview(results)
    for table in [*([side_by_side] if side_by_side else []), *failures(runs)]:
        yield from parts(table, width)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)
    yield Text("Summary", style="bold")
    for result in results:
        for line in headlines(result):
            yield indented(f"{result.group.host.label}, {line.case}: {line.sentence}")
    yield indented(RULE, "dim")


def _folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{out}: {error.strerror}") from error


def _write(merge: Merged, results: Sequence[CaseResult], warnings: Sequence[str], out: Path) -> list[str]:
    runs = merge.runs
    (out / "report.txt").write_text(to_text(screen(runs, results, warnings)), encoding="utf-8")
    to_csv(results, out / "results.csv")
    to_frame(runs).to_csv(out / "runs.csv", index=False, float_format="%.6g")
    pictures = plots.draw_all(results, out)
    page.write(out / "report.html", merge, results, pictures, warnings)
    drawn = [name for path in pictures.values() for name in (path.name, path.with_suffix(".svg").name)]
    return ["report.html", "report.txt", "results.csv", "runs.csv", *drawn]


def _said(merge: Merged) -> Iterator[str]:
    """Of lines that are in no table."""
    for name, count in merge.repeated.items():
        yield f"{name + ': ' if name else ''}{count} of its runs are there twice and count once"
    causes = Counter(f"{run.host.label}, {run.variant}, {run.status}" for run in merge.replaced)
    if causes:
        told = ", ".join(f"{cause} ×{count}" for cause, count in causes.items())
        yield f"{causes.total()} failed runs were taken again, so that they count no more: {told}"


def _report(sources: Sequence[Source], out: Path, threshold: float) -> list[str]:
    """The files first: a terminal that goes away must not cost them."""
    merge = merged(sources)
    if not merge.runs:
        raise ResultsError("no runs: there is nothing to report")
    _folder(out)
    merge = merge._replace(runs=labelled(merge.runs))
    results = case_results(merge.runs, check_threshold(threshold))
    warnings = [*wrong_pools(merge.runs), *_said(merge), *mixtures(merge.runs)]
    try:
        names = _write(merge, results, warnings, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(merge.runs, results, warnings, terminal.width, short_tables):
        terminal.print(part)
    return names


def write_report(runs: Sequence[Run], out: Path, threshold: float = 0.0) -> list[str]:
    """Writes tables, CSV, pictures and the page; then prints the tables.

    @param threshold share by which a time must differ for a verdict
    @return names of the files written"""
    return _report([("", runs)], out, threshold)


def report_files(paths: Sequence[Path], out: Path, threshold: float = 0.0) -> list[str]:
    """The same from several files, or folders of results, of one host or of many."""
    sources: list[Source] = []
    for path in map(results_file, paths):
        runs = read_runs(path)
        if not runs:
            raise ResultsError(f"{path}: holds no runs")
        sources.append((str(path), runs))
    return _report(sources, out, threshold)
