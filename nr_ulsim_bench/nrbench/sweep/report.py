# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.text import Text

from nrbench import render
from nrbench.host import is_busy
from nrbench.judge import NONE, check_threshold
from nrbench.record import ResultsError
from nrbench.sweep import plots
from nrbench.sweep.cells import ALL_FIGURES_MAX, CPU, WALL, Case, case_results, cores_of
from nrbench.sweep.configuration import Configuration, configurations, wrong_pools
from nrbench.sweep.facts import build_text, host_facts, mixtures, rounds, torn_rounds
from nrbench.sweep.figures import RX, TITLES
from nrbench.sweep.hosts import (
    Hosts,
    all_cases,
    class_headlines,
    class_of,
    class_rows,
    class_table,
    hosts_results,
    hosts_tables,
    letters,
)
from nrbench.sweep.maps import Map, draw_maps, map_csv, map_rows, map_tables, maps
from nrbench.sweep.record import Run
from nrbench.sweep.runs import Runs, read
from nrbench.sweep.tables import MANY, RULE, case_tables, failures, headlines, slowest_table

REST = f"With more than {MANY} variants the other figures are in report.txt and report.html only."
HOSTS = "Hosts side by side"
MANY_HOSTS = 6  # above which a terminal gets them side by side only
MANY_CASES = 60  # with tables of their own, all hosts counted; of more there are the means over all cases
REST_OF_HOSTS = (
    f"With more than {MANY_HOSTS} hosts the tables of each host are in report.txt and report.html only."
)
REST_OF_CASES = (
    "{} cases: hosts and classes are shown over all cases; results.csv and classes.csv have each case"
)
WIDTH_HTML = 140
KINDS = {"nr_ulsim": "whole runs of nr_ulsim", "replay": "recorded slots of nr_ulsim on each pool"}
CLASSES, MAPS = "classes.csv", "maps.csv"
PLAIN = ("kind", "scenario", "case", "variant", "pool", "spin", "threads", "repeat", "sweep", "began",
         "status", "error", "trials", "errors", "at_once", WALL, CPU)  # fmt: skip
NOTES = (
    "In each round every variant runs once at each number of threads, in an order shuffled anew, so that "
    "changes on the machine hit all of them alike. Ratios are of medians over the rounds that both sides "
    "finished. Runs that were taken at another time than the rest of their round (settings added later, "
    "failed runs taken again, an interruption) are not of that round. Where too few rounds are left, a "
    "ratio is of all runs of either side, and a note is below the table.",
    "Intervals: 95 %, from up to 5000 resamples of whole rounds, with a correction for few values. With "
    "fewer than 5 rounds there is no interval, and no verdict.",
    "Each verdict is for itself. Where nothing differs, about one interval in twenty leaves out 1 by chance.",
    "The bound comes from runs without a pool. Beside other threads the same work may take less or more "
    "time, by caches, memory or the CPU's frequency: a time a little below the bound is no error.",
    "The parallel bound comes from as many runs without a pool at once as there are cores, one on each.",
    "CPU time is that of the whole run, setting up included.",
)
OF_CONFIGURATION = ("oai", "cpus", "environment", "seed")


class Content(NamedTuple):
    """What is reported."""

    runs: Runs
    every: list[Case]
    cases: list[Case]  # those that have tables; a point of a map has none
    maps: list[Map]
    several: list[Hosts]  # of these cases, or all of them together
    warnings: list[str]

    @property
    def is_short(self) -> bool:
        """Too many cases for a table of each."""
        return len(self.cases) > MANY_CASES

    @property
    def shown(self) -> list[Case]:
        return [] if self.is_short else self.cases


def content_of(runs: Runs, threshold: float, warnings: Sequence[str]) -> Content:
    every = case_results(runs, check_threshold(threshold))
    of_maps = maps(map_rows(runs))
    points = {case for one in of_maps for case in one.cases}
    cases = [one for one in every if (one.key.scenario, one.key.case) not in points]
    many = len(cases) > MANY_CASES
    several = [all_cases(cases)] if many else hosts_results(cases)
    found = (wrong_pools(runs.settings), _busy(runs.settings), _merge_notes(runs), mixtures(runs),
             [REST_OF_CASES.format(len(cases))] if many else [])  # fmt: skip
    return Content(runs, every, cases, of_maps, several, [*warnings, *chain.from_iterable(found)])


def map_headlines(content: Content) -> Iterator[render.Line]:
    """Of each map, how often which verdict was given: of each point on each host."""
    names = letters(case.host for case in content.every)
    for one in content.maps:
        words: Counter[str] = Counter()
        for case in content.every:
            if names[class_of(case.host)] == one.of and (case.key.scenario, case.key.case) in one.cases:
                cell = case.get(one.threads, one.ours, RX)
                words[cell.word if cell else NONE] += 1
        counts = ", ".join(f"{word} {count} of {words.total()}" for word, count in words.items())
        text = f"whole RX of {one.ours} at {one.threads} threads, at each point on each host: {counts}"
        word = next(iter(words)) if len(words) == 1 else ""
        yield render.Line(f"class {one.of}, map {one.name}", text, word)


def _summary(content: Content) -> list[render.Line]:
    of_cases = (line for case in content.shown for line in headlines(case))
    of_classes = (line for hosts in content.several for line in class_headlines(hosts))
    return [*of_cases, *of_classes, *map_headlines(content)]


def _hosts_screen(content: Content, width: int, short: bool) -> Iterator[RenderableType]:
    """Of several hosts: side by side, and pooled by class."""
    if content.several:
        yield Text(f"{HOSTS}\n", style="bold underline")
        yield from render.parts(class_table(content.several))
    for hosts in content.several:
        yield Text(f"{hosts.name}\n", style="bold")
        for table in hosts_tables(hosts, width, short):
            yield from render.parts(table)


def screen(content: Content, width: int = render.WIDTH, short: bool = False) -> Iterator[RenderableType]:
    """All that is printed, in order: tables, failed runs, and the summary where the eye ends."""
    many = len({case.host.id for case in content.shown}) > MANY_HOSTS
    for case in [] if short and many else content.shown:
        yield Text(f"{case.host.label}: {case.key.name}\n", style="bold underline")
        for table in case_tables(case, width, short):
            yield from render.parts(table)
        if short and len(case.variants) > MANY:
            yield render.indented(REST + "\n", "dim")
    yield from _hosts_screen(content, width, short)
    if short and many:
        yield render.indented(REST_OF_HOSTS + "\n", "dim")
    of_maps = (table for one in content.maps for table in map_tables(one, short))
    slowest = [slowest_table(content.cases)] if content.is_short else []
    for table in chain(slowest, of_maps, failures(content.runs)):
        yield from render.parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in content.warnings)
    yield Text("Summary", style="bold")
    yield from (render.indented(f"{line.of}: {line.sentence}") for line in _summary(content))
    yield render.indented(RULE, "dim")


def csv_rows(case: Case, about: Configuration, began: str) -> Iterator[dict[str, Any]]:
    """One a figure, variant and number of threads; of all figures, not only those of the tables."""
    key = case.key
    for (threads, variant, column), cell in case.cells.items():
        ratio = cell.ratio
        low, high = cell.interval or (None, None)
        ratio_low, ratio_high = (ratio and ratio.interval) or (None, None)
        yield {
            "host": key.host, "host_label": case.host.label, "kind": key.kind, "scenario": key.scenario,
            "case": key.case, "configuration": key.configuration.removeprefix(", "),
            **{name: getattr(about, name) for name in OF_CONFIGURATION}, "began": began, "figure": column,
            "unit": "s" if column in (CPU, WALL) else "us", "threads": threads, "cores": case.cores(threads),
            "variant": variant, "baseline": case.baseline, "runs": cell.count, "failed": len(cell.causes),
            "median": cell.median, "half_iqr": cell.half_iqr, "low": low, "high": high,
            "derived": int(cell.derived), "ratio": ratio and ratio.value, "ratio_low": ratio_low,
            "ratio_high": ratio_high, "ratio_repeats": ratio and ratio.repeats,
            "paired": ratio and int(ratio.paired), "verdict": ratio and str(ratio.verdict),
            "bound": cell.bound, "over_bound": cell.over_bound,
            "parallel_bound": cell.parallel_bound, "over_parallel_bound": cell.over_parallel_bound,
        }  # fmt: skip


def _results_csv(content: Content, path: Path) -> None:
    settings = content.runs.settings
    about = dict(zip(content.runs.keys, configurations(settings)))
    frame = content.runs.frame
    first = frame.loc[frame.groupby("setting")["began_s"].idxmin(), ["setting", "began"]]
    began: dict[Any, str] = {}
    for place, text in first.itertuples(index=False):
        key = content.runs.keys[place]
        began[key] = min(began.get(key, text), text)
    rows = (row for case in content.every for row in csv_rows(case, about[case.key], began[case.key]))
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


def runs_frame(runs: Runs) -> pd.DataFrame:
    """A row a run, with all that is known of it; figures in the order of tables."""
    of_setting = [
        {
            "host": run.host.id, "host_label": run.host.label,
            **{name: getattr(about, name) for name in OF_CONFIGURATION}, "cores": cores_of(run),
            **{n: getattr(run, n) for n in PLAIN if n not in runs.frame and n != "error"},
            "program": run.program or None,
        }
        for run, about in zip(runs.settings, configurations(runs.settings))
    ]  # fmt: skip
    about = pd.DataFrame(of_setting).loc[runs.frame["setting"]].set_index(runs.frame.index)
    joined = pd.concat([about, runs.frame], axis=1).assign(error=pd.Series(runs.errors, dtype=object))
    figures = [*(f for f in TITLES if f in runs.figures), *sorted(set(runs.figures) - set(TITLES))]
    names = ["host", "host_label", *OF_CONFIGURATION, "cores", *PLAIN, "pass", "program", "derived", *figures]
    made: pd.DataFrame = joined[names]
    return made


def _write(content: Content, out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(render.to_text(screen(content)), encoding="utf-8")
    _results_csv(content, out / "results.csv")
    tables = ["results.csv"]
    if len(content.runs.frame) <= ALL_FIGURES_MAX:
        runs_frame(content.runs).to_csv(out / "runs.csv", index=False, float_format="%.6g")
        tables.append("runs.csv")
    rows = [row for hosts in content.several for row in class_rows(hosts)]
    if rows:
        pd.DataFrame(rows).to_csv(out / CLASSES, index=False, float_format="%.6g")
        tables.append(CLASSES)
    if content.maps:
        map_csv(content.maps, out / MAPS)
        tables.append(MAPS)
    of_cases = plots.draw_cases(content.shown, out)
    of_hosts, of_maps = plots.draw_hosts(content.several, out), draw_maps(content.maps, out)
    of_runs = measured(content.runs)
    hosts = {run.host.id: run.host for run in content.runs.settings}
    render.write_page(
        out / "report.html",
        render.Page(
            title="thread_pool_ws: old and new pool",
            lead=f"{of_runs['what']}; {of_runs['runs']}.",
            sections=list(_sections(content, of_cases, of_hosts, of_maps)),
            summary=_summary(content),
            rule=RULE,
            warnings=content.warnings,
            facts=[("How it was measured", of_runs.items()),
                   *((f"Machine: {host.label}", host_facts(host)) for host in hosts.values())],
            notes=NOTES,
            words=list(filter(None, (option_table(content.runs), pool_table(content.runs)))),
        ),
    )  # fmt: skip
    drawn = [n for p in (*of_cases.values(), *of_hosts.values(), *of_maps.values())
             for n in (p.name, p.with_suffix(".svg").name)]  # fmt: skip
    return ["report.html", "report.txt", *tables, *drawn]


def _uri(picture: Path | None) -> str:
    return render.data_uri(picture) if picture else ""


def _sections(
    content: Content, of_cases: Mapping[int, Path], of_hosts: Mapping[int, Path], of_maps: Mapping[int, Path]
) -> Iterator[render.Section]:
    """Of the page, in order."""
    yield from (render.Section("", [table], top=table.title) for table in failures(content.runs))
    if content.several:
        yield render.Section("", [class_table(content.several)], top=HOSTS)
    for place, hosts in enumerate(content.several):
        tables = list(hosts_tables(hosts, WIDTH_HTML))
        yield render.Section(hosts.name, tables, _uri(of_hosts.get(place)), plots.HOSTS_NOTE)
    if content.is_short:
        slowest = slowest_table(content.cases)
        yield render.Section(slowest.title, [slowest])
    for place, one in enumerate(content.maps):
        note, name = f"Shared options: {one.family}", f"Map of {one.name}, class {one.of}"
        yield render.Section(name, list(map_tables(one)), _uri(of_maps[place]), note)
    for _, members in groupby(enumerate(content.shown), lambda pair: pair[1].host.id):
        for at, (place, case) in enumerate(members):
            tables, top = list(case_tables(case, WIDTH_HTML)), "" if at else case.host.label
            yield render.Section(case.key.name, tables, _uri(of_cases.get(place)), plots.CASE_NOTE, top)


def _merge_notes(runs: Runs) -> Iterator[str]:
    """Of lines that are in no table."""
    for name, count in runs.repeated.items():
        yield f"{name + ': ' if name else ''}{count} of its runs are there twice and count once"
    if runs.replaced:
        failed = ", ".join(f"{cause} ×{count}" for cause, count in runs.replaced.items())
        yield f"{runs.replaced.total()} failed runs were taken again and no longer count: {failed}"


def _busy(settings: Iterable[Run]) -> Iterator[str]:
    for label, load, cpus in sorted(
        {(run.host.label, run.host.load, run.host.cores_online) for run in settings}
    ):
        if is_busy(load, cpus):
            yield (
                f"{label}: the machine was busy when the sweep began (load {load:.1f} on {cpus} CPUs)."
                " Repeat the sweep on an idle machine; nrbench doctor shows whether it is one"
            )


def report(
    paths: Sequence[Path], out: Path, threshold: float = 0.0, warnings: Sequence[str] = ()
) -> list[str]:
    """Writes tables, CSV, pictures and the page; then prints the tables.

    @param paths      results, or folders of results, of one host or of many
    @param threshold  share by which a time must differ for a verdict
    @param warnings   shown before those that the runs themselves give rise to
    @return names of the files written"""
    content = content_of(read(paths), threshold, warnings)
    try:  # the files first: a terminal that goes away must not cost them
        names = _write(content, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = render.console()
    for part in screen(content, terminal.width, short=True):
        terminal.print(part)
    return names


def _each(texts: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def measured(runs: Runs) -> dict[str, str]:
    """How the runs were taken."""
    settings, frame = runs.settings, runs.frame
    began = sorted((frame["began"].min(), frame["began"].max()))
    counts = rounds(runs).drop_duplicates(["label", "sweep", "repeat"]).groupby("label", sort=False).size()
    torn = (f"{count} on {name}" for name, count in torn_rounds(runs).items())
    pools = {pool: [run for run in settings if run.pool == pool and run.build] for pool in
             dict.fromkeys(run.pool for run in settings)}  # fmt: skip
    found = {
        "what": _each(KINDS[run.kind] for run in settings),
        "runs": f"{len(frame)} runs, {(frame['status'] == 'ok').sum()} of them with a result",
        "rounds": ", ".join(f"{count} on {name}" for name, count in counts.items()),
        "failed runs taken again": str(runs.replaced.total() or ""),
        "rounds not taken in one go": ", ".join(torn),
        "first and last run began": f"{began[0]} and {began[-1]}",
        "sweeps": _each(run.sweep for run in settings),
        "version of the tool": _each(run.bench_commit or "unknown" for run in settings),
        **{
            f"pool {pool}": " | ".join(dict.fromkeys(build_text(run.build) for run in of))
            for pool, of in pools.items()
        },
        "bound to CPUs": _each(run.cpus for run in settings),
    }
    return {name: text for name, text in found.items() if text}


def option_table(runs: Runs) -> render.Table:
    """The command line and the environment of each case. The number of threads, -C, goes with the row."""
    rows: dict[tuple[str, ...], None] = {}
    named = zip((key.name for key in runs.keys), runs.settings)
    for name, run in sorted(named, key=lambda of: (of[0], of[1].variant, of[1].threads)):
        settings = " ".join(f"{word}={value}" for word, value in sorted(run.environment.items()))
        options = " ".join(run.options).replace(f"-C{run.threads}", "-C<threads>")
        rows[name, run.pool, options, settings] = None
    columns = render.plain_columns("case", "runs of", "options", "environment")
    return render.Table("Options", columns, [list(row) for row in rows], [])


def pool_table(runs: Runs) -> render.Table | None:
    """The lines that pools print when they start; None if none does."""
    lines: dict[str, list[Run]] = defaultdict(list)
    for run in runs.settings:
        if run.build and run.build.pool:
            lines[run.build.pool].append(run)
    rows = [
        [", ".join(sorted({run.variant for run in of_line})),
         ", ".join(map(str, sorted({run.threads for run in of_line}))), line]
        for line, of_line in lines.items()
    ]  # fmt: skip
    columns = render.plain_columns("variant", "threads", "line")
    return (
        render.Table("Lines that the pools print when they start", columns, sorted(rows), [])
        if rows
        else None
    )
