# SPDX-License-Identifier: BSD-3-Clause
"""Cells as tables, for the terminal, the text file and the page; a sentence a case."""

import math
from collections import Counter
from typing import Any, Iterable, Iterator, Mapping, Sequence

import pandas as pd

from nrbench.judge import INTERVAL, N_MIN, NONE, of_cost
from nrbench.render import Line, Table
from nrbench.sweep.figures import COSTS, CPU, MAIN, RX, TITLES, WHOLE
from nrbench.sweep.runs import Runs
from nrbench.sweep.scenario import load, names
from nrbench.table import Frame

NOTHING = "-"
RATIO = ("÷ old", "verdict", INTERVAL)
BOUNDS = ("bound", "÷ bound", "parallel", "÷ parallel")
OF_CASE = ("threads", "variant", *RATIO, "median", "±", *BOUNDS)
SIGN = (
    "below 1 is faster, or less CPU time. Verdict: faster or slower if the interval leaves out 1. Where "
    "nothing differs, about one row in twenty has such an interval by chance."
)
BOUND = (
    "bound: the time that no pool can beat: the work of inline runs (or of recorded slots), divided by the "
    "cores that can compute, that of the thread that waits included."
)
PARALLEL_BOUND = "parallel: the same with the work of inline runs side by side, one on each core"
BELOW_BOUND = "÷ bound below 1: the work took less time in a pool than inline, so the bound is too high here"
UNPAIRED = "Some ratios compare runs of different rounds, and what changed on the machine between them."
DERIVED = "† calculated as a difference of figures: the program does not print this one"
CAUSES_MAX = SLOWEST_MAX = 20
RULE = (
    "Each line is for the largest number of threads that does not exceed the cores. In brackets: the 95 % "
    "interval. In thread_pool_ws the thread that waits runs tasks, too."
)


def precise(value: float) -> int:
    """Decimals that leave three digits or more; four of them at the most."""
    return 2 if value <= 0 else min(4, max(0, 2 - math.floor(math.log10(value))))


def _is_there(value: Any) -> bool:
    return value is not None and not pd.isna(value)


def number(value: float | None) -> str:
    return f"{value:.{precise(abs(value))}f}" if value is not None and _is_there(value) else NOTHING


def factor(value: float | None) -> str:
    return f"{value:.2f}" if _is_there(value) else NOTHING


def interval_text(low: float, high: float) -> str:
    return f"[{low:.2f}, {high:.2f}]" if _is_there(low) else NOTHING


def word(verdict: Any) -> str:
    return str(verdict) if _is_there(verdict) else NONE


def case_name(cell: Any) -> str:
    more = f", {cell.configuration}" if cell.configuration else ""
    return f"{cell.scenario} / {cell.case}{more}"


def texts_of(cell: Any) -> dict[str, str]:
    """What tables show of a cell, by column."""
    texts = {
        "host": cell.host_label,
        "case": case_name(cell),
        "threads": f"{cell.threads}{' *' * (cell.threads > cell.cores)}",
        "variant": cell.variant + "†" * bool(cell.derived),
        "figure": TITLES.get(cell.figure, cell.figure),
        "median": number(cell.median) if cell.runs else cell.causes or NOTHING,
        "±": f"{cell.half_iqr:.{precise(abs(cell.median))}f}" if _is_there(cell.half_iqr) else "",
        "bound": number(cell.bound),
        "÷ bound": factor(cell.over_bound),
        "parallel": number(cell.parallel_bound),
        "÷ parallel": factor(cell.over_parallel_bound),
    }
    verdict = of_cost(word(cell.verdict)) if cell.figure in COSTS else word(cell.verdict)
    ratio = factor(cell.ratio), verdict, interval_text(cell.ratio_low, cell.ratio_high)
    is_compared = cell.baseline not in (None, cell.variant)
    return texts | dict(zip(RATIO, ratio if is_compared else ("", "", "")))


def shown(
    title: str, texts: Iterable[dict[str, str]], names: Sequence[str], notes: Sequence[str] = (),
    once: int = 0, heads: Mapping[str, str] = {},
) -> Table:  # fmt: skip
    """Columns without any text are left out.

    @param once  so many columns are empty where they repeat. @param heads  other ones than the names"""
    found = pd.DataFrame(texts, columns=[*names])
    found = found.loc[:, ~found.isin(["", NOTHING]).all()]
    first = list(found.columns[:once])
    if first:
        found.loc[(found[first] == found[first].shift()).all(axis=1), first] = ""
    columns = [*(heads.get(name, name) for name in found)]
    return Table(title, columns, found.to_numpy().tolist(), [*notes])


def compared(of: Frame) -> list[str]:
    """Figures of which ratios are shown."""
    there = {*of.loc[of["runs"] > 0, "figure"]}
    return [key for key in (*MAIN, CPU) if key in there]


def main_figure(of: Frame) -> str:
    """What a case is summed up by: whole RX or TX, else the last figure that it has."""
    there = [key for key in compared(of) if key != CPU]
    return next((whole for whole in WHOLE if whole in there), there[-1] if there else RX)


def case_tables(of: Frame, more: Sequence[str] = (), short: bool = False) -> Iterator[Table]:
    """Every variant against the old one and the bound: a table a figure, of all main ones and CPU time.

    @param of  the case. @param more  notes. @param short  for a terminal: the main figure only"""
    notes = [*case_notes(of), *more]
    old = of["baseline"].iloc[0]
    figures = [main_figure(of)] if short else compared(of)
    for figure in figures:
        cell = of[of["figure"] == figure]
        against = " and ".join(filter(None, [old, "the bound" if cell["bound"].notna().any() else ""]))
        title = f"{TITLES[figure][0].upper()}{TITLES[figure][1:]}, {'s' if figure == CPU else 'µs'}"
        below = [BELOW_BOUND] if is_below_bound(cell).any() else []
        title += f", against {against}" if against else ""
        yield shown(title, map(texts_of, cell.itertuples(index=False)), OF_CASE, [*notes, *below], once=1)
        notes = []


def is_below_bound(cells: Any) -> Any:
    """By more than the last digit of tables."""
    return cells["over_bound"] < 0.995


def case_notes(of: Frame) -> Iterator[str]:
    counts = sorted({of["runs"].min(), of["runs"].max()} - {0})
    if counts:
        yield f"medians of {' to '.join(map(str, counts))} runs; ±: half the interquartile range"
    if of["baseline"].iloc[0]:
        against = f"÷ old: median divided by the median of {of['baseline'].iloc[0]}"
        yield f"{against}; {SIGN}"
    for column, note in (("bound", BOUND), ("parallel_bound", PARALLEL_BOUND)):
        if of[column].notna().any():
            yield note
    if (of["paired"] == 0).any():
        yield UNPAIRED
    if of["derived"].any():
        yield DERIVED
    many = of[of["threads"] > of["cores"]]
    for cores, threads in many.groupby("cores")["threads"].unique().items():
        yield f"* {cores} core{'s' if cores != 1 else ''}: {', '.join(map(str, threads))} threads share them"


def failures(runs: Runs) -> Iterator[Table]:
    """Runs without a result, by host, case, variant and cause; the most frequent causes first."""
    bad = runs.frame[runs.frame["status"] != "ok"]
    causes: dict[tuple[str, ...], Counter[int]] = {}
    for place, status, error in bad[["setting", "status", "error"]].itertuples(index=False):
        run, cause = runs.settings[place], f"{status}: {error}" if error else status
        where = run.host.label, runs.keys[place].name, run.variant, cause
        causes.setdefault(where, Counter())[run.threads] += 1
    rows = [
        [*where, ", ".join(f"{threads} ×{n}" for threads, n in sorted(counts.items())), cause]
        for (*where, cause), counts in sorted(causes.items(), key=lambda of: -of[1].total())[:CAUSES_MAX]
    ]
    columns = ["host", "case", "variant", "threads ×runs", "cause"]
    if rows:
        yield Table(f"{len(bad)} of {len(runs.frame)} runs gave no result", columns, rows, [])


def main_cells(cells: Frame) -> Frame:
    """Cells of the whole RX, or of what each case has in its place."""
    main = {number: main_figure(of) for number, of in cells.groupby("number")}
    return cells[cells["figure"] == cells["number"].map(main)]


def main_ratios(cells: Frame) -> Frame:
    """Those that have a ratio."""
    found = main_cells(cells)
    return found[found["ratio"].notna()]


def counts_text(ratios: Frame) -> str:
    counts = ratios["verdict"].map(word).value_counts()
    return f"all {len(ratios)} ratios: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def slowest_table(ratios: Frame) -> Table:
    """Of many cases."""
    slowest = ratios.sort_values("ratio", ascending=False, kind="stable").head(SLOWEST_MAX)
    names = ("host", "case", "threads", "variant", *RATIO)
    texts = map(texts_of, slowest.itertuples(index=False))
    return shown("Slowest cases", texts, names, [counts_text(ratios)])


def _sentence(cell: Any, of: Frame) -> str:
    """@param of  the figure at all numbers of threads, so that the chosen one does not stand alone"""
    where = f"{cell.variant} at {cell.threads} thread{'s' if cell.threads != 1 else ''}"
    parts = [f"{where}: {number(cell.median)} µs" if cell.runs else f"{where}: no result"]
    if cell.baseline not in (None, cell.variant):
        words = Counter(map(word, of.loc[of["variant"] == cell.variant, "verdict"]))
        counts = ", ".join(f"{name} {count} of {words.total()}" for name, count in words.items())
        limits = interval_text(cell.ratio_low, cell.ratio_high)
        limits = f"(fewer than {N_MIN} rounds: no interval)" if limits == NOTHING else limits
        ratio = f"{factor(cell.ratio)} {limits}" if _is_there(cell.ratio) else "no ratio"
        parts.append(f"÷ {cell.baseline} {ratio}, {word(cell.verdict)} (all threads: {counts})")
    over = {"bound": cell.over_bound, "parallel": cell.over_parallel_bound}
    return "; ".join(parts + [f"÷ {name} {value:.2f}" for name, value in over.items() if _is_there(value)])


def headlines(of: Frame) -> Iterator[Line]:
    """Of each of our variants, or of all where none is ours. With the most threads that do not exceed the
    cores; the fewest if all do."""
    figure = of[of["figure"] == main_figure(of)]
    fitting = figure.loc[figure["threads"] <= figure["cores"], "threads"]
    chosen = figure[figure["threads"] == (fitting.max() if len(fitting) else figure["threads"].min())]
    own = chosen[chosen["ours"]] if figure["ours"].any() else chosen[chosen["variant"] != chosen["baseline"]]
    for cell in (own if len(own) else chosen).itertuples(index=False):
        where = f"{cell.host_label}, {case_name(cell)}"
        is_compared = cell.baseline not in (None, cell.variant)
        sentence = f"{TITLES[cell.figure]}: {_sentence(cell, figure)}"
        yield Line(where, sentence, word(cell.verdict) if is_compared else "")


def published_tables(cells: Frame) -> Iterator[Table]:
    """One a host and scenario; a row a case and number of threads, a column a pool."""
    for (_, name), of in cells.groupby(["host", "scenario"], sort=False):
        scenario = load(str(name)) if name in names() else None
        if scenario is None or scenario.published is None:
            continue
        about, published = scenario.published, {case.name: case.published_us for case in scenario.cases}
        main = main_cells(of)
        variants = list(main["variant"].unique())
        rows = []
        for (_, threads), row in main.groupby(["number", "threads"]):
            median = dict(zip(row["variant"], row["median"]))
            here = (number(median.get(variant)) for variant in variants)
            first = row.iloc[0]
            rows.append([case_name(first), str(threads), *here, number(published.get(first["case"]))])
        cores, threads = of["cores"].max(), of["threads"].max()
        notes = [f"published: {about.source}, {about.cpu} with {about.cores} cores"]
        if cores <= threads:
            notes.append(f"{cores} CPUs here, too few for {threads} threads: the columns do not compare")
        columns = ["case", "threads", *variants, "published"]
        title = f"{of['host_label'].iloc[0]}: whole slot, µs, beside published figures"
        yield Table(title, columns, rows, notes)
