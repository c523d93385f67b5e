# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from nrbench.sweep import page, plots
from nrbench.sweep.cells import CaseResult, case_results
from nrbench.sweep.contents import case_tables
from nrbench.sweep.facts import mixtures, once, told_apart
from nrbench.sweep.frame import to_frame
from nrbench.sweep.headline import RULE, headlines, overview
from nrbench.sweep.record import ResultsError, Run, read_runs
from nrbench.sweep.show import console, indented, parts, to_csv, to_text
from nrbench.sweep.table import WIDTH, failures
from nrbench.sweep.verdicts import check_threshold


def screen(
    runs: Sequence[Run], results: Sequence[CaseResult], warnings: Sequence[str], width: int = WIDTH
) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    for result in results:
        title = f"{result.group.host.label}: {result.group.key.name}"
        yield Text(title, style="bold underline")
        yield Text()
        for table in case_tables(result, width):
            yield from parts(table)
    side_by_side = overview(results)
    for table in [*([side_by_side] if side_by_side else []), *failures(runs)]:
        yield from parts(table)
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


def write_report(
    runs: Sequence[Run], out: Path, said: Sequence[str] = (), threshold: float = 0.0
) -> list[str]:
    """Prints the tables and writes them, CSV, pictures and the page.

    @param said what the reader must know of where the runs come from
    @param threshold share by which a time must differ for a verdict
    @return names of the files written"""
    kept, _ = once(runs)
    if not kept:
        raise ResultsError("no runs: there is nothing to report")
    _folder(out)
    kept = told_apart(kept)
    results = case_results(kept, check_threshold(threshold))
    warnings = [*said, *mixtures(kept)]
    terminal = console()
    for part in screen(kept, results, warnings, terminal.width):
        terminal.print(part)
    (out / "report.txt").write_text(to_text(screen(kept, results, warnings)), encoding="utf-8")
    to_csv(results, out / "results.csv")
    to_frame(kept).to_csv(out / "runs.csv", index=False, float_format="%.6g")
    pictures = plots.draw_all(results, out)
    page.write(out / "report.html", kept, results, pictures, warnings)
    drawn = [name for path in pictures.values() for name in (path.name, path.with_suffix(".svg").name)]
    return ["report.html", "report.txt", "results.csv", "runs.csv", *drawn]


def report_files(paths: Sequence[Path], out: Path, threshold: float = 0.0) -> list[str]:
    """The same from several files, of one host or of many. A run that is in two of them counts once."""
    runs: list[Run] = []
    said: list[str] = []
    for path in paths:
        found, _ = once(read_runs(path))
        if not found:
            raise ResultsError(f"{path}: holds no runs")
        merged, again = once([*runs, *found])
        if again:
            said.append(f"{path.name}: {again} of its runs are in an earlier file, too; its own count")
        runs = merged
    return write_report(runs, out, said, threshold)
