# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures and a page."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.text import Text

from nrbench.host import is_busy
from nrbench.sweep import page, plots
from nrbench.sweep.cells import CaseResult, case_results
from nrbench.sweep.facts import labelled, mixtures
from nrbench.sweep.frame import CPU, OF_CONFIGURATION, WALL, to_frame
from nrbench.sweep.headline import RULE, headlines
from nrbench.sweep.pools import wrong_pools
from nrbench.sweep.record import ResultsError, Run, read_runs
from nrbench.sweep.rounds import Merged, Source, merged, results_file
from nrbench.sweep.show import WIDTH, console, indented, parts, to_text
from nrbench.sweep.spins import MANY, case_tables
from nrbench.sweep.table import failures
from nrbench.sweep.verdicts import check_threshold

REST = f"With more than {MANY} variants the other figures are in report.txt and report.html only."


def screen(
    runs: Sequence[Run],
    results: Sequence[CaseResult],
    warnings: Sequence[str],
    width: int = WIDTH,
    short: bool = False,
) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    for result in results:
        yield Text(f"{result.group.host.label}: {result.group.key.name}\n", style="bold underline")
        for table in case_tables(result, width, short):
            yield from parts(table)
        if short and len(result.group.variants) > MANY:
            yield indented(REST + "\n", "dim")
    for table in failures(runs):
        yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)
    yield Text("Summary", style="bold")
    for result in results:
        for line in headlines(result):
            yield indented(f"{result.group.host.label}, {line.case}: {line.sentence}")
    yield indented(RULE, "dim")


def csv_rows(result: CaseResult) -> Iterator[dict[str, Any]]:
    """One a figure, variant and number of threads; of all figures, not only those of the tables."""
    group, key = result.group, result.group.key
    for (threads, variant, column), cell in result.cells.items():
        ratio = cell.ratio
        low, high = cell.interval or (None, None)
        ratio_low, ratio_high = (ratio and ratio.interval) or (None, None)
        yield {
            "host": key.host, "host_label": group.host.label, "kind": key.kind, "scenario": key.scenario,
            "case": key.case, "configuration": key.configuration.removeprefix(", "),
            **{name: group.frame[name].iloc[0] for name in OF_CONFIGURATION},
            "began": group.frame["began"].min(), "figure": column,
            "unit": "s" if column in (CPU, WALL) else "us", "threads": threads, "cores": group.cores(threads),
            "variant": variant, "baseline": group.baseline, "runs": cell.count, "failed": len(cell.causes),
            "median": cell.median, "half_iqr": cell.half_iqr, "low": low, "high": high,
            "derived": int(cell.derived), "ratio": ratio and ratio.value, "ratio_low": ratio_low,
            "ratio_high": ratio_high, "ratio_repeats": ratio and ratio.repeats,
            "paired": ratio and int(ratio.paired), "verdict": ratio and str(ratio.verdict),
            "bound": cell.bound, "over_bound": cell.over_bound,
            "parallel_bound": cell.parallel_bound, "over_parallel_bound": cell.over_parallel_bound,
        }  # fmt: skip


def to_csv(results: Sequence[CaseResult], path: Path) -> None:
    rows = [row for result in results for row in csv_rows(result)]
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


def _write(merge: Merged, results: Sequence[CaseResult], warnings: Sequence[str], out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(to_text(screen(merge.runs, results, warnings)), encoding="utf-8")
    to_csv(results, out / "results.csv")
    to_frame(merge.runs).to_csv(out / "runs.csv", index=False, float_format="%.6g")
    pictures = plots.draw_all(results, out)
    page.write(out / "report.html", merge, results, pictures, warnings)
    drawn = [name for path in pictures.values() for name in (path.name, path.with_suffix(".svg").name)]
    return ["report.html", "report.txt", "results.csv", "runs.csv", *drawn]


def _merge_notes(merge: Merged) -> Iterator[str]:
    """Of lines that are in no table."""
    for name, count in merge.repeated.items():
        yield f"{name + ': ' if name else ''}{count} of its runs are there twice and count once"
    causes = Counter(f"{run.host.label}, {run.variant}, {run.status}" for run in merge.replaced)
    if causes:
        failed = ", ".join(f"{cause} ×{count}" for cause, count in causes.items())
        yield f"{causes.total()} failed runs were taken again and no longer count: {failed}"


def _busy(runs: Iterable[Run]) -> Iterator[str]:
    for label, load, cpus in sorted({(run.host.label, run.host.load, run.host.cores_online) for run in runs}):
        if is_busy(load, cpus):
            yield (
                f"{label}: the machine was busy when the sweep began (load {load:.1f} on {cpus} CPUs)."
                " Repeat the sweep on an idle machine; nrbench doctor shows whether it is one"
            )


def _report(
    sources: Sequence[Source], out: Path, threshold: float, warnings: Sequence[str] = ()
) -> list[str]:
    """The files first: a terminal that goes away must not cost them."""
    merge = merged(sources)
    if not merge.runs:
        raise ResultsError("no runs: there is nothing to report")
    merge = merge._replace(runs=labelled(merge.runs))
    results = case_results(merge.runs, check_threshold(threshold))
    found = (wrong_pools(merge.runs), _busy(merge.runs), _merge_notes(merge), mixtures(merge.runs))
    warnings = [*warnings, *chain.from_iterable(found)]
    try:
        names = _write(merge, results, warnings, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(merge.runs, results, warnings, terminal.width, short=True):
        terminal.print(part)
    return names


def write_report(
    runs: Sequence[Run], out: Path, threshold: float = 0.0, warnings: Sequence[str] = ()
) -> list[str]:
    """Writes tables, CSV, pictures and the page; then prints the tables.

    @param threshold share by which a time must differ for a verdict
    @param warnings shown before those that the runs themselves give rise to
    @return names of the files written"""
    return _report([("", runs)], out, threshold, warnings)


def report_files(paths: Sequence[Path], out: Path, threshold: float = 0.0) -> list[str]:
    """The same from several files, or folders of results, of one host or of many."""
    sources: list[Source] = [(str(path), read_runs(path)) for path in map(results_file, paths)]
    for name, runs in sources:
        if not runs:
            raise ResultsError(f"{name}: holds no runs")
    return _report(sources, out, threshold)
