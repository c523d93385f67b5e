# SPDX-License-Identifier: BSD-3-Clause
"""The report on very many runs: hosts and classes over all cases, the slowest cases, maps. Each case is in
results.csv and classes.csv only."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.text import Text

from nrbench.judge import FASTER, NONE, SAME, SLOWER, check_threshold
from nrbench.record import ResultsError
from nrbench.render import Table, console, indented, is_good, parts, plain_columns, to_text, write_page
from nrbench.sweep.cells import Ratio
from nrbench.sweep.classes import ALL
from nrbench.sweep.classes_table import class_table
from nrbench.sweep.columns import Columns, count_lines
from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.facts import labelled, mixtures
from nrbench.sweep.large import Large, OneRatio, total_words
from nrbench.sweep.maps import Map, maps
from nrbench.sweep.maps_page import map_parts
from nrbench.sweep.maps_table import map_tables
from nrbench.sweep.table import RULE, Headline, against_old, factor, interval_text

LARGE_RUNS = 100_000  # from which a report is of this kind
MAP_RESAMPLES = 400
SLOWEST_MAX = CAUSES_MAX = 20
CLASSES = "classes.csv"
OVER_ALL = "All cases together"
RATIO_HEADS = ("÷ old", "95 % interval", "verdict")
NOTE = (
    "÷ old: geometric mean over the cases, of the whole RX or what comes nearest to it. Interval: 95 %, with "
    "rounds drawn within each host; of a class, hosts drawn, too. Last three columns: cases by verdict."
)
FEWER = "{count} runs: hosts and classes are shown over all cases; results.csv and classes.csv have each case"


def _ratio_cells(ratio: Ratio) -> list[str]:
    return [factor(ratio.value), interval_text(ratio.interval), str(ratio.verdict)]


def _counts(ratios: Sequence[OneRatio]) -> list[str]:
    words = total_words(ratios)
    return [str(words[word]) for word in (FASTER, SAME, SLOWER)]


def host_table(large: Large) -> Table:
    """A row a host, number of threads and variant."""
    rows = []
    for (host, threads, variant), ratios in large.of_hosts.items():
        about = [large.class_of(host), large.hosts[host].label, str(threads), variant, str(len(ratios))]
        rows.append([*about, *_ratio_cells(large.over_cases(ratios).ratio), *_counts(ratios)])
    heads = plain_columns(
        "class", "host", "threads", "variant", "cases", *RATIO_HEADS, "faster", "same", "slower"
    )
    return Table("Hosts side by side, over all cases", heads, sorted(rows, key=lambda row: row[0]), [NOTE])


class OverCases(NamedTuple):
    of: str  # a class, or ALL
    threads: int
    variant: str
    hosts: int
    ratio: Ratio


def classes_over_cases(large: Large) -> Iterator[OverCases]:
    members: dict[tuple[int, str], dict[str, list[OneRatio]]] = {}
    for (host, threads, variant), ratios in large.of_hosts.items():
        of_row = members.setdefault((threads, variant), {})
        of_row.setdefault(large.class_of(host), []).append(large.over_cases(ratios))
    for name in [*large.names.values(), ALL]:
        for row, classes in members.items():
            chosen = list(classes.values()) if name == ALL else [classes[name]] if name in classes else []
            if chosen and (name != ALL or len(classes) > 1):
                yield OverCases(name, *row, sum(map(len, chosen)), large.pooled(chosen))


def class_over_table(found: Sequence[OverCases]) -> Table:
    rows = [
        [one.of, str(one.threads), one.variant, str(one.hosts), *_ratio_cells(one.ratio)] for one in found
    ]
    return Table(
        "Classes pooled, over all cases",
        plain_columns("class", "threads", "variant", "hosts", *RATIO_HEADS),
        rows,
        [],
    )


PooledRows = list[tuple[tuple[str, int, str], str, int, Ratio]]


def slowest_table(pooled: PooledRows) -> Table | None:
    """The cases of which a class is slower, the slowest first."""
    slower = [one for one in pooled if one[1] != ALL and one[3].verdict.word == SLOWER]
    slower.sort(key=lambda one: -one[3].value)
    rows = [
        [case, name, str(threads), variant, str(hosts), *_ratio_cells(ratio)]
        for (case, threads, variant), name, hosts, ratio in slower[:SLOWEST_MAX]
    ]
    heads = plain_columns("case", "class", "threads", "variant", "hosts", *RATIO_HEADS)
    title = f"{len(slower)} of {len(pooled)} pooled ratios are slower; the slowest"
    return Table(title, heads, rows, []) if rows else None


def cause_table(large: Large) -> Table | None:
    causes = large.causes
    rows = [[*what, str(count)] for what, count in causes.most_common(CAUSES_MAX)]
    title = f"{causes.total()} of {len(large.columns)} lines have no result; the most frequent causes"
    return Table(title, plain_columns("host", "variant", "cause", "number"), rows, []) if rows else None


def lines_of_summary(found: Sequence[OverCases]) -> Iterator[tuple[str, Headline]]:
    for one in found:
        where = f"over all cases at {one.threads} thread{'s' if one.threads != 1 else ''}"
        text = against_old(one.ratio, one.variant, "old", where)
        of = "all classes" if one.of == ALL else f"class {one.of}"
        yield (
            f"{of}, {one.hosts} host{'s' if one.hosts != 1 else ''}",
            Headline(OVER_ALL, text, one.ratio.verdict.word),
        )


class Content(NamedTuple):
    large: Large
    tables: list[Table]
    failures: list[Table]
    maps: list[Map]
    summary: list[tuple[str, Headline]]
    warnings: list[str]


def content_of(large: Large, pooled: PooledRows) -> Content:
    over = list(classes_over_cases(large))
    tables = [host_table(large), class_over_table(over), slowest_table(pooled)] if over else []
    warnings = chain(
        [FEWER.format(count=len(large.columns))], wrong_pools(large.settings), mixtures(large.settings)
    )
    causes = cause_table(large)
    return Content(
        large,
        [class_table(large.names, list(large.hosts.values())), *filter(None, tables)],
        [causes] if causes else [],
        maps(large.map_rows(), MAP_RESAMPLES),
        list(lines_of_summary(over)),
        list(warnings),
    )


def screen(content: Content, short: bool) -> Iterator[RenderableType]:
    """As report.screen()."""
    of_maps = (table for one in content.maps for table in map_tables(one, short))
    for table in chain(content.tables, of_maps, content.failures):
        yield from parts(table)
    yield from (Text(f"WARNING: {warning}", style="yellow") for warning in content.warnings)
    yield Text("Summary", style="bold")
    for of, line in content.summary:
        yield indented(f"{of}: {line.sentence}")


def _measured(large: Large) -> dict[str, str]:
    versions = dict.fromkeys(run.bench_commit or "unknown" for run in large.settings)
    first, last = (datetime.fromtimestamp(at, timezone.utc) for at in _ends(large))
    good = int(large.frame["ok"].sum())
    return {
        "what": "runs of nr_ulsim or of recorded slots",
        "runs": f"{len(large.frame)} runs, {good} of them with a result",
        "first and last run began": f"{first:%Y-%m-%d %H:%M:%S} and {last:%Y-%m-%d %H:%M:%S} UTC",
        "lines that are there twice, or were taken again": str(len(large.columns) - len(large.frame)),
        "version of the tool": ", ".join(versions),
    }


def _ends(large: Large) -> tuple[float, float]:
    return float(large.frame["began"].min()), float(large.frame["began"].max())


def write_cells(large: Large, path: Path) -> None:
    ratios = {one.key: one.ratio for one in large.ratios}
    rows = []
    for cell, (runs, results, median_us, cpu_s) in zip(large.medians.index, large.medians.to_numpy()):
        key = large.cells[int(cell)]
        ratio = ratios.get(key)
        rows.append(
            {"host": key.host, "host_label": large.hosts[key.host].label, "class": large.class_of(key.host),
             **key._asdict(), "runs": results, "failed": runs - results, "median_us": median_us,
             "cpu_s": cpu_s, **_ratio_columns(ratio)}
        )  # fmt: skip
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


def _ratio_columns(ratio: Ratio | None) -> dict[str, Any]:
    low, high = (ratio and ratio.interval) or (None, None)
    verdict = str(ratio.verdict) if ratio else NONE
    return {"ratio": ratio and ratio.value, "ratio_low": low, "ratio_high": high, "verdict": verdict}


def write_classes(pooled: PooledRows, path: Path) -> None:
    rows = [
        {"class": name, "case": case, "threads": threads, "variant": variant, "hosts": hosts}
        | _ratio_columns(ratio)
        for (case, threads, variant), name, hosts, ratio in pooled
    ]
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


def _write(content: Content, pooled: PooledRows, out: Path) -> list[str]:
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.txt").write_text(to_text(screen(content, short=False)), encoding="utf-8")
    write_cells(content.large, out / "results.csv")
    write_classes(pooled, out / CLASSES)
    shown_maps, of_maps = map_parts(content.maps, out)
    host_table, *more = content.tables
    write_page(
        out / "report.html",
        Path(__file__).parent,
        hosts=[],
        host_count=len(content.large.hosts),
        class_headlines=content.summary,
        classes={
            "title": "Hosts side by side",
            "table": host_table,
            "cases": [{"name": OVER_ALL, "tables": more, "picture": None}],
        },
        maps=shown_maps,
        warnings=content.warnings,
        failures=content.failures,
        words=[],
        measured=_measured(content.large),
        rule=RULE,
        is_good=is_good,
    )
    return ["report.html", "report.txt", "results.csv", CLASSES, *of_maps]


def has_many_runs(paths: Sequence[Path]) -> bool:
    """@return whether report_large() is to report on the files"""
    try:
        return count_lines(paths, LARGE_RUNS) > LARGE_RUNS
    except OSError:
        return False  # told by who reads it


def report_large(paths: Sequence[Path], out: Path, threshold: float = 0.0) -> list[str]:
    """As report.report_files(). Takes about 200 bytes a run, and some KiB a setting."""
    columns = Columns()
    for path in paths:
        if not columns.read(path):
            raise ResultsError(f"{path}: holds no runs")
    large = Large(columns, labelled(columns.settings), check_threshold(threshold))
    pooled = list(large.pooled_rows())
    content = content_of(large, pooled)
    try:
        names = _write(content, pooled, out)
    except OSError as error:
        raise ResultsError(f"{error.filename or out}: {error.strerror}") from error
    terminal = console()
    for part in screen(content, short=True):
        terminal.print(part)
    return names
