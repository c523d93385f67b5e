# SPDX-License-Identifier: BSD-3-Clause
"""From runs to tables, CSV, pictures, and one page of HTML that needs no other file."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import pandas as pd

from nrbench import render
from nrbench.drawing import plain_numbers, plt, save, sns
from nrbench.host import busy_note
from nrbench.sweep import tables
from nrbench.sweep.cells import BOUNDS, CASE, OF_CONFIGURATION, Cells, cells_of
from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.facts import build_text, builds_apart, host_facts, mixtures
from nrbench.sweep.figures import CPU, TITLES
from nrbench.sweep.quiet import Case, Quiet, quiet_of
from nrbench.sweep.runs import Runs, read
from nrbench.table import Frame

MANY_CASES = 60  # above which none has tables of its own, all hosts counted
SHORT = 6  # the same for a terminal
REST = "report.txt and report.html have the tables of each case, of all figures, and CPU time."
KINDS = {"nr_ulsim": "whole runs of OAI's simulators", "replay": "recorded slots of nr_ulsim on each pool"}
RATIO = ("ratio", "ratio_low", "ratio_high", "ratio_repeats", "paired", "verdict")
OF_CELLS = (
    "host", "host_label", "kind", "scenario", "case", "configuration", *OF_CONFIGURATION, "began", "figure",
    "unit", "threads", "cores", "variant", "baseline", "runs", "failed", "median", "half_iqr", "low", "high",
    "derived", *RATIO, "bound", "over_bound", "parallel_bound", "over_parallel_bound",
)  # fmt: skip
NOTES = (
    "In each round every variant runs once at each number of threads, in an order shuffled anew. Ratios are "
    "of medians over the rounds that both sides finished. A run that was taken at another time than its "
    "round (a setting added later, a failed run taken again) is not of that round.",
    "Intervals: 95 %, from up to 5000 resamples of whole rounds, with a correction for few values. With "
    "fewer than 5 rounds there is no interval, and no verdict.",
)

OURS = ("#d62728", "#f28e7f", "#8c1d18", "#d6277f", "#a65628", "#f4a3a0")  # reds
GREY = "#888888"
CASE_NOTE = "Lines: medians. Bands: from the least to the greatest run. Dotted vertical line: cores."


class Content(NamedTuple):
    """What is reported."""

    runs: Runs
    cells: Cells
    cases: list[Frame]
    quiet: dict[Case, Quiet]
    warnings: list[str]

    def shown(self, most: int) -> list[Frame]:
        """Cases with tables of their own."""
        return self.cases if len(self.cases) <= most else []

    def quiet_text(self, of: Frame) -> str:
        """Of a case whether it was, and by what. Empty: it has no inline runs."""
        return str(self.quiet.get(tuple(of.iloc[0][CASE]), ""))

    @property
    def summary(self) -> list[render.Line]:
        if shown := self.shown(MANY_CASES):
            return [line for of in shown for line in tables.headlines(of)]
        ratios = tables.main_ratios(self.cells.table)
        where = f"{ratios['number'].nunique()} cases"
        return [render.Line(where, f"whole RX or TX: {tables.counts_text(ratios)}")] if len(ratios) else []

    def common(self) -> Iterator[render.Table]:
        """Of all cases together."""
        yield from tables.failures(self.runs)
        yield from tables.published_tables(self.cells.table)
        if not self.shown(MANY_CASES) and len(ratios := tables.main_ratios(self.cells.table)):
            yield tables.slowest_table(ratios)


def content_of(runs: Runs, warnings: Sequence[str]) -> Content:
    cells = cells_of(runs)
    cases = [of for _, of in cells.table.groupby("number")]
    rest = [f"{len(cases)} cases: of each the figures are in results.csv"] if len(cases) > MANY_CASES else []
    found = [*warnings, *wrong_pools(runs.settings), *_busy(runs), *_merge_notes(runs)]
    found += [*mixtures(runs), *builds_apart(runs), *rest]
    quiet, labels = quiet_of(runs), {run.host.id: run.host.label for run in runs.settings}
    noisy = ((labels[case[0]], " / ".join(case[2:4]), of) for case, of in quiet.items() if not of.is_quiet)
    found += [f"{label}, {name}: {of}" for label, name, of in noisy]
    return Content(runs, cells, cases, quiet, found)


def _merge_notes(runs: Runs) -> Iterator[str]:
    """Of lines that are in no table."""
    for name, count in runs.repeated.items():
        yield f"{name + ': ' if name else ''}{count} of its runs are there twice and count once"
    if runs.replaced:
        failed = ", ".join(f"{cause} ×{count}" for cause, count in runs.replaced.items())
        yield f"{runs.replaced.total()} failed runs were taken again and no longer count: {failed}"


def _busy(runs: Runs) -> Iterator[str]:
    hosts = sorted((run.host for run in runs.settings), key=lambda host: host.load)
    for host in {host.label: host for host in hosts}.values():
        yield from (f"{host.label}: {note}" for note in busy_note(host.load, host.cores_online))


def _points(cells: Cells, of: Frame) -> Iterator[Frame]:
    """A row a run, and a row a bound."""
    for figure in tables.compared(of):
        panel = f"{TITLES[figure]}, {'s a run' if figure == CPU else 'µs'}"
        rows = of[of["figure"] == figure]
        runs = cells.long(figure, rows["row"]).merge(rows[["row", "variant", "threads"]], on="row")
        yield runs.assign(panel=panel)
        for name in BOUNDS:
            there = rows.loc[rows[name].notna(), ["threads", name]].drop_duplicates()
            yield there.rename(columns={name: "value"}).assign(variant=name.replace("_", " "), panel=panel)


def _palette(of: Frame) -> dict[str, Any]:
    """Ours in reds, the old one black, bounds grey."""
    others = iter(sns.color_palette("tab10", of["variant"].nunique()))
    ours = list(of.loc[of["ours"], "variant"].unique())
    known = dict(zip(ours, OURS * len(ours))) | {of["baseline"].iloc[0]: "black"}
    found = {variant: known.get(variant) or next(others) for variant in of["variant"].unique()}
    return found | {"bound": GREY, "parallel bound": "#bbbbbb"}


def case_figure(cells: Cells, of: Frame) -> Any:
    rows = pd.concat(_points(cells, of), ignore_index=True)
    palette = {name: colour for name, colour in _palette(of).items() if (rows["variant"] == name).any()}
    grid = sns.relplot(
        rows, x="threads", y="value", hue="variant", style="variant", hue_order=palette, style_order=palette,
        palette=palette, markers=True, dashes=False, estimator="median", errorbar=("pi", 100), kind="line",
        col="panel", col_wrap=2, height=3.2, aspect=1.5, facet_kws={"sharey": False},
    )  # fmt: skip
    grid.set_titles("").set_axis_labels("threads", "")
    grid.set(xscale="log", xticks=sorted(of["threads"].unique()), ylim=(0, None))
    for panel, axis in grid.axes_dict.items():
        axis.set_title(panel, fontsize=10, loc="left")
        axis.axvline(of["cores"].max(), color=GREY, lw=1, ls=":")
        axis.grid(alpha=0.25)
        plain_numbers(axis.xaxis)
        plain_numbers(axis.yaxis)
    first, figure = of.iloc[0], grid.figure
    figure.suptitle(f"{first['scenario']} / {first['case']}\n{first['host_label']}", fontsize=11)
    sns.move_legend(grid, "lower center", ncol=6, title=None, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _sections(content: Content, out: Path | None) -> Iterator[render.Section]:
    """@param out  of the pictures; None: fewer tables, and no pictures"""
    for table in content.common():
        yield render.Section(table.title, [table])
    host = ""
    for of in content.shown(MANY_CASES if out else SHORT):
        first = of.iloc[0]
        top, host = ("" if first["host"] == host else first["host_label"]), first["host"]
        name = f"{first['host_label']} {first['scenario']} {first['case']} {first['configuration']}"
        picture, has_figures = "", bool(tables.compared(of))
        if out and has_figures:
            png = out / f"{re.sub(r'[^A-Za-z0-9.]+', '-', name).strip('-.')[:120] or 'case'}.png"
            picture = save(case_figure(content.cells, of), png)
        quiet = content.quiet_text(of)
        more = [quiet] if quiet else []
        made = list(tables.case_tables(of, more, short=not out)) if has_figures or not out else []
        yield render.Section(tables.case_name(first), made, picture, f"{CASE_NOTE} {quiet}".strip(), top)


def _page(content: Content, out: Path | None) -> render.Page:
    """@param out  as _sections()"""
    about = measured(content.runs)
    hosts = {run.host.id: run.host for run in content.runs.settings}
    return render.Page(
        title="thread_pool_ws: old and new pool",
        lead=f"{about['what']}; {about['runs']}.",
        sections=list(_sections(content, out)),
        summary=content.summary,
        rule=tables.RULE if out else f"{REST} {tables.RULE}",
        warnings=content.warnings,
        facts=[("How it was measured", about.items()),
               *((f"Machine: {host.label}", host_facts(host)) for host in hosts.values())],
        notes=NOTES,
        words=[option_table(content.runs)],
    )  # fmt: skip


def report(paths: Sequence[Path], out: Path, warnings: Sequence[str] = ()) -> list[str]:
    """Writes tables, CSV, pictures and the page; then prints the tables.

    @param paths     results, or folders of results, of one host or of many
    @param warnings  shown before those that the runs themselves give rise to
    @return names of the files written"""
    content = content_of(read(paths), warnings)
    table = content.cells.table.reindex(columns=[*OF_CELLS])
    # The files first: a terminal that goes away must not cost them. A $ in a name is a $.
    with render.written_to(out), plt.rc_context({"text.parse_math": False}):
        names = render.write_report(out, _page(content, out))
        table.to_csv(out / "results.csv", index=False, float_format="%.6g")
    render.show(_page(content, None))
    return [*names, "results.csv"]


def _each(texts: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def measured(runs: Runs) -> dict[str, str]:
    """How the runs were taken."""
    settings, frame = runs.settings, runs.frame
    pools = defaultdict[str, list[str]](list)
    for run in sorted((run for run in settings if run.build), key=lambda run: run.pool):
        pools[build_text(run.build)].append(run.pool)
    builds = {build: f"runs of {_each(of)}" for build, of in pools.items()}
    found = {
        "what": _each(KINDS[run.kind] for run in settings),
        "runs": f"{len(frame)} runs, {(frame['status'] == 'ok').sum()} of them with a result",
        "failed runs taken again": str(runs.replaced.total() or ""),
        "first and last run began": f"{frame['began'].min()} and {frame['began'].max()}",
        "numbers of the sweeps": _each(run.sweep for run in settings),
        "version of the tool": _each(run.bench_commit or "unknown" for run in settings),
        **builds,
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
    columns = ["case", "runs of", "options", "environment"]
    return render.Table("Options", columns, [list(row) for row in rows], [])
