# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby, product
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.text import Text

from nrbench.host import is_busy
from nrbench.judge import NONE, check_threshold
from nrbench.record import ResultsError
from nrbench.render import (
    WIDTH,
    Table,
    console,
    data_uri,
    indented,
    is_good,
    parts,
    plain_columns,
    to_text,
    write_page,
)
from nrbench.sweep import classes_plot, plots
from nrbench.sweep.cells import CaseResult, case_results
from nrbench.sweep.classes import HostsResult, class_of, hosts_of, hosts_results, letters
from nrbench.sweep.classes_table import class_headlines, class_table, hosts_tables
from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.facts import build_text, host_facts, labelled, mixtures, torn_rounds
from nrbench.sweep.figures import RX
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
from nrbench.sweep.large_report import CLASSES, has_many_runs, report_large
from nrbench.sweep.maps import Map, map_rows, maps
from nrbench.sweep.maps_page import map_parts
from nrbench.sweep.maps_table import map_tables
from nrbench.sweep.record import Run, read_runs
from nrbench.sweep.table import MANY, RULE, Headline, case_tables, failures, headlines

REST = f"With more than {MANY} variants the other figures are in report.txt and report.html only."
HOSTS = "Hosts side by side"
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
        yield from parts(class_table(several[0].names, hosts_of(several)))
    for hosts in several:
        yield Text(f"{hosts.name}\n", style="bold")
        for table in hosts_tables(hosts, width, short):
            yield from parts(table)


class Content(NamedTuple):
    """What is reported."""

    merge: Merged
    results: list[CaseResult]
    maps: list[Map]
    several: list[HostsResult]  # of the cases that have tables
    warnings: list[str]

    @property
    def runs(self) -> list[Run]:
        return self.merge.runs

    @property
    def cases(self) -> list[CaseResult]:
        """Those that have tables; a point of a map has none."""
        return apart_from_maps(self.results, self.maps)


def apart_from_maps(results: Sequence[CaseResult], found: Sequence[Map]) -> list[CaseResult]:
    points = {case for one in found for case in one.cases}
    return [one for one in results if (one.group.key.scenario, one.group.key.case) not in points]


def map_headlines(found: Sequence[Map], results: Sequence[CaseResult]) -> Iterator[tuple[str, Headline]]:
    """Of each map, how often which verdict was given: of each point on each host."""
    names = letters(result.group.host for result in results)
    for one in found:
        words: Counter[str] = Counter()
        for result in results:
            key = result.group.key
            if names[class_of(result.group.host)] == one.of and (key.scenario, key.case) in one.cases:
                cell = result.get(one.threads, one.ours, RX)
                words[cell.word if cell else NONE] += 1
        counts = ", ".join(f"{word} {count} of {words.total()}" for word, count in words.items())
        text = f"whole RX of {one.ours} at {one.threads} threads, at each point on each host: {counts}"
        yield (
            f"class {one.of}",
            Headline(f"map {one.name}", text, next(iter(words)) if len(words) == 1 else ""),
        )


def screen(content: Content, width: int = WIDTH, short: bool = False) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    results = content.cases
    many = len({result.group.host.id for result in results}) > MANY_HOSTS
    for result in [] if short and many else results:
        yield Text(f"{result.group.host.label}: {result.group.key.name}\n", style="bold underline")
        for table in case_tables(result, width, short):
            yield from parts(table)
        if short and len(result.group.variants) > MANY:
            yield indented(REST + "\n", "dim")
    yield from _hosts_screen(content.several, width, short)
    if short and many:
        yield indented(REST_OF_HOSTS + "\n", "dim")
    for table in (table for one in content.maps for table in map_tables(one, short)):
        yield from parts(table)
    for table in failures(content.runs):
        yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in content.warnings)
    yield Text("Summary", style="bold")
    for result in results:
        for line in headlines(result):
            yield indented(f"{result.group.host.label}, {line.case}: {line.sentence}")
    for of, line in _class_headlines(content):
        yield indented(f"{of}, {line.case}: {line.sentence}")
    yield indented(RULE, "dim")


def _class_headlines(content: Content) -> list[tuple[str, Headline]]:
    of_classes = [one for hosts in content.several for one in class_headlines(hosts)]
    return [*of_classes, *map_headlines(content.maps, content.results)]


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


def _write(content: Content, out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    runs, cases = content.runs, content.cases
    (out / "report.txt").write_text(to_text(screen(content)), encoding="utf-8")
    to_csv(content.results, out / "results.csv")
    to_frame(runs).to_csv(out / "runs.csv", index=False, float_format="%.6g")
    pictures = plots.draw_all(cases, out)
    of_classes = classes_plot.draw_all(content.several, out)
    shown_maps, of_maps = map_parts(content.maps, out)
    write_page(
        out / "report.html",
        Path(__file__).parent,
        hosts=list(_host_parts(cases, pictures)),
        host_count=len({run.host.id for run in runs}),
        class_headlines=_class_headlines(content),
        classes=_classes_part(content.several, of_classes),
        maps=shown_maps,
        warnings=content.warnings,
        failures=failures(runs),
        words=filter(None, [option_table(runs), pool_table(runs)]),
        measured=measured(content.merge),
        rule=RULE,
        is_good=is_good,
    )
    paths = [*pictures.values(), *of_classes.values()]
    drawn = [name for path in paths for name in (path.name, path.with_suffix(".svg").name)]
    tables = ["results.csv", "runs.csv", *_write_classes(content.several, out), *of_maps]
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
    found = (wrong_pools(merge.runs), _busy(merge.runs), _merge_notes(merge), mixtures(merge.runs))
    warnings = [*warnings, *chain.from_iterable(found)]
    of_maps = maps(map_rows(merge.runs))
    several = hosts_results(apart_from_maps(results, of_maps))
    content = Content(merge, results, of_maps, several, warnings)
    try:
        names = _write(content, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(content, terminal.width, short=True):
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
    files = [results_file(path) for path in paths]
    if has_many_runs(files):
        return report_large(files, out, threshold)
    sources: list[Source] = [(str(path), read_runs(path)) for path in files]
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
        "table": class_table(several[0].names, hosts_of(several)),
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
