# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby, product
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.text import Text

from nrbench.host import is_busy
from nrbench.html import data_uri, write_page
from nrbench.sweep import classes_plot, plots
from nrbench.sweep.bootstrap import check_threshold
from nrbench.sweep.cells import CaseResult, case_results
from nrbench.sweep.classes import HostsResult, hosts_results
from nrbench.sweep.classes_table import class_headlines, class_table, hosts_tables
from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.facts import build_text, host_facts, labelled, mixtures, torn_rounds
from nrbench.sweep.frame import (
    CPU,
    OF_CONFIGURATION,
    WALL,
    Merged,
    Source,
    keys_of,
    merged,
    results_file,
    to_frame,
)
from nrbench.sweep.record import ResultsError, Run, read_runs
from nrbench.sweep.show import WIDTH, console, indented, parts, to_text
from nrbench.sweep.table import MANY, RULE, case_tables, failures, headlines
from nrbench.tables import Table, is_good, plain_columns

REST = f"With more than {MANY} variants the other figures are in report.txt and report.html only."
HOSTS = "Hosts side by side"
CLASSES = "classes.csv"
MANY_HOSTS = 6  # above which a terminal gets them side by side only
REST_OF_HOSTS = (
    f"With more than {MANY_HOSTS} hosts the tables of each host are in report.txt and report.html only."
)
WIDTH_HTML = 140
KINDS = {"nr_ulsim": "whole runs of nr_ulsim", "replay": "recorded slots of nr_ulsim on each pool"}


def _hosts_screen(several: Sequence[HostsResult], width: int, short: bool) -> Iterator[RenderableType]:
    """Of several hosts: side by side, and pooled by class."""
    if several:
        yield Text(f"{HOSTS}\n", style="bold underline")
        yield from parts(class_table(several))
    for hosts in several:
        yield Text(f"{hosts.name}\n", style="bold")
        for table in hosts_tables(hosts, width, short):
            yield from parts(table)


def screen(
    runs: Sequence[Run],
    results: Sequence[CaseResult],
    warnings: Sequence[str],
    width: int = WIDTH,
    short: bool = False,
    several: Sequence[HostsResult] = (),
) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    many = len({result.group.host.id for result in results}) > MANY_HOSTS
    for result in [] if short and many else results:
        yield Text(f"{result.group.host.label}: {result.group.key.name}\n", style="bold underline")
        for table in case_tables(result, width, short):
            yield from parts(table)
        if short and len(result.group.variants) > MANY:
            yield indented(REST + "\n", "dim")
    yield from _hosts_screen(several, width, short)
    if short and many:
        yield indented(REST_OF_HOSTS + "\n", "dim")
    for table in failures(runs):
        yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in warnings)
    yield Text("Summary", style="bold")
    for result in results:
        for line in headlines(result):
            yield indented(f"{result.group.host.label}, {line.case}: {line.sentence}")
    for hosts in several:
        for of, line in class_headlines(hosts):
            yield indented(f"{of}, {line.case}: {line.sentence}")
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


def class_rows(hosts: HostsResult) -> Iterator[dict[str, Any]]:
    """One a class, figure, variant and number of threads; and of all classes."""
    for figure in hosts.compared:
        for name, (threads, variant) in product(hosts.names_of_rows, hosts.rows):
            pooled = hosts.pooled(name, (threads, variant), figure.key)
            if pooled is not None:
                ratio, (low, high) = pooled.ratio, pooled.ratio.interval or (None, None)
                yield {
                    "class": name, "case": hosts.name, "figure": figure.key, "threads": threads,
                    "variant": variant, "baseline": hosts.baseline, "hosts": pooled.hosts,
                    "ratio": ratio.value, "ratio_low": low, "ratio_high": high, "verdict": str(ratio.verdict),
                }  # fmt: skip


def _write_classes(several: Sequence[HostsResult], out: Path) -> list[str]:
    """@return the file's name; none where the runs are of one host"""
    rows = [row for hosts in several for row in class_rows(hosts)]
    if rows:
        pd.DataFrame(rows).to_csv(out / CLASSES, index=False, float_format="%.6g")
    return [CLASSES] if rows else []


def _write(
    merge: Merged,
    results: Sequence[CaseResult],
    several: Sequence[HostsResult],
    warnings: Sequence[str],
    out: Path,
) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    text = to_text(screen(merge.runs, results, warnings, several=several))
    (out / "report.txt").write_text(text, encoding="utf-8")
    to_csv(results, out / "results.csv")
    to_frame(merge.runs).to_csv(out / "runs.csv", index=False, float_format="%.6g")
    pictures = plots.draw_all(results, out)
    of_classes = classes_plot.draw_all(several, out)
    write_page(
        out / "report.html",
        Path(__file__).parent,
        hosts=list(_host_parts(results, pictures)),
        classes=_classes_part(several, of_classes),
        warnings=warnings,
        failures=failures(merge.runs),
        words=filter(None, [option_table(merge.runs), pool_table(merge.runs)]),
        measured=measured(merge),
        rule=RULE,
        is_good=is_good,
    )
    paths = [*pictures.values(), *of_classes.values()]
    drawn = [name for path in paths for name in (path.name, path.with_suffix(".svg").name)]
    tables = ["results.csv", "runs.csv", *_write_classes(several, out)]
    return ["report.html", "report.txt", *tables, *drawn]


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
    several = hosts_results(results)
    found = (wrong_pools(merge.runs), _busy(merge.runs), _merge_notes(merge), mixtures(merge.runs))
    warnings = [*warnings, *chain.from_iterable(found)]
    try:
        names = _write(merge, results, several, warnings, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(merge.runs, results, warnings, terminal.width, short=True, several=several):
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


def _case(result: CaseResult, picture: Path | None) -> dict[str, Any]:
    tables = list(case_tables(result, WIDTH_HTML))
    return {"name": result.group.key.name, "tables": tables, "picture": picture and data_uri(picture)}


def _host_parts(results: Sequence[CaseResult], pictures: Mapping[int, Path]) -> Iterator[dict[str, Any]]:
    for host, members in groupby(enumerate(results), lambda pair: pair[1].group.host):
        cases = list(members)
        yield {
            "label": host.label,
            "headlines": [headline for _, result in cases for headline in headlines(result)],
            "cases": [_case(result, pictures.get(index)) for index, result in cases],
            "facts": host_facts(host),
        }


def _classes_part(several: Sequence[HostsResult], pictures: Mapping[int, Path]) -> dict[str, Any]:
    """Empty where the runs are of one host."""
    if not several:
        return {}
    return {
        "title": HOSTS,
        "table": class_table(several),
        "headlines": [(of, line) for hosts in several for of, line in class_headlines(hosts)],
        "cases": [
            {
                "name": hosts.name,
                "tables": list(hosts_tables(hosts, WIDTH_HTML)),
                "picture": data_uri(pictures[index]) if index in pictures else None,
            }
            for index, hosts in enumerate(several)
        ],
    }


def _each(texts: Iterator[str | None]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def measured(merge: Merged) -> dict[str, str]:
    """How the runs were taken."""
    runs = merge.runs
    began = sorted(run.began for run in runs)
    rounds: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for run in runs:
        rounds[run.host.label].add((run.sweep, run.repeat))
    found = {
        "what": _each(KINDS[run.kind] for run in runs),
        "runs": f"{len(runs)} runs, {sum(run.status == 'ok' for run in runs)} of them with a result",
        "rounds": ", ".join(f"{len(of_host)} on {label}" for label, of_host in rounds.items()),
        "failed runs taken again": str(len(merge.replaced) or ""),
        "rounds not taken in one go": ", ".join(
            f"{count} on {label}" for label, count in torn_rounds(runs).items()
        ),
        "first and last run began": f"{began[0]} and {began[-1]}",
        "sweeps": _each(run.sweep for run in runs),
        "version of the tool": _each(run.bench_commit or "unknown" for run in runs),
        **{
            f"pool {pool}": " | ".join(
                dict.fromkeys(build_text(r.build) for r in runs if r.pool == pool and r.build)
            )
            for pool in dict.fromkeys(run.pool for run in runs)
        },
        "bound to CPUs": _each(run.cpus for run in runs),
    }
    return {name: text for name, text in found.items() if text}


def option_table(runs: Sequence[Run]) -> Table:
    """The command line and the environment of each case. The number of threads, -C, goes with the row."""
    rows: dict[tuple[str, ...], None] = {}
    named = zip((key.name for key in keys_of(runs)), runs)
    for name, run in sorted(named, key=lambda of: (of[0], of[1].variant, of[1].threads)):
        settings = " ".join(f"{word}={value}" for word, value in sorted(run.environment.items()))
        options = " ".join(run.options).replace(f"-C{run.threads}", "-C<threads>")
        rows[name, run.pool, options, settings] = None
    columns = plain_columns("case", "runs of", "options", "environment")
    return Table("Options", columns, [list(row) for row in rows], [])


def pool_table(runs: Sequence[Run]) -> Table | None:
    """The lines that pools print when they start; None if none does."""
    lines: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.build and run.build.pool:
            lines[run.build.pool].append(run)
    rows = [
        [", ".join(sorted({run.variant for run in of_line})),
         ", ".join(map(str, sorted({run.threads for run in of_line}))), line]
        for line, of_line in lines.items()
    ]  # fmt: skip
    columns = plain_columns("variant", "threads", "line")
    return Table("Lines that the pools print when they start", columns, sorted(rows), []) if rows else None
